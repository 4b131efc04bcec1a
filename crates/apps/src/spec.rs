//! A traffic model by its parameters, and the two ends that it is made of.

use crate::{App, Bulk, Cbr, Echo, File, OnOff, Ping, Sink};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Rate, Span};

/// What carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A byte stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// A traffic model with its parameters. The first end is at the flow's `from` host.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// A stream that always has data (TCP).
    Bulk,
    /// One file of `size` bytes, then the connection closes (TCP).
    File {
        /// Bytes.
        size: u64,
    },
    /// `size` bytes of payload every `interval`, over either transport. Over TCP a message that
    /// does not fit into the send buffer is skipped and counted as blocked.
    Cbr {
        /// Payload in bytes, 1 to 65 000.
        size: u16,
        /// Time between messages.
        interval: Span,
    },
    /// A latency probe: a request of `size` bytes every `interval`, echoed by the peer (UDP).
    Ping {
        /// Payload in bytes, 1 to 65 000.
        size: u16,
        /// Time between requests.
        interval: Span,
    },
    /// Bursts of datagrams at `rate` (payload) with exponential on and off times (UDP).
    OnOff {
        /// Payload in bytes, 1 to 65 000.
        size: u16,
        /// Payload rate during a burst.
        rate: Rate,
        /// Mean length of a burst.
        on: Span,
        /// Mean silence between bursts.
        off: Span,
    },
}

impl Spec {
    /// The model's name in scenario files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::File { .. } => "file",
            Self::Cbr { .. } => "cbr",
            Self::Ping { .. } => "ping",
            Self::OnOff { .. } => "onoff",
        }
    }

    /// Whether the flow takes all bandwidth it can get, so that its share measures fairness.
    pub const fn is_elastic(&self) -> bool {
        matches!(self, Self::Bulk | Self::File { .. })
    }

    /// The two ends: at the flow's `from` host and at its `to` host. `dice` is the flow's own.
    pub fn build(&self, dice: Stream) -> (Box<dyn App>, Box<dyn App>) {
        match *self {
            Self::Bulk => (Box::new(Bulk), Box::new(Sink)),
            Self::File { size } => (Box::new(File::new(size)), Box::new(Sink)),
            Self::Cbr { size, interval } => (Box::new(Cbr::new(size, interval)), Box::new(Sink)),
            Self::Ping { size, interval } => (Box::new(Ping::new(size, interval)), Box::new(Echo)),
            Self::OnOff {
                size,
                rate,
                on,
                off,
            } => (
                Box::new(OnOff::new(size, rate, on, off, dice)),
                Box::new(Sink),
            ),
        }
    }
}
