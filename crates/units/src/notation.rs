//! tc's notation for rates, sizes and times: reading and printing.
//!
//! Source: iproute2 `tc(8)` sections PARAMETERS and UNITS, and the way `tc -s` prints.
//! `kbit` is 1000 bit/s, `kibit` 1024; `kb` and `k` are 1024 bytes; `bps` is bytes per second. A
//! bare size is bytes.
//!
//! Differs from tc: a bare rate (bit/s there) and a bare time (microseconds) are refused, because
//! who writes `20` or `5` mostly means another unit. Zero is zero in any. `20 Mbit/s`, as results
//! show a rate, is read too.

use crate::{Rate, Span};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// A quantity that cannot be read; says what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    wanted: &'static str,
    /// It is a number, and only the unit is missing.
    bare: bool,
}

impl UnitError {
    /// Whether it is a number, and only the unit is missing.
    pub const fn lacks_unit(&self) -> bool {
        self.bare
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = if self.bare { "needs a unit:" } else { "is not" };
        write!(f, "`{}` {problem} {}", self.text, self.wanted)
    }
}

impl core::error::Error for UnitError {}

const RATE_WANTED: &str =
    "a rate (a number with bit, kbit, mbit, gbit or tbit, for example `20mbit`)";
const SIZE_WANTED: &str = "a size (a number with b, kb, mb or gb, for example `64kb`)";
const SPAN_WANTED: &str = "a time (a number with s, ms, us or ns, for example `5ms`)";

/// Units of a rate: bit/s each.
const RATE_UNITS: &[(&str, f64)] = &[
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("mbit/s", 1e6),
    ("gbit/s", 1e9),
    ("tbit/s", 1e12),
    ("kibit", 1024.0),
    ("mibit", 1_048_576.0),
    ("gibit", 1_073_741_824.0),
    ("tibit", 1_099_511_627_776.0),
    ("bps", 8.0),
    ("kbps", 8e3),
    ("mbps", 8e6),
    ("gbps", 8e9),
    ("tbps", 8e12),
    ("kibps", 8.0 * 1024.0),
    ("mibps", 8.0 * 1_048_576.0),
    ("gibps", 8.0 * 1_073_741_824.0),
    ("tibps", 8.0 * 1_099_511_627_776.0),
];

/// Units of a size: bytes each.
const SIZE_UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("kbit", 128.0),
    ("mbit", 131_072.0),
    ("gbit", 134_217_728.0),
];

/// Units of a time: nanoseconds each.
const SPAN_UNITS: &[(&str, f64)] = &[
    ("s", 1e9),
    ("sec", 1e9),
    ("secs", 1e9),
    ("ms", 1e6),
    ("msec", 1e6),
    ("msecs", 1e6),
    ("us", 1e3),
    ("usec", 1e3),
    ("usecs", 1e3),
    ("ns", 1.0),
    ("nsec", 1.0),
    ("nsecs", 1.0),
];

/// Whether a word is a unit alone, of a rate, a size or a time: what stands behind a blank.
pub fn is_unit(word: &str) -> bool {
    let mut known = [RATE_UNITS, SIZE_UNITS, SPAN_UNITS].into_iter().flatten();
    !word.is_empty() && known.any(|(name, _)| name.eq_ignore_ascii_case(word))
}

/// What a rate in bytes per second (`20Mbps`) is in bits, for who meant bits; none for a rate in
/// other units. `Mbps` is megabit on a provider's page and megabyte in tc.
pub fn rate_in_bytes(text: &str) -> Option<Rate> {
    let trimmed = text.trim();
    let stem = trimmed.len().checked_sub(3)?;
    let is_bytes = trimmed.get(stem..)?.eq_ignore_ascii_case("bps");
    parse_rate(trimmed).ok().filter(|_| is_bytes)
}

fn parse(text: &str, units: &[(&str, f64)], wanted: &'static str) -> Result<f64, UnitError> {
    let error = |bare| UnitError {
        text: text.to_string(),
        wanted,
        bare,
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: f64 = number.parse().map_err(|_| error(false))?;
    let unit = unit.trim_start();
    let factor = match units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
    {
        Some((_, factor)) => *factor,
        // Nothing is nothing in any unit.
        None if unit.is_empty() && number == 0.0 => 1.0,
        None => return Err(error(unit.is_empty())),
    };
    let value = number * factor;
    // 2^63: far above any rate, size or time that means something, and exact as an integer.
    if value.is_finite() && value < 9.2e18 {
        Ok(value)
    } else {
        Err(error(false))
    }
}

/// Reads a rate in tc's notation.
///
/// # Errors
/// When the text is no number with a rate unit, unless it is zero.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    parse(text, RATE_UNITS, RATE_WANTED).map(|bps| Rate::from_bps((bps + 0.5) as u64))
}

/// Reads a size in bytes in tc's notation. Of a fraction whole bytes count, as in tc.
///
/// # Errors
/// When the text is no number with a size unit.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    parse(text, SIZE_UNITS, SIZE_WANTED).map(|bytes| bytes as u64)
}

/// Reads a time in tc's notation.
///
/// # Errors
/// When the text is no number with a time unit, unless it is zero.
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    parse(text, SPAN_UNITS, SPAN_WANTED).map(|nanos| Span::from_nanos((nanos + 0.5) as u64))
}

