//! The queue library as a qdisc of Linux: all of it that needs no kernel.
//!
//! `contrib/module` puts a module of Linux around this crate: `qdisc.c` has the kernel's side, and
//! `rust/src/lib.rs` the border between the two languages, where its `unsafe` code is. Here
//! are the parts that run on any machine, and so are tested on one:
//!
//! - [`Skb`] is a packet that the kernel owns, as disciplines see it. What they ask of its headers
//!   is found by `sojourn-wire`, as in the bridge.
//! - [`Instance`] is one qdisc: a discipline, its string, and what is counted beside it.
//! - [`Arena`] gives out an instance's memory, which is taken from the kernel when the instance is
//!   made. It can tell beforehand whether a packet could need more than there is.
//! - [`check`] is a sequence of packets and the decisions on it, to compare machines by.
//!
//! Not here: GSO (the module cuts packets before they are offered), the lookup of translated
//! addresses for `nat` (the kernel's connection tracking).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arena;
pub mod check;
mod instance;
mod skb;

pub use arena::{Arena, Block};
pub use instance::{Instance, Link, Taken};
pub use skb::{FRONT, Handle, Kernel, Offer, Skb};
