//! A row of the list: a figure by its names, and how to get it.

use super::held::{Amount, Content, Held, Measured};
use super::statistic::{Distribution, Statistic};
use sojourn_apps::{Gathering, Metric};
use sojourn_units::Unit;

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

/// How a figure is got from the part of a result that it is about.
#[derive(Debug)]
pub(super) enum Access<T> {
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
    /// Whether results that have no value of it lack it, instead of having null.
    pub is_rare: bool,
    pub(super) access: Access<T>,
}

impl<T: Part> Row<T> {
    /// Its value; none when no app has measured it, and of a rare one that has no value.
    pub fn content<'a>(&self, part: &'a T) -> Option<Content<'a>> {
        let content = match &self.access {
            Access::Held { get, .. } => Some(get(part).content()),
            Access::Derived(value) => Some(Content::Number(value(part))),
            Access::App(metric) => {
                let found = part.measured().iter().find(|one| one.metric == *metric);
                found.map(|one| one.amount.content())
            }
        };
        content.filter(|content| !self.is_rare || content.has_value())
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
        match &self.access {
            Access::Held { slot, .. } => Some(slot(part)),
            Access::Derived(_) => None,
            Access::App(metric) => {
                let list = part.measured_mut()?;
                let metric = *metric;
                let known = list.iter().position(|one| one.metric == metric);
                let at = known.unwrap_or_else(|| {
                    let amount = match metric.measure().gathering {
                        Gathering::Sum => Amount::Sum(0.0),
                        Gathering::Sample => Amount::Spread(Distribution::default()),
                    };
                    list.push(Measured { metric, amount });
                    list.len() - 1
                });
                Some(list[at].amount.held())
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
