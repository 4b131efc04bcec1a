//! How a study's charts and tables are to be made.

use crate::claims::{Binder, Expr, Place, Vocabulary, combinations};

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
    Boxes {
        x: Binder,
        of: Box<[Expr; 5]>,
        /// Its median as measured elsewhere.
        reference: Option<Expr>,
    },
    /// One quantity against another.
    Scatter {
        points: Vec<Binder>,
        x: Expr,
        y: Expr,
    },
    /// A quantity over two axes.
    Map { x: Binder, y: Binder, value: Expr },
    /// Series of the flows or links whose names fit; never none.
    Time {
        series: Vec<String>,
        of: String,
        /// Levels that were measured elsewhere, with their names.
        levels: Vec<(String, Expr)>,
        /// What of the run is shown, in seconds.
        between: (f64, f64),
        /// By what the values are multiplied, for an axis in another unit.
        scale: Option<Expr>,
    },
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
pub(crate) struct Log {
    /// The horizontal one.
    pub(crate) x: bool,
    /// The vertical one.
    pub(crate) y: bool,
}

/// How a table is made.
#[derive(Clone, Debug)]
pub(crate) enum TablePlan {
    Values(ValuesPlan),
    Difference(DifferencePlan),
    Numbered(NumberedPlan),
}

/// A quantity of numbered things, such as flows, over an axis.
#[derive(Clone, Debug)]
pub(crate) struct NumberedPlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) columns: Binder,
    /// Of each number from 1 on the quantity, and what was measured elsewhere.
    pub(crate) rows: Vec<(Expr, Option<Expr>)>,
}

/// A quantity over two axes.
#[derive(Clone, Debug)]
pub(crate) struct ValuesPlan {
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
            Self::Boxes { x, of, reference } => {
                let reference = reference.iter().map(|expr| ("reference", expr));
                let all = std::iter::once(("of", &of[2])).chain(reference);
                all.map(|(key, expr)| (key, vec![x.clone()], expr))
                    .collect()
            }
            Self::Scatter { points, x, y } => {
                vec![("x", points.clone(), x), ("y", points.clone(), y)]
            }
            Self::Map { x, y, value } => vec![("value", vec![x.clone(), y.clone()], value)],
            // Levels hold for all lines of a panel.
            Self::Time { .. } => Vec::new(),
            Self::Distribution { of } => of.iter().map(|of| ("of", Vec::new(), of)).collect(),
        }
    }
}

/// The places of one axis; one place without any where there is none.
pub(crate) fn places(binder: Option<&Binder>) -> Vec<Place> {
    combinations(binder.map_or(&[], std::slice::from_ref))
}

/// The rows that several axes make, with the names of their values.
pub(crate) fn rows(binders: &[Binder], words: &Vocabulary) -> Vec<(String, Place)> {
    let places = combinations(binders).into_iter();
    places.map(|place| (name(&place, words), place)).collect()
}

/// The names of the values of a place.
pub(crate) fn name(place: &Place, words: &Vocabulary) -> String {
    let names: Vec<&str> = place
        .iter()
        .map(|(axis, value)| words.axes[*axis].values[*value].name.as_str())
        .collect();
    names.join(" ")
}
