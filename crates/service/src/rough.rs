//! Numbers that are measured, for people: three digits.

use sojourn_units::{Rate, significant};

/// A number in the unit that leaves less than a thousand before the point, each unit a thousand of
/// the one before.
pub fn scaled(mut number: f64, units: [&str; 5]) -> String {
    let mut unit = 0;
    // What rounds to a thousand is one of the next unit.
    while number >= 999.5 && unit + 1 < units.len() {
        (number, unit) = (number / 1000.0, unit + 1);
    }
    format!("{}{}", significant(number, 3), units[unit])
}

/// A rate that was measured.
pub fn rough_rate(rate: Rate) -> String {
    let bps = rate.as_bps() as f64;
    scaled(bps, ["bit", "Kbit", "Mbit", "Gbit", "Tbit"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        for (bps, shown) in [
            (0, "0bit"),
            (999, "999bit"),
            (19_710_326, "19.7Mbit"),
            (999_499, "999Kbit"),
            (1_000_000, "1.00Mbit"),
            (2_000_000_000, "2.00Gbit"),
        ] {
            assert_eq!(rough_rate(Rate::from_bps(bps)), shown);
        }
    }
}
