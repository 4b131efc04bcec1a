//! Bridges that run side by side, each on a thread of its own.
//!
//! The list of them is locked by those who ask and change, never by a thread that forwards.

mod ask;
mod error;
mod member;

pub use ask::show;
pub(crate) use ask::{PairStats, Watched};
pub use error::{AskError, Failure};
pub use member::{Ending, News};
pub(crate) use member::{Member, Opened};

use crate::capture::Captures;
use crate::file::Around;
use crate::history::History;
use crate::{Log, Notify, Pair, describe};
use sojourn_bridge::{BridgeConfig, BridgeError, Remote, give_memory_back};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Running bridges.
pub struct Fleet {
    members: Mutex<Vec<Member>>,
    /// Held by whoever has them follow their file.
    pub(crate) reloads: Mutex<()>,
    /// Whether they were asked to end.
    pub(crate) stops: AtomicBool,
    /// What they follow, if it is a file.
    pub(crate) file: Option<PathBuf>,
    /// What is around them.
    pub(crate) around: Around,
    pub(crate) log: Log,
    pub(crate) notify: Notify,
    pub(crate) history: History,
    pub(crate) captures: Captures,
    news: Sender<News>,
}

impl Fleet {
    /// Opens all pairs, with their captures to files, in the calling thread's network namespace,
    /// and lets them go; in error none of them. `file` is what they follow at a reload, `around`
    /// what its caller sets up around them.
    ///
    /// # Errors
    /// That of the first pair that cannot be opened.
    pub fn start(
        pairs: Vec<Pair>,
        file: Option<PathBuf>,
        around: Around,
        log: Log,
        notify: Notify,
    ) -> Result<(Arc<Self>, Receiver<News>), BridgeError> {
        let (news, heard) = channel();
        let mut opened = Vec::new();
        for pair in pairs {
            opened.push(Opened::open(pair, news.clone())?);
        }
        let fleet = Self {
            members: Mutex::default(),
            reloads: Mutex::default(),
            stops: AtomicBool::new(false),
            file,
            around,
            log,
            notify,
            history: History::default(),
            captures: Captures::default(),
            news,
        };
        // Reading a file of many subscribers takes several times what is kept of them.
        give_memory_back();
        for pair in opened {
            let (member, begun) = fleet.let_go(pair);
            fleet.members().push(member);
            begun.map_err(|source| BridgeError::Io {
                what: "begin a capture".into(),
                source,
            })?;
        }
        for (name, config, _) in fleet.pairs() {
            fleet
                .history
                .note("start", &format!("pair {name}: {}", describe(&config)));
        }
        Ok((Arc::new(fleet), heard))
    }

    pub(crate) fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, pair: Pair) -> Result<Opened, BridgeError> {
        Opened::open(pair, self.news.clone())
    }

    /// Frames of the pair pass from now on, and are captured if that is wanted and can be.
    pub(crate) fn let_go(&self, opened: Opened) -> (Member, io::Result<()>) {
        let mut member = opened.member;
        let begun = opened.recording.map(|(look, recording)| {
            member.recorder = Some(self.record(look, member.remote.clone(), recording)?);
            Ok(())
        });
        // Its thread waits for this.
        let _ = opened.go.send(());
        (member, begun.unwrap_or(Ok(())))
    }

    /// Tells the service manager that all is well, three times as often as it wants to hear it, as
    /// long as every forwarding thread answers. To the end of the process.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn reassure(self: &Arc<Self>) -> io::Result<()> {
        let Some(limit) = self.notify.watchdog() else {
            return Ok(());
        };
        let fleet = Arc::clone(self);
        let thread = thread::Builder::new().name("reassure".into());
        let reassure = thread.spawn(move || {
            loop {
                if fleet.answers() {
                    fleet.notify.well();
                }
                thread::sleep(limit / 3);
            }
        });
        reassure.map(drop)
    }

    /// Tells the service manager that frames are forwarded, and how.
    pub fn ready(&self) {
        self.notify.ready(&self.status());
    }

    /// Queues of all pairs, and what happens to their links when the process dies.
    fn status(&self) -> String {
        let members = self.members();
        let remotes: Vec<Remote> = members.iter().map(|it| it.remote.clone()).collect();
        drop(members);
        let of = |remote: &Remote| {
            let (queues, fail_open) = (describe(&remote.config()), remote.fail_open());
            format!("{queues}; {}", fail_open.text)
        };
        remotes.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    /// Whether every forwarding thread answers that has not ended.
    pub(crate) fn answers(&self) -> bool {
        let members = self.members();
        let living = members.iter().filter(|member| member.lives());
        let remotes: Vec<Remote> = living.map(|member| member.remote.clone()).collect();
        drop(members);
        remotes.iter().all(|remote| remote.snapshot().is_ok())
    }

    /// Of each pair its name, its configuration, and in words what brings its frames in and out and
    /// what happens to its link when the process dies.
    pub fn pairs(&self) -> Vec<(String, BridgeConfig, String)> {
        let members = self.members();
        let of = |member: &Member| {
            let config = member.remote.config();
            let state = format!("{}; {}", member.port, member.remote.fail_open().text);
            (member.name.clone(), config, state)
        };
        members.iter().map(of).collect()
    }

    /// Asks all bridges to end: what they hold is sent.
    pub fn stop(&self) {
        self.notify.stopping();
        let members = self.members();
        // A reload that has read its files looks at this under the same lock.
        self.stops.store(true, Ordering::Relaxed);
        members.iter().for_each(Member::stop);
    }

    /// Waits until the last bridge has ended. Bridges that end one by one without being asked to
    /// are told in the log, and so is what becomes of their way round; yields how each of those
    /// that are in the fleet has ended, in its order.
    pub fn wait(&self, heard: &Receiver<News>) -> Vec<Ending> {
        let mut ended: Vec<Ending> = Vec::new();
        while let Ok(news) = heard.recv() {
            let ending = match news {
                News::Ended(ending) => *ending,
                News::FailOpen(pair, text) => {
                    self.note(&format!("pair {pair}"), &text);
                    self.notify.status(&self.status());
                    continue;
                }
            };
            let members = self.members();
            let others = members
                .iter()
                .filter(|member| member.id != ending.id)
                .filter(|other| ended.iter().all(|end| end.id != other.id))
                .count();
            if let (Err(error), 1..) = (&ending.result, others) {
                self.note(
                    &format!("pair {}", ending.name),
                    &format!("{error}; others go on"),
                );
            }
            ended.push(ending);
            // One that a reload has taken out, or started anew, has nothing to say any more.
            let place = |end: &Ending| members.iter().position(|member| member.id == end.id);
            ended.retain(|end| place(end).is_some());
            if others == 0 {
                ended.sort_by_key(place);
                break;
            }
        }
        ended
    }

    /// Remembers and logs what somebody has changed, or has tried to.
    pub(crate) fn note(&self, by: &str, what: &str) {
        self.history.note(by, what);
        (self.log)(format!("{by}: {what}"));
    }
}
