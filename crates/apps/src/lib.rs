//! Traffic models as pure state machines that run unchanged in every world.
//!
//! An [`App`] is one end of a flow. The world tells it what happened ([`Input`]) and when; the
//! app answers through a [`Port`]: bytes, messages or datagrams to send, a time to be woken at,
//! what it has measured of itself ([`Metric`]). An app knows neither sockets nor packets, and
//! never what world it is in.
//!
//! Not here: transport. A byte written is a byte that the transport will deliver or lose.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod beat;
pub mod dash;
pub mod emodel;
mod game;
#[cfg(test)]
mod harness;
mod media;
mod metric;
mod port;
mod spec;
mod telemetry;
mod traffic;
mod web;

pub use game::{GameServer, Gamer};
pub use media::Listener;
pub use metric::{Gathering, Metric};
pub use port::{App, Datagram, Input, Message, Port};
pub use spec::{Spec, Transport};
pub use telemetry::{Collector, Device};
pub use traffic::{Bulk, Cbr, Echo, File, OnOff, Ping, Sink};
pub use web::{Browser, Pages, WebServer};
