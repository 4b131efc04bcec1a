//! The headers of one segment of a super-packet.
//!
//! Sources: RFC 791, RFC 8200, RFC 9293, RFC 768; RFC 3168 section 6.1.2 (CWR is on the first
//! segment only); Linux `Documentation/networking/segmentation-offloads.rst`.

use crate::parsed::{Network, Parsed, be16, ether_type, folded, mend_v4, sum_of_words};
use crate::protocol;

/// Flags of TCP that belong to the last segment: FIN and PSH.
const FIN_PSH: u8 = 0x09;
/// The flag that belongs to the first one.
const CWR: u8 = 0x80;

/// Which segment of a super-packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub index: u16,
    /// Bytes of payload before it.
    pub offset: u32,
    /// Bytes of its payload.
    pub len: u16,
    /// Whether none follows.
    pub is_last: bool,
}

/// Whether [`write_segment`] can make the headers of this packet's segments: TCP or UDP right in
/// an IP packet right in an Ethernet frame, with or without VLAN tags.
pub fn can_be_cut(frame: &[u8], parsed: &Parsed) -> bool {
    let kind = match parsed.network {
        Network::Ipv4 => ether_type::IPV4,
        Network::Ipv6 => ether_type::IPV6,
        Network::Opaque => return false,
    };
    // Behind PPPoE or MPLS there would be other lengths to mend.
    let at = usize::from(parsed.network_offset);
    let is_direct = at >= 14 && be16(frame, at - 2) == Some(kind);
    let known = matches!(parsed.flow.protocol, protocol::TCP | protocol::UDP);
    is_direct && known && !parsed.fragment && parsed.header_len > parsed.transport_offset
}

/// Turns a copy of a super-packet's headers, at the front of `frame`, into those of a segment:
/// lengths, IPv4 identification and header checksum, TCP's sequence number and flags, and in the
/// transport checksum the sum of the pseudo header, which is what is there while the rest is
/// left to the hardware. `parsed` is the super-packet's, for which [`can_be_cut`] held.
pub fn write_segment(frame: &mut [u8], parsed: &Parsed, segment: Segment) {
    let network = usize::from(parsed.network_offset);
    let transport = usize::from(parsed.transport_offset);
    let payload = usize::from(parsed.header_len);
    let Some(headers) = frame.get_mut(..payload) else {
        debug_assert!(false, "the headers were read from this frame");
        return;
    };
    let transport_len = (payload - transport) as u16 + segment.len;
    if parsed.network == Network::Ipv4 {
        let total = (payload - network) as u16 + segment.len;
        let header = &mut headers[network..];
        let id = be16(header, 4).unwrap_or(0);
        mend_v4(header, 2, total);
        mend_v4(header, 4, id.wrapping_add(segment.index));
    } else {
        let len = (payload - network - 40) as u16 + segment.len;
        headers[network + 4..network + 6].copy_from_slice(&len.to_be_bytes());
    }
    let sum = pseudo_sum(parsed, transport_len).to_be_bytes();
    let header = &mut headers[transport..];
    if parsed.flow.protocol == protocol::UDP {
        header[4..6].copy_from_slice(&transport_len.to_be_bytes());
        header[6..8].copy_from_slice(&sum);
        return;
    }
    // One look at the length for all fields: this is done for every segment.
    let Some(header) = header.first_chunk_mut::<20>() else {
        debug_assert!(false, "TCP's header was read from this frame");
        return;
    };
    let first = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let number = first.wrapping_add(segment.offset);
    [header[4], header[5], header[6], header[7]] = number.to_be_bytes();
    if !segment.is_last {
        header[13] &= !FIN_PSH;
    }
    if segment.index > 0 {
        header[13] &= !CWR;
    }
    [header[16], header[17]] = sum;
}

/// Turns the headers of a segment, at the front of `frame`, into those of a super-packet that has
/// `more` bytes of payload behind its own: those of the segment with the headers `next`. Both were
/// written by [`write_segment`] from the headers of one super-packet, of which `parsed` is.
pub fn join_segment(frame: &mut [u8], parsed: &Parsed, next: &[u8], more: u16) {
    let network = usize::from(parsed.network_offset);
    let transport = usize::from(parsed.transport_offset);
    let Some(headers) = frame.get_mut(..usize::from(parsed.header_len)) else {
        debug_assert!(false, "the headers were read from this frame");
        return;
    };
    let longer = |headers: &[u8], at| be16(headers, at).unwrap_or(0).wrapping_add(more);
    if parsed.network == Network::Ipv4 {
        let total = longer(headers, network + 2);
        mend_v4(&mut headers[network..], 2, total);
    } else {
        let len = longer(headers, network + 4);
        headers[network + 4..network + 6].copy_from_slice(&len.to_be_bytes());
    }
    let is_udp = parsed.flow.protocol == protocol::UDP;
    let checksum = transport + if is_udp { 6 } else { 16 };
    let sum = folded(u64::from(be16(headers, checksum).unwrap_or(0)) + u64::from(more));
    headers[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    if is_udp {
        let len = longer(headers, transport + 4);
        headers[transport + 4..transport + 6].copy_from_slice(&len.to_be_bytes());
    } else if let Some(flags) = next.get(transport + 13) {
        headers[transport + 13] |= flags & FIN_PSH;
    }
}

/// The folded sum, not complemented, of the pseudo header (RFC 9293 section 3.1, RFC 8200
/// section 8.1). IPv4 addresses are in the last bytes of the key, the rest is zero.
fn pseudo_sum(parsed: &Parsed, len: u16) -> u16 {
    let flow = &parsed.flow;
    let ends = sum_of_words(&flow.src) + sum_of_words(&flow.dst);
    folded(ends + u64::from(len) + u64::from(flow.protocol))
}
