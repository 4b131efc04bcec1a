//! A shaper without bursts: a virtual clock of transmissions.
//!
//! Source: "Piece of CAKE" section III-A; compared with Linux `sch_cake.c`.
//! Units: bytes, bit/s, integer nanoseconds.
//!
//! Each packet sent moves the clock on by the time that it takes at the rate; the next may leave
//! when the clock is due. An idle link sets the clock to now, so there is no credit to burst
//! with. The clock may lag while the host is late, so that no capacity is lost.
//!
//! With `ingress`, packets dropped count too: they have already crossed the link. A second,
//! failsafe clock runs at two thirds of the rate and counts only what is sent, so that heavy
//! dropping cannot stall the link: either clock being due is enough.

use sojourn_units::{Rate, Span, Time, TxClock};

/// The clock.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    clock: TxClock,
    due: Time,
    failsafe: Time,
}

impl VirtualClock {
    /// A clock that is due at once. A rate of zero never holds anything back.
    pub fn new(rate: Rate) -> Self {
        Self {
            clock: TxClock::new(rate),
            due: Time::ZERO,
            failsafe: Time::ZERO,
        }
    }

    /// The rate; zero is unlimited.
    pub const fn rate(&self) -> Rate {
        self.clock.rate()
    }

    /// Another rate from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.clock.set_rate(rate);
    }

    /// A packet arrives on an idle link: the past gives no credit.
    pub fn wake(&mut self, now: Time) {
        if self.due < now {
            self.due = now;
            self.failsafe = now;
        }
    }

    /// When the next packet may leave.
    pub fn due(&self) -> Time {
        self.due.min(self.failsafe)
    }

    /// A packet of `bytes` is sent. Returns the time that it takes.
    pub fn sent(&mut self, bytes: u32) -> Span {
        if self.rate().is_zero() {
            return Span::ZERO;
        }
        let span = self.dropped(bytes);
        self.failsafe = self.failsafe + span + Span::from_nanos(span.as_nanos() / 2);
        span
    }

    /// A packet of `bytes` has used the link and is dropped (`ingress`).
    pub fn dropped(&mut self, bytes: u32) -> Span {
        if self.rate().is_zero() {
            return Span::ZERO;
        }
        let span = self.clock.advance(bytes);
        self.due += span;
        span
    }
}

/// What holds CAKE to its rate: a clock of its own, or a share of one that several have.
pub trait Pace: Send + 'static {
    /// A copy that goes on as this one would have; none of a part of what others share.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Another rate from the next packet on; zero is unlimited.
    fn set_rate(&mut self, rate: Rate);

    /// A packet arrives in an empty queue: the past gives no credit.
    fn wake(&mut self, now: Time);

    /// When the next packet may leave; whether it is of a sparse flow is asked only by those who
    /// care.
    fn due(&self, is_sparse: impl FnOnce() -> bool) -> Time;

    /// A packet of `bytes` is sent `now`.
    fn sent(&mut self, bytes: u32, now: Time);

    /// A packet of `bytes` has used the link and is dropped (`ingress`).
    fn dropped(&mut self, bytes: u32);

    /// The queue has packets, and needs this much of a shared rate: in 1/65536 of a flow.
    #[inline]
    fn needs(&mut self, _now: Time, _need: impl FnOnce() -> u64) {}

    /// The queue is empty.
    #[inline]
    fn rests(&mut self, _now: Time) {}

    /// Its part of a shared rate.
    fn part(&self) -> Option<Rate> {
        None
    }
}

impl Pace for VirtualClock {
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn set_rate(&mut self, rate: Rate) {
        Self::set_rate(self, rate);
    }

    #[inline]
    fn wake(&mut self, now: Time) {
        Self::wake(self, now);
    }

    #[inline]
    fn due(&self, _is_sparse: impl FnOnce() -> bool) -> Time {
        Self::due(self)
    }

    #[inline]
    fn sent(&mut self, bytes: u32, _now: Time) {
        Self::sent(self, bytes);
    }

    #[inline]
    fn dropped(&mut self, bytes: u32) {
        Self::dropped(self, bytes);
    }
}

/// The clock of a tin: it holds nothing back, but lowers the tin's priority while it is not due.
#[derive(Clone, Debug)]
pub struct TinClock {
    clock: TxClock,
    due: Time,
}

impl TinClock {
    /// A clock that is due at once, for a share of `rate`.
    pub fn new(rate: Rate) -> Self {
        Self {
            clock: TxClock::new(rate),
            due: Time::ZERO,
        }
    }

    /// The share.
    pub const fn rate(&self) -> Rate {
        self.clock.rate()
    }

    /// Another share from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.clock.set_rate(rate);
    }

    /// A packet arrives in the empty tin.
    pub fn wake(&mut self, now: Time) {
        self.due = self.due.max(now);
    }

    /// When the tin is within its share again.
    pub const fn due(&self) -> Time {
        self.due
    }

    /// A packet of `bytes` was sent at `now`. A tin that lags behind its share catches up one
    /// packet at a time; one that is ahead of it is at most one packet ahead.
    pub fn sent(&mut self, bytes: u32, now: Time) {
        if self.rate().is_zero() {
            return;
        }
        let span = self.clock.advance(bytes);
        if self.due < now {
            self.due += span;
        } else {
            self.due = self.due.max(now + span);
        }
    }
}

#[cfg(test)]
mod tests;
