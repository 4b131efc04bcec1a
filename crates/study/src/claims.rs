//! Claims: what a published study found, as statements about the figures of our runs.
//!
//! A *check* is one line of a small language, described in `docs/claims.md`: quantities made of
//! figures of `summary.json` in named cells, and a comparison between them. A number is judged by
//! the median over the seeds, an order of two figures by the interval of their difference. A
//! *claim* is as published when all its checks hold.
//!
//! Not here: the file that claims stand in (see `read`).

mod evaluate;
mod figure;
mod finding;
mod lex;
mod parse;
mod terms;

pub use sojourn_units::Unit;

pub(crate) use evaluate::{Case, Cells, Evaluator, Missing, Quantity, combinations};
pub(crate) use figure::fits;
pub(crate) use finding::Finding;
pub(crate) use parse::{Complaint, binder, binders, check, place, quantity};
pub(crate) use terms::{
    Axis, AxisValue, Binder, Check, Column, Expr, Measurement, Place, Recorded, Set, Vocabulary,
};

#[cfg(test)]
mod tests;
