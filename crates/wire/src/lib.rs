//! Frame parsing: what a queue needs to know of a real packet, and the ECN mark.
//!
//! [`parse`] finds the IP header of an Ethernet frame, also behind VLAN tags, a PPPoE session
//! and MPLS labels where that is safe, and the ports behind it. Frames that it does not
//! understand are not errors: they keep a flow key made of what every frame has, its MAC
//! addresses and its EtherType. [`set_ce`] marks a packet in place, [`write_segment`] makes the
//! headers of a super-packet's segments.
//!
//! [`build`] makes frames for captures of simulated packets, [`identity`] tells one packet from
//! all others.
//!
//! Any bytes may come in; nothing panics, and the work a frame can cause is bounded.
//!
//! Not here: sockets, buffers, checksums of payloads, IP within IP.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod ack;
pub mod build;
mod ecn;
mod flow;
mod frame;
mod identity;
mod ip;
mod parsed;
mod plain;
mod segment;

pub use ack::ack_facts;
pub use ecn::{clear_dscp, set_ce};
pub use flow::FlowKey;
pub use frame::parse;
pub use identity::identity;
pub use parsed::{Network, Parsed, ether_type};
pub use plain::{Plain, plain_tos};
pub use segment::{Segment, can_be_cut, join_segment, write_segment};

/// IP protocol numbers (IANA) that have a meaning here.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// DCCP.
    pub const DCCP: u8 = 33;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// UDP-Lite.
    pub const UDP_LITE: u8 = 136;
}
