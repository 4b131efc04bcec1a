//! Bridges that run side by side, each on a thread of its own.
//!
//! The list of them is locked by those who ask and change, never by a thread that forwards.

use crate::capture::{Captures, Look, Recorder, Recording};
use crate::difference::differences;
use crate::file::Around;
use crate::flows::Flows;
use crate::history::{Entry, History};
use crate::{Log, Notify, Pair, describe};
use serde_json::Value;
use sojourn_bridge::give_memory_back;
use sojourn_bridge::{
    Bridge, BridgeConfig, BridgeError, FailOpenState, NoObserver, Probe, Remote, RemoteError,
    Showing, Side, Snapshot,
};
use sojourn_line::LineRate;
use sojourn_units::Rate;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

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

/// What bridges tell by themselves.
pub enum News {
    /// One has ended.
    Ended(Box<Ending>),
    /// What happens to the link of a pair when the process dies is something else now, or was
    /// mended: a sentence.
    FailOpen(String, String),
}

/// A bridge of the fleet.
pub(crate) struct Member {
    id: Id,
    pub(crate) name: String,
    pub(crate) remote: Remote,
    /// What brings its frames in and out, in words.
    port: String,
    /// What those know who look on.
    flows: Arc<Mutex<Flows>>,
    /// What writes its frames to a file.
    pub(crate) recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// A bridge of the fleet for somebody who looks on.
pub(crate) struct Watched {
    pub(crate) name: String,
    pub(crate) remote: Remote,
    pub(crate) flows: Arc<Mutex<Flows>>,
}

/// Tells a bridge from an earlier one of the same pair.
type Id = u64;

/// A bridge with its interfaces open. Dropped, it gives them back; frames pass once it is let go.
pub(crate) struct Opened {
    member: Member,
    go: Sender<()>,
    /// What is to be captured from its first frame on.
    recording: Option<(Look, Recording)>,
}

/// How a bridge has ended.
pub struct Ending {
    id: Id,
    /// Its pair.
    pub name: String,
    /// Why, unless it was asked to.
    pub result: Result<(), Failure>,
    /// What it had counted.
    pub last: Option<Snapshot>,
}

/// Why a bridge has ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It could not go on.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// A fault of this program.
    #[error("the forwarding thread has panicked; this is a fault of sojourn")]
    Panicked,
}

/// What is known of a pair.
pub(crate) struct PairStats {
    pub(crate) name: String,
    /// Of its links, where they are constant, by side.
    pub(crate) rates: [Option<Rate>; 2],
    /// None when its thread does not answer.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// What happens to the link when the process dies.
    pub(crate) fail_open: Arc<FailOpenState>,
}

/// What a pair says.
pub(crate) struct Said {
    pub(crate) name: String,
    pub(crate) snapshot: Result<Arc<Snapshot>, RemoteError>,
    pub(crate) fail_open: Arc<FailOpenState>,
}

impl Said {
    fn of((name, remote): (String, Remote)) -> Self {
        Self {
            name,
            snapshot: remote.snapshot(),
            fail_open: remote.fail_open(),
        }
    }
}

/// Why somebody who asks gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No pair has this name; those that there are.
    #[error("there is no pair `{0}`; there are {1}")]
    NoPair(String, String),
    /// There are several, and none was named.
    #[error("which pair? There are {0}")]
    WhichPair(String),
    /// The pair does not answer.
    #[error("{0}: {1}")]
    Remote(String, #[source] RemoteError),
    /// A rate that is to be set follows its link.
    #[error(
        "pair {0}: the {1} rate follows its link (`autorate`); its bounds are in the bridge's file"
    )]
    Follows(String, &'static str),
    /// It has no circuits.
    #[error("pair {0} has no `subscribers`")]
    NoSubscribers(String),
    /// There can be no thread for it.
    #[error("start a thread: {0}")]
    Thread(#[source] std::io::Error),
}

impl Opened {
    /// Opens the pair's interfaces in the calling thread's network namespace, and the file to which
    /// it is captured.
    pub(crate) fn open(pair: Pair, news: Sender<News>) -> Result<Self, BridgeError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let Pair {
            name, config, pcap, ..
        } = pair;
        let recording = pcap.map(|pcap| {
            let what = format!("open {}", pcap.path.display());
            Recording::open(pcap).map_err(|source| BridgeError::Io { what, source })
        });
        let recording = recording.transpose()?;
        let (probe, view) = recording.as_ref().map(Recording::probe).unzip();
        let (opened, is_open) = channel();
        let (go, may_go) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (called, until) = (name.clone(), Arc::clone(&stop));
        let forward = move || {
            let (of, told) = (called.clone(), news.clone());
            let tell = move |text| {
                // Nobody listens when the process is on its way out.
                let _ = told.send(News::FailOpen(of.clone(), text));
            };
            let ended = forward(config, probe, &opened, (&may_go, tell), &until);
            if let Some((result, last)) = ended {
                // As above.
                let _ = news.send(News::Ended(Box::new(Ending {
                    id,
                    name: called,
                    result,
                    last,
                })));
            }
        };
        let thread = thread::Builder::new().name(name.clone()).spawn(forward);
        let thread = thread.map_err(|source| BridgeError::Io {
            what: "start a forwarding thread".into(),
            source,
        })?;
        // It says something in any case, unless it panics.
        let answer = is_open.recv().unwrap_or_else(|_| {
            Err(BridgeError::Io {
                what: format!("open the pair `{name}`"),
                source: std::io::Error::other(Failure::Panicked),
            })
        });
        let (remote, port, showing) = answer?;
        let member = Member {
            id,
            name,
            remote,
            port,
            flows: Arc::default(),
            recorder: None,
            stop,
            thread,
        };
        Ok(Self {
            member,
            go,
            recording: view
                .zip(showing)
                .map(|(view, showing)| Look { view, showing })
                .zip(recording),
        })
    }

    /// Frames pass from now on, and are captured if that is wanted and can be.
    pub(crate) fn let_go(self, fleet: &Fleet) -> (Member, std::io::Result<()>) {
        let mut member = self.member;
        let begun = self.recording.map(|(look, recording)| {
            let recorder = fleet.record(look, member.remote.clone(), recording)?;
            member.recorder = Some(recorder);
            Ok(())
        });
        // Its thread waits for this.
        let _ = self.go.send(());
        (member, begun.unwrap_or(Ok(())))
    }
}

