//! From the Ethernet header to the network header.

use crate::parsed::{Network, Parsed, be16, ether_type};
use crate::{FlowKey, ip};

/// PPP protocol numbers (RFC 1332, RFC 5072).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Most VLAN tags looked behind.
const MAX_TAGS: usize = 4;
/// Most MPLS labels looked behind.
const MAX_LABELS: usize = 8;

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
