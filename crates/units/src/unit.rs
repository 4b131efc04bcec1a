//! Units of figures: what a number in results is counted in, and how it is shown.
//!
//! Not here: how a scenario writes rates, sizes and times (see `notation`).

use alloc::format;
use alloc::string::String;

crate::words! {
    /// What a number is counted in. Its word stands in results; a share has none there.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Unit {
        /// Nothing: an index, a score, a number of times.
        #[default]
        None = "",
        /// A share of one, shown in per cent.
        Share = "",
        /// Milliseconds.
        Ms = "ms",
        /// Seconds.
        Seconds = "s",
        /// bit/s.
        Bps = "bit/s",
        /// kbit/s.
        Kbps = "kbit/s",
        /// Packets.
        Packets = "packets",
        /// Segments of a TCP connection.
        Segments = "segments",
        /// Bytes.
        Bytes = "bytes",
        /// Messages of an application.
        Messages = "messages",
        /// Beginnings of a flow.
        Flows = "flows",
        /// Samples of a distribution.
        Samples = "samples",
    }
}

/// Units under the names by which values are given, each with what such a value is multiplied
/// with to be as figures are.
const GIVEN: [(&str, Unit, f64); 9] = [
    ("%", Unit::Share, 0.01),
    ("share", Unit::Share, 1.0),
    ("ms", Unit::Ms, 1.0),
    ("s", Unit::Seconds, 1.0),
    ("bit/s", Unit::Bps, 1.0),
    ("kbit/s", Unit::Bps, 1e3),
    ("Mbit/s", Unit::Bps, 1e6),
    ("Gbit/s", Unit::Bps, 1e9),
    ("packets", Unit::Packets, 1.0),
];

/// A number as people read it: with a minus sign (U+2212) in a hyphen's place, and without a sign
/// where all its digits are zero. Programs read the number as it was.
pub fn typeset(number: &str) -> String {
    match number.strip_prefix(['-', '+']) {
        Some(size) if !size.contains(|c| matches!(c, '1'..='9')) => size.into(),
        Some(size) if number.starts_with('-') => format!("\u{2212}{size}"),
        _ => number.into(),
    }
}

impl Unit {
    /// The unit that stands so in results. An empty name is [`Unit::None`].
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.word() == name)
    }

    /// The unit of a value that is given with this name, and what the value is multiplied with
    /// to be as figures are: `("Mbit/s")` is bit/s and a million.
    pub fn given(name: &str) -> Option<(Self, f64)> {
        if name.is_empty() {
            return Some((Self::None, 1.0));
        }
        let found = GIVEN.iter().find(|(known, ..)| *known == name)?;
        Some((found.1, found.2))
    }

    /// What [`Unit::given`] knows.
    pub fn given_names() -> [&'static str; 9] {
        GIVEN.map(|(name, ..)| name)
    }

    /// A value as it stands on a chart's axis: shares in per cent, rates in Mbit/s.
    pub fn on_axis(self, value: f64) -> f64 {
        match self {
            Self::Share => value * 100.0,
            Self::Bps => value / 1e6,
            _ => value,
        }
    }

    /// The unit of [`Unit::on_axis`]: `%`, `Mbit/s`, otherwise as in results.
    pub const fn on_axis_name(self) -> &'static str {
        match self {
            Self::Share => "%",
            Self::Bps => "Mbit/s",
            _ => self.word(),
        }
    }

    /// A value with three to four digits and its unit, to be read by people.
    pub fn show(self, value: f64) -> String {
        self.show_finer(value, 0)
    }

    /// Values with as many digits more as it takes to tell those apart that differ: a share of
    /// 99.9% is not 100 %. Beyond four more they are as good as equal.
    pub fn show_apart<const N: usize>(self, values: [f64; N]) -> [String; N] {
        let shown = |more| values.map(|value| self.show_finer(value, more));
        let tells_apart = |more: &usize| {
            // `100.0` and `100` are one number.
            let number = |i: usize| self.number(values[i], *more).parse::<f64>().ok();
            let pairs = (0..N).flat_map(|i| (i + 1..N).map(move |j| (i, j)));
            { pairs }
                .all(|(i, j)| values[i].to_bits() == values[j].to_bits() || number(i) != number(j))
        };
        shown((0..4).find(tells_apart).unwrap_or(4))
    }

    /// With so many more digits behind the point.
    fn show_finer(self, value: f64, more: usize) -> String {
        if !value.is_finite() {
            return "no value".into();
        }
        let number = typeset(&self.number(value, more));
        match self.on_axis_name() {
            "" => number,
            unit => format!("{number} {unit}"),
        }
    }

    /// The number alone, as Rust writes it.
    fn number(self, value: f64, more: usize) -> String {
        let value = self.on_axis(value);
        let digits = match value.abs() {
            a if a >= 100.0 => 0,
            a if a >= 10.0 => 1,
            a if a >= 1.0 || a == 0.0 => 2,
            _ => 3,
        };
        format!("{value:.*}", digits + more)
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, typeset};

    #[test]
    fn values_are_shown_with_their_unit() {
        for (unit, value, shown) in [
            (Unit::None, 1.0, "1.00"),
            (Unit::Share, 0.5, "50.0 %"),
            (Unit::Bps, 12_345_678.0, "12.3 Mbit/s"),
            (Unit::Kbps, 0.5, "0.500 kbit/s"),
            (Unit::Segments, 123.4, "123 segments"),
            (Unit::Ms, -2.5, "\u{2212}2.50 ms"),
            (Unit::Share, -0.000_001, "0.000 %"),
            (Unit::Ms, f64::NAN, "no value"),
        ] {
            assert_eq!(unit.show(value), shown);
        }
    }

    #[test]
    fn values_that_differ_are_shown_apart() {
        let shown = Unit::Share.show_apart([0.999_98, 0.999, 1.001]);
        assert_eq!(shown, ["100.00 %", "99.90 %", "100.1 %"]);
        // As everywhere where three digits tell them apart, and where nothing can.
        assert_eq!(Unit::Ms.show_apart([1.0, 2.0]), ["1.00 ms", "2.00 ms"]);
        assert_eq!(Unit::Ms.show_apart([1.0, 1.0]), ["1.00 ms", "1.00 ms"]);
        let below = Unit::Ms.show_apart([-5.001, -5.0]);
        assert_eq!(below, ["\u{2212}5.001 ms", "\u{2212}5.000 ms"]);
    }

    #[test]
    fn people_read_a_minus_sign() {
        for (number, shown) in [
            ("-1.5", "\u{2212}1.5"),
            ("-0.0", "0.0"),
            ("+0.0", "0.0"),
            ("+0.1", "+0.1"),
            ("12", "12"),
        ] {
            assert_eq!(typeset(number), shown);
        }
    }

    #[test]
    fn names_are_found_again() {
        for unit in Unit::ALL {
            let expected = if unit == Unit::Share {
                Unit::None
            } else {
                unit
            };
            assert_eq!(Unit::of_name(unit.word()), Some(expected));
        }
        assert_eq!(Unit::of_name("parsecs"), None);
        assert_eq!(Unit::given("Mbit/s"), Some((Unit::Bps, 1e6)));
        assert_eq!(Unit::given("furlongs"), None);
    }
}
