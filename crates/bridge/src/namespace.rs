//! A network namespace without a name: it lives as long as something in this process holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::thread;

use crate::sys::new_network_namespace;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace of our own.
///
/// It has no entry in `/run/netns`, so when the process ends, for whatever reason, the kernel
/// removes the namespace and every device in it.
#[derive(Clone, Debug)]
pub struct Namespace {
    handle: Arc<File>,
}

impl Namespace {
    /// Makes an empty namespace. Needs `CAP_SYS_ADMIN`.
    ///
    /// # Errors
    /// What `unshare(2)` refuses, `EPERM` above all.
    pub fn new() -> io::Result<Self> {
        // A thread of its own: `unshare` moves the thread that calls it.
        let made = thread::spawn(|| {
            new_network_namespace()?;
            File::open("/proc/thread-self/ns/net")
        });
        let handle = made.join().expect("the thread does not panic")?;
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// Moves the calling thread here for good.
    ///
    /// # Errors
    /// What `setns(2)` refuses.
    pub fn enter(&self) -> io::Result<()> {
        let network = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.handle.as_fd(), network)?)
    }

    /// Runs `work` here, on a thread of its own.
    ///
    /// # Errors
    /// What `setns(2)` refuses, or what `work` yields.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                work()
            });
            match inside.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// The handle by which netlink moves devices here.
    pub fn raw_fd(&self) -> RawFd {
        self.handle.as_raw_fd()
    }
}
