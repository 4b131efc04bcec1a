//! Traffic models as pure state machines that run unchanged in every world.
//!
//! An [`App`] is one end of a flow. The world tells it what happened ([`Input`]) and when; the
//! app answers through a [`Port`]: bytes or datagrams to send, a time to be woken at. An app
//! knows neither sockets nor packets, and never what world it is in.
//!
//! Not here: transport. A byte written is a byte that the transport will deliver or lose.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod port;
mod spec;
mod traffic;

pub use port::{App, Datagram, Input, Port};
pub use spec::{Spec, Transport};
pub use traffic::{Bulk, Cbr, Echo, File, OnOff, Ping, Sink};
