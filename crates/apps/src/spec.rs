//! A traffic model by its parameters, and the two ends that it is made of.

use crate::dash::{Outage, Player, Server, Viewing};
use crate::{
    App, Browser, Bulk, Cbr, Collector, Device, Echo, File, GameServer, Gamer, Listener, Metric,
    OnOff, Pages, Ping, Sink, WebServer,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
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
    /// A device's reports: `size` bytes every `interval`, and how old they are on arrival (TCP).
    Telemetry {
        /// Bytes, at least 12.
        size: u32,
        /// Time between reports.
        interval: Span,
    },
    /// One direction of a call in speech: `size` bytes every `interval`, rated by the E-model
    /// (UDP).
    Voip {
        /// Payload in bytes, 1 to 65 000.
        size: u16,
        /// Time between packets.
        interval: Span,
    },
    /// One direction of a call in pictures, the same way (UDP).
    Video {
        /// Payload in bytes, 1 to 65 000.
        size: u16,
        /// Time between packets.
        interval: Span,
    },
    /// A fast game: the player's commands, and the server's pictures of the world (UDP).
    Game {
        /// Payload of a command in bytes, 1 to 65 000.
        command: u16,
        /// Payload of a picture in bytes, 1 to 65 000.
        picture: u16,
        /// Time between two of either.
        interval: Span,
    },
    /// A video in chunks: the server is the first end, the player the second (TCP).
    Dash {
        /// The video and how it is watched.
        viewing: Viewing,
        /// When the server is away.
        outage: Option<Outage>,
    },
    /// Web pages: the server is the first end, the browser the second (TCP).
    Web(Pages),
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
            Self::Telemetry { .. } => "telemetry",
            Self::Voip { .. } => "voip",
            Self::Video { .. } => "video",
            Self::Game { .. } => "game",
            Self::Dash { .. } => "dash",
            Self::Web(_) => "web",
        }
    }

    /// How many connections the flow has.
    pub fn connections(&self) -> u8 {
        match self {
            Self::Web(pages) => pages.connections.max(1),
            _ => 1,
        }
    }

    /// Whether the second end opens the connections: the client, where it receives the data that
    /// the flow's figures describe.
    pub const fn second_opens(&self) -> bool {
        matches!(self, Self::Dash { .. } | Self::Web(_))
    }

    /// Whether its streams carry messages, in both directions, instead of plain bytes.
    pub const fn has_messages(&self) -> bool {
        matches!(
            self,
            Self::Telemetry { .. } | Self::Dash { .. } | Self::Web(_)
        )
    }

    /// What carries it; none when it runs over either.
    pub const fn transport(&self) -> Option<Transport> {
        match self {
            Self::Cbr { .. } => None,
            Self::Bulk
            | Self::File { .. }
            | Self::Telemetry { .. }
            | Self::Dash { .. }
            | Self::Web(_) => Some(Transport::Tcp),
            Self::Ping { .. }
            | Self::OnOff { .. }
            | Self::Voip { .. }
            | Self::Video { .. }
            | Self::Game { .. } => Some(Transport::Udp),
        }
    }

    /// What its ends measure of themselves, in the order of results.
    pub const fn metrics(&self) -> &'static [Metric] {
        match self {
            Self::Telemetry { .. } => &[Metric::AgeMs],
            Self::Voip { .. } | Self::Video { .. } => &[
                Metric::JitterMs,
                Metric::MissingRatio,
                Metric::RFactor,
                Metric::Mos,
            ],
            Self::Game { .. } => &[Metric::JitterMs, Metric::LagMs],
            Self::Dash { .. } => &[
                Metric::AchievedKbps,
                Metric::RequestedKbps,
                Metric::BufferS,
                Metric::Stalls,
                Metric::StalledS,
                Metric::Switches,
                Metric::Qoe,
            ],
            Self::Web(_) => &[Metric::PageLoadMs, Metric::ObjectMs],
            _ => &[],
        }
    }

    /// Whether it is one direction of a call.
    pub const fn is_call(&self) -> bool {
        matches!(self, Self::Voip { .. } | Self::Video { .. })
    }

    /// Whether the flow takes all bandwidth it can get, so that its share measures fairness.
    pub const fn is_elastic(&self) -> bool {
        matches!(self, Self::Bulk | Self::File { .. })
    }

    /// The two ends: at the flow's `from` host and at its `to` host. `dice` is the flow's own.
    pub fn build(&self, dice: Stream) -> Ends {
        fn ends(first: impl App + 'static, second: impl App + 'static) -> Ends {
            (Box::new(first), Box::new(second))
        }
        match self {
            Self::Bulk => ends(Bulk, Sink),
            &Self::File { size } => ends(File::new(size), Sink),
            &Self::Cbr { size, interval } => ends(Cbr::new(size, interval), Sink),
            &Self::Ping { size, interval } => ends(Ping::new(size, interval), Echo),
            &Self::OnOff {
                size,
                rate,
                on,
                off,
            } => ends(OnOff::new(size, rate, on, off, dice), Sink),
            &Self::Telemetry { size, interval } => ends(Device::new(size, interval), Collector),
            &Self::Voip { size, interval } | &Self::Video { size, interval } => {
                ends(Cbr::new(size, interval), Listener::new(interval))
            }
            &Self::Game {
                command,
                picture,
                interval,
            } => ends(
                Gamer::new(command, interval),
                GameServer::new(picture, interval),
            ),
            Self::Dash { viewing, outage } => ends(
                Server::new(Arc::clone(&viewing.manifest), *outage),
                Player::new(viewing.clone()),
            ),
            &Self::Web(pages) => ends(WebServer, Browser::new(pages, dice)),
        }
    }
}

/// Both ends of a flow.
type Ends = (Box<dyn App>, Box<dyn App>);
