//! Interrupt moderation for interfaces whose NAPI instances are there for our program's sake: at
//! veth each frame is an interrupt otherwise, in the sender's time.

use crate::napi::Napis;
use sojourn_units::Span;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};

/// How long frames may wait for others at an interface.
const DEFERRAL: Span = Span::from_micros(200);

/// What is wanted of the thread.
const OFF: u8 = 0;
const ON: u8 = 1;
const END: u8 = 2;

/// Turns moderation on and off. The kernel takes a lock for that, so that a thread of its own waits
/// for it.
pub(crate) struct Moderation {
    wanted: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Moderation {
    /// For these instances: off so far.
    pub(crate) fn of(napis: Napis, instances: Vec<u32>) -> io::Result<Self> {
        let wanted = Arc::new(AtomicU8::new(OFF));
        let seen = Arc::clone(&wanted);
        let follow = move || {
            let mut is = OFF;
            loop {
                match seen.load(Ordering::Acquire) {
                    END => return,
                    wanted if wanted == is => thread::park(),
                    wanted => {
                        let deferral = if wanted == ON { DEFERRAL } else { Span::ZERO };
                        for instance in &instances {
                            // One that is gone has nothing to moderate.
                            let _ = napis.defer(*instance, deferral);
                        }
                        is = wanted;
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("moderation".to_owned());
        Ok(Self {
            wanted,
            thread: Some(thread.spawn(follow)?),
        })
    }

    /// Turns it on or off, in a moment.
    pub(crate) fn set(&self, is_on: bool) {
        self.want(if is_on { ON } else { OFF });
    }

    fn want(&self, wanted: u8) {
        self.wanted.store(wanted, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Moderation {
    fn drop(&mut self) {
        self.want(END);
        if let Some(thread) = self.thread.take() {
            // It cannot panic; if it did, there would be nothing to do about it here.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::napi::tests::{deferral, with_instances};

    #[test]
    fn it_is_on_while_it_is_wanted() {
        with_instances(|napis, instances| {
            let seen = Napis::open().expect("there is one");
            let one = instances[0];
            let moderation = Moderation::of(napis, instances).expect("a thread");
            for (is_on, expected) in [(true, DEFERRAL), (false, Span::ZERO), (true, DEFERRAL)] {
                moderation.set(is_on);
                while deferral(&seen, one) != expected {
                    thread::yield_now();
                }
            }
            drop(moderation);
        });
    }
}
