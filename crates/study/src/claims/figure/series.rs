//! What a claim reads off a series, between two times of the run.

use sojourn_scenario::problem::suggestion;
use sojourn_units::Unit;
use sojourn_world::Series;
use sojourn_world::figure::{self, Kind};

const STATISTICS: [&str; 11] = [
    "mean",
    "min",
    "max",
    "sd",
    "p5",
    "p25",
    "p50",
    "p75",
    "p95",
    "first_below",
    "first_above",
];

#[derive(Clone, Copy, Debug)]
enum Statistic {
    Mean,
    Min,
    Max,
    /// The standard deviation of a sample.
    Deviation,
    /// The value below which this share of the intervals lies, on the line between two.
    Quantile(f64),
    /// When it first is below a value, which is in the series' own unit.
    FirstBelow(f64),
    FirstAbove(f64),
}

/// Which series, and what of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    metric: &'static str,
    unit: Unit,
    statistic: Statistic,
    /// Seconds from the start of the run; an interval counts if it ends after this ...
    from: f64,
    /// ... and not after this.
    to: f64,
}

impl Reading {
    /// The reading that `name` means behind `link.series.` or `flow.series.`, as `target.mean`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub(super) fn find(kind: Kind, name: &str, numbers: &[f64]) -> Result<Self, (String, String)> {
        let (metric, word) = name.split_once('.').unwrap_or((name, ""));
        let Some(figure) = figure::series(kind).find(|known| known.key == metric) else {
            let names: Vec<&str> = figure::series(kind).map(|known| known.key).collect();
            let message = format!("unknown series `{metric}`");
            return Err((message, suggestion(metric, &names)));
        };
        let (statistic, from, to) = match (word, numbers) {
            ("mean", &[from, to]) => (Statistic::Mean, from, to),
            ("min", &[from, to]) => (Statistic::Min, from, to),
            ("max", &[from, to]) => (Statistic::Max, from, to),
            ("sd", &[from, to]) => (Statistic::Deviation, from, to),
            ("p5", &[from, to]) => (Statistic::Quantile(0.05), from, to),
            ("p25", &[from, to]) => (Statistic::Quantile(0.25), from, to),
            ("p50", &[from, to]) => (Statistic::Quantile(0.5), from, to),
            ("p75", &[from, to]) => (Statistic::Quantile(0.75), from, to),
            ("p95", &[from, to]) => (Statistic::Quantile(0.95), from, to),
            ("first_below", &[value, from, to]) => (Statistic::FirstBelow(value), from, to),
            ("first_above", &[value, from, to]) => (Statistic::FirstAbove(value), from, to),
            ("mean" | "min" | "max" | "sd" | "p5" | "p25" | "p50" | "p75" | "p95", _) => {
                let help = format!("{metric}.{word}(10, 20): from 10 s to 20 s of the run");
                return Err((format!("`{word}` needs two times"), help));
            }
            ("first_below" | "first_above", _) => {
                let help = format!("{metric}.{word}(5, 10, 20): 5, from 10 s to 20 s of the run");
                return Err((format!("`{word}` needs a value and two times"), help));
            }
            _ => {
                let message = format!("`{word}` is nothing that is read off a series");
                return Err((message, suggestion(word, &STATISTICS)));
            }
        };
        if from >= to {
            let message = format!("nothing lies between {from} s and {to} s");
            return Err((message, "the earlier time comes first".into()));
        }
        Ok(Self {
            metric: figure.key,
            unit: figure.unit,
            statistic,
            from,
            to,
        })
    }

    pub(super) const fn metric(&self) -> &'static str {
        self.metric
    }

    pub(super) fn unit(&self) -> Unit {
        match self.statistic {
            Statistic::FirstBelow(_) | Statistic::FirstAbove(_) => Unit::Seconds,
            _ => self.unit,
        }
    }

    /// Its value; NaN when the series is not there or has nothing in that time.
    pub(super) fn of(&self, series: &[Series]) -> f64 {
        let Some(series) = series.iter().find(|series| series.metric == self.metric) else {
            return f64::NAN;
        };
        // A point has the time at the end of its interval, which is a sum of rounded steps.
        let slack = 1e-6;
        let mut points = series.points.iter().filter(|point| {
            let is_within = point.t > self.from + slack && point.t <= self.to + slack;
            is_within && point.value.is_finite()
        });
        let first = |point: Option<&sojourn_world::Point>| point.map_or(f64::NAN, |point| point.t);
        match self.statistic {
            Statistic::FirstBelow(value) => first(points.find(|point| point.value < value)),
            Statistic::FirstAbove(value) => first(points.find(|point| point.value > value)),
            Statistic::Min => points.map(|point| point.value).fold(f64::NAN, f64::min),
            Statistic::Max => points.map(|point| point.value).fold(f64::NAN, f64::max),
            Statistic::Mean => mean(points.map(|point| point.value)),
            Statistic::Deviation => {
                let values: Vec<f64> = points.map(|point| point.value).collect();
                let centre = mean(values.iter().copied());
                let squares = values
                    .iter()
                    .map(|value| (value - centre) * (value - centre));
                // Of one value there is none.
                (squares.sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
            }
            Statistic::Quantile(share) => {
                let mut values: Vec<f64> = points.map(|point| point.value).collect();
                values.sort_by(f64::total_cmp);
                let Some(last) = values.len().checked_sub(1) else {
                    return f64::NAN;
                };
                let at = share * last as f64;
                let below = at as usize;
                let above = values[last.min(below + 1)];
                values[below] + (above - values[below]) * at.fract()
            }
        }
    }
}

/// NaN of no values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}
