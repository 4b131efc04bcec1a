//! Finds the scenario in which a property breaks.
//!
//! A [`Hunt`] looks at points of a [`Space`]: each is a scenario file of its own with a seed. It
//! keeps those that are near to breaking the [`Property`] and those in which a queue or a flow came
//! into a state that none had before (`states.rs`), and goes on from there (`search.rs`). What
//! breaks is made smaller while it still breaks (`shrink.rs`): a lower step, fewer flows, a shorter
//! run, rounder numbers, a smaller seed. It never leaves the space.
//!
//! The same hunt looks at the same points in the same order, on any number of threads; how many of
//! them is the caller's word ([`Hunt::search`]).
//!
//! Not here: what scenarios, properties and worlds are (see `scenario`, `study`, `world`); clocks.
#![forbid(unsafe_code)]

mod point;
mod search;
mod shrink;
mod states;
mod trial;

pub use point::Point;
pub use search::{Found, Hunt, Progress, Unsearched, fullest};
pub use trial::Broken;

#[cfg(doc)]
use sojourn_scenario::Space;
#[cfg(doc)]
use sojourn_study::Property;
