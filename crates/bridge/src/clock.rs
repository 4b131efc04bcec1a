//! CLOCK_MONOTONIC, counted from the start of a bridge or a run.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use sojourn_units::{Span, Time};

/// A point on CLOCK_MONOTONIC that counts as [`Time::ZERO`]. The same in every thread,
/// process and network namespace of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    zero: u64,
    /// In virtual time, how far CLOCK_REALTIME is ahead of this clock, in nanoseconds.
    lead: Option<u64>,
}

/// Nanoseconds on `clock`.
pub fn read_nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self::start_in(Span::ZERO)
    }

    /// The time now.
    pub fn now(&self) -> Time {
        Time::from_nanos(read_nanos(ClockId::Monotonic).saturating_sub(self.zero))
    }

    /// The time now, after it was `then` and nothing has waited since: in virtual time that is
    /// still now.
    pub fn now_after(&self, then: Time) -> Time {
        if self.is_virtual() { then } else { self.now() }
    }

    /// A clock whose zero comes `after` now; until then it stands at zero.
    pub fn start_in(after: Span) -> Self {
        Self {
            zero: read_nanos(ClockId::Monotonic) + after.as_nanos(),
            lead: None,
        }
    }

    /// The same clock on a machine whose time is virtual: computing takes none of it, sleep ends
    /// on time, and nothing sets one clock beside the other. What costs is to ask.
    #[must_use]
    pub fn in_virtual_time(self) -> Self {
        let lead = read_nanos(ClockId::Realtime) - read_nanos(ClockId::Monotonic);
        Self {
            lead: Some(lead.saturating_add(self.zero)),
            ..self
        }
    }

    /// Whether the machine's time is virtual.
    pub fn is_virtual(self) -> bool {
        self.lead.is_some()
    }

    /// Sleeps until zero: before, this clock stands still, and nothing may happen on it.
    pub fn wait_for_zero(self) {
        let early = self.zero.saturating_sub(read_nanos(ClockId::Monotonic));
        std::thread::sleep(std::time::Duration::from_nanos(early));
    }

    /// Sleeps until so long before zero.
    pub fn wait_for_zero_but(self, early: Span) {
        let earlier = Self {
            zero: self.zero.saturating_sub(early.as_nanos()),
            ..self
        };
        earlier.wait_for_zero();
    }

    /// Sleeps until `time`, as late as the thread's timer slack has it.
    pub fn sleep_until(self, time: Time) {
        let at = self.monotonic(time);
        let at = Timespec {
            tv_sec: (at / 1_000_000_000).cast_signed(),
            tv_nsec: (at % 1_000_000_000).cast_signed(),
        };
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
    }

    /// Nanoseconds on CLOCK_MONOTONIC at `time`.
    pub fn monotonic(self, time: Time) -> u64 {
        self.zero.saturating_add(time.as_nanos())
    }

    /// The time at so many nanoseconds of CLOCK_MONOTONIC.
    pub fn at_monotonic(self, nanos: u64) -> Time {
        Time::from_nanos(nanos.saturating_sub(self.zero))
    }

    /// How far CLOCK_REALTIME is ahead of this clock now, in nanoseconds, and the time now, unless
    /// time is virtual.
    pub fn realtime_lead(self) -> (u64, Option<Time>) {
        /// Readings this close together, in nanoseconds, were not interrupted.
        const CLOSE: u64 = 2_000;
        if let Some(lead) = self.lead {
            return (lead, None);
        }
        let mut best = (u64::MAX, 0, Time::ZERO);
        for _ in 0..8 {
            let before = self.now();
            let real = read_nanos(ClockId::Realtime);
            let after = self.now();
            let apart = (after - before).as_nanos();
            if apart < best.0 {
                best = (apart, real.saturating_sub(after.as_nanos()), after);
            }
            if apart < CLOSE {
                break;
            }
        }
        (best.1, Some(best.2))
    }
}
