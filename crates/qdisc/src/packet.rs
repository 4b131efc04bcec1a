//! What a discipline asks of a packet.

use crate::{AckFacts, truesize};
use sojourn_units::Ecn;

/// What a packet's flow and hosts hash to inside a network address translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsideHashes {
    /// As [`Packet::flow_hash`].
    pub flow: u32,
    /// Source and destination, as [`Packet::host_hashes`].
    pub hosts: (u32, u32),
}

/// What a firewall or a sender tells a queue of a packet, beside its headers. Zero is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The firewall's mark (`skb->mark`).
    pub mark: u32,
    /// The class of the queue's own: the minor number of `skb->priority`.
    pub class: u16,
}

/// A packet as disciplines see it: the simulator's compact struct or the handle of a frame.
///
/// Methods are called on hot paths; implementations should be a few instructions each.
#[allow(clippy::len_without_is_empty)]
pub trait Packet: Send + 'static {
    /// Length in bytes as Linux counts it for qdiscs: link-layer header included, no preamble,
    /// no FCS. May be zero.
    fn len(&self) -> u32;

    /// Bytes of memory that the packet takes as Linux counts it, which is what memory limits
    /// count. By default those of a datagram.
    fn memory(&self) -> u32 {
        truesize::of_datagram(self.len())
    }

    /// A hash of addresses, ports and protocol under `perturbation`. Packets of one flow have
    /// equal hashes; the hash is uniform over all 32 bits.
    fn flow_hash(&self, perturbation: u64) -> u32;

    /// The ECN field.
    fn ecn(&self) -> Ecn;

    /// Sets CE if the packet is ECN-capable; returns whether it now carries CE.
    fn set_ce(&mut self) -> bool;

    /// The six DSCP bits. ARP may say CS7, so that it goes with network control.
    fn dscp(&self) -> u8 {
        0
    }

    /// Clears the DSCP and keeps ECN (`wash`).
    fn clear_dscp(&mut self) {}

    /// Hashes of the source and the destination address alone, for fairness between hosts.
    /// Without addresses all packets are of one host.
    fn host_hashes(&self, _perturbation: u64) -> (u32, u32) {
        (0, 0)
    }

    /// The same hashes of what the packet's addresses and ports are inside a network address
    /// translation, for `nat`; None when nothing is known to be translated. Who looks it up, and
    /// where, is the world's business.
    fn inside_hashes(&self, _perturbation: u64) -> Option<InsideHashes> {
        None
    }

    /// The firewall's mark (`skb->mark`); zero without one.
    fn mark(&self) -> u32 {
        0
    }

    /// The class of this discipline that the sender has chosen: the minor number of
    /// `skb->priority` when its major number is this discipline's handle. Zero for none.
    fn class(&self) -> u16 {
        0
    }

    /// The leaf of a tree of rates ([`Tree`](crate::Tree)) that the packet goes to: the number of
    /// its class there, counted from 1. Zero for none. Who looks addresses up, and where, is the
    /// world's business.
    fn circuit(&self) -> u32 {
        0
    }

    /// Whether `other` is of the same flow and direction.
    fn is_same_flow(&self, other: &Self) -> bool
    where
        Self: Sized,
    {
        self.flow_hash(0) == other.flow_hash(0) && self.flow_hash(1) == other.flow_hash(1)
    }

    /// What an ACK filter asks of a TCP segment with the ACK flag; None for all else.
    fn ack(&self) -> Option<AckFacts> {
        None
    }

    /// Bytes before the network header; part of [`Packet::len`]. None: those of every packet of
    /// the link ([`Setting::link_header`](crate::Setting::link_header)).
    fn network_offset(&self) -> Option<u32> {
        None
    }

    /// For a super-packet, the number of packets that it will be cut into and the length of
    /// each but the last, headers included; their sum is [`Packet::len`]. Who owns its memory
    /// cuts it: see [`Outlet::cut`](crate::Outlet::cut).
    fn segments(&self) -> Option<(u32, u32)> {
        None
    }
}
