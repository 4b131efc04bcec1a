//! Scenario files, their grid, and the runner over both worlds.
//!
//! [`Study::load`] reads a scenario file into cells: one for each combination of its sweep and
//! each seed. [`run`] runs them in a [`World`](sojourn_world::World) on several threads and
//! gives the results in the grid's order, whichever finishes first.
//!
//! [`Published`] is a published study: several scenarios, and the claims that their results are
//! held against, which are data too (`docs/claims.md`).
//!
//! A scenario is checked as a whole before anything runs: every problem that can be seen is
//! reported at once, with its place, its field and what would be right ([`Problems`]).
//!
//! The format is described in `docs/scenario.md`; [`schema`] gives it as JSON Schema. Both come
//! from the one list of keys in `format.rs`.
//!
//! Not here: what a queue, a flow or a world does; and no output files (see `report`).
#![forbid(unsafe_code)]

mod claims;
mod format;
mod problem;
mod published;
mod quantity;
mod read;
mod reference;
mod resolve;
mod runner;
mod study;
mod sweep;
mod trace;
mod tree;
mod video;

pub use claims::Unit;
pub use problem::{Problem, Problems};
pub use published::{
    Chart, ChartKind, Checked, Claim, Dot, Files, Grid, Judgement, Line, Listed, Log, Panel,
    Provenance, Published, Results, Setting, Source, Status, WorldName,
};
pub use reference::{reference, schema};
pub use runner::{Outcome, Watch, run};
pub use study::{Options, Study};
pub use trace::parse as parse_trace;
pub use video::parse as parse_video;
