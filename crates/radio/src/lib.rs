//! 802.11 ad hoc radios as state machines: they take the time as an argument and tell what is to
//! happen to whoever drives them.
//!
//! [`Air`] is the distributed coordination function of all stations of one medium over a physical
//! layer with thresholds ([`Neighbours`]); [`Profile`] has their constants and whose rules hold.
//! [`Aodv`] finds routes, [`Arp`] addresses. None of them knows a queue: a station asks its
//! [`Upper`] for the next packet when it can take one.
//!
//! Units: integer nanoseconds, bytes, metres.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod ahead;
mod air;
mod aodv;
mod arp;
mod by_node;
mod ear;
mod ears;
mod errors;
mod phy;
mod profile;
mod station;
mod timers;
mod upper;

pub use air::Air;
pub use aodv::{Aodv, AodvParams, Ends, Lost, Message, Outbox, Sequenced};
pub use arp::{Arp, ArpMessage, Resolution};
pub use phy::{Neighbour, Neighbours, Place};
pub use profile::{Profile, Propagation, Rules};
pub use station::Counts;
pub use upper::{Frame, FrameKind, Outgoing, Taken, Upper};

#[cfg(test)]
mod tests;
