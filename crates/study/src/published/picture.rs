//! A study's charts and tables: how they are made, and what they show of our results.

mod chart;
mod table;

use super::{Published, Results, WorldName};
use crate::claims::{Binder, Cells, Expr, Place, Vocabulary, combinations};

/// How a chart is made.
#[derive(Clone, Debug)]
pub(crate) struct ChartPlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) shape: Shape,
    /// What all its cells have in common.
    pub(crate) at: Place,
    pub(crate) panels: Option<Binder>,
    pub(crate) lines: Option<Binder>,
    /// Beside the horizontal axis, where the study has a better word than its axis' name.
    pub(crate) x_label: Option<String>,
    /// Beside the vertical axis.
    pub(crate) label: String,
    pub(crate) log: Log,
}

/// What a chart shows; the binders are its own, beside panels and lines.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A quantity along an axis, or several.
    Along {
        bars: bool,
        x: Binder,
        of: Vec<Along>,
    },
    /// Five quantiles of a distribution for each value of an axis.
    Boxes { x: Binder, of: Box<[Expr; 5]> },
    /// One quantity against another.
    Scatter {
        points: Vec<Binder>,
        x: Expr,
        y: Expr,
    },
    /// A quantity over two axes.
    Map { x: Binder, y: Binder, value: Expr },
    /// A series of the flows or links whose names fit.
    Time { series: String, of: String },
    /// A cumulative distribution: of a figure, or of the sojourn time at the study's link.
    Distribution { of: Option<Expr> },
}

/// One of the quantities of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    /// For the legend; empty where there is one quantity only.
    pub(crate) name: String,
    pub(crate) y: Expr,
    pub(crate) reference: Option<Expr>,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The horizontal one.
    pub x: bool,
    /// The vertical one.
    pub y: bool,
}

/// How a table is made.
#[derive(Clone, Debug)]
pub(crate) enum TablePlan {
    Grid(GridPlan),
    Difference(DifferencePlan),
}

/// A quantity over two axes.
#[derive(Clone, Debug)]
pub(crate) struct GridPlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) rows: Binder,
    pub(crate) columns: Binder,
    pub(crate) value: Expr,
}

/// Our values beside those measured elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct DifferencePlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) rows: Vec<Binder>,
    pub(crate) value: Expr,
    pub(crate) reference: Expr,
    /// Relative differences above it need a reason.
    pub(crate) above: f64,
    pub(crate) why: Vec<Why>,
}

/// Why ours differs from the reference.
#[derive(Clone, Debug)]
pub(crate) struct Why {
    /// In one row; none: in all that have no reason of their own.
    pub(crate) row: Option<usize>,
    pub(crate) text: String,
}

impl Why {
    /// The word for all rows.
    pub(crate) const ALL: &str = "all";
}

impl Shape {
    /// The names of what it shows side by side; most shapes show one thing, without a name.
    pub(crate) fn parts(&self) -> Vec<&str> {
        match self {
            Self::Along { of, .. } => of.iter().map(|of| of.name.as_str()).collect(),
            _ => vec![""],
        }
    }

    /// Its quantities, each with the key under which it stands and the binders around it beside
    /// panels and lines.
    pub(crate) fn quantities(&self) -> Vec<(&'static str, Vec<Binder>, &Expr)> {
        match self {
            Self::Along { x, of, .. } => {
                let ys = of.iter().map(|of| ("y", &of.y));
                let references = of
                    .iter()
                    .filter_map(|of| Some(("reference", of.reference.as_ref()?)));
                let all = ys.chain(references);
                all.map(|(key, expr)| (key, vec![x.clone()], expr))
                    .collect()
            }
            Self::Boxes { x, of } => vec![("of", vec![x.clone()], &of[2])],
            Self::Scatter { points, x, y } => {
                vec![("x", points.clone(), x), ("y", points.clone(), y)]
            }
            Self::Map { x, y, value } => vec![("value", vec![x.clone(), y.clone()], value)],
            Self::Time { .. } => Vec::new(),
            Self::Distribution { of } => of.iter().map(|of| ("of", Vec::new(), of)).collect(),
        }
    }
}

/// What a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// A quantity along an axis; the median over seeds and its range.
    Lines,
    /// The same as bars.
    Bars,
    /// Quantiles 5, 25, 50, 75 and 95 per cent, each the median over seeds.
    Boxes,
    /// A quantity against another; medians over seeds and their ranges.
    Scatter,
    /// A quantity over two axes; medians over seeds.
    Map,
    /// Cumulative distributions, of the first seed.
    Distribution,
    /// A series over time, of the first seed.
    Time,
}

/// Where a line's points come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The simulated world.
    Sim,
    /// The live world.
    Live,
    /// Measured elsewhere.
    Reference,
}

/// A chart: small panels of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub kind: ChartKind,
    /// Its logarithmic axes.
    pub log: Log,
    /// What stands along the horizontal axis.
    pub x_label: String,
    /// What stands along the vertical axis.
    pub y_label: String,
    /// Names of the places 0, 1, ... on the horizontal axis; none when it has numbers.
    pub x_names: Vec<String>,
    /// The same of the vertical axis.
    pub y_names: Vec<String>,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading; empty when there is one panel only.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line, or one group of bars, boxes or points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// Number of its value: what belongs together has the same colour.
    pub colour: usize,
    /// Where its points come from.
    pub from: Source,
    /// Its points.
    pub points: Vec<Dot>,
}

/// A point of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dot {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// Lowest and highest x of the seeds.
    pub x_range: (f64, f64),
    /// Lowest and highest y of the seeds; of a box the quantiles 5 and 95 per cent.
    pub y_range: (f64, f64),
    /// Of a box the quartiles.
    pub inner: (f64, f64),
    /// The value in words, and what it is of, where the picture does not tell.
    pub text: String,
}

/// A table: medians over the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Its heading.
    pub title: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Heading and values of each row.
    pub rows: Vec<(String, Vec<String>)>,
}

fn places(binder: Option<&Binder>) -> Vec<Place> {
    combinations(binder.map_or(&[], std::slice::from_ref))
}

/// The rows that several axes make, with the names of their values.
pub(super) fn rows(binders: &[Binder], words: &Vocabulary) -> Vec<(String, Place)> {
    let places = combinations(binders).into_iter();
    places.map(|place| (name(&place, words), place)).collect()
}

/// The names of the values of a place.
fn name(place: &Place, words: &Vocabulary) -> String {
    let names: Vec<&str> = place
        .iter()
        .map(|(axis, value)| words.axes[*axis].values[*value].name.as_str())
        .collect();
    names.join(" ")
}

impl Published {
    /// The cells of a setting with what they yielded; none when they yielded nothing.
    fn cells<'a>(&'a self, setting: usize, results: &'a Results) -> Option<Cells<'a>> {
        let scenario = self.settings[setting].in_world(results.world)?;
        let outcomes = &results.outcomes[setting];
        let some = outcomes.iter().any(Result::is_ok);
        some.then(|| Cells::new(&scenario.cells, outcomes))
    }
}

impl From<WorldName> for Source {
    fn from(world: WorldName) -> Self {
        match world {
            WorldName::Sim => Self::Sim,
            WorldName::Live => Self::Live,
        }
    }
}
