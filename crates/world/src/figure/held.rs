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
    /// Whether there is a value.
    pub fn has_value(&self) -> bool {
        match self {
            Self::Count(_) => true,
            Self::Number(number) => !number.is_nan(),
            Self::Spread(spread) => spread.count > 0,
        }
    }

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

/// Fields that are one number: their type, the kind of value, how it is got, and what it becomes.
macro_rules! held {
    ($($type:ty: $kind:ident, $get:expr, $take:expr;)*) => {$(
        impl Held for $type {
            fn content(&self) -> Content<'_> {
                let get: fn(&Self) -> _ = $get;
                Content::$kind(get(self))
            }

            fn fill(&mut self, content: Content<'_>) {
                let take: fn(_) -> Self = $take;
                match content {
                    Content::$kind(value) => *self = take(value),
                    _ => debug_assert!(false, "a figure is filled with a value of its kind"),
                }
            }
        }
    )*};
}

held! {
    u64: Count, |count| *count, |count| count;
    Rate: Count, |rate| rate.as_bps(), Self::from_bps;
    f64: Number, |number| *number, |number| number;
    Option<f64>: Number, |number| number.unwrap_or(f64::NAN), some;
    // In seconds.
    Option<Span>: Number, |span| span.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e9),
        |seconds| some(seconds).map(Span::from_secs_f64);
}

/// None for NaN.
fn some(number: f64) -> Option<f64> {
    Some(number).filter(|number| !number.is_nan())
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

impl Amount {
    pub(super) fn held(&mut self) -> &mut dyn Held {
        match self {
            Self::Sum(sum) => sum,
            Self::Spread(spread) => spread,
        }
    }

    pub(super) fn content(&self) -> Content<'_> {
        match self {
            Self::Sum(sum) => sum.content(),
            Self::Spread(spread) => spread.content(),
        }
    }
}
