//! A bridge of a fleet: opened, let go, ended.

use super::error::Failure;
use crate::Pair;
use crate::capture::{Look, Recorder, Recording};
use crate::flows::Flows;
use crate::talkers::Talkers;
use sojourn_bridge::{
    Bridge, BridgeConfig, BridgeError, Probe, Remote, Showing, Snapshot, give_memory_back,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

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
    pub(super) id: Id,
    pub(crate) name: String,
    pub(crate) remote: Remote,
    /// What brings its frames in and out, in words.
    pub(super) port: String,
    /// State shared with observers: flows, and talkers below each site.
    pub(super) flows: Arc<Mutex<Flows>>,
    pub(super) talkers: Arc<Mutex<Talkers>>,
    /// What writes its frames to a file.
    pub(crate) recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Tells a bridge from an earlier one of the same pair.
pub(super) type Id = u64;

/// A bridge with its interfaces open. Dropped, it gives them back; frames pass once it is let go.
pub(crate) struct Opened {
    pub(super) member: Member,
    pub(super) go: Sender<()>,
    /// What is to be captured from its first frame on.
    pub(super) recording: Option<(Look, Recording)>,
}

/// How a bridge has ended.
pub struct Ending {
    pub(super) id: Id,
    /// Its pair.
    pub name: String,
    /// Why, unless it was asked to.
    pub result: Result<(), Failure>,
    /// What it had counted.
    pub last: Option<Snapshot>,
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
        let recording = pcap
            .map(|pcap| {
                let what = format!("open {}", pcap.path.display());
                Recording::open(pcap).map_err(|source| BridgeError::Io { what, source })
            })
            .transpose()?;
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
            let ended = forward(config, probe, &opened, &may_go, tell, &until);
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
        let thread = thread::Builder::new()
            .name(name.clone())
            .spawn(forward)
            .map_err(|source| BridgeError::Io {
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
            talkers: Arc::default(),
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
    may_go: &Receiver<()>,
    tell: impl Fn(String) + Send + 'static,
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
        let result = bridge.run_unobserved(stop);
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
