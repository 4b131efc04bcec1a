//! From data to pixels, and round numbers on the way.

use super::number;
use sojourn_units::typeset;

/// Places on an axis with their names.
pub(super) type Ticks = Vec<(f64, String)>;

/// A scale from data to pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) from: (f64, f64),
    pub(super) to: (f64, f64),
    pub(super) log: bool,
}

impl Scale {
    /// Where a value stands. What lies outside is drawn at the edge, a little beyond it.
    pub(super) fn at(self, value: f64) -> f64 {
        let on = |v: f64| {
            if self.log {
                libm::log10(v.max(f64::MIN_POSITIVE))
            } else {
                v
            }
        };
        let (low, high) = (on(self.from.0), on(self.from.1));
        let span = high - low;
        let share = if span == 0.0 {
            0.5
        } else {
            (on(value) - low) / span
        };
        self.to.0 + share.clamp(-0.02, 1.02) * (self.to.1 - self.to.0)
    }

    /// Round numbers in its range.
    pub(super) fn ticks(self) -> Ticks {
        let (low, high) = self.from;
        let list = if self.log {
            decades(low, high)
        } else {
            even(low, high)
        };
        let named = |tick| (tick, typeset(&number(tick)));
        list.into_iter().map(named).collect()
    }
}

/// Four to eight round numbers from `low` to `high`.
pub(super) fn even(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    if raw <= 0.0 || !raw.is_finite() {
        return vec![low];
    }
    let power = libm::exp10(libm::log10(raw).floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= raw)
        .unwrap_or(power * 10.0);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Powers of ten, and twice and five times as much where there are few of them.
pub(super) fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (
        libm::log10(low).floor() as i32,
        libm::log10(high).ceil() as i32,
    );
    let steps: &[f64] = match last - first {
        ..=3 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let powers = (first..=last).map(|power| libm::exp10(f64::from(power)));
    let all = powers.flat_map(|power| steps.iter().map(move |step| step * power));
    all.filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001)
        .collect()
}
