//! Messages of one size at a constant rate.

use crate::beat::Paced;
use crate::model::{Datagrams, ends, one_way};
use crate::sink::Sink;
use crate::{Ends, Kind, Model};
use sojourn_random::Stream;
use sojourn_units::Span;

/// `size` bytes of payload every `interval`, over either transport. Over TCP a message that does
/// not fit into the send buffer is skipped and counted as blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cbr {
    /// Payload in bytes, 1 to [`Datagram::MOST`](crate::Datagram::MOST).
    pub size: u16,
    /// Time between messages.
    pub interval: Span,
}

impl Model for Cbr {
    const KIND: Kind = Kind::new("cbr", "messages of one size at a constant rate", None);

    fn build(&self, _dice: Stream) -> Ends {
        ends(Paced::new(self.size, self.interval), Sink)
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        one_way(self.size)
    }
}