/// Why, and what was counted.
type Ended = (Result<(), Failure>, Option<Snapshot>);

/// A bridge that has its interfaces, what brings its frames in and out in words, and what shows it
/// to a probe.
type IsOpen = (Remote, String, Option<Showing>);

/// The life of a pair's thread; nothing comes of one that was not let go.
fn forward(
    config: BridgeConfig,
    probe: Option<Probe>,
    opened: &Sender<Result<IsOpen, BridgeError>>,
    (may_go, tell): (&Receiver<()>, impl Fn(String) + Send + 'static),
    stop: &AtomicBool,
) -> Option<Ended> {
    let mut last = None;
    // A bridge that is dropped by a panic leaves the link to the kernel.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let is_open = Bridge::open(config).and_then(|mut bridge| {
            bridge.look_after_fail_open(tell)?;
            Ok(bridge)
        });
        let mut bridge = match is_open {
            Ok(bridge) => bridge,
            Err(error) => {
                let _ = opened.send(Err(error));
                return None;
            }
        };
        // Building a tree of rates takes some that is not needed any more.
        give_memory_back();
        // There is room for the first one.
        let showing = probe.and_then(|probe| bridge.show(probe).ok());
        let port = bridge.port_state().to_string();
        let _ = opened.send(Ok((bridge.remote(), port, showing)));
        may_go.recv().ok()?;
        let result = bridge.run(stop, &mut NoObserver);
        last = Some(bridge.snapshot());
        Some(result)
    }));
    let result = match ended {
        Ok(result) => result?.map_err(Failure::from),
        Err(_) => Err(Failure::Panicked),
    };
    Some((result, last))
}

impl Member {
    /// As it would be asked for; its seed is as good as any.
    pub(crate) fn pair(&self) -> Pair {
        Pair {
            name: self.name.clone(),
            config: self.remote.config(),
            seeded: false,
            pcap: self.recorder.as_ref().map(|it| it.pcap.clone()),
        }
    }

    /// Whether it still forwards.
    pub(crate) fn lives(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Asks it to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.remote.wake();
    }
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
            let (member, begun) = pair.let_go(&fleet);
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
            let others = members.iter().filter(|member| member.id != ending.id);
            let others = others.filter(|other| ended.iter().all(|end| end.id != other.id));
            let others = others.count();
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

