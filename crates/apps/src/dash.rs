//! DASH: a video in chunks of several rates, a player that chooses among them, a server.

mod bola;
mod library;
mod manifest;
mod player;
mod server;
mod throughput;

pub use library::big_clip;
pub use manifest::{Manifest, ManifestError};
pub use player::{Player, Viewing};
pub use server::{Outage, Server};

/// How a player chooses among the representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By the measured throughput.
    Throughput,
    /// By the playout buffer.
    Bola,
}

impl Rule {
    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Bola => "bola",
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
