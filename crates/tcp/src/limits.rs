//! What limits a sender, as shares of the time that its connection is open.
//!
//! The states are those of Linux's `tcp_chrono_start` (net/ipv4/tcp_output.c): limited by the send
//! buffer is who has sent all that the buffer holds while its application waits for room in it, and
//! by the receive window whose next segment does not fit into that, where the congestion window
//! would let it go. Linux tells of what remains that it is busy. Here that is divided further: at
//! the congestion window, waiting for the time that pacing gives to the next segment, or with
//! nothing more from the application.

use crate::{Span, Time};

sojourn_units::words! {
    /// What limits a sender at a time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LimitedBy {
        /// The congestion window, and recovery from losses.
        Window = "window",
        /// The send buffer: its application has more than that holds.
        SendBuffer = "send_buffer",
        /// The window that the receiver offers.
        ReceiveWindow = "receive_window",
        /// The application, which has nothing more to send.
        Application = "application",
        /// The time that pacing gives to the next segment.
        Pacing = "pacing",
    }
}

/// How long a sender was limited by each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits([Span; LimitedBy::ALL.len()]);

impl Limits {
    /// How long by this.
    pub const fn by(&self, what: LimitedBy) -> Span {
        self.0[what as usize]
    }

    /// Counts so much more time.
    pub fn add(&mut self, what: LimitedBy, time: Span) {
        self.0[what as usize] += time;
    }

    /// Adds those of another connection, or of a later time.
    pub fn extend(&mut self, more: &Self) {
        for what in LimitedBy::ALL {
            self.add(what, more.by(what));
        }
    }

    /// All the time that is counted.
    pub fn total(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &time| sum + time)
    }
}

/// Counts for a sender, in the time that is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// Nothing before this counts.
    pub(crate) from: Time,
    /// Since when what limits is what it is.
    since: Time,
    limits: Limits,
}

impl Meter {
    /// What has limited until now is something else from now on.
    #[cold]
    pub(crate) fn turn(&mut self, before: Option<LimitedBy>, now: Time) {
        self.limits = self.until(before, now);
        self.since = now;
    }

    /// What has been counted, with what limits now.
    pub(crate) fn until(&self, by: Option<LimitedBy>, now: Time) -> Limits {
        let mut limits = self.limits;
        if let Some(by) = by {
            limits.add(by, now - self.since.max(self.from));
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::{LimitedBy, Limits, Meter};
    use sojourn_units::{Span, Time};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn what_was_before_the_time_looked_at_does_not_count() {
        let mut meter = Meter {
            from: ms(100),
            ..Meter::default()
        };
        meter.turn(None, ms(20));
        meter.turn(Some(LimitedBy::Window), ms(150));
        meter.turn(Some(LimitedBy::SendBuffer), ms(170));
        let limits = meter.until(Some(LimitedBy::Window), ms(200));
        assert_eq!(limits.by(LimitedBy::Window), Span::from_millis(80));
        assert_eq!(limits.by(LimitedBy::SendBuffer), Span::from_millis(20));
        assert_eq!(limits.total(), Span::from_millis(100));
        let mut both = Limits::default();
        both.extend(&limits);
        both.extend(&limits);
        assert_eq!(both.total(), Span::from_millis(200));
    }
}
