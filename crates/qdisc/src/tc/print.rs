//! Numbers as `tc` prints them.
//!
//! Source: iproute2 6.1 `lib/utils_math.c`, `lib/json_print_math.c`.

use crate::report::Value;
use alloc::format;
use alloc::string::{String, ToString};

pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => significant(*number, 6),
        Value::Bool(on) => on.to_string(),
        Value::Text(text) => text.clone(),
        // Groups have lines of their own in tc: see `tins`.
        Value::Groups(groups) => groups.len().to_string(),
    }
}

/// A size as tc prints it: in a larger unit when that is nearly exact.
pub(super) fn size(bytes: u64) -> String {
    for (unit, factor, slack) in [("Mb", 1_u64 << 20, 1024), ("Kb", 1 << 10, 16)] {
        // C's rint: to the nearest, halves to the even one.
        let whole = libm::rint(bytes as f64 / factor as f64);
        if bytes >= factor && libm::fabs(whole * factor as f64 - bytes as f64) < f64::from(slack) {
            return format!("{}{unit}", significant(whole, 6));
        }
    }
    format!("{bytes}b")
}

/// A time given in microseconds as tc prints it: three digits of seconds or milliseconds.
pub(super) fn time(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let size = micros.unsigned_abs();
    match size {
        0..1000 => format!("{sign}{size}us"),
        1000..1_000_000 => format!("{sign}{}ms", significant(size as f64 / 1e3, 3)),
        _ => format!("{sign}{}s", significant(size as f64 / 1e6, 3)),
    }
}

/// A rate given in byte/s as tc prints it: five digits or so of bits.
pub(super) fn rate(bytes: u64) -> String {
    let mut rest = bytes.saturating_mul(8);
    let mut units = ["", "K", "M", "G", "T"].into_iter();
    let mut unit = units.next();
    for larger in units {
        if rest < 1000 || (!rest.is_multiple_of(1000) && rest < 1_000_000) {
            break;
        }
        rest /= 1000;
        unit = Some(larger);
    }
    format!("{rest}{}bit", unit.unwrap_or_default())
}

/// As C's `%.{digits}g`.
pub(super) fn significant(number: f64, digits: i32) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let after = usize::try_from(digits - 1).unwrap_or(0);
    let scientific = format!("{number:.after$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits).contains(&exponent) {
        let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{number:.places$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(text: &str) -> &str {
    let is_whole = !text.contains('.');
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    if is_whole { text } else { trimmed }
}
