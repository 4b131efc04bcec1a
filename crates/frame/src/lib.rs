//! Results as wide tables for data frames: a row for each run, for each of its flows, for each of
//! its links, or for each point of its series.
//!
//! Parameters are numbers in the unit that their column's name ends with, wherever the format says
//! that the field is a quantity; the others have the order of the sweep. The columns of
//! figures are the list's (`world::figure`), a distribution's with the statistic behind the key:
//! `rtt_ms_p50`.
//!
//! Not here: formats of files (see `report`), and who shows the tables.
#![forbid(unsafe_code)]

mod column;
mod frame;
mod identity;
mod queue;
mod rows;
mod series;

pub use column::{Column, Values, Words};
pub use frame::Frame;
pub use rows::{flows, links, runs};
pub use series::{distribution_keys, distributions, series};
