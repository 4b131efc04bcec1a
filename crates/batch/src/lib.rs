//! Runs of a scenario or of a study, each kept on disk as it finishes: what a folder has of them is
//! not run again. `sojourn run`, `sojourn reproduce` and Python go on so where they were killed.
//!
//! [`Part`] runs what is left of some cells, [`StudyRuns`] that of a study's; [`held`] is what a
//! folder of results has of a scenario. [`check_out`] looks first whether a folder may be written
//! to.
//!
//! Not here: how a kept run is stored (`report`), and who is told of progress and results.
#![forbid(unsafe_code)]

mod error;
mod out;
mod part;
mod scenario;
mod study;

pub use error::BatchError;
pub use out::{Results, check_out, clear};
pub use part::{Part, There, kept};
pub use scenario::held;
pub use study::{Cost, StudyRuns};
