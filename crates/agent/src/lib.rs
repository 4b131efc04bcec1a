//! Simulated runs in which an agent decides at intervals: a congestion control, or an AQM.
//!
//! A [`Task`] says what the agent does and how often it decides. An [`Episode`] is one run of one
//! cell: [`Episode::step`] takes a decision, lets one interval pass and tells what
//! was seen in it. Episodes can be copied at any decision ([`Episode::fork`]).
//!
//! What is seen are numbers in a fixed order, [`Field`]s with unit and range. The reward adds what
//! was delivered, less queueing delay and loss; whoever wants another one computes it from the
//! fields.
//!
//! Not here: policies, learning, and threads. Python's environments stand on this (`docs/gym.md`).
#![forbid(unsafe_code)]

mod control;
mod episode;
mod field;
mod signal;
mod task;
mod watched;

pub use episode::{Episode, Outcome};
pub use field::Field;
pub use task::{Role, Task, Unfit};
