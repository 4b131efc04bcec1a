//! Figures: what a run yields, each by its name, unit, meaning and place in a result.
//!
//! One list (`list`, and the apps' own, [`Metric`]) stands below everybody who writes, reads or
//! shows figures: the summary and the table both ways, the claims, the page, the terminal and
//! `docs/results.md` walk it. The list also makes the types that hold the figures, so that a new
//! one is a row there and a line in its recorder.
//!
//! Not here: how a figure is measured (see `record`), and formats of files.

mod held;
mod list;
mod row;
mod statistic;

pub use held::{Amount, Content, Held, Measured, Point, Series};
pub use list::{Aggregate, FlowResult, LinkResult, MARK_RATIO};
pub use row::{Figure, Kind, Part, Row, Shape};
pub use statistic::{Distribution, Statistic};

use row::Access;
use sojourn_apps::{Gathering, Metric};
use std::sync::LazyLock;

impl Part for LinkResult {
    const KIND: Kind = Kind::Link;

    fn rows() -> impl Iterator<Item = &'static Row<Self>> {
        Self::ROWS.iter()
    }
}

impl Part for FlowResult {
    const KIND: Kind = Kind::Flow;

    fn rows() -> impl Iterator<Item = &'static Row<Self>> {
        Self::ROWS.iter().chain(OF_APPS.iter())
    }

    fn measured(&self) -> &[Measured] {
        &self.measured
    }

    fn measured_mut(&mut self) -> Option<&mut Vec<Measured>> {
        Some(&mut self.measured)
    }
}

impl Part for Aggregate {
    const KIND: Kind = Kind::Aggregate;

    fn rows() -> impl Iterator<Item = &'static Row<Self>> {
        Self::ROWS.iter()
    }
}

/// What apps measure of a flow.
static OF_APPS: LazyLock<Vec<Row<FlowResult>>> =
    LazyLock::new(|| Metric::ALL.into_iter().map(of_app).collect());

/// The row of what an app measures.
fn of_app(metric: Metric) -> Row<FlowResult> {
    let measure = metric.measure();
    Row {
        figure: Figure {
            kind: Kind::Flow,
            shape: match measure.gathering {
                Gathering::Sum => Shape::Scalar,
                Gathering::Sample => Shape::Distribution,
            },
            key: measure.key,
            metric: measure.key,
            unit: measure.unit,
            title: measure.title,
            meaning: measure.meaning,
            source: measure.source,
        },
        is_later: false,
        is_rare: false,
        access: Access::App(metric),
    }
}

/// All figures in the order of results, series last.
pub fn figures() -> impl Iterator<Item = Figure> {
    let links = LinkResult::rows().map(|row| row.figure);
    let flows = FlowResult::rows().map(|row| row.figure);
    let all = Aggregate::rows().map(|row| row.figure);
    links
        .chain(flows)
        .chain(all)
        .chain(list::SERIES.iter().copied())
}

/// The series that links or flows have; a discipline may show variables of its own besides.
pub fn series(kind: Kind) -> impl Iterator<Item = &'static Figure> {
    list::SERIES
        .iter()
        .filter(move |figure| figure.kind == kind)
}

#[cfg(test)]
mod tests;
