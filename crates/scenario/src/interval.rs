//! An interval of a field's values: `1mbit .. 100mbit`.
//!
//! A place in it is a share from 0 to 1. Between ends that are ten times apart or more it goes by
//! ratios, so that small values are as likely as large ones.

use crate::parameter::Quantity;
use crate::tree::{Node, Value};
use sojourn_text::problem::Origin;
use sojourn_units::{Rate, Span, show_rate, show_span};

/// From this ratio of its ends on, an interval goes by ratios.
const WIDE: f64 = 10.0;
/// What stands for the lower end of an interval from zero that goes by ratios, over the upper one.
const NEAR_ZERO: f64 = 1e-3;

/// An interval of numbers of one quantity, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
    quantity: Quantity,
    /// Only whole numbers.
    whole: bool,
}

impl Interval {
    /// Reads `LOW .. HIGH`; the error says what is wrong.
    ///
    /// # Errors
    /// When it is no interval.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not an interval, such as `1mbit .. 100mbit`");
        let (low, high) = text.split_once("..").ok_or_else(form)?;
        let (low, high) = (low.trim(), high.trim());
        let of = |quantity: Quantity| {
            let (low, high) = (quantity.number(low), quantity.number(high));
            (low.is_finite() && high.is_finite()).then_some((low, high))
        };
        // A bare zero is a number, a time and a size: the other end tells which.
        let (quantity, (low, high)) = [
            Quantity::Number,
            Quantity::Time,
            Quantity::Rate,
            Quantity::Probability,
            Quantity::Length,
            Quantity::Size,
        ]
        .into_iter()
        .find_map(|quantity| Some((quantity, of(quantity)?)))
        .ok_or_else(form)?;
        if low > high {
            return Err(format!("`{text}` ends below its beginning"));
        }
        let is_whole = |text: &str| text.parse::<i64>().is_ok();
        let (first, last) = text.split_once("..").unwrap_or_default();
        Ok(Self {
            low,
            high,
            quantity,
            whole: quantity == Quantity::Size
                || quantity == Quantity::Number && is_whole(first.trim()) && is_whole(last.trim()),
        })
    }

    /// The lower end.
    pub const fn low(&self) -> f64 {
        self.low
    }

    /// The upper end.
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// What its numbers are.
    pub const fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Whether only whole numbers are in it.
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// The lower end as ratios need it; none where it does not go by ratios.
    fn ratio_from(&self) -> Option<f64> {
        let from = if self.low == 0.0 && !self.whole {
            self.high * NEAR_ZERO
        } else if self.low == 0.0 {
            1.0
        } else {
            self.low
        };
        (from > 0.0 && self.high >= WIDE * from).then_some(from)
    }

    /// The value at a share of it, as it is written ([`Interval::round`] to three digits).
    pub fn at(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let value = match self.ratio_from() {
            // The lowest hundredth of what begins at zero is zero.
            Some(_) if self.low == 0.0 && share < 0.01 => 0.0,
            Some(from) => from * libm::pow(self.high / from, share),
            None => self.low + share * (self.high - self.low),
        };
        self.round(value, 3)
    }

    /// The share at which a value is.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.ratio_from() {
            Some(from) => libm::log(value.max(from) / from) / libm::log(self.high / from),
            None if self.high > self.low => (value - self.low) / (self.high - self.low),
            None => 0.0,
        };
        share.clamp(0.0, 1.0)
    }

    /// A value with so many significant digits, within the interval.
    pub fn round(&self, value: f64, digits: i32) -> f64 {
        let mut rounded = value;
        if value != 0.0 {
            let decimals = digits - 1 - libm::floor(libm::log10(value.abs())) as i32;
            // Powers of ten with whole exponents are exact; their reciprocals are not.
            let unit = libm::exp10(f64::from(decimals.abs()));
            rounded = if decimals >= 0 {
                libm::round(value * unit) / unit
            } else {
                libm::round(value / unit) * unit
            };
        }
        if self.whole {
            rounded = libm::round(rounded);
        }
        rounded.clamp(self.low, self.high)
    }

    /// A value as a scenario has it.
    pub fn node(&self, value: f64) -> Node {
        let whole = || value.max(0.0) as u64;
        let value = match self.quantity {
            // Milliseconds, to the nanosecond.
            Quantity::Time => {
                let nanos = libm::round(value * 1e6) as u64;
                Value::Text(show_span(Span::from_nanos(nanos)))
            }
            Quantity::Rate => Value::Text(show_rate(Rate::from_bps(whole())).to_ascii_lowercase()),
            Quantity::Probability => Value::Text(format!("{}%", percent(value))),
            Quantity::Length => Value::Text(format!("{value}m")),
            _ if self.whole => Value::Integer(value as i64),
            _ => Value::Float(value),
        };
        let text = match &value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            _ => format!("{value:?}"),
        };
        Node {
            value,
            at: Origin::NOWHERE,
            text,
        }
    }
}

/// A share in per cent, without the noise of the multiplication.
fn percent(share: f64) -> f64 {
    libm::round(share * 1e8) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(interval: &str, share: f64) -> String {
        let interval = Interval::parse(interval).expect("an interval");
        interval.node(interval.at(share)).text
    }

    #[test]
    fn shares_become_values_with_units() {
        for (interval, share, value) in [
            ("1mbit .. 100mbit", 0.0, "1mbit"),
            ("1mbit .. 100mbit", 0.5, "10mbit"),
            ("1mbit..100mbit", 1.0, "100mbit"),
            ("1mbit .. 100mbit", 0.25, "3160kbit"),
            ("10ms .. 30ms", 0.5, "20ms"),
            ("1.5s .. 2s", 0.5, "1.75s"),
            ("1 .. 5", 0.5, "3"),
            ("0 .. 5", 0.0, "0"),
            ("0% .. 5%", 0.5, "0.158%"),
            ("1% .. 5%", 0.5, "3%"),
            ("0% .. 5%", 0.0, "0%"),
            ("64kb .. 64kb", 0.7, "65536"),
        ] {
            assert_eq!(text(interval, share), value, "{interval} at {share}");
        }
    }

    #[test]
    fn values_have_their_shares() {
        for interval in ["1mbit .. 100mbit", "0 .. 40", "10ms .. 30ms", "0.1 .. 0.9"] {
            let interval = Interval::parse(interval).expect("an interval");
            for step in 2..=10 {
                let value = interval.at(f64::from(step) / 10.0);
                let again = interval.at(interval.share(value));
                assert!(
                    (again - value).abs() <= 1e-9 * value,
                    "{interval:?}: {value} {again}"
                );
            }
        }
    }

    #[test]
    fn rounding_stays_inside() {
        let interval = Interval::parse("12.7ms .. 300ms").expect("an interval");
        assert_eq!(interval.round(234.5, 1).to_bits(), 200_f64.to_bits());
        assert_eq!(interval.round(13.1, 1).to_bits(), 12.7_f64.to_bits());
        let count = Interval::parse("1 .. 9").expect("an interval");
        assert_eq!(count.round(2.4, 3).to_bits(), 2_f64.to_bits());
    }

    #[test]
    fn what_is_no_interval_is_told() {
        for (text, part) in [
            ("1mbit", "not an interval"),
            ("1mbit .. 5ms", "not an interval"),
            ("5 .. 1", "ends below"),
            ("a .. b", "not an interval"),
            ("..", "not an interval"),
        ] {
            let message = Interval::parse(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
