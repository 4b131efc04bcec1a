//! Numbers for people.

use alloc::format;
use alloc::string::String;

/// `x` with so many significant digits, without an exponent.
pub fn significant(x: f64, digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x:.0}");
    }
    let decimals = digits - 1 - libm::floor(libm::log10(libm::fabs(x))) as i32;
    if decimals > 0 {
        format!("{x:.*}", decimals.min(6) as usize)
    } else {
        let unit = libm::exp10(f64::from(-decimals));
        format!("{:.0}", libm::round(x / unit) * unit)
    }
}
