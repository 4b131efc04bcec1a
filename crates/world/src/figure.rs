//! Figures: what a run yields, each by its name, unit, meaning and place in a result.
//!
//! One list (`list`, and the apps' own, [`Metric`]) stands below everybody who writes, reads or
//! shows figures: the summary and the table both ways, the claims, the page, the terminal and
//! `docs/results.md` walk it. The list also makes the types that hold the figures, so that a new
//! one is a row there and a line in its recorder.
//!
//! Not here: how a figure is measured (see `record`), and formats of files.

mod list;
mod statistic;

pub use list::{Aggregate, FlowResult, LinkResult, MARK_RATIO};
pub use statistic::{Distribution, Statistic};

use crate::result::{Amount, Measured};
use sojourn_apps::{Gathering, Metric};
use sojourn_units::{Rate, Span, Unit};

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

impl Shape {
    /// As it stands in results: `scalar`, `distribution`, `series`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Distribution => "distribution",
            Self::Series => "series",
        }
    }
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
    /// Its unit.
    pub unit: Unit,
    /// For headings.
    pub title: &'static str,
    /// What it says and how it is measured.
    pub meaning: &'static str,
    /// Where the definition comes from; empty where it is plain counting.
    pub source: &'static str,
}

/// A figure's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content<'a> {
    /// A whole number.
    Count(u64),
    /// A number; NaN where there is none.
    Number(f64),
    /// A sample's distribution.
    Spread(&'a Distribution),
}

impl Content<'_> {
    /// The number, or a statistic of the distribution; NaN where there is none, and for a
    /// statistic of a number or a distribution without one.
    pub fn value(&self, statistic: Option<Statistic>) -> f64 {
        match (self, statistic) {
            (Self::Count(count), None) => *count as f64,
            (Self::Number(number), None) => *number,
            (Self::Spread(spread), Some(statistic)) => statistic.of(spread),
            _ => f64::NAN,
        }
    }
}

/// Something that holds a figure's value.
pub trait Held {
    /// The value.
    fn content(&self) -> Content<'_>;

    /// Takes a value of its own kind, as it was read from a file.
    fn fill(&mut self, content: Content<'_>);

    /// The distribution, if it is one.
    fn spread(&mut self) -> Option<&mut Distribution> {
        None
    }
}

impl Held for u64 {
    fn content(&self) -> Content<'_> {
        Content::Count(*self)
    }

    fn fill(&mut self, content: Content<'_>) {
        match content {
            Content::Count(count) => *self = count,
            _ => debug_assert!(false, "a count is filled with a count"),
        }
    }
}

impl Held for Rate {
    fn content(&self) -> Content<'_> {
        Content::Count(self.as_bps())
    }

    fn fill(&mut self, content: Content<'_>) {
        let mut bps = 0;
        bps.fill(content);
        *self = Self::from_bps(bps);
    }
}

impl Held for f64 {
    fn content(&self) -> Content<'_> {
        Content::Number(*self)
    }

    fn fill(&mut self, content: Content<'_>) {
        *self = content.value(None);
    }
}

impl Held for Option<f64> {
    fn content(&self) -> Content<'_> {
        Content::Number(self.unwrap_or(f64::NAN))
    }

    fn fill(&mut self, content: Content<'_>) {
        *self = Some(content.value(None)).filter(|value| !value.is_nan());
    }
}

/// In seconds.
impl Held for Option<Span> {
    fn content(&self) -> Content<'_> {
        Content::Number(self.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e9))
    }

    fn fill(&mut self, content: Content<'_>) {
        let mut seconds: Option<f64> = None;
        seconds.fill(content);
        *self = seconds.map(Span::from_secs_f64);
    }
}

impl Held for Distribution {
    fn content(&self) -> Content<'_> {
        Content::Spread(self)
    }

    fn fill(&mut self, content: Content<'_>) {
        match content {
            Content::Spread(spread) => *self = spread.clone(),
            _ => debug_assert!(false, "a distribution is filled with a distribution"),
        }
    }

    fn spread(&mut self) -> Option<&mut Distribution> {
        Some(self)
    }
}

impl Held for Amount {
    fn content(&self) -> Content<'_> {
        match self {
            Self::Sum(sum) => Content::Number(*sum),
            Self::Spread(spread) => Content::Spread(spread),
        }
    }

    fn fill(&mut self, content: Content<'_>) {
        match self {
            Self::Sum(sum) => sum.fill(content),
            Self::Spread(spread) => spread.fill(content),
        }
    }

    fn spread(&mut self) -> Option<&mut Distribution> {
        match self {
            Self::Sum(_) => None,
            Self::Spread(spread) => Some(spread),
        }
    }
}

