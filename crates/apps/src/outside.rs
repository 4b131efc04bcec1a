//! Datagrams of a program around the simulator.

use crate::model::ends;
use crate::sink::Sink;
use crate::{Ends, Kind, Model, Transport};
use sojourn_random::Stream;

/// Datagrams of a program around the simulator, which holds both ends of the flow and decides what
/// they send and when. It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outside;

impl Model for Outside {
    const KIND: Kind = Kind {
        is_outside: true,
        ..Kind::new(
            "outside",
            "datagrams of a program that uses the simulator as a library ([sojourn-net](net.md))",
            Some(Transport::Udp),
        )
    };

    /// Both ends only listen: the program does the rest.
    fn build(&self, _dice: Stream) -> Ends {
        ends(Sink, Sink)
    }
}
