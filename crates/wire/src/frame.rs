//! From the Ethernet header to the network header.

use crate::{FlowKey, ip};
use sojourn_qdisc::Ecn;

/// What the network layer is, as far as it can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Not IP, or not safely found.
    #[default]
    Opaque,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// What a queue needs to know of a frame. Offsets are bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Addresses, ports and protocol.
    pub flow: FlowKey,
    /// What is at `network_offset`.
    pub network: Network,
    /// TOS or traffic class byte; zero without IP.
    pub tos: u8,
    /// Whether the packet is a fragment; its ports are then taken as unknown in every one, so
    /// that all stay in one flow.
    pub fragment: bool,
    /// Where the IP header begins; zero without IP.
    pub network_offset: u16,
    /// Where the transport header begins; zero when there is none to see.
    pub transport_offset: u16,
    /// Length of all headers up to the payload of TCP or UDP; zero for other packets.
    pub header_len: u16,
}

impl Parsed {
    /// The ECN field.
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    /// The six DSCP bits.
    pub const fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    /// Whether TCP or UDP payload follows the headers; padding of short frames does not count.
    pub fn has_payload(&self, frame: &[u8]) -> bool {
        let at = usize::from(self.network_offset);
        let end = match self.network {
            Network::Ipv4 => be16(frame, at + 2).map(|total| (total, at)),
            Network::Ipv6 => be16(frame, at + 4).map(|payload| (payload, at + 40)),
            Network::Opaque => None,
        };
        match end {
            // A length of zero is a kernel's segmentation offload above 64 KiB.
            Some((0, _)) => true,
            Some((len, from)) => usize::from(len) + from > usize::from(self.header_len),
            None => false,
        }
    }

    /// Whether `flow` holds ports (or the identifier of an echo).
    pub const fn has_ports(&self) -> bool {
        self.transport_offset != 0
    }
}

/// EtherTypes (IEEE registration authority) that have a meaning here.
mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const QINQ: u16 = 0x88a8;
    pub(super) const QINQ_OLD: u16 = 0x9100;
    pub(super) const MPLS: u16 = 0x8847;
    pub(super) const MPLS_UPSTREAM: u16 = 0x8848;
    pub(super) const PPPOE_SESSION: u16 = 0x8864;
}

/// PPP protocol numbers (RFC 1332, RFC 5072).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Most VLAN tags looked behind.
const MAX_TAGS: usize = 4;
/// Most MPLS labels looked behind.
const MAX_LABELS: usize = 8;

pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Looks at an Ethernet II frame (from the destination MAC address, without FCS). Never fails:
/// what is not understood is [`Network::Opaque`].
pub fn parse(frame: &[u8]) -> Parsed {
    let found = find_network(frame).and_then(|(network, at)| match network {
        Network::Ipv4 => ip::parse_v4(frame, at),
        Network::Ipv6 => ip::parse_v6(frame, at),
        Network::Opaque => None,
    });
    found.unwrap_or_else(|| opaque(frame))
}

/// Where the IP header is.
fn find_network(frame: &[u8]) -> Option<(Network, usize)> {
    let mut at = 12;
    let mut kind = be16(frame, at)?;
    for _ in 0..MAX_TAGS {
        if !matches!(
            kind,
            ether_type::VLAN | ether_type::QINQ | ether_type::QINQ_OLD
        ) {
            break;
        }
        at += 4;
        kind = be16(frame, at)?;
    }
    at += 2;
    match kind {
        ether_type::IPV4 => Some((Network::Ipv4, at)),
        ether_type::IPV6 => Some((Network::Ipv6, at)),
        ether_type::PPPOE_SESSION => behind_pppoe(frame, at),
        ether_type::MPLS | ether_type::MPLS_UPSTREAM => behind_mpls(frame, at),
        _ => None,
    }
}

/// RFC 2516 section 4: version 1, type 1, code 0 for session data, then the PPP protocol.
fn behind_pppoe(frame: &[u8], at: usize) -> Option<(Network, usize)> {
    if be16(frame, at)? != 0x1100 {
        return None;
    }
    match be16(frame, at + 6)? {
        PPP_IPV4 => Some((Network::Ipv4, at + 8)),
        PPP_IPV6 => Some((Network::Ipv6, at + 8)),
        _ => None,
    }
}

/// RFC 3032: labels up to the bottom of the stack. Nothing says what is behind it; the first
/// nibble is a guess (RFC 4928), so an IPv4 header must have a right checksum and an IPv6 header
/// must end where the frame ends. A pseudowire's payload passes these by chance only.
fn behind_mpls(frame: &[u8], mut at: usize) -> Option<(Network, usize)> {
    for _ in 0..MAX_LABELS {
        let bottom = frame.get(at + 2)? & 1 == 1;
        at += 4;
        if bottom {
            return match frame.get(at)? >> 4 {
                4 if ip::v4_checksum_is_right(frame, at) => Some((Network::Ipv4, at)),
                6 if ip::v6_length_is_right(frame, at) => Some((Network::Ipv6, at)),
                _ => None,
            };
        }
    }
    None
}

/// A frame without IP: MAC addresses and EtherType.
fn opaque(frame: &[u8]) -> Parsed {
    let mut flow = FlowKey {
        ether_type: be16(frame, 12).unwrap_or(0),
        ..FlowKey::default()
    };
    if let Some(addresses) = frame.get(..12) {
        flow.dst[10..].copy_from_slice(&addresses[..6]);
        flow.src[10..].copy_from_slice(&addresses[6..]);
    }
    Parsed {
        flow,
        ..Parsed::default()
    }
}

pub(crate) const ETHER_TYPE_IPV4: u16 = ether_type::IPV4;
pub(crate) const ETHER_TYPE_IPV6: u16 = ether_type::IPV6;
