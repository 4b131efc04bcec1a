//! The table of worlds: the one place that knows which there are.
//!
//! A row is a world as people choose it: its name, what it can, whose TCP and queues it runs, and
//! how it is made. The program offers the rows, settings of studies may name them, and the fidelity
//! matrix compares their squares. A new world is a crate of its own and a row here.
//!
//! The rows need Linux, and stand behind the feature `linux`. Without it there are the names alone,
//! so that studies can be read where no packet can be sent.
//!
//! Not here: the words of the command line (`crates/cli/src/worlds.rs`).
#![forbid(unsafe_code)]

#[cfg(feature = "linux")]
mod rows;

#[cfg(feature = "linux")]
pub use rows::*;

use sojourn_sim::Sim;
use sojourn_world::WorldName;

/// The name of each row.
const NAMES: [WorldName; 3] = [Sim::NAME, WorldName::new("live"), WorldName::new("kernel")];

/// The names of all worlds.
pub fn names() -> Vec<WorldName> {
    NAMES.to_vec()
}
