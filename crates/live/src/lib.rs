//! The live world: real packets, the kernel's own TCP, and the queue code of the simulator.
//!
//! [`bridge`] puts a queue between two network interfaces, in user space; [`Lab`] builds the
//! network namespaces around it. The only crate with `unsafe` code: system calls, in `sys`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real time; nothing here has to repeat itself"
)]

pub mod bridge;
mod btf;
mod checksum;
mod claim;
mod clock;
mod fail_open;
mod host;
mod interface;
mod lab;
mod moderation;
mod napi;
mod nat;
mod netlink;
mod ordered;
mod packet_socket;
mod port;
#[allow(unsafe_code)]
mod sys;
mod tc;
mod unfit;
mod world;
mod xdp_port;

pub use claim::{STATE, restore};
pub use clock::Clock;
pub use fail_open::FailOpenError;
pub use lab::{Gateway, Host, Lab, Namespace, Plan};
pub use sys::{Signal, Signals, give_memory_back};
pub use unfit::{Unfit, UnfitFlow};
pub use world::{Guests, Live, Queues};
