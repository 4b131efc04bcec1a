//! The forwarding thread's signs of life.
//!
//! With each turn the thread has its sockets take frames for the next moment only. When it stands
//! still (SIGSTOP, a page from disk, a machine that gives it no processor), that moment passes and
//! the kernel forwards by itself: nobody has to notice. What its sockets have taken is the thread's
//! whenever it goes on, and nothing else comes to them: see `sys/bpf/gate.rs`.

use sojourn_units::{Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Says that a thread lives. Where there are several, one that stands still has the kernel forward
/// for all: frames of its flows go through the kernel, and the kernel forwards all or none.
#[derive(Debug)]
pub(super) struct Watchdog {
    limit: Span,
    pulses: Arc<Pulses>,
    thread: usize,
    /// Its last sign of life.
    last: Time,
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
            last: now,
        }
    }

    /// How long the thread may sleep; where there are others, so short that each sees the signs of
    /// the others in time.
    pub(super) fn patience(&self) -> Span {
        let part = if self.pulses.0.len() > 1 { 16 } else { 4 };
        Span::from_nanos(self.limit.as_nanos() / part)
    }

    /// How long the thread has given no sign of life.
    pub(super) fn still(&self, now: Time) -> Span {
        now - self.last
    }

    /// The thread lives `now`. Until when sockets may take frames: that is past where a thread has
    /// stood still, this one or another.
    pub(super) fn beat(&mut self, now: Time) -> Time {
        self.last = now;
        self.pulses.beat(self.thread, now);
        self.pulses.oldest() + self.limit
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
mod tests {
    use super::*;

    const LIMIT: Span = Span::from_millis(200);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn each_sign_of_life_is_good_for_the_limit() {
        let mut watchdog = Watchdog::new(LIMIT, at(1000), &Pulses::new(1), 0);
        assert_eq!(watchdog.patience(), Span::from_millis(50));
        assert_eq!(watchdog.beat(at(1000)), at(1200));
        assert_eq!(watchdog.still(at(1700)), Span::from_millis(700));
        assert_eq!(watchdog.beat(at(1700)), at(1900));
        assert_eq!(watchdog.still(at(1700)), Span::ZERO);
    }

    /// Of two threads one stands still: sockets take no frames, however often the other turns, until
    /// it goes on or has ended.
    #[test]
    fn one_that_stands_still_stops_all() {
        let pulses = Pulses::new(2);
        let mut awake = Watchdog::new(LIMIT, at(1000), &pulses, 0);
        let mut asleep = Watchdog::new(LIMIT, at(1010), &pulses, 1);
        assert!(awake.patience() < Span::from_millis(200 / 10));
        for now in [1020, 1100, 1500, 3000] {
            assert_eq!(awake.beat(at(now)), at(1210));
        }
        assert_eq!(asleep.still(at(3010)), Span::from_secs(2));
        assert_eq!(asleep.beat(at(3010)), at(3200), "what the other has said");
        assert_eq!(awake.beat(at(3020)), at(3210));
        drop(asleep);
        assert_eq!(awake.beat(at(4000)), at(4200));
        let ending = Ending::new(&pulses, 0);
        drop(ending);
        assert_eq!(pulses.oldest(), Time::MAX);
    }
}
