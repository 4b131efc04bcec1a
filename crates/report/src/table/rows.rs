//! A run as rows.

use crate::catalogue::{self, Content, Kind, of_all, of_flow, of_link};
use sojourn_qdisc::{Field, Value as QdiscValue};
use sojourn_world::{Distribution, RunResult, Series};

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
    pub(super) unit: &'static str,
    /// Of a quantile or a point of a distribution: the fraction at or below.
    pub(super) q: Option<f64>,
    /// Of a series: seconds since the start of the run.
    pub(super) t: Option<f64>,
    /// The value; not finite where there is none.
    pub(super) value: f64,
}

pub(super) fn of(run: &RunResult) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (name, link) in &run.links {
        figures(&mut rows, Kind::Link, name, of_link(link));
        statistics(&mut rows, name, &link.qdisc.stats);
        series(&mut rows, Kind::Link, name, &link.series);
    }
    for (name, flow) in &run.flows {
        figures(&mut rows, Kind::Flow, name, of_flow(flow));
        series(&mut rows, Kind::Flow, name, &flow.series);
    }
    figures(&mut rows, Kind::Aggregate, "", of_all(&run.aggregate));
    rows
}

fn figures<'a>(
    rows: &mut Vec<Row<'a>>,
    kind: Kind,
    name: &'a str,
    list: Vec<(&'static str, Content<'a>)>,
) {
    for (key, content) in list {
        let figure = catalogue::find(kind, key).expect("every key stands in the catalogue");
        let row = Row {
            kind: kind.name(),
            name,
            metric: figure.metric,
            stat: "value",
            unit: figure.unit,
            q: None,
            t: None,
            value: f64::NAN,
        };
        match content {
            Content::Scalar(value) => rows.push(Row {
                value: value.as_f64().unwrap_or(f64::NAN),
                ..row
            }),
            Content::Spread(d) => spread(rows, row, d),
        }
    }
}

fn spread<'a>(rows: &mut Vec<Row<'a>>, row: Row<'a>, d: &Distribution) {
    rows.push(Row {
        stat: "count",
        unit: "samples",
        value: d.count as f64,
        ..row
    });
    if d.count == 0 {
        return;
    }
    for (stat, value) in [("mean", d.mean), ("min", d.min), ("max", d.max)] {
        rows.push(Row { stat, value, ..row });
    }
    for (q, value) in [
        (0.05, d.p5),
        (0.25, d.p25),
        (0.50, d.p50),
        (0.75, d.p75),
        (0.95, d.p95),
        (0.99, d.p99),
    ] {
        rows.push(Row {
            stat: "quantile",
            q: Some(q),
            value,
            ..row
        });
    }
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
            kind: "qdisc",
            name,
            metric: &field.name,
            stat: "value",
            unit: "",
            q: None,
            t: None,
            value,
        });
    }
}

fn series<'a>(rows: &mut Vec<Row<'a>>, kind: Kind, name: &'a str, list: &'a [Series]) {
    for series in list {
        rows.extend(series.points.iter().map(|point| Row {
            kind: kind.name(),
            name,
            metric: &series.metric,
            stat: "series",
            unit: series.unit.name(),
            q: None,
            t: Some(point.t),
            value: point.value,
        }));
    }
}
