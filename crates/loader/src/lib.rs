//! The simulated world with AQMs and congestion controls from shared libraries:
//! `rust:FILE.so:TYPE n=5`.
//!
//! [`Plugin`] is one type of such a library (`sojourn-plugin` says how it is made), as a queue or a
//! congestion control of the simulator. [`Plugins`] reads a scenario that names some, and is the
//! world that runs it. In its cells something that nobody uses stands for each: a FIFO of some four
//! billion packets, or a congestion control that only Linux has. Results have the names again.
#![allow(unsafe_code, reason = "functions of another program are called")]

mod control;
mod fault;
mod library;
mod names;
mod queue;
mod world;

pub use fault::Fault;
pub use library::{LoadError, PREFIX, Plugin, Sort};
pub use world::Plugins;
