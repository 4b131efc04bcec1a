//! tc(8)'s language: the strings that choose a discipline, and what `tc -s` prints of it.
//!
//! [`catalogue`] is the one table of disciplines, options and statistics. The parser knows
//! options from it, the printers know units from it, `sojourn qdisc explain` and the
//! documentation are made from it.

mod assemble;
mod cake;
mod catalogue;
mod error;
mod explain;
mod kinds;
mod parse;
mod parts;
mod report;
mod show;

pub use catalogue::{Initial, Kind, Opt, Stat, Style, Unit, catalogue, kind};
pub use error::SpecError;
pub use explain::list;
pub(crate) use report::options;

#[cfg(test)]
mod tests;
