//! A run as rows: those that differ in their numbers alone stand together.

use sojourn_qdisc::{Field, Value as QdiscValue};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Distribution, Kind, Part, Statistic};
use sojourn_world::{Point, RunResult, Series};

/// Rows of one run that have the same texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// `link`, `flow`, `aggregate` or `qdisc`.
    pub(super) kind: &'static str,
    /// The link's or flow's name; empty for `aggregate`.
    pub(super) name: &'a str,
    /// The figure.
    pub(super) metric: &'a str,
    /// `value`, `mean`, `min`, `max`, `count`, `quantile`, `cdf` or `series`.
    pub(super) stat: &'static str,
    /// The values' unit.
    pub(super) unit: Unit,
    /// Their numbers.
    pub(super) points: Points<'a>,
}

/// The numbers of some rows. A value that is not finite is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Points<'a> {
    /// One row; of a quantile with the fraction at or below.
    One { q: Option<f64>, value: f64 },
    /// Points of a distribution: values, and fractions at or below.
    Curve(&'a [(f64, f64)]),
    /// Points over time.
    Series(&'a [Point]),
}

impl<'a> Block<'a> {
    /// How many rows there are.
    pub(super) const fn rows(&self) -> usize {
        match self.points {
            Points::One { .. } => 1,
            Points::Curve(curve) => curve.len(),
            Points::Series(points) => points.len(),
        }
    }

    /// A scalar without a value yet.
    const fn new(kind: &'static str, name: &'a str, metric: &'a str, unit: Unit) -> Self {
        Self {
            kind,
            name,
            metric,
            stat: "value",
            unit,
            points: Points::One {
                q: None,
                value: f64::NAN,
            },
        }
    }

    /// The same, with a value.
    const fn of(self, value: f64) -> Self {
        Self {
            points: Points::One { q: None, value },
            ..self
        }
    }
}

/// How many rows a run has.
pub(crate) fn count(run: &RunResult) -> usize {
    let mut rows = 0;
    each(run, &mut |block| rows += block.rows());
    rows
}

/// Hands over the rows of a run, in their order.
pub(super) fn each<'a>(run: &'a RunResult, take: &mut dyn FnMut(Block<'a>)) {
    for (name, link) in &run.links {
        figures(take, name, link);
        statistics(take, name, &link.qdisc.stats);
        series(take, Kind::Link, name, &link.series);
    }
    for (name, flow) in &run.flows {
        figures(take, name, flow);
        series(take, Kind::Flow, name, &flow.series);
    }
    figures(take, "", &run.aggregate);
}

fn figures<'a, T: Part>(take: &mut dyn FnMut(Block<'a>), name: &'a str, part: &'a T) {
    for row in T::rows() {
        let new = Block::new(T::KIND.name(), name, row.figure.metric, row.figure.unit);
        match row.content(part) {
            Some(Content::Spread(d)) => spread(take, new, d),
            Some(scalar) => take(new.of(scalar.value(None))),
            None => {}
        }
    }
}

fn spread<'a>(take: &mut dyn FnMut(Block<'a>), block: Block<'a>, d: &'a Distribution) {
    use Statistic::{Max, Mean, Min, P5, P25, P50, P75, P95, P99};
    take(Block {
        stat: "count",
        unit: Unit::Samples,
        ..block.of(d.count as f64)
    });
    if d.count == 0 {
        return;
    }
    for statistic in [Mean, Min, Max, P5, P25, P50, P75, P95, P99] {
        let (q, value) = (statistic.fraction(), statistic.of(d));
        take(Block {
            stat: q.map_or(statistic.name(), |_| "quantile"),
            points: Points::One { q, value },
            ..block
        });
    }
    take(Block {
        stat: "cdf",
        points: Points::Curve(&d.cdf),
        ..block
    });
}

/// The numbers among a discipline's own statistics, under tc's names and in tc's units.
fn statistics<'a>(take: &mut dyn FnMut(Block<'a>), name: &'a str, stats: &'a [Field]) {
    for field in stats {
        let value = match &field.value {
            QdiscValue::Int(i) => *i as f64,
            QdiscValue::Float(x) => *x,
            QdiscValue::Bool(_) | QdiscValue::Text(_) | QdiscValue::Groups(_) => continue,
        };
        take(Block::new("qdisc", name, &field.name, Unit::None).of(value));
    }
}

fn series<'a>(take: &mut dyn FnMut(Block<'a>), kind: Kind, name: &'a str, list: &'a [Series]) {
    for series in list {
        take(Block {
            stat: "series",
            points: Points::Series(&series.points),
            ..Block::new(kind.name(), name, &series.metric, series.unit)
        });
    }
}
