//! Traffic models as pure state machines that run unchanged in every world.
//!
//! An [`App`] is one end of a flow. The world tells it what happened ([`Input`]) and when; the
//! app answers through a [`Port`]: bytes, messages or datagrams to send, a time to be woken at,
//! what it has measured of itself ([`Metric`]). An app knows neither sockets nor packets, and
//! never what world it is in.
//!
//! A traffic model's parameters are a [`Model`]; a [`Spec`] is any of them.
//!
//! Not here: transport. A byte written is a byte that the transport will deliver or lose.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod beat;
mod bulk;
mod cbr;
pub mod dash;
pub mod emodel;
mod file;
mod game;
mod media;
mod metric;
mod model;
mod onoff;
mod outside;
mod ping;
mod port;
mod realtime;
mod sink;
mod steps;
mod telemetry;
mod web;
mod wishes;

pub use bulk::Bulk;
pub use cbr::{Cbr, Gaps};
pub use dash::Dash;
pub use file::File;
pub use game::Game;
pub use media::{Video, Voip};
pub use metric::{Gathering, Measure, Metric};
pub use model::{Datagrams, Ends, Kind, Model, Transport};
pub use onoff::OnOff;
pub use outside::Outside;
pub use ping::Ping;
pub use port::{App, Datagram, Input, Message, Port};
pub use realtime::Realtime;
pub use steps::Steps;
pub use telemetry::Telemetry;
pub use web::Web;
pub use wishes::{Wish, Wishes};

use sojourn_random::Stream;

model::models! {
    Bulk, File, Cbr, Ping, OnOff, Telemetry, Voip, Video, Game, Realtime, Dash, Web, Steps, Outside
}

#[cfg(test)]
mod tests;
