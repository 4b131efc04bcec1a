//! The simulated world with queue disciplines from shared libraries: `rust:FILE.so:AQM n=5`.
//!
//! [`Plugin`] is one AQM of such a library (`sojourn-plugin` says how it is made), as a queue of
//! the simulator. [`Plugins`] reads a scenario that names some, and is the world that runs it. In
//! its cells a queue that nobody uses stands for each, a FIFO of some four billion packets; results
//! have the names again.
#![allow(unsafe_code, reason = "functions of another program are called")]

mod library;
mod queue;
mod world;

pub use library::{LoadError, PREFIX, Plugin};
pub use world::Plugins;
