//! The live world: real packets, the kernel's own TCP, and the queue code of the simulator.
//!
//! [`Lab`] builds network namespaces around a bridge ([`sojourn_bridge`]) or the kernel's own
//! queues; [`Live`] runs a cell between them, on sockets.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real time; nothing here has to repeat itself"
)]

mod host;
mod lab;
mod taps;
mod tc;
mod unfit;
mod world;

pub use lab::{Gateway, Host, Lab, Plan};
pub use unfit::{Unfit, UnfitFlow};
pub use world::{Guests, Live, Queues};
