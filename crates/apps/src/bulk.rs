//! A stream that always has data.

use crate::model::ends;
use crate::sink::Sink;
use crate::{App, Ends, Input, Kind, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::Time;

/// A stream that always has data. It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bulk;

impl Model for Bulk {
    const KIND: Kind = Kind {
        is_elastic: true,
        ..Kind::new(
            "bulk",
            "a stream that always has data",
            Some(Transport::Tcp),
        )
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(Self, Sink)
    }
}

impl App for Bulk {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if input == Input::Start {
            port.write_forever();
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::{Notes, ms};

    #[test]
    fn it_writes_for_ever() {
        let mut port = Notes::default();
        Bulk.handle(Input::Start, ms(0), &mut port);
        assert!(port.forever);
    }
}
