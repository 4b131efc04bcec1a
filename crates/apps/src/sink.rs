//! The far end of one-way traffic.

use crate::{App, Input, Port};
use alloc::boxed::Box;
use sojourn_units::Time;

/// Takes whatever comes and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sink;

impl App for Sink {
    fn handle(&mut self, _input: Input, _now: Time, _port: &mut dyn Port) {}

    fn hears_deliveries(&self) -> bool {
        false
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}
