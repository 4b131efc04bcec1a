//! The fidelity matrix: a fixed grid of cells, run in several worlds, and how far they agree.
//!
//! Worlds differ in whose TCP runs and whose queue code ([`Square`]). Where one of both changes
//! from a world to another, what differs between them is its doing, so that a difference between
//! the simulator and the kernel can be attributed ([`Cause`]). The grid ([`Grid`]) is four
//! scenario files, one for each phase of a connection's life; what was measured ([`Matrix`]) is
//! a table that stands in the repository, so that the simulator can be held to the kernel where
//! there is none.
//!
//! Not here: running cells (see `scenario` and the worlds), and the means over seeds (see
//! `report`).
#![forbid(unsafe_code)]

mod compare;
mod figure;
mod grid;
mod matrix;
mod page;
mod square;
mod summary;

pub use compare::{Cause, Difference, Pair, Verdict};
pub use figure::{FIGURES, Figure, GOODPUT};
pub use grid::{Grid, Phase};
pub use matrix::{Entry, Matrix, MatrixCell, MatrixError, Mean};
pub use page::{command, page, tolerance};
pub use square::{Code, Square};
pub use summary::{PhaseSummary, Summary, Tally, Worst};
