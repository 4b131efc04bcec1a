//! A run as rows.

use sojourn_qdisc::{Field, Value as QdiscValue};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Distribution, Kind, Part, Statistic};
use sojourn_world::{RunResult, Series};

/// One value of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// `link`, `flow`, `aggregate` or `qdisc`.
    pub(super) kind: &'static str,
    /// The link's or flow's name; empty for `aggregate`.
    pub(super) name: &'a str,
    /// The figure.
    pub(super) metric: &'a str,
    /// `value`, `mean`, `min`, `max`, `count`, `quantile`, `cdf` or `series`.
    pub(super) stat: &'static str,
    /// The value's unit.
    pub(super) unit: Unit,
    /// Of a quantile or a point of a distribution: the fraction at or below.
    pub(super) q: Option<f64>,
    /// Of a series: seconds since the start of the run.
    pub(super) t: Option<f64>,
    /// The value; not finite where there is none.
    pub(super) value: f64,
}

impl<'a> Row<'a> {
    /// A scalar without a value yet.
    const fn new(kind: &'static str, name: &'a str, metric: &'a str, unit: Unit) -> Self {
        Self {
            kind,
            name,
            metric,
            stat: "value",
            unit,
            q: None,
            t: None,
            value: f64::NAN,
        }
    }
}

/// How many rows a run has at most.
pub(super) fn count(run: &RunResult) -> usize {
    fn part<T: Part>(part: &T, list: &[Series]) -> usize {
        let figures = T::rows().map(|row| match row.content(part) {
            Some(Content::Spread(d)) => d.cdf.len() + Statistic::ALL.len(),
            scalar => usize::from(scalar.is_some()),
        });
        figures.sum::<usize>() + list.iter().map(|series| series.points.len()).sum::<usize>()
    }
    let links = run.links.iter();
    let links = links.map(|(_, link)| part(link, &link.series) + link.qdisc.stats.len());
    let flows = run.flows.iter().map(|(_, flow)| part(flow, &flow.series));
    links.chain(flows).sum::<usize>() + part(&run.aggregate, &[])
}

pub(super) fn of(run: &RunResult) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (name, link) in &run.links {
        figures(&mut rows, name, link);
        statistics(&mut rows, name, &link.qdisc.stats);
        series(&mut rows, Kind::Link, name, &link.series);
    }
    for (name, flow) in &run.flows {
        figures(&mut rows, name, flow);
        series(&mut rows, Kind::Flow, name, &flow.series);
    }
    figures(&mut rows, "", &run.aggregate);
    rows
}

fn figures<'a, T: Part>(rows: &mut Vec<Row<'a>>, name: &'a str, part: &'a T) {
    for row in T::rows() {
        let new = Row::new(T::KIND.name(), name, row.figure.metric, row.figure.unit);
        match row.content(part) {
            Some(Content::Spread(d)) => spread(rows, new, d),
            Some(scalar) => rows.push(Row {
                value: scalar.value(None),
                ..new
            }),
            None => {}
        }
    }
}

fn spread<'a>(rows: &mut Vec<Row<'a>>, row: Row<'a>, d: &Distribution) {
    use Statistic::{Max, Mean, Min, P5, P25, P50, P75, P95, P99};
    rows.push(Row {
        stat: "count",
        unit: Unit::Samples,
        value: d.count as f64,
        ..row
    });
    if d.count == 0 {
        return;
    }
    let statistics = [Mean, Min, Max, P5, P25, P50, P75, P95, P99];
    rows.extend(statistics.map(|statistic| {
        let q = statistic.fraction();
        Row {
            stat: q.map_or(statistic.name(), |_| "quantile"),
            q,
            value: statistic.of(d),
            ..row
        }
    }));
    rows.extend(d.cdf.iter().map(|&(value, q)| Row {
        stat: "cdf",
        q: Some(q),
        value,
        ..row
    }));
}

/// The numbers among a discipline's own statistics, under tc's names and in tc's units.
fn statistics<'a>(rows: &mut Vec<Row<'a>>, name: &'a str, stats: &'a [Field]) {
    for field in stats {
        let value = match &field.value {
            QdiscValue::Int(i) => *i as f64,
            QdiscValue::Float(x) => *x,
            QdiscValue::Bool(_) | QdiscValue::Text(_) | QdiscValue::Groups(_) => continue,
        };
        rows.push(Row {
            value,
            ..Row::new("qdisc", name, &field.name, Unit::None)
        });
    }
}

fn series<'a>(rows: &mut Vec<Row<'a>>, kind: Kind, name: &'a str, list: &'a [Series]) {
    for series in list {
        let row = Row::new(kind.name(), name, &series.metric, series.unit);
        rows.extend(series.points.iter().map(|point| Row {
            stat: "series",
            t: Some(point.t),
            value: point.value,
            ..row
        }));
    }
}
