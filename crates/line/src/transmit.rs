//! Transmitters: when a packet that starts now has been sent, and when the next may start.
//! The same for the simulator and the bridge.

use alloc::sync::Arc;

use crate::line::OPPORTUNITY;
use crate::{LineRate, RateTrace};
use sojourn_units::{Span, Time, TxClock};

/// How a link sends.
#[derive(Clone, Debug)]
pub enum Transmitter {
    /// At once.
    Infinite,
    /// Bit by bit at a constant rate.
    Fixed(TxClock),
    /// At the opportunities of a trace.
    Trace(TraceClock),
    /// Not at all, until it is another one.
    Stopped,
}

impl Transmitter {
    /// A transmitter; `link_header` bytes of each packet are not counted against a trace.
    pub fn new(rate: &LineRate, link_header: u16) -> Self {
        match rate {
            LineRate::Infinite => Self::Infinite,
            LineRate::Fixed(rate) if rate.is_zero() => Self::Stopped,
            LineRate::Fixed(rate) => Self::Fixed(TxClock::new(*rate)),
            LineRate::Trace(trace) => Self::Trace(TraceClock::new(Arc::clone(trace), link_header)),
        }
    }

    /// The earliest time at which a packet may start that is waiting at `now`; [`Time::MAX`] when
    /// none may.
    pub fn start(&mut self, now: Time) -> Time {
        match self {
            Self::Infinite | Self::Fixed(_) => now,
            Self::Trace(clock) => clock.start(now),
            Self::Stopped => Time::MAX,
        }
    }

    /// Whether a packet may start whenever nothing else is being sent.
    #[inline]
    pub fn is_steady(&self) -> bool {
        matches!(self, Self::Infinite | Self::Fixed(_))
    }

    /// When a packet of `len` bytes that starts at `now` has been sent. Starts never overlap:
    /// `now` is not before the last answer.
    #[inline]
    pub fn finish(&mut self, now: Time, len: u32) -> Time {
        // First, as most are: of a table of all the jump alone would take as long.
        if let Self::Fixed(clock) = self {
            return clock.finish(now, len);
        }
        match self {
            Self::Infinite | Self::Fixed(_) => now,
            Self::Trace(clock) => clock.finish(now, len),
            Self::Stopped => Time::MAX,
        }
    }
}

/// A mahimahi trace as a transmitter. A packet leaves with the opportunity that carries its last
/// byte; what is left of that opportunity serves packets that are waiting right then, and
/// an opportunity that finds nothing is lost.
#[derive(Clone, Debug)]
pub struct TraceClock {
    trace: Arc<RateTrace>,
    /// Not part of an IP packet, which is what mahimahi counts.
    link_header: u32,
    /// Rounds of the trace before the current one.
    round: u64,
    /// The next unused opportunity.
    index: usize,
    /// Time and rest of the last used opportunity.
    current: (Time, u32),
}

impl TraceClock {
    fn new(trace: Arc<RateTrace>, link_header: u16) -> Self {
        Self {
            trace,
            link_header: u32::from(link_header),
            round: 0,
            index: 0,
            current: (Time::ZERO, 0),
        }
    }

    fn opportunity(&self) -> Time {
        let ms = self.round * self.trace.period_ms() + self.trace.opportunities_ms[self.index];
        Time::ZERO + Span::from_millis(ms)
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index == self.trace.opportunities_ms.len() {
            (self.index, self.round) = (0, self.round + 1);
        }
    }

    /// Skips the opportunities before `now`.
    fn skip_to(&mut self, now: Time) {
        if self.opportunity() >= now {
            return;
        }
        let ms = now.as_nanos().div_ceil(1_000_000);
        let round = ms / self.trace.period_ms();
        if round > self.round {
            (self.round, self.index) = (round, 0);
            // The last opportunity of a round falls together with the start of the next.
            if ms == round * self.trace.period_ms() {
                (self.round, self.index) = (round - 1, self.trace.opportunities_ms.len() - 1);
                let last = self.trace.opportunities_ms[self.index];
                self.index = self.trace.opportunities_ms.partition_point(|&at| at < last);
            }
        }
        while self.opportunity() < now {
            self.step();
        }
    }

