//! The small interface through which an AQM is steered: its delay target.

use crate::aqm::Aqm;
use sojourn_units::{Span, Time};

/// An AQM whose delay target can be read and moved.
pub trait Setpoint: Aqm {
    /// The delay target in force.
    fn target(&self) -> Span;

    /// Moves the target, from the next packet on.
    fn set_target(&mut self, target: Span);

    /// Whether a packet could be signalled now if the queue is above the target: not in a pause
    /// that only time ends.
    fn is_ready(&self, _state: &Self::State, _now: Time) -> bool {
        true
    }
}
