//! What holds figures: counts, numbers, distributions, series, and what apps have measured.

use super::statistic::{Distribution, Statistic};
use sojourn_apps::Metric;
use sojourn_units::{Rate, Span, Unit};
use std::borrow::Cow;

/// A figure that an app has measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What.
    pub metric: Metric,
    /// How much of it.
    pub amount: Amount,
}

/// How much an app has measured, in the metric's own unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// All reports added up.
    Sum(f64),
    /// The distribution of the reports.
    Spread(Distribution),
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the start of the run: the end of the interval.
    pub t: f64,
    /// Value; NaN where an interval has no sample.
    pub value: f64,
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `throughput`, `backlog`, `rtt` and so on.
    pub metric: Cow<'static, str>,
    /// Of its values.
    pub unit: Unit,
    /// Evenly spaced points, from the start of the run.
    pub points: Vec<Point>,
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
