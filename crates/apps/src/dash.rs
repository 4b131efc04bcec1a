//! DASH: a video in chunks of several rates, a player that chooses among them, a server.

mod bola;
mod library;
mod manifest;
mod player;
mod server;
mod throughput;

pub use bola::BOLA_LEAST;
pub use library::big_clip;
pub use manifest::{Manifest, ManifestError};
pub use player::Viewing;
pub use server::Outage;

use crate::model::ends;
use crate::{Ends, Kind, Metric, Model, Transport};
use alloc::sync::Arc;
use player::Player;
use server::Server;
use sojourn_random::Stream;
use sojourn_units::Span;

/// A video in chunks: the server is the first end, the player the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Dash {
    /// The video and how it is watched.
    pub viewing: Viewing,
    /// When the server is away.
    pub outage: Option<Outage>,
}

impl Model for Dash {
    const KIND: Kind = Kind {
        second_opens: true,
        has_messages: true,
        metrics: &[
            Metric::AchievedKbps,
            Metric::RequestedKbps,
            Metric::BufferS,
            Metric::Stalls,
            Metric::StalledS,
            Metric::Switches,
            Metric::Qoe,
        ],
        ..Kind::new(
            "dash",
            "a video in chunks of several rates",
            Some(Transport::Tcp),
        )
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(
            Server::new(Arc::clone(&self.viewing.manifest), self.outage),
            Player::new(self.viewing.clone()),
        )
    }
}

/// How a player chooses among the representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By the measured throughput.
    Throughput,
    /// By the playout buffer.
    Bola,
}

impl Rule {
    /// The buffer that it chooses by unless told otherwise: dash.js' `stableBufferTime` (as in its
    /// versions 3 and 4), and BOLA's own.
    pub const fn buffer(self) -> Span {
        match self {
            Self::Throughput => Span::from_secs(12),
            Self::Bola => Span::from_secs(30),
        }
    }
}

/// A chunk of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChunkName {
    /// Index of the representation.
    representation: usize,
    /// Its place in the video.
    number: usize,
}

impl ChunkName {
    /// As the tag of a message.
    const fn tag(self) -> u64 {
        (self.representation as u64) << 32 | self.number as u64
    }

    const fn of_tag(tag: u64) -> Self {
        Self {
            representation: (tag >> 32) as usize,
            number: (tag & 0xffff_ffff) as usize,
        }
    }
}

#[cfg(test)]
mod tests;