/// How a figure is got from the part of a result that it is about.
#[derive(Debug)]
enum Access<T> {
    /// A field holds it.
    Held {
        get: fn(&T) -> &dyn Held,
        slot: fn(&mut T) -> &mut dyn Held,
    },
    /// It follows from others, and is not read.
    Derived(fn(&T) -> f64),
    /// An app has measured it, or not.
    App(Metric),
}

/// A figure of a part of a result, and how to get it.
#[derive(Debug)]
pub struct Row<T> {
    /// The figure.
    pub figure: Figure,
    /// Whether summaries of format 1 may lack it: it came after the first of them.
    pub is_later: bool,
    access: Access<T>,
}

// Derived, they would ask for parts that can be copied.
impl<T> Clone for Access<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Access<T> {}

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Row<T> {}

impl<T: Part> Row<T> {
    /// Its value; none when no app has measured it.
    pub fn content<'a>(&self, part: &'a T) -> Option<Content<'a>> {
        match self.access {
            Access::Held { get, .. } => Some(get(part).content()),
            Access::Derived(value) => Some(Content::Number(value(part))),
            Access::App(metric) => {
                let found = part.measured().iter().find(|one| one.metric == metric);
                found.map(|one| one.amount.content())
            }
        }
    }

    /// Its number, or a statistic of its distribution; NaN when there is none.
    pub fn value(&self, part: &T, statistic: Option<Statistic>) -> f64 {
        let content = self.content(part);
        content.map_or(f64::NAN, |content| content.value(statistic))
    }

    /// Its distribution; none when it is none or no app has measured it.
    pub fn spread<'a>(&self, part: &'a T) -> Option<&'a Distribution> {
        match self.content(part)? {
            Content::Spread(spread) => Some(spread),
            Content::Count(_) | Content::Number(_) => None,
        }
    }

    /// Where it is held, to be filled from a file; none for one that follows from others. What an
    /// app may have measured is measured from then on.
    pub fn slot<'a>(&self, part: &'a mut T) -> Option<&'a mut dyn Held> {
        match self.access {
            Access::Held { slot, .. } => Some(slot(part)),
            Access::Derived(_) => None,
            Access::App(metric) => {
                let list = part.measured_mut()?;
                let known = list.iter().position(|one| one.metric == metric);
                let at = known.unwrap_or_else(|| {
                    let amount = match metric.measure().gathering {
                        Gathering::Sum => Amount::Sum(0.0),
                        Gathering::Sample => Amount::Spread(Distribution::default()),
                    };
                    list.push(Measured { metric, amount });
                    list.len() - 1
                });
                Some(&mut list[at].amount)
            }
        }
    }

    /// Whether every result has it in a file of its own format, so that it must be read.
    pub fn is_expected(&self) -> bool {
        matches!(self.access, Access::Held { .. }) && !self.is_later
    }
}

/// A part of a result that figures are about.
pub trait Part: Default + 'static {
    /// Its kind.
    const KIND: Kind;

    /// Its figures but series, in the order of results.
    fn rows() -> impl Iterator<Item = &'static Row<Self>>;

    /// What apps have measured of it.
    fn measured(&self) -> &[Measured] {
        &[]
    }

    /// The same, to be added to; none for a part that no app belongs to.
    fn measured_mut(&mut self) -> Option<&mut Vec<Measured>> {
        None
    }
}

impl Part for LinkResult {
    const KIND: Kind = Kind::Link;

    fn rows() -> impl Iterator<Item = &'static Row<Self>> {
        Self::ROWS.iter()
    }
}

impl Part for FlowResult {
    const KIND: Kind = Kind::Flow;

    fn rows() -> impl Iterator<Item = &'static Row<Self>> {
        Self::ROWS.iter().chain(&OF_APPS)
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
static OF_APPS: [Row<FlowResult>; Metric::ALL.len()] = {
    let mut rows = [of_app(Metric::ALL[0]); Metric::ALL.len()];
    let mut i = 1;
    while i < rows.len() {
        rows[i] = of_app(Metric::ALL[i]);
        i += 1;
    }
    rows
};

/// The row of what an app measures.
const fn of_app(metric: Metric) -> Row<FlowResult> {
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
