//! Claims: what a published study found, as statements about the figures of our runs.
//!
//! A *check* is one line of a small language, described in `docs/claims.md`: quantities made of
//! figures of `summary.json` in named cells, and a comparison between them. A *claim* holds when
//! all its checks hold for the medians over the seeds.
//!
//! Not here: the file that claims stand in (see `read`).

mod evaluate;
mod figure;
mod lex;
mod parse;
mod terms;

pub use sojourn_units::Unit;

pub(crate) use evaluate::{Case, Cells, Evaluator, Missing, Quantity, combinations};
pub(crate) use figure::fits;
pub(crate) use parse::{Complaint, binder, binders, check, place, quantity};
pub(crate) use terms::{
    Axis, AxisValue, Binder, Check, Column, Expr, Place, Recorded, Row, Set, Vocabulary,
};

#[cfg(test)]
mod tests;
