//! Interrupt moderation for interfaces whose NAPI instances are there for our program's sake: at
//! veth each frame is an interrupt otherwise, in the sender's time.

use crate::napi::Napis;
use sojourn_units::Span;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long frames may wait for others at an interface: at 370 000 a second 64, which one turn of
/// NAPI takes in.
const DEFERRAL: Span = Span::from_micros(170);

/// Has these instances gather what comes within a time.
fn defer(napis: &Napis, instances: &[u32], deferral: Span) {
    for instance in instances {
        // One that is gone has nothing to moderate.
        let _ = napis.defer(*instance, deferral);
    }
}

/// After so long it looks whether the instances are still the same.
const AGAIN: Duration = Duration::from_millis(100);

/// What is wanted of the thread.
const OFF: u8 = 0;
const ON: u8 = 1;
const END: u8 = 2;

/// Turns moderation on and off. The kernel takes a lock for that, so that a thread of its own waits
/// for it.
pub(crate) struct Moderation {
    wanted: Arc<AtomicU8>,
    /// What has been told to the kernel.
    is: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Moderation {
    /// For the instances of this interface: off so far.
    pub(crate) fn of(napis: Napis, interface: u32) -> io::Result<Self> {
        let [wanted, is] = [OFF, OFF].map(|state| Arc::new(AtomicU8::new(state)));
        let (seen, told) = (Arc::clone(&wanted), Arc::clone(&is));
        let follow = move || {
            // Those that it is on for.
            let mut moderated = Vec::new();
            loop {
                let wanted = seen.load(Ordering::Acquire);
                if wanted != ON {
                    told.store(OFF, Ordering::Release);
                    defer(&napis, &moderated, Span::ZERO);
                    moderated.clear();
                    if wanted == END {
                        return;
                    }
                    thread::park();
                    continue;
                }
                // An interface that was down has others now.
                let instances = napis.of(interface).unwrap_or_default();
                if instances != moderated {
                    defer(&napis, &instances, DEFERRAL);
                    moderated = instances;
                }
                told.store(ON, Ordering::Release);
                thread::park_timeout(AGAIN);
            }
        };
        let thread = thread::Builder::new().name("moderation".to_owned());
        Ok(Self {
            wanted,
            is,
            thread: Some(thread.spawn(follow)?),
        })
    }

    /// Turns it on or off, in a moment.
    pub(crate) fn set(&self, is_on: bool) {
        self.want(if is_on { ON } else { OFF });
    }

    /// Whether it is on by now. While it is turned on the kernel may still hand over each frame.
    pub(crate) fn is_on(&self) -> bool {
        self.is.load(Ordering::Acquire) == ON
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
    use crate::interface::Interface;
    use crate::napi::tests::{deferral, with_instances};
    use std::process::Command;

    /// Waits until the only instance of `a0` is moderated so.
    fn wait_for(napis: &Napis, expected: Span) -> u32 {
        let index = Interface::index_of("a0").expect("it is there");
        loop {
            let found = napis.of(index).expect("they are told");
            if let [one] = found[..]
                && deferral(napis, one) == expected
            {
                return one;
            }
            thread::yield_now();
        }
    }

    fn of_a0(napis: Napis) -> Moderation {
        let index = Interface::index_of("a0").expect("it is there");
        Moderation::of(napis, index).expect("a thread")
    }

    #[test]
    fn it_is_on_while_it_is_wanted() {
        with_instances(|napis, _| {
            let seen = Napis::open().expect("there is one");
            let moderation = of_a0(napis);
            for (is_on, expected) in [(true, DEFERRAL), (false, Span::ZERO), (true, DEFERRAL)] {
                moderation.set(is_on);
                wait_for(&seen, expected);
            }
            while !moderation.is_on() {
                thread::yield_now();
            }
            drop(moderation);
            wait_for(&seen, Span::ZERO);
        });
    }

    #[test]
    fn an_interface_that_was_down_is_moderated_again() {
        with_instances(|napis, _| {
            let seen = Napis::open().expect("there is one");
            let moderation = of_a0(napis);
            moderation.set(true);
            let before = wait_for(&seen, DEFERRAL);
            for state in ["down", "up"] {
                let ran = Command::new("ip")
                    .args(["link", "set", "a0", state])
                    .status();
                assert!(ran.expect("iproute2 is there").success());
            }
            assert_ne!(wait_for(&seen, DEFERRAL), before);
        });
    }
}
