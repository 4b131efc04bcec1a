//! The headers of one segment of a super-packet.
//!
//! Sources: RFC 791, RFC 8200, RFC 9293, RFC 768; RFC 3168 section 6.1.2 (CWR is on the first
//! segment only); Linux `Documentation/networking/segmentation-offloads.rst`.

use crate::ecn::update_checksum;
use crate::frame::be16;
use crate::{Network, Parsed, protocol};

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
        Network::Ipv4 => 0x0800,
        Network::Ipv6 => 0x86dd,
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
        mend_v4(&mut headers[network..], 2, total);
        let id = be16(headers, network + 4).unwrap_or(0);
        mend_v4(&mut headers[network..], 4, id.wrapping_add(segment.index));
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
    let first = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let number = first.wrapping_add(segment.offset);
    header[4..8].copy_from_slice(&number.to_be_bytes());
    if !segment.is_last {
        header[13] &= !FIN_PSH;
    }
    if segment.index > 0 {
        header[13] &= !CWR;
    }
    header[16..18].copy_from_slice(&sum);
}

/// Writes a 16-bit field of an IPv4 header and mends its checksum.
fn mend_v4(header: &mut [u8], at: usize, new: u16) {
    let old = be16(header, at).unwrap_or(0);
    let sum = update_checksum(be16(header, 10).unwrap_or(0), old, new);
    header[at..at + 2].copy_from_slice(&new.to_be_bytes());
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The folded sum, not complemented, of the pseudo header (RFC 9293 section 3.1, RFC 8200
/// section 8.1). IPv4 addresses are in the last bytes of the key, the rest is zero.
fn pseudo_sum(parsed: &Parsed, len: u16) -> u16 {
    let flow = &parsed.flow;
    let words = flow.src.chunks_exact(2).chain(flow.dst.chunks_exact(2));
    let mut sum = u32::from(len) + u32::from(flow.protocol);
    sum += words
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
