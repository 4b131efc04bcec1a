//! The live world: real packets, the kernel's own TCP, and the queue code of the simulator.
//!
//! [`bridge`] puts a queue between two network interfaces, in user space; [`Lab`] builds the
//! network namespaces around it. The only crate with `unsafe`: system calls, each with the
//! reason why it is sound.
#![allow(unsafe_code, reason = "system calls")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real time; nothing here has to repeat itself"
)]

pub mod bridge;
mod clock;
mod fail_open;
mod host;
mod interface;
mod lab;
mod nat;
mod packet_socket;
mod signals;
mod world;

pub use clock::Clock;
pub use lab::{Host, Lab, Namespace, Plan};
pub use signals::catch_signals;
pub use world::{Guests, Live};
