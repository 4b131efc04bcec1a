//! Making a finding smaller while it still breaks, without leaving the space.
//!
//! What counts something (flows, bytes, losses, a duration) becomes less; what does not (a rate, a
//! round-trip time) becomes a rounder number. Each change is smaller than what was before, so that
//! it ends.

use crate::point::Point;
use crate::search::Hunt;
use crate::trial::Broken;
use sojourn_scenario::{Dimension, Gene, Interval, Quantity, Values};

/// Most runs that are spent on it.
const MOST_RUNS: usize = 600;
/// Seeds from 1 to this are tried instead of a larger one.
const SMALL_SEEDS: u64 = 8;
/// Shares of what a number has above its interval's lower end.
const LESS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 0.9];

impl Hunt<'_> {
    /// The smallest point that breaks in the same manner, and the runs that it took.
    pub(crate) fn shrink(&self, mut point: Point, mut broken: Broken) -> (Point, Broken, usize) {
        let dimensions = self.space.dimensions();
        let mut order: Vec<usize> = (0..dimensions.len()).collect();
        order.sort_by_key(|&which| weight(&dimensions[which]));
        let mut runs = 0;
        loop {
            let mut is_smaller = false;
            let all = order.iter().copied().map(Some).chain([None]);
            for which in all {
                let smaller = match which {
                    Some(which) => smaller(&point, which, &dimensions[which]),
                    None => seeds(&point),
                };
                if smaller.is_empty() || runs >= MOST_RUNS {
                    continue;
                }
                let trials = self.trials(smaller);
                runs += trials.iter().map(|trial| trial.runs).sum::<usize>();
                let same = trials.into_iter().find_map(|trial| {
                    let found = trial.broken()?;
                    is_same(&found, &broken).then_some((trial.point, found))
                });
                if let Some(found) = same {
                    (point, broken) = found;
                    is_smaller = true;
                }
            }
            if !is_smaller {
                return (point, broken, runs);
            }
        }
    }
}

/// A fault of the program is not made into a check that fails, nor the other way.
const fn is_same(a: &Broken, b: &Broken) -> bool {
    matches!(
        (a, b),
        (Broken::Check(_), Broken::Check(_)) | (Broken::Bug(_), Broken::Bug(_))
    )
}

/// What makes runs cheaper comes first.
fn weight(dimension: &Dimension) -> u8 {
    match dimension.path.rsplit('.').next() {
        Some("count") => 0,
        Some("duration") => 1,
        _ => 2,
    }
}

/// The point with smaller values of one dimension, the smallest first.
fn smaller(point: &Point, which: usize, dimension: &Dimension) -> Vec<Point> {
    let genes: Vec<Gene> = match (&dimension.values, point.genes[which]) {
        (Values::Steps(_), Gene::Step(step)) => (0..step).map(Gene::Step).collect(),
        (Values::Interval(interval), Gene::Value(value)) => {
            let values = if counts(dimension, interval) {
                less(interval, value)
            } else {
                rounder(interval, value)
            };
            values.into_iter().map(Gene::Value).collect()
        }
        _ => Vec::new(),
    };
    let points = genes.into_iter().map(|gene| {
        let mut point = point.clone();
        point.genes[which] = gene;
        point
    });
    points.collect()
}

/// Whether less of it makes a scenario smaller.
fn counts(dimension: &Dimension, interval: &Interval) -> bool {
    matches!(interval.quantity(), Quantity::Size | Quantity::Probability)
        || interval.is_whole()
        || matches!(
            dimension.path.rsplit('.').next(),
            Some("duration" | "warmup" | "jitter")
        )
}

/// Values below this one, the lowest first.
fn less(interval: &Interval, value: f64) -> Vec<f64> {
    let above = value - interval.low();
    let shares = LESS.map(|share| interval.round(interval.low() + share * above, 2));
    let rounder = [1, 2].map(|digits| interval.round(value, digits));
    let by_one = interval.is_whole().then_some(value - 1.0);
    let mut less: Vec<f64> = shares.into_iter().chain(rounder).chain(by_one).collect();
    less.retain(|less| *less < value && *less >= interval.low());
    less.sort_by(f64::total_cmp);
    less.dedup();
    less
}

/// The same with fewer digits, the fewest first.
fn rounder(interval: &Interval, value: f64) -> Vec<f64> {
    let rounder = [1, 2].map(|digits| interval.round(value, digits));
    rounder
        .into_iter()
        .filter(|round| (round - value).abs() > 0.0)
        .collect()
}

/// The point with smaller seeds.
fn seeds(point: &Point) -> Vec<Point> {
    let seeds = 1..point.seed.min(SMALL_SEEDS + 1);
    let with = |seed| Point {
        seed,
        ..point.clone()
    };
    seeds.map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(text: &str) -> Interval {
        Interval::parse(text).expect("an interval")
    }

    #[test]
    fn counts_become_less_and_rates_rounder() {
        let flows = interval("0 .. 40");
        assert_eq!(less(&flows, 9.0), [0.0, 2.0, 5.0, 7.0, 8.0]);
        assert_eq!(less(&flows, 0.0), [0.0; 0]);
        let rate = interval("1mbit .. 100mbit");
        assert_eq!(rounder(&rate, 12_300_000.0), [10_000_000.0, 12_000_000.0]);
        assert_eq!(rounder(&rate, 20_000_000.0), [0.0; 0]);
    }

    #[test]
    fn it_ends() {
        for (text, from) in [("0 .. 1000", 999.0), ("0.1% .. 5%", 0.0497)] {
            let interval = interval(text);
            let mut value = from;
            let mut steps = 0;
            // The least that changes, each time.
            while let Some(&next) = less(&interval, value).last() {
                assert!(next < value);
                (value, steps) = (next, steps + 1);
                assert!(steps < 2000, "{text}: {value}");
            }
            assert_eq!(value.to_bits(), interval.low().to_bits(), "{text}");
        }
    }
}