/// Prints a rate as `tc` does, but never loses digits: the largest unit that divides it.
pub fn show_rate(rate: Rate) -> String {
    show_whole(
        rate.as_bps(),
        1000,
        &["bit", "Kbit", "Mbit", "Gbit", "Tbit"],
    )
}

/// Prints a size as `tc` does (`32Mb`, `64Kb`, `1500b`), never losing digits.
pub fn show_size(bytes: u64) -> String {
    show_whole(bytes, 1024, &["b", "Kb", "Mb", "Gb"])
}

/// A whole number of the largest of `units`, each `step` times the one before.
fn show_whole(mut number: u64, step: u64, units: &[&str]) -> String {
    let mut unit = 0;
    while number > 0 && number.is_multiple_of(step) && unit + 1 < units.len() {
        (number, unit) = (number / step, unit + 1);
    }
    format!("{number}{}", units[unit])
}

/// Prints a time as `tc` does (`5ms`, `1s`, `250us`), never losing digits.
pub fn show_span(span: Span) -> String {
    let nanos = span.as_nanos();
    for (unit, factor) in [("s", 1_000_000_000_u64), ("ms", 1_000_000), ("us", 1000)] {
        // Up to three decimals, as in `1.5ms`, when they are exact.
        if nanos >= factor && nanos.is_multiple_of(factor / 1000) {
            let (whole, rest) = (nanos / factor, nanos % factor / (factor / 1000));
            return match rest {
                0 => format!("{whole}{unit}"),
                _ => format!(
                    "{whole}.{}{unit}",
                    format!("{rest:03}").trim_end_matches('0')
                ),
            };
        }
    }
    format!("{nanos}ns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_what_tc_reads() {
        assert_eq!(parse_rate("20mbit").unwrap(), Rate::from_bps(20_000_000));
        assert_eq!(parse_rate("1.5Mbit").unwrap(), Rate::from_bps(1_500_000));
        assert_eq!(parse_rate("125kbps").unwrap(), Rate::from_bps(1_000_000));
        assert_eq!(parse_rate("1000bit").unwrap(), Rate::from_bps(1000));
        for text in ["20 Mbit/s", "20Mbit/s", "20000 kbit/s"] {
            assert_eq!(parse_rate(text).unwrap(), Rate::from_bps(20_000_000));
        }
        assert_eq!(rate_in_bytes("20Mbps"), Some(Rate::from_bps(160_000_000)));
        assert_eq!(rate_in_bytes("20mbit"), None);
        assert!(is_unit("Mbit/s") && is_unit("ms") && !is_unit("limit") && !is_unit(""));
        assert_eq!(parse_rate("0").unwrap(), Rate::ZERO);
        assert_eq!(parse_span("0").unwrap(), Span::ZERO);
        assert_eq!(parse_size("32Mb").unwrap(), 32 << 20);
        assert_eq!(parse_size("1600").unwrap(), 1600);
        assert_eq!(parse_span("5ms").unwrap(), Span::from_millis(5));
        assert_eq!(parse_span("15000us").unwrap(), Span::from_millis(15));
        assert_eq!(parse_span("1.5 s").unwrap(), Span::from_millis(1500));
    }

    #[test]
    fn refuses_the_rest_and_says_what_is_right() {
        for text in [
            "",
            "fast",
            "-1mbit",
            "1e400mbit",
            "5 parsecs",
            "1.2.3ms",
            "mbit",
        ] {
            assert!(parse_rate(text).is_err(), "{text}");
            assert!(parse_span(text).is_err(), "{text}");
        }
        let error = parse_span("5mbit").unwrap_err().to_string();
        assert!(error.contains("`5mbit` is not a time"), "{error}");
        for (text, error) in [
            ("20", parse_rate("20").unwrap_err()),
            ("5", parse_span("5").unwrap_err()),
            ("0.5", parse_span("0.5").unwrap_err()),
        ] {
            let error = error.to_string();
            assert!(
                error.starts_with(&format!("`{text}` needs a unit: a ")),
                "{error}"
            );
        }
        assert!(parse_size("12ms").is_err());
        assert!(parse_rate("99999999999999tbit").is_err());
    }

    #[test]
    fn what_is_printed_reads_back() {
        for nanos in [
            0,
            1,
            999,
            1000,
            1500,
            999_999,
            1_500_000,
            20_000_000,
            1_234_567_890,
        ] {
            let span = Span::from_nanos(nanos);
            assert_eq!(
                parse_span(&show_span(span)).unwrap(),
                span,
                "{}",
                show_span(span)
            );
        }
        for bps in [0, 1, 999, 64_000, 1_500_000, 12_000_000, 10_000_000_000] {
            let rate = Rate::from_bps(bps);
            assert_eq!(parse_rate(&show_rate(rate)).unwrap(), rate);
        }
        for bytes in [0, 1, 1514, 1024, 32 << 20, (32 << 20) + 1] {
            assert_eq!(parse_size(&show_size(bytes)).unwrap(), bytes);
        }
        assert_eq!(show_span(Span::from_micros(1500)), "1.5ms");
        assert_eq!(show_span(Span::from_millis(100)), "100ms");
    }
}
