//! The forwarding thread's signs of life, and what it learns when it has stood still.
//!
//! With each turn the thread closes the way to the kernel bridge for the next moment only. When it
//! stands still (SIGSTOP, a page from disk, a machine that gives it no processor), that moment
//! passes and the kernel forwards by itself: nobody has to notice. When it goes on it finds frames
//! in its sockets that the kernel has forwarded, and passes over those.

use crate::clock::Clock;
use sojourn_units::{Span, Time};

/// The clocks of the kernel's stamps, of its programs and ours are this close together, and its
/// way from the stamp to the program is this short, as a part of the limit. In doubt a frame is
/// lost rather than sent twice.
const MARGIN: u64 = 10;

/// Says that the thread lives.
#[derive(Debug)]
pub(super) struct Watchdog {
    limit: Span,
    last: Time,
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
    /// For a thread that is allowed to stand still for `limit`, from `now` on.
    pub(super) fn new(limit: Span, now: Time) -> Self {
        Self { limit, last: now }
    }

    /// How long the thread may sleep.
    pub(super) fn patience(&self) -> Span {
        Span::from_nanos(self.limit.as_nanos() / 4)
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
        close_until(now + self.limit);
        // Read afterwards: the thread may have stood still since `now`.
        let length = clock.now() - self.last;
        if length < certain {
            self.last = now;
            return None;
        }
        let from = self.last + certain;
        loop {
            self.last = clock.now();
            close_until(self.last + self.limit);
            let to = clock.now();
            if to - self.last < certain {
                return Some(Stall { from, to, length });
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "it is about real time")]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn who_stands_still_is_told_since_when() {
        let clock = Clock::start();
        let limit = Span::from_millis(200);
        let until = Cell::new(Time::ZERO);
        let mut watchdog = Watchdog::new(limit, clock.now());
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
}
