//! DASH: a video in chunks of several rates, a player that chooses among them, a server.

mod bola;
mod dashjs2;
mod library;
mod manifest;
mod player;
mod playout;
mod server;
mod throughput;

pub use bola::BOLA_LEAST;
pub use library::big_clip;
pub use manifest::{Manifest, ManifestError};
pub use player::{Rule, Viewing};
pub use server::Outage;

use crate::model::ends;
use crate::{Ends, Kind, Metric, Model, Transport};
use alloc::sync::Arc;
use player::Player;
use server::Server;
use sojourn_random::Stream;

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
        opens_later: true,
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
        let server = Server::new(Arc::clone(&self.viewing.manifest), self.outage);
        let viewing = self.viewing.clone();
        match viewing.rule {
            Rule::DashJs2 => ends(server, dashjs2::Player::new(viewing)),
            Rule::Throughput | Rule::Bola => ends(server, Player::new(viewing)),
        }
    }

    fn connections(&self) -> u8 {
        match self.viewing.rule {
            Rule::DashJs2 => dashjs2::CONNECTIONS,
            Rule::Throughput | Rule::Bola => 1,
        }
    }
}

#[cfg(test)]
mod tests;
