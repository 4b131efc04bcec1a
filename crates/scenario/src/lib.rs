//! Scenario files, their grid, and the runner over any world.
//!
//! [`Scenario::load`] reads a scenario file into cells: one for each combination of its sweep and
//! each seed. [`run`] runs them in a [`World`](sojourn_world::World) on several threads and
//! gives the results in the grid's order, whichever finishes first.
//!
//! A scenario is checked as a whole before anything runs: every problem that can be seen is
//! reported at once, with its place, its field and what would be right ([`Problems`]). The means of
//! reading are [`sojourn_text`]'s; others who read such files have them from here too ([`tree`],
//! [`read`]).
//!
//! The format is described in `docs/scenario.md`; [`schema`] gives it as JSON Schema. Both come
//! from the one list of keys in `format.rs`.
//!
//! Not here: what a queue, a flow or a world does; claims about results (see `study`); and no
//! output files (see `report`).
#![forbid(unsafe_code)]

mod apps;
mod format;
mod interval;
mod parameter;
mod reference;
mod resolve;
mod runner;
mod scenario;
mod space;
mod stand_in;
mod sweep;
mod video;
mod videos;
mod whole_path;

pub use interval::Interval;
pub use parameter::{Quantities, Quantity};
pub use reference::{reference, schema};
pub use runner::{Outcome, Watch, each, run, split};
pub use scenario::{Options, Scenario};
use sojourn_text::quantity;
pub use sojourn_text::{
    BadTrace, Location, Problem, Problems, TraceError, Unreadable, Warnings, explained, load_trace,
    named_text, problem, read, read_text, tree,
};
pub use space::{Dimension, Gene, Space, Values};
pub use stand_in::{LINUX_ALONE, StandIns};
