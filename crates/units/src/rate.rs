//! Rates, and the clock of a transmitter that never loses a fraction of a nanosecond.

use crate::{Span, Time};
use core::fmt;
use core::num::NonZeroU64;

/// A data rate in bit/s. Zero means "stopped".
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A stopped link.
    pub const ZERO: Self = Self(0);

    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `bps` bit/s, rounded to the nearest; negative and NaN give zero.
    pub fn from_bps_f64(bps: f64) -> Self {
        Self((bps + 0.5) as u64)
    }

    /// bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Byte/s, rounded down.
    pub const fn bytes_per_sec(self) -> u64 {
        self.0 / 8
    }

    /// Whether nothing can be sent at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Time to send `bytes`, rounded up; [`Span::MAX`] when stopped.
    pub fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.0));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Bytes sent in `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> u64 {
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bit/s", self.0)
    }
}

/// Serialisation times at one rate, with the fraction of a nanosecond carried over.
///
/// 1514 bytes at 12 Mbit/s last 1 009 333⅓ ns. Rounding each packet would make a link up to
/// half a nanosecond a packet too fast or too slow; here the remainder stays in the clock, so
/// the time for n packets is exact to the last nanosecond. One multiplication a packet, no
/// division: the rate is kept as nanoseconds per byte in 32.32 fixed point (relative error
/// below 3·10⁻⁹ up to 100 Gbit/s).
#[derive(Clone, Copy, Debug)]
pub struct TxClock {
    pace: TxPace,
    fraction: u32,
    /// When the packet that [`finish`](Self::finish) was asked about last has been sent.
    free_at: Time,
}

impl TxClock {
    /// A clock for `rate`.
    pub fn new(rate: Rate) -> Self {
        Self {
            pace: TxPace::new(rate),
            fraction: 0,
            free_at: Time::ZERO,
        }
    }

    /// The rate it was made for.
    pub const fn rate(&self) -> Rate {
        self.pace.rate
    }

    /// Another rate from the next byte on; what is carried over ends with the old one.
    pub fn set_rate(&mut self, rate: Rate) {
        if rate != self.rate() {
            *self = Self::new(rate);
        }
    }

    /// Time that the next `bytes` take, in whole nanoseconds; the rest is carried over.
    /// [`Span::MAX`] when stopped.
    pub fn advance(&mut self, bytes: u32) -> Span {
        self.pace.advance(&mut self.fraction, bytes)
    }

    /// When a packet of `bytes` that may start at `start` has been sent. After a pause nothing is
    /// carried over, so that packets that are alone all take the same time.
    #[inline]
    pub fn finish(&mut self, start: Time, bytes: u32) -> Time {
        self.pace
            .finish(&mut self.fraction, &mut self.free_at, start, bytes)
    }
}

/// What a [`TxClock`] does at one rate without the fraction that it carries over: many
/// transmitters of the same rate share one, and each keeps four bytes.
#[derive(Clone, Copy, Debug)]
pub struct TxPace {
    rate: Rate,
    /// Nanoseconds per byte in 32.32 fixed point, where they have 64 bits: of all rates but the
    /// slowest and the fastest.
    nanos: Option<NonZeroU64>,
}

impl TxPace {
    /// For `rate`.
    pub fn new(rate: Rate) -> Self {
        let nanos = u64::try_from(nanos_per_byte(rate)).ok();
        Self {
            rate,
            nanos: nanos.and_then(NonZeroU64::new),
        }
    }

    /// Time that the next `bytes` take after the `fraction` carried over from those before, in
    /// units of 2⁻³² ns. [`Span::MAX`] when stopped.
    #[inline]
    pub fn advance(&self, fraction: &mut u32, bytes: u32) -> Span {
        // One multiplication of 64 bits, and one question whether they hold what comes out.
        if let Some(nanos) = self.nanos {
            let product = u128::from(nanos.get()) * u128::from(bytes);
            let total = product + u128::from(*fraction);
            if let Ok(total) = u64::try_from(total) {
                *fraction = total as u32;
                return Span::from_nanos(total >> 32);
            }
        }
        self.advance_far(fraction, bytes)
    }

    /// The same where 64 bits do not hold it, or of a rate that no bytes pass at.
    #[cold]
    #[inline(never)]
    fn advance_far(&self, fraction: &mut u32, bytes: u32) -> Span {
        if self.rate.is_zero() {
            return Span::MAX;
        }
        let total = nanos_per_byte(self.rate) * u128::from(bytes) + u128::from(*fraction);
        *fraction = total as u32;
        Span::from_nanos(u64::try_from(total >> 32).unwrap_or(u64::MAX))
    }

    /// [`TxClock::finish`] for a transmitter that is free at `free_at`, which becomes the answer.
    #[expect(clippy::inline_always, reason = "mostly it is a multiplication")]
    #[inline(always)]
    pub fn finish(&self, fraction: &mut u32, free_at: &mut Time, start: Time, bytes: u32) -> Time {
        if start > *free_at {
            *fraction = 0;
        }
        *free_at = start + self.advance(fraction, bytes);
        *free_at
    }
}

/// In 32.32 fixed point; zero when stopped.
fn nanos_per_byte(rate: Rate) -> u128 {
    match rate.as_bps() {
        0 => 0,
        bps => ((8_000_000_000_u128 << 32) + u128::from(bps) / 2) / u128::from(bps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(
            Rate::from_bps(12_000_000).time_for(1500),
            Span::from_millis(1)
        );
        assert_eq!(
            Rate::from_bps(1_000_000).bytes_in(Span::from_secs(1)),
            125_000
        );
        assert_eq!(Rate::ZERO.time_for(1), Span::MAX);
    }

    #[test]
    fn a_million_packets_take_the_exact_time() {
        for bps in [
            1,
            2,
            64_000,
            1_000_000,
            12_000_000,
            999_999_999,
            10_000_000_000,
            100_000_000_000,
        ] {
            let mut clock = TxClock::new(Rate::from_bps(bps));
            let sum: u64 = (0..1_000_000).map(|_| clock.advance(1514).as_nanos()).sum();
            let exact = 1514.0 * 8.0 * 1e15 / bps as f64;
            assert!(
                (sum as f64 - exact).abs() <= 1.0 + exact * 3e-9,
                "{bps}: {sum} {exact}"
            );
        }
    }

    #[test]
    fn both_ways_of_counting_agree() {
        for bps in [1, 2, 3, 999, 1000, 64_000, 999_999_999, u64::MAX] {
            let pace = TxPace::new(Rate::from_bps(bps));
            let (mut one, mut other) = (u32::MAX, u32::MAX);
            for bytes in [0, 1, 40, 1514, 65_535, 1 << 20, u32::MAX] {
                let span = pace.advance(&mut one, bytes);
                assert_eq!(span, pace.advance_far(&mut other, bytes), "{bps} {bytes}");
                assert_eq!(one, other, "{bps} {bytes}");
            }
        }
    }

    #[test]
    fn packets_alone_take_the_same_time() {
        // 40 bytes at 3 Mbit/s last 106 666⅔ ns: in a row 666, 1333 and 2000, alone 666.
        let mut clock = TxClock::new(Rate::from_bps(3_000_000));
        let (row, pause) = (Span::ZERO, Span::from_millis(1));
        let mut next = |end: Time, gap: Span| clock.finish(end + gap, 40);
        let first = next(Time::ZERO, row);
        let second = next(first, row);
        let third = next(second, row);
        let alone = next(third, pause);
        assert_eq!(
            [first, second, third].map(Time::as_nanos),
            [106_666, 213_333, 320_000]
        );
        assert_eq!((alone - third).as_nanos(), 1_106_666);
        assert_eq!((next(alone, pause) - alone).as_nanos(), 1_106_666);
    }

    #[test]
    fn a_stopped_link_never_finishes() {
        let mut clock = TxClock::new(Rate::ZERO);
        assert_eq!(clock.finish(Time::ZERO, 1), Time::MAX);
    }
}
