//! Calls that may block, on a thread of their own.

use crate::device::clock;
use nix::errno::Errno;
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use sojourn_units::Time;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// What a call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    /// Its value; -1 with an error.
    pub(crate) value: i64,
    pub(crate) error: Option<Errno>,
    pub(crate) at: Time,
}

impl Returned {
    /// The outcome of a call that has just returned.
    pub(crate) fn now(outcome: io::Result<i64>) -> Self {
        let at = clock();
        match outcome {
            Ok(value) => Self {
                value,
                error: None,
                at,
            },
            Err(error) => Self {
                value: -1,
                error: Some(Errno::from_raw(error.raw_os_error().unwrap_or(0))),
                at,
            },
        }
    }
}

/// A call.
pub(crate) type Work = Box<dyn FnOnce() -> io::Result<i64> + Send>;

/// The thread, which carries out one call at a time, in the namespace of the thread that made it.
/// It ends when this is dropped, once its call has returned.
pub(crate) struct Worker {
    work: Sender<Work>,
    results: Receiver<Returned>,
    /// Readable when a call has returned.
    pub(crate) bell: OwnedFd,
}

impl Worker {
    pub(crate) fn new() -> io::Result<Self> {
        let (bell, rope) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (work, to_do) = mpsc::channel::<Work>();
        let (done, results) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            for call in to_do {
                if done.send(Returned::now(call())).is_err() {
                    return;
                }
                // If it cannot be written to, it rings already.
                let _ = rustix::io::write(&rope, &[0]);
            }
        })?;
        Ok(Self {
            work,
            results,
            bell,
        })
    }

    pub(crate) fn start(&self, work: Work) {
        // The thread ends with this only.
        let _ = self.work.send(work);
    }

    /// What the call has returned, if it has.
    pub(crate) fn result(&self) -> Option<Returned> {
        let result = self.results.try_recv().ok();
        if result.is_some() {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        result
    }
}
