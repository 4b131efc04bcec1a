//! Every figure that a run yields: its name, unit, meaning and source.
//!
//! One list feeds the summary's keys, the table's rows and the report's definitions, so that
//! they cannot drift apart.

mod figures;

pub use figures::FIGURES;

use serde_json::{Value, json};
use sojourn_world::{Aggregate, Amount, Distribution, FlowResult, LinkResult};

/// What a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The queue at a link's entrance.
    Link,
    /// A flow.
    Flow,
    /// All flows together.
    Aggregate,
}

impl Kind {
    /// As it stands in results: `link`, `flow`, `aggregate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Flow => "flow",
            Self::Aggregate => "aggregate",
        }
    }
}

/// The shape of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number for the run.
    Scalar,
    /// Mean, minimum, maximum, quantiles and points of the cumulative distribution.
    Distribution,
    /// A number for each interval of the run.
    Series,
}

/// A figure by its names and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is about.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// Its key in `summary.json`; for a series the recorder's name.
    pub key: &'static str,
    /// Its name in the `metric` column of `results.parquet`.
    pub metric: &'static str,
    /// Its unit; empty for a ratio or an index.
    pub unit: &'static str,
    /// For headings.
    pub title: &'static str,
    /// What it says and how it is measured.
    pub meaning: &'static str,
    /// Where the definition comes from; empty where it is plain counting.
    pub source: &'static str,
}

/// The figure with `key` among the scalars and distributions of `kind`.
pub fn find(kind: Kind, key: &str) -> Option<&'static Figure> {
    FIGURES
        .iter()
        .find(|f| f.kind == kind && f.key == key && f.shape != Shape::Series)
}

/// The statistics of a distribution, in the order of the summary.
pub const STATISTICS: [&str; 10] = [
    "mean", "p25", "p50", "p75", "p95", "p99", "max", "min", "p5", "count",
];

/// A distribution's statistics; no values (but the count) for an empty one.
pub(crate) fn statistics(d: &Distribution) -> [(&'static str, Value); 10] {
    let value = |v: f64| if d.count == 0 { Value::Null } else { json!(v) };
    let values = [
        d.mean, d.p25, d.p50, d.p75, d.p95, d.p99, d.max, d.min, d.p5, 0.0,
    ];
    let mut pairs = core::array::from_fn(|i| (STATISTICS[i], value(values[i])));
    pairs[9].1 = json!(d.count);
    pairs
}

/// A figure's value: a number (or nothing), or a distribution.
#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    /// A JSON number or null.
    Scalar(Value),
    /// A sample's distribution.
    Spread(&'a Distribution),
}

fn ratio(part: u64, whole: u64) -> Content<'static> {
    Content::Scalar(json!((whole > 0).then(|| part as f64 / whole as f64)))
}

fn scalar(value: impl serde::Serialize) -> Content<'static> {
    Content::Scalar(json!(value))
}

/// A link's figures by key.
pub(crate) fn of_link(l: &LinkResult) -> Vec<(&'static str, Content<'_>)> {
    vec![
        ("offered_packets", scalar(l.offered_packets)),
        ("offered_bytes", scalar(l.offered_bytes)),
        ("dequeued_packets", scalar(l.dequeued_packets)),
        ("dequeued_bytes", scalar(l.dequeued_bytes)),
        ("dropped_packets", scalar(l.dropped_packets)),
        ("marked_packets", scalar(l.marked_packets)),
        ("drop_ratio", ratio(l.dropped_packets, l.offered_packets)),
        ("utilisation", scalar(l.utilisation)),
        ("backlog_packets_mean", scalar(l.backlog_packets_mean)),
        ("sojourn_ms", Content::Spread(&l.sojourn)),
    ]
}

/// A flow's figures by key.
pub(crate) fn of_flow(f: &FlowResult) -> Vec<(&'static str, Content<'_>)> {
    let mut figures = vec![
        ("goodput_bps", scalar(f.goodput.as_bps())),
        ("sent_packets", scalar(f.sent_packets)),
        ("retransmitted_packets", scalar(f.retransmitted_packets)),
        (
            "retransmit_ratio",
            ratio(f.retransmitted_packets, f.sent_packets),
        ),
        ("rtt_ms", Content::Spread(&f.rtt)),
        ("induced_rtt_ms", Content::Spread(&f.induced_rtt)),
        ("loss_ratio", scalar(f.loss_ratio)),
        ("delay_ms", Content::Spread(&f.delay)),
        ("throughput_bps", Content::Spread(&f.throughput)),
        ("blocked_messages", scalar(f.blocked_messages)),
        (
            "completed_s",
            scalar(f.completed.map(|at| at.as_nanos() as f64 / 1e9)),
        ),
        ("started", scalar(f.started)),
        ("completion_ms", Content::Spread(&f.completion)),
        ("spp_rtt_ms", Content::Spread(&f.spp_rtt)),
        ("spp_induced_rtt_ms", Content::Spread(&f.spp_induced_rtt)),
    ];
    figures.extend(f.measured.iter().map(|measured| {
        let content = match &measured.amount {
            Amount::Sum(sum) => scalar(sum),
            Amount::Spread(spread) => Content::Spread(spread),
        };
        (measured.metric.key(), content)
    }));
    figures
}

/// The figures over all flows by key.
pub(crate) fn of_all(a: &Aggregate) -> Vec<(&'static str, Content<'static>)> {
    vec![
        ("jain", scalar(a.jain)),
        ("goodput_bps", scalar(a.goodput_bps)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Kind, Shape, find};
    use sojourn_world::{Gathering, Metric};

    #[test]
    fn every_figure_of_an_app_stands_in_the_catalogue() {
        for metric in Metric::ALL {
            let shape = match metric.gathering() {
                Gathering::Sum => Shape::Scalar,
                Gathering::Sample => Shape::Distribution,
            };
            let found = find(Kind::Flow, metric.key()).map(|figure| figure.shape);
            assert_eq!(found, Some(shape), "{}", metric.key());
        }
    }
}
