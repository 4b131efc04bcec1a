//! Points in time and lengths of time.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: nanoseconds since the start of the run (or of the bridge).
///
/// Range 0 to 584 years.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in nanoseconds; never negative.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub const fn as_secs_f64(self) -> f64 {
        float(self.0) * 1e-9
    }

    /// Time since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// A span of `secs` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Milliseconds.
    pub const fn as_millis_f64(self) -> f64 {
        float(self.0) * 1e-6
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, zero when `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The span times `factor`, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

/// The nearest number: what `as` gives, in one instruction where a signed one would do.
const fn float(count: u64) -> f64 {
    match count.cast_signed() {
        signed @ 0.. => signed as f64,
        _ => count as f64,
    }
}

/// Operators, each with what comes out and how; those with `=` assign what comes out.
macro_rules! operators {
    ($($(#[$doc:meta])* $trait:ident::$name:ident for $left:ident, $right:ty:
        |$one:ident, $other:ident| $result:expr => $out:ident;)+) => {
        $(impl $trait<$right> for $left {
            type Output = $out;
            $(#[$doc])*
            fn $name(self, $other: $right) -> $out {
                let $one = self;
                $result
            }
        })+
    };
    (= $($trait:ident::$name:ident for $left:ident by $from:ident::$operator:ident;)+) => {
        $(impl $trait<Span> for $left {
            fn $name(&mut self, span: Span) {
                *self = $from::$operator(*self, span);
            }
        })+
    };
}

operators! {
    Add::add for Time, Span: |time, span| Self(time.0.saturating_add(span.0)) => Time;
    Sub::sub for Time, Span: |time, span| Self(time.0.saturating_sub(span.0)) => Time;
    Sub::sub for Time, Self: |time, earlier| time.since(earlier) => Span;
    Add::add for Span, Self: |one, other| Self(one.0.saturating_add(other.0)) => Span;
    Sub::sub for Span, Self: |one, other| one.saturating_sub(other) => Span;
    Mul::mul for Span, u64: |span, factor| Self(span.0.saturating_mul(factor)) => Span;
    /// Rounds down; division by zero gives [`Span::MAX`].
    Div::div for Span, u64: |span, by| Self(span.0.checked_div(by).unwrap_or(u64::MAX)) => Span;
}

operators! { =
    AddAssign::add_assign for Time by Add::add;
    AddAssign::add_assign for Span by Add::add;
    SubAssign::sub_assign for Span by Sub::sub;
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_backwards_gives_zero() {
        let earlier = Time::from_nanos(5);
        assert_eq!(earlier - Time::from_nanos(9), Span::ZERO);
        assert_eq!(Time::MAX + Span::from_secs(1), Time::MAX);
        assert_eq!(Span::from_secs(u64::MAX), Span::MAX);
        assert_eq!(Span::from_nanos(7) / 0, Span::MAX);
    }

    #[test]
    fn floats_round_to_the_nearest_nanosecond() {
        assert_eq!(Span::from_secs_f64(0.1), Span::from_millis(100));
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_millis(3).mul_f64(0.5), Span::from_micros(1500));
    }
}
