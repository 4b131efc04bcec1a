//! The small interface through which an AQM is steered: its delay target.

use crate::{Aqm, Codel, CodelParams, Gsp, GspParams, Pie, PieParams};
use sojourn_units::Span;

/// An AQM whose delay target can be read and moved.
pub trait Setpoint: Aqm {
    /// The delay target in force.
    fn target(&self) -> Span;

    /// Moves the target, from the next packet on.
    fn set_target(&mut self, target: Span);
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
}