    fn start(&mut self, now: Time) -> Time {
        if self.current.0 >= now && self.current.1 > 0 {
            return self.current.0;
        }
        self.skip_to(now);
        self.opportunity()
    }

    fn finish(&mut self, now: Time, len: u32) -> Time {
        let mut left = len.saturating_sub(self.link_header).max(1);
        let (mut at, mut rest) = self.current;
        if at < now {
            (at, rest) = (now, 0);
            self.skip_to(now);
        }
        while left > rest {
            left -= rest;
            at = self.opportunity();
            rest = OPPORTUNITY;
            self.step();
        }
        self.current = (at, rest - left);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Rate;
    use std::vec::Vec;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn trace(opportunities_ms: &[u64]) -> TraceClock {
        TraceClock::new(
            Arc::new(RateTrace {
                opportunities_ms: opportunities_ms.to_vec(),
            }),
            14,
        )
    }

    #[test]
    fn a_fixed_rate_takes_the_arithmetic_time() {
        // 1250 bytes at 1 Mbit/s are 10 ms.
        let mut link = Transmitter::new(&LineRate::Fixed(Rate::from_bps(1_000_000)), 0);
        assert_eq!(link.finish(ms(5), 1250), ms(15));
        assert_eq!(link.finish(ms(15), 1250), ms(25));
    }

    #[test]
    fn a_link_that_is_down_starts_nothing() {
        let mut link = Transmitter::new(&LineRate::Fixed(Rate::ZERO), 0);
        assert_eq!(link.start(ms(5)), Time::MAX);
    }

    #[test]
    fn a_trace_serves_1500_bytes_at_each_time_and_wraps() {
        let mut link = trace(&[2, 2, 5]);
        // Two packets at 2 ms, one at 5 ms, then 7, 7, 10.
        let times: Vec<_> = (0..6)
            .scan(ms(0), |now, _| {
                *now = link.finish(*now, 1514);
                Some(*now)
            })
            .collect();
        assert_eq!(times, [ms(2), ms(2), ms(5), ms(7), ms(7), ms(10)]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_span_several() {
        let mut link = trace(&[1, 2, 3, 4]);
        assert_eq!(link.finish(ms(0), 14 + 700), ms(1));
        assert_eq!(link.finish(ms(1), 14 + 700), ms(1));
        // 100 bytes of the first are left; 3000 more need two further ones.
        assert_eq!(link.finish(ms(1), 14 + 3000), ms(3));
        assert_eq!(link.finish(ms(3), 14 + 101), ms(4));
    }

    #[test]
    fn packets_start_at_opportunities() {
        let mut link = trace(&[2, 4]);
        assert_eq!(link.start(ms(1)), ms(2));
        link.finish(ms(2), 14 + 1000);
        // 500 bytes are left at 2 ms, for whoever waits then.
        assert_eq!(link.start(ms(2)), ms(2));
        assert_eq!(link.start(ms(3)), ms(4));
    }

    #[test]
    fn an_opportunity_that_finds_nothing_is_lost() {
        let mut link = trace(&[1, 2, 3, 10]);
        assert_eq!(link.finish(Time::from_nanos(2_500_000), 1514), ms(3));
        assert_eq!(link.finish(ms(25), 1514), ms(30));
        assert_eq!(link.finish(ms(30), 1514), ms(31));
        let mut link = trace(&[1, 2, 3, 10]);
        assert_eq!(link.finish(ms(1_000_000), 1514), ms(1_000_000));
        assert_eq!(link.finish(ms(1_000_000), 1514), ms(1_000_001));
    }
}
