//! What claims are made of: the words that a study defines, and checks as they are read.

use super::figure::{Figure, Take, fits};
use sojourn_units::Unit;

/// Where a value stands: axes with their values.
pub(crate) type Place = Vec<(usize, usize)>;

/// "About": within this share of the published value.
pub(super) const ABOUT: f64 = 0.15;

/// The words that a study defines for its claims.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    pub(crate) axes: Vec<Axis>,
    pub(crate) sets: Vec<Set>,
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) definitions: Vec<(String, Expr)>,
    /// The link that is meant where none is named; empty: there is none.
    pub(crate) link: String,
    /// The flows that are meant where none are named.
    pub(crate) flow: String,
    /// The links and flows that there are, in any scenario.
    pub(crate) links: Vec<String>,
    pub(crate) flows: Vec<String>,
    /// A queue that is not the study's own. Cells with it are seen only where it is asked for.
    pub(crate) another: Option<String>,
}

impl Vocabulary {
    /// Whether there is a flow that a name or a pattern means.
    pub(crate) fn has_flow(&self, pattern: &str) -> bool {
        pattern == "*" || self.flows.iter().any(|name| fits(name, pattern))
    }

    /// Whether there is a link of this name.
    pub(crate) fn has_link(&self, name: &str) -> bool {
        self.links.iter().any(|link| link == name)
    }

    /// Whether an axis' value means the queue that is not the study's own.
    pub(crate) fn is_another(&self, value: &AxisValue) -> bool {
        let texts = || value.params.iter().flat_map(|(_, texts)| texts);
        let another = self.another.as_ref();
        another.is_some_and(|another| texts().any(|text| text == another))
    }

    pub(crate) fn axis_names(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.name.as_str()).collect()
    }
}

/// A dimension of the study's grid, under a short name.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<AxisValue>,
}

impl Axis {
    pub(crate) fn value_names(&self) -> Vec<&str> {
        self.values
            .iter()
            .map(|value| value.name.as_str())
            .collect()
    }

    /// The value of this name.
    pub(crate) fn value(&self, name: &str) -> Option<usize> {
        self.values.iter().position(|value| value.name == name)
    }
}

/// A value of an axis: what it is called, and the parameters of the cells that have it, each a
/// field and the values that are meant (the worlds may have different names for one thing).
#[derive(Clone, Debug)]
pub(crate) struct AxisValue {
    pub(crate) name: String,
    pub(crate) params: Vec<(String, Vec<String>)>,
}

/// Some values of an axis under a name.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) axis: usize,
    pub(crate) values: Vec<usize>,
}

/// An axis that runs over values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Binder {
    pub(crate) axis: usize,
    pub(crate) values: Vec<usize>,
}

/// `for BINDERS: RELATION`: the relation must hold for every combination.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) binders: Vec<Binder>,
    pub(crate) relation: Relation,
}

/// Something that holds or does not.
#[derive(Clone, Debug)]
pub(crate) enum Relation {
    /// `a < b <= c`
    Chain {
        first: Expr,
        rest: Vec<(Compare, Expr)>,
    },
    /// `a in low .. high`, both ends included
    Within { value: Expr, low: Expr, high: Expr },
    /// `a ~ b`: within a share of `b`
    About {
        value: Expr,
        target: Expr,
        share: f64,
    },
    /// `rising(n: a)`: no value is below the one before, by more than the slack
    Monotone {
        rising: bool,
        binder: Binder,
        body: Expr,
        slack: f64,
    },
}

/// `<`, `<=`, `>` or `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compare {
    pub(super) mark: &'static str,
    pub(super) sign: &'static str,
    pub(super) more: bool,
    pub(super) or_equal: bool,
}

impl Compare {
    /// Longer marks first.
    pub(super) const ALL: [Self; 4] = [
        Self::new("<=", "≤", false, true),
        Self::new(">=", "≥", true, true),
        Self::new("<", "<", false, false),
        Self::new(">", ">", true, false),
    ];

    const fn new(mark: &'static str, sign: &'static str, more: bool, or_equal: bool) -> Self {
        Self {
            mark,
            sign,
            more,
            or_equal,
        }
    }
}

/// A quantity.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Number(f64),
    Figure(Reference),
    /// Several values made one; never their sum.
    Reduce(Take, Binder, Box<Expr>),
    /// In how many combinations a relation holds.
    Count(Vec<Binder>, Box<Relation>),
    Binary(Operator, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// A figure in the cells that the selectors and the binders around it leave.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(super) figure: Figure,
    /// Axis and value, at most one for each axis.
    pub(super) fixed: Vec<(usize, usize)>,
    pub(super) link: String,
    pub(super) flow: String,
    pub(super) take: Take,
}

impl Reference {
    pub(super) fn new(figure: Figure, words: &Vocabulary) -> Self {
        Self {
            figure,
            fixed: Vec::new(),
            link: words.link.clone(),
            flow: words.flow.clone(),
            take: Take::default(),
        }
    }

