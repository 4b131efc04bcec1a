//! A bucket of tokens counted in time: when it is full again, and so when it is out of debt.

use sojourn_units::{Rate, Span, Time, TxClock};

/// More than any link: never in debt.
pub(super) const UNLIMITED: Rate = Rate::from_bps(u64::MAX);

/// Bytes that `tc` adds to what a class may send at once: a packet and its headers.
const PACKET: u64 = 1600;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    clock: TxClock,
    /// Time in which it fills: how far before `full_at` the debt is paid.
    credit: Span,
    full_at: Time,
}

impl Bucket {
    /// A full one. Its depth is what `tc` takes for `burst` and `cburst`: what the rate brings in
    /// a millisecond, and a packet.
    pub(super) fn full(rate: Rate) -> Self {
        let depth = rate.bytes_in(Span::from_millis(1)).saturating_add(PACKET);
        Self {
            clock: TxClock::new(rate),
            credit: rate.time_for(depth),
            full_at: Time::ZERO,
        }
    }

    /// From when on it is out of debt; [`Time::MAX`] at a rate of zero.
    pub(super) fn due(&self) -> Time {
        if self.clock.rate().is_zero() {
            return Time::MAX;
        }
        self.full_at - self.credit
    }

    pub(super) fn charge(&mut self, len: u32, now: Time) {
        self.full_at = self.full_at.max(now) + self.clock.advance(len);
    }

    /// Becomes short of as many bytes as `old`, so that a change brings no burst.
    pub(super) fn succeed(&mut self, old: &Self, now: Time) {
        let (rate, before) = (self.clock.rate(), old.clock.rate());
        let missing = before.bytes_in(old.full_at - now);
        if missing > 0 && !rate.is_zero() {
            self.full_at = now + rate.time_for(missing);
        }
    }
}
