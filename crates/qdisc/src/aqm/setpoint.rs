//! The small interface through which an AQM is steered: its delay target.

use crate::{Aqm, Codel, CodelParams, Gsp, GspParams, GspState, Pie, PieParams};
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

impl Setpoint for Codel {
    fn target(&self) -> Span {
        self.params().target
    }

    fn set_target(&mut self, target: Span) {
        let params = *self.params();
        self.set_params(CodelParams { target, ..params });
    }
}

impl Setpoint for Pie {
    fn target(&self) -> Span {
        self.params().target
    }

    fn set_target(&mut self, target: Span) {
        let params = *self.params();
        self.set_params(PieParams { target, ..params });
    }
}

impl Setpoint for Gsp {
    fn target(&self) -> Span {
        self.params().threshold
    }

    fn set_target(&mut self, threshold: Span) {
        let params = *self.params();
        self.set_params(GspParams {
            threshold,
            ..params
        });
    }

    #[inline]
    fn is_ready(&self, state: &GspState, now: Time) -> bool {
        now > state.expiry
    }
}
