//! tc(8)'s language: the strings that choose a discipline, and what `tc -s` prints of it.
//!
//! [`catalogue`] is the one table of disciplines, options and statistics. The parser knows
//! options from it, the printers know units from it, `sojourn qdisc explain` and the
//! documentation are made from it.

mod dual;
mod entrance;
mod error;
mod explain;
mod kind;
mod kinds;
mod linux;
mod netem;
mod notation;
mod opt;
mod parse;
mod print;
mod queues;
mod reading;
mod relative;
mod report;
mod show;
mod tins;
mod word;

pub use entrance::Entrance;
pub use error::SpecError;
pub use explain::{explain, list};
pub use kind::Kind;
pub use kinds::{catalogue, kind};
pub use opt::{Initial, Opt, Stat, Style, Unit};
pub use reading::{Reading, Taken};
pub use relative::LinkPath;

#[cfg(test)]
mod tests;
