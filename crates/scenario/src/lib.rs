//! Scenario files, their grid, and the runner over any world.
//!
//! [`Scenario::load`] reads a scenario file into cells: one for each combination of its sweep and
//! each seed. [`run`] runs them in a [`World`](sojourn_world::World) on several threads and
//! gives the results in the grid's order, whichever finishes first.
//!
//! A scenario is checked as a whole before anything runs: every problem that can be seen is
//! reported at once, with its place, its field and what would be right ([`Problems`]). The same
//! means of reading are there for others who read such files: [`tree`] and [`read`].
//!
//! The format is described in `docs/scenario.md`; [`schema`] gives it as JSON Schema. Both come
//! from the one list of keys in `format.rs`.
//!
//! A bridge's file is read in the same way, and has keys and units in common with scenarios
//! ([`bridge`]).
//!
//! Not here: what a queue, a flow or a world does; claims about results (see `study`); and no
//! output files (see `report`).
#![forbid(unsafe_code)]

mod apps;
pub mod bridge;
mod files;
mod format;
mod parameter;
pub mod problem;
mod quantity;
pub mod read;
mod reference;
mod resolve;
mod runner;
mod scenario;
pub mod subscribers;
mod sweep;
mod text;
mod trace;
pub mod tree;
mod video;

pub use files::{BadTrace, load_trace, named_text};
pub use parameter::{Quantities, Quantity};
pub use problem::{Place, Problem, Problems};
pub use quantity::group;
pub use reference::{bridge_reference, bridge_schema, reference, schema, subscribers_schema};
pub use runner::{Outcome, Watch, each, run, split};
pub use scenario::{Options, Scenario};
pub use text::{Unreadable, read_text};
pub use trace::TraceError;