    /// One pair by its name, or the only one.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<(String, Remote), AskError> {
        let members = self.members();
        let names = || {
            let names: Vec<&str> = members.iter().map(|m| m.name.as_str()).collect();
            names.join(", ")
        };
        let found = match (name, &members[..]) {
            (Some(name), members) => members.iter().find(|member| member.name == name),
            (None, [only]) => Some(only),
            (None, _) => return Err(AskError::WhichPair(names())),
        };
        let found = found.map(|member| (member.name.clone(), member.remote.clone()));
        found.ok_or_else(|| AskError::NoPair(name.unwrap_or_default().to_owned(), names()))
    }

    /// What has been counted: of one pair by its name, or of all. Of several those that do not
    /// answer are left to whoever asks.
    pub(crate) fn snapshots(&self, name: Option<&str>) -> Result<Vec<Said>, AskError> {
        let members = self.members();
        let all: Vec<_> = members
            .iter()
            .map(|member| (member.name.clone(), member.remote.clone()))
            .collect();
        drop(members);
        if name.is_none() && all.len() > 1 {
            return Ok(all.into_iter().map(Said::of).collect());
        }
        let said = Said::of(self.find(name)?);
        match said.snapshot {
            Err(error) => Err(AskError::Remote(said.name, error)),
            Ok(_) => Ok(vec![said]),
        }
    }

    /// For somebody who looks on: one pair by its name, or all.
    pub(crate) fn watched(&self, name: Option<&str>) -> Result<Vec<Watched>, AskError> {
        let wanted = name.map(|name| self.find(Some(name))).transpose()?;
        let members = self.members();
        let wanted =
            |member: &&Member| wanted.as_ref().is_none_or(|(name, _)| *name == member.name);
        let watched = members.iter().filter(wanted).map(|member| Watched {
            name: member.name.clone(),
            remote: member.remote.clone(),
            flows: Arc::clone(&member.flows),
        });
        Ok(watched.collect())
    }

    /// What has been counted, of all pairs, also those that do not answer.
    pub(crate) fn all_stats(&self) -> Vec<PairStats> {
        let members = self.members();
        let remotes: Vec<_> = members
            .iter()
            .map(|m| (m.name.clone(), m.remote.clone()))
            .collect();
        drop(members);
        let ask = |(name, remote): (String, Remote)| {
            let mut config = remote.config();
            let snapshot = remote.snapshot().ok();
            let rate = |side: Side| match snapshot.as_ref()?.followed[side as usize] {
                Some(followed) => Some(followed.rate),
                None => config.side(side).line.rate.fixed(),
            };
            PairStats {
                name,
                rates: Side::BOTH.map(rate),
                fail_open: remote.fail_open(),
                snapshot,
            }
        };
        remotes.into_iter().map(ask).collect()
    }

    /// Statistics as text: what `tc -s qdisc` prints and what the bridges count; of one pair by its
    /// name, or of all.
    ///
    /// # Errors
    /// When there is no such pair, or the only one does not answer.
    pub(crate) fn text_of(&self, name: Option<&str>) -> Result<String, AskError> {
        let said = self.snapshots(name)?;
        let text = |said: &Said| {
            let text = match &said.snapshot {
                Ok(snapshot) => snapshot.text(),
                Err(error) => format!("{error}\n"),
            };
            (
                said.name.clone(),
                format!("{text}{}\n", said.fail_open.text),
            )
        };
        Ok(below_names(&said.iter().map(text).collect::<Vec<_>>()))
    }

    /// Statistics of all pairs as text.
    ///
    /// # Errors
    /// When the only pair does not answer.
    pub fn text(&self) -> Result<String, AskError> {
        self.text_of(None)
    }

    /// Has one direction of a pair changed by somebody.
    pub(crate) fn change(
        &self,
        by: &str,
        pair: Option<&str>,
        change: impl FnOnce(&Remote) -> Result<(), RemoteError>,
    ) -> Result<String, AskError> {
        let (name, remote) = self.find(pair)?;
        let as_it_is = || Pair {
            name: name.clone(),
            config: remote.config(),
            seeded: false,
            pcap: None,
        };
        let before = as_it_is();
        let changed = change(&remote);
        for difference in differences(&before, &as_it_is()) {
            self.note(by, &format!("pair {name}: {difference}"));
        }
        match changed {
            Ok(()) => Ok(name),
            Err(error) => Err(AskError::Remote(name, error)),
        }
    }

    /// Gives one direction of a pair another rate for somebody, unless it follows its link.
    pub(crate) fn set_rate(
        &self,
        by: &str,
        pair: Option<&str>,
        side: Side,
        rate: LineRate,
    ) -> Result<String, AskError> {
        let (name, remote) = self.find(pair)?;
        if remote.config().side(side).autorate.is_some() {
            return Err(AskError::Follows(name, side.name()));
        }
        self.change(by, Some(&name), |bridge| bridge.set_rate(side, rate))
    }

    /// What was changed and by whom, the oldest first; what `autorate` has done last too.
    pub(crate) fn all_history(&self) -> Vec<Value> {
        let members = self.members();
        let remotes = members.iter().map(|m| (m.name.clone(), m.remote.clone()));
        let remotes: Vec<_> = remotes.collect();
        drop(members);
        let mut told = Vec::new();
        for (name, remote) in remotes {
            let clock = remote.config().clock;
            let (now, today) = (clock.now(), SystemTime::now());
            // One that does not answer has nothing to say.
            let all = remote.told().unwrap_or_default();
            told.extend(all.iter().map(|it| {
                let ago = Duration::from_nanos((now - it.at).as_nanos());
                let at = today.checked_sub(ago).unwrap_or(today);
                Entry::new(at, "autorate", &format!("pair {name}: {it}"))
            }));
        }
        self.history.json_with(told)
    }

    /// Remembers and logs what somebody has changed, or has tried to.
    pub(crate) fn note(&self, by: &str, what: &str) {
        self.history.note(by, what);
        (self.log)(format!("{by}: {what}"));
    }
}

/// Statistics of several pairs as text, each below its name; of a single one without.
pub fn show<'a>(snapshots: impl Iterator<Item = (&'a str, &'a Snapshot)>) -> String {
    let text = |(name, snapshot): (&str, &Snapshot)| (name.to_owned(), snapshot.text());
    below_names(&snapshots.map(text).collect::<Vec<_>>())
}

fn below_names(texts: &[(String, String)]) -> String {
    if let [(_, only)] = texts {
        return only.clone();
    }
    let named = texts
        .iter()
        .map(|(name, text)| format!("pair {name}\n{text}"));
    named.collect::<Vec<_>>().join("\n")
}