    /// The place that is meant, seen from a place: what stands at the figure itself goes before
    /// what stands around it.
    pub(super) fn place(&self, around: &Place) -> Place {
        let mut place = around.clone();
        for (axis, value) in &self.fixed {
            place.retain(|(around, _)| around != axis);
            place.push((*axis, *value));
        }
        place
    }
}

impl Check {
    /// Whether a number stands in it: then it can be a bound.
    pub(crate) fn has_number(&self) -> bool {
        self.relation.has_number()
    }

    /// Whether it compares two figures of ours: the interval over the seeds decides then.
    pub(crate) fn is_order(&self) -> bool {
        match &self.relation {
            Relation::Chain { first, rest } => {
                let rest = rest.iter().map(|(_, expr)| expr);
                let all: Vec<&Expr> = std::iter::once(first).chain(rest).collect();
                let mut pairs = all.windows(2);
                pairs.any(|pair| pair[0].is_measured() && pair[1].is_measured())
            }
            Relation::Monotone { body, .. } => body.is_measured(),
            Relation::Within { .. } | Relation::About { .. } => false,
        }
    }
}

impl Expr {
    fn has_number(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Figure(_) => false,
            Self::Reduce(_, _, body) => body.has_number(),
            Self::Count(_, relation) => relation.has_number(),
            Self::Binary(_, left, right) => left.has_number() || right.has_number(),
        }
    }

    /// Whether it differs from seed to seed.
    fn is_measured(&self) -> bool {
        match self {
            Self::Number(_) | Self::Count(..) => false,
            Self::Figure(reference) => !matches!(reference.figure, Figure::Recorded(..)),
            Self::Reduce(_, _, body) => body.is_measured(),
            Self::Binary(_, left, right) => left.is_measured() || right.is_measured(),
        }
    }

    /// Numbers, figures and operators in it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Number(_) | Self::Figure(_) => 1,
            Self::Reduce(_, _, body) => 1 + body.size(),
            Self::Count(_, relation) => {
                1 + relation.exprs().into_iter().map(Self::size).sum::<usize>()
            }
            Self::Binary(_, left, right) => 1 + left.size() + right.size(),
        }
    }

    /// The series of flows that it reads, each with the name of the flows that are meant.
    pub(crate) fn flow_series(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Figure(reference) => {
                let series = reference.figure.flow_series();
                series
                    .map(|key| (key, &reference.flow[..]))
                    .into_iter()
                    .collect()
            }
            Self::Reduce(_, _, body) => body.flow_series(),
            Self::Count(_, relation) => {
                let exprs = relation.exprs().into_iter();
                exprs.flat_map(Self::flow_series).collect()
            }
            Self::Binary(_, left, right) => [left.flow_series(), right.flow_series()].concat(),
        }
    }

    /// Every figure in it.
    pub(super) fn figures(&mut self) -> Vec<&mut Reference> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Figure(reference) => vec![reference],
            Self::Reduce(_, _, body) => body.figures(),
            Self::Count(_, relation) => relation.figures(),
            Self::Binary(_, left, right) => {
                let mut figures = left.figures();
                figures.extend(right.figures());
                figures
            }
        }
    }
}

impl Relation {
    fn has_number(&self) -> bool {
        match self {
            Self::About { .. } => true,
            Self::Monotone { slack, .. } if *slack > 0.0 => true,
            _ => self.exprs().iter().any(|expr| expr.has_number()),
        }
    }

    fn exprs(&self) -> Vec<&Expr> {
        match self {
            Self::Chain { first, rest } => {
                let rest = rest.iter().map(|(_, expr)| expr);
                std::iter::once(first).chain(rest).collect()
            }
            Self::Within { value, low, high } => vec![value, low, high],
            Self::About { value, target, .. } => vec![value, target],
            Self::Monotone { body, .. } => vec![body],
        }
    }

    pub(super) fn figures(&mut self) -> Vec<&mut Reference> {
        let parts = match self {
            Self::Chain { first, rest } => {
                let rest = rest.iter_mut().map(|(_, expr)| expr);
                std::iter::once(first).chain(rest).collect()
            }
            Self::Within { value, low, high } => vec![value, low, high],
            Self::About { value, target, .. } => vec![value, target],
            Self::Monotone { body, .. } => vec![body],
        };
        parts.into_iter().flat_map(Expr::figures).collect()
    }
}

/// A table of values with their provenance.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    /// What made it: program, version, command.
    pub(crate) source: String,
    /// Its file, as it is named in messages.
    pub(crate) file: String,
    /// The axes that its rows are keyed by.
    pub(crate) axes: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Measurement>,
}

/// A quantity that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Empty when there is one quantity only.
    pub(crate) name: String,
    pub(crate) unit: Unit,
}

/// One measurement; several with the same key are repetitions.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// A value of each of the axes.
    pub(crate) key: Vec<usize>,
    /// One of each column, NaN where nothing was measured.
    pub(crate) values: Vec<f64>,
}

impl Recorded {
    /// The names by which quantities know its columns.
    pub(crate) fn words(&self) -> Vec<String> {
        let columns = self.columns.iter();
        columns
            .map(|column| match &column.name[..] {
                "" => format!("ref.{}", self.name),
                column => format!("ref.{}.{column}", self.name),
            })
            .collect()
    }
}
