//! Flent's data files, so that Flent's own plots show a run.
//!
//! Source: Flent 2.3 (`doc/data-format.rst`, `flent/tests/*.conf` for the series of each test). A
//! run is given as that test of Flent's whose flows it has, with the series' names of that test.
//! [`Data`] reads such files, whoever measured them.
//!
//! Not here: Flent's plots, and its tests as scenarios (see `scenarios/flent/`).
#![forbid(unsafe_code)]

mod file;
mod read;
mod test;

pub use file::{Unfit, data_file};
pub use read::{Data, Ping, Stream, Unreadable};
pub use test::Test;
