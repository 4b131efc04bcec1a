//! Numbers for people.

use sojourn_units::significant;

/// How a figure is shown, with so many significant digits.
pub(crate) type Show = fn(f64, i32) -> String;

/// Milliseconds, or seconds when they are many.
pub(crate) fn ms_to(ms: f64, digits: i32) -> String {
    if ms >= 1000.0 {
        format!("{} s", significant(ms / 1000.0, digits))
    } else if ms < 0.01 {
        format!("{} ms", significant((ms * 1000.0).round() / 1000.0, 1))
    } else {
        format!("{} ms", significant(ms, digits))
    }
}

/// Milliseconds or seconds with three digits.
pub(crate) fn ms(ms: f64) -> String {
    ms_to(ms, 3)
}

/// A rate in the unit in which it reads best.
pub(crate) fn rate_to(bps: f64, digits: i32) -> String {
    match bps {
        _ if bps >= 1e9 => format!("{} Gbit/s", significant(bps / 1e9, digits)),
        _ if bps >= 1e6 => format!("{} Mbit/s", significant(bps / 1e6, digits)),
        _ => format!("{} kbit/s", significant(bps / 1e3, digits)),
    }
}

/// A rate with three digits.
pub(crate) fn rate(bps: f64) -> String {
    rate_to(bps, 3)
}

/// A share of one as percent, two digits at most.
pub(crate) fn percent(share: f64) -> String {
    percent_to(share, 2)
}

/// A share of one as percent.
pub(crate) fn percent_to(share: f64, digits: i32) -> String {
    format!("{} %", significant(share * 100.0, digits.min(2)))
}

/// An index between zero and one.
pub(crate) fn index_to(x: f64, digits: i32) -> String {
    format!("{x:.*}", digits.clamp(0, 9) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(significant(971.4, 2), "970");
        assert_eq!(significant(0.001_234, 2), "0.0012");
        assert_eq!(significant(9.996, 3), "10.00");
        for power in 1..=6 {
            let tick: f64 = format!("1e-{power}").parse().expect("a number");
            assert_eq!(significant(tick, 1), format!("{tick}"));
        }
        assert_eq!(
            (ms(2.2345), ms(1234.0)),
            ("2.23 ms".into(), "1.23 s".into())
        );
        assert_eq!((ms(0.0), ms(0.004)), ("0 ms".into(), "0.004 ms".into()));
        assert_eq!(rate(11_990_000.0), "12.0 Mbit/s");
        assert_eq!(rate(2_000.0), "2.00 kbit/s");
        assert_eq!(
            (percent(0.0123), percent(0.0)),
            ("1.2 %".into(), "0 %".into())
        );
    }
}
