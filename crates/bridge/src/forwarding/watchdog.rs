//! The forwarding thread's signs of life, and what it learns when it has stood still.
//!
//! With each turn the thread closes the way to the kernel bridge for the next moment only. When it
//! stands still (SIGSTOP, a page from disk, a machine that gives it no processor), that moment
//! passes and the kernel forwards by itself: nobody has to notice. When it goes on it finds frames
//! in its sockets that the kernel has forwarded, and passes over those.

use crate::clock::Clock;
use sojourn_units::{Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The clocks of the kernel's stamps, of its programs and ours are this close together, and its
/// way from the stamp to the program is this short, as a part of the limit. In doubt a frame is
/// lost rather than sent twice.
const MARGIN: u64 = 10;

/// How often a thread that waits for another looks whether that goes on.
const TURN: Duration = Duration::from_millis(1);

/// When each forwarding thread of a bridge last said that it lives; [`Time::MAX`] of one that
/// nobody watches.
#[derive(Debug)]
pub(super) struct Pulses(Box<[AtomicU64]>);

impl Pulses {
    /// Of so many threads.
    pub(super) fn new(threads: usize) -> Arc<Self> {
        let pulse = |_| AtomicU64::new(u64::MAX);
        Arc::new(Self((0..threads).map(pulse).collect()))
    }

    /// Nobody waits for a thread any more.
    fn release(&self, thread: usize) {
        self.beat(thread, Time::MAX);
    }

    fn beat(&self, thread: usize, now: Time) {
        self.0[thread].store(now.as_nanos(), Ordering::Release);
    }

    /// When the one that has been still for longest did so.
    fn oldest(&self) -> Time {
        let times = self.0.iter().map(|pulse| pulse.load(Ordering::Acquire));
        Time::from_nanos(times.min().unwrap_or(u64::MAX))
    }
}

/// Says that a thread lives. Where there are several, one that stands still stops all: frames of
/// its flows go through the kernel, and the kernel forwards all or none.
#[derive(Debug)]
pub(super) struct Watchdog {
    limit: Span,
    pulses: Arc<Pulses>,
    thread: usize,
    /// Until then the kernel forwards nothing for certain.
    certain_until: Time,
}

/// A time in which the thread stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    /// The kernel may have forwarded what arrived later than this,
    pub(crate) from: Time,
    /// and no later than this.
    pub(crate) to: Time,
    /// How long it was.
    pub(crate) length: Span,
}

impl Watchdog {
    /// For one of a bridge's threads, which are allowed to stand still for `limit`, from `now` on.
    pub(super) fn new(limit: Span, now: Time, pulses: &Arc<Pulses>, thread: usize) -> Self {
        pulses.beat(thread, now);
        let pulses = Arc::clone(pulses);
        Self {
            limit,
            pulses,
            thread,
            certain_until: now,
        }
    }

    /// Until then nobody but the thread has forwarded anything, by its last sign of life.
    pub(super) const fn certain_until(&self) -> Time {
        self.certain_until
    }

    /// How long the thread may sleep; where there are others, so short that it sees each of them
    /// stand still before the kernel forwards.
    pub(super) fn patience(&self) -> Span {
        let part = if self.pulses.0.len() > 1 { 16 } else { 4 };
        Span::from_nanos(self.limit.as_nanos() / part)
    }

    /// The thread lives `now`, a time just read. `close_until` keeps the kernel from forwarding.
    /// Yields what has to be made up for.
    pub(super) fn beat(
        &mut self,
        now: Time,
        clock: Clock,
        close_until: impl Fn(Time),
    ) -> Option<Stall> {
        let certain = Span::from_nanos(self.limit.as_nanos() / MARGIN * (MARGIN - 1));
        let before = self.pulses.oldest();
        self.pulses.beat(self.thread, now);
        let oldest = self.pulses.oldest();
        close_until(oldest + self.limit);
        self.certain_until = oldest + certain;
        // Read afterwards: the thread may have stood still since `now`.
        let length = clock.now() - before;
        if length < certain {
            return None;
        }
        let from = before + certain;
        loop {
            self.pulses.beat(self.thread, clock.now());
            let oldest = self.pulses.oldest();
            if clock.now() - oldest >= certain {
                // Another one stands still: until it goes on, the kernel forwards.
                std::thread::sleep(TURN);
                continue;
            }
            close_until(oldest + self.limit);
            let to = clock.now();
            if to - oldest < certain {
                self.certain_until = oldest + certain;
                let length = to - before;
                return Some(Stall { from, to, length });
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pulses.release(self.thread);
    }
}

/// Has nobody wait for a thread once it has ended, however that ends.
#[derive(Debug)]
pub(super) struct Ending {
    pulses: Arc<Pulses>,
    thread: usize,
}

impl Ending {
    pub(super) fn new(pulses: &Arc<Pulses>, thread: usize) -> Self {
        let pulses = Arc::clone(pulses);
        Self { pulses, thread }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.pulses.release(self.thread);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "it is about real time")]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::thread::sleep;

    #[test]
    fn who_stands_still_is_told_since_when() {
        let clock = Clock::start();
        let limit = Span::from_millis(200);
        let until = Cell::new(Time::ZERO);
        let mut watchdog = Watchdog::new(limit, clock.now(), &Pulses::new(1), 0);
        let now = clock.now();
        assert_eq!(watchdog.beat(now, clock, |time| until.set(time)), None);
        assert_eq!(until.get(), now + limit);
        sleep(Duration::from_millis(300));
        let stall = watchdog.beat(clock.now(), clock, |time| until.set(time));
        let stall = stall.expect("it stood still");
        assert_eq!(stall.from, now + Span::from_millis(180));
        assert!(stall.length >= Span::from_millis(300) && stall.to <= clock.now());
        assert!(until.get() > stall.to, "closed again");
        // A stall between the reading of the time and the sign of life counts too.
        let now = clock.now();
        sleep(Duration::from_millis(300));
        assert!(watchdog.beat(now, clock, |time| until.set(time)).is_some());
    }
    /// Of two threads one stands still: the other waits for it, and both learn of the same time.
    #[test]
    fn one_that_stands_still_stops_all() {
        let clock = Clock::start();
        let limit = Span::from_millis(200);
        let until = AtomicU64::new(0);
        let close = |time: Time| until.store(time.as_nanos(), Ordering::Relaxed);
        let pulses = Pulses::new(2);
        let start = clock.now();
        let mut awake = Watchdog::new(limit, start, &pulses, 0);
        let mut asleep = Watchdog::new(limit, start, &pulses, 1);
        assert!(awake.patience() < Span::from_millis(200 / 10));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                sleep(Duration::from_millis(400));
                asleep.beat(clock.now(), clock, close)
            });
            let mut stall = None;
            while stall.is_none() {
                // It holds the kernel off for as long as the other's sign of life is good.
                assert!(until.load(Ordering::Relaxed) <= (start + limit).as_nanos());
                stall = awake.beat(clock.now(), clock, close);
                sleep(Duration::from_millis(1));
            }
            let own = stall.expect("it was told");
            let other = other.join().expect("no panic").expect("it stood still");
            assert_eq!(own.from, start + Span::from_millis(180));
            assert_eq!(other.from, own.from);
            assert!(own.to >= start + Span::from_millis(400));
        });
        // One that is not watched any more holds up nobody.
        drop(asleep);
        assert_eq!(pulses.0[1].load(Ordering::Relaxed), u64::MAX);
    }
}
