//! IPv4, IPv6 and the ports behind them.

use crate::parsed::{Network, Parsed, be16, ether_type, ones_complement};
use crate::{FlowKey, protocol};

/// Most IPv6 extension headers looked behind.
const MAX_EXTENSIONS: usize = 8;

/// Length of the IPv4 header at `at`, if there is a whole and sound one.
fn v4_header_len(frame: &[u8], at: usize) -> Option<usize> {
    let first = *frame.get(at)?;
    let len = usize::from(first & 15) * 4;
    let sound = first >> 4 == 4 && len >= 20 && frame.len() >= at + len;
    // A total length of zero is a kernel's segmentation offload above 64 KiB.
    let total = usize::from(be16(frame, at + 2)?);
    (sound && (total >= len || total == 0)).then_some(len)
}

/// Whether the IPv4 header at `at` has a right checksum (RFC 791).
pub(crate) fn v4_checksum_is_right(frame: &[u8], at: usize) -> bool {
    let len = v4_header_len(frame, at);
    len.is_some_and(|len| ones_complement(&frame[at..at + len], 0) == 0xffff)
}

/// Whether the IPv6 packet at `at` ends where the frame ends; short frames are padded.
pub(crate) fn v6_length_is_right(frame: &[u8], at: usize) -> bool {
    const SHORTEST_FRAME: usize = 60;
    be16(frame, at + 4).is_some_and(|payload| {
        let end = at + 40 + usize::from(payload);
        end == frame.len() || (end < frame.len() && frame.len() <= SHORTEST_FRAME)
    })
}

/// The IPv4 packet at `at`.
pub(crate) fn parse_v4(frame: &[u8], at: usize) -> Option<Parsed> {
    let len = v4_header_len(frame, at)?;
    let header = &frame[at..at + len];
    let mut flow = FlowKey {
        ether_type: ether_type::IPV4,
        protocol: header[9],
        ..FlowKey::default()
    };
    flow.src[12..].copy_from_slice(&header[12..16]);
    flow.dst[12..].copy_from_slice(&header[16..20]);
    // More fragments, or an offset: bits other than "don't fragment" and the reserved one.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let mut parsed = Parsed {
        flow,
        network: Network::Ipv4,
        tos: header[1],
        fragment,
        network_offset: at as u16,
        ..Parsed::default()
    };
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let end = match total {
        0 => frame.len(),
        total => frame.len().min(at + total),
    };
    if !fragment {
        parse_transport(&frame[..end], at + len, &mut parsed);
    }
    Some(parsed)
}

/// The IPv6 packet at `at`.
pub(crate) fn parse_v6(frame: &[u8], at: usize) -> Option<Parsed> {
    let header = frame.get(at..at + 40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let mut parsed = Parsed {
        network: Network::Ipv6,
        tos: header[0] << 4 | header[1] >> 4,
        network_offset: at as u16,
        ..Parsed::default()
    };
    parsed.flow.ether_type = ether_type::IPV6;
    parsed.flow.src.copy_from_slice(&header[8..24]);
    parsed.flow.dst.copy_from_slice(&header[24..40]);
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let end = match payload {
        // A jumbogram (RFC 2675), or a kernel's segmentation offload above 64 KiB.
        0 => frame.len(),
        payload => frame.len().min(at + 40 + payload),
    };
    let frame = &frame[..end];
    let (kind, next) = skip_extensions(frame, header[6], at + 40, &mut parsed);
    parsed.flow.protocol = kind;
    if let Some(next) = next.filter(|_| !parsed.fragment) {
        parse_transport(frame, next, &mut parsed);
    }
    Some(parsed)
}

/// Walks the chain of RFC 8200 section 4 and RFC 4302 (AH). Returns the last header kind that
/// could be read and where it begins, if that is known.
fn skip_extensions(
    frame: &[u8],
    mut kind: u8,
    mut at: usize,
    parsed: &mut Parsed,
) -> (u8, Option<usize>) {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const DESTINATION: u8 = 60;
    const MOBILITY: u8 = 135;
    for _ in 0..MAX_EXTENSIONS {
        if !matches!(
            kind,
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY
        ) {
            return (kind, Some(at));
        }
        let Some(&[next, len, b2, b3]) = frame.get(at..at + 4) else {
            return (kind, None);
        };
        at += match kind {
            FRAGMENT => {
                // Offset or "more": an atomic fragment (RFC 6946) is a whole packet.
                parsed.fragment |= u16::from_be_bytes([b2, b3]) & 0xfff9 != 0;
                8
            }
            AUTHENTICATION => (usize::from(len) + 2) * 4,
            _ => (usize::from(len) + 1) * 8,
        };
        kind = next;
        if parsed.fragment {
            // What follows is in the first fragment only: stop at the same kind in all.
            return (kind, None);
        }
    }
    (kind, None)
}

/// Ports, or the identifier of an echo, at `at`.
fn parse_transport(frame: &[u8], at: usize, parsed: &mut Parsed) {
    let Some(&[a, b, c, d]) = frame.get(at..at + 4) else {
        return;
    };
    let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let header_len = match parsed.flow.protocol {
        // The data offset counts words of four bytes, at least five.
        protocol::TCP => match frame.get(at + 12) {
            Some(offset) if offset >> 4 >= 5 => Some(usize::from(offset >> 4) * 4),
            _ => None,
        },
        protocol::UDP | protocol::UDP_LITE => Some(8),
        protocol::SCTP | protocol::DCCP => None,
        // Echo request and reply: the identifier tells one ping from another.
        protocol::ICMP if a == 8 || a == 0 => return parse_echo(frame, at, parsed),
        protocol::ICMPV6 if a == 128 || a == 129 => return parse_echo(frame, at, parsed),
        _ => return,
    };
    (parsed.flow.src_port, parsed.flow.dst_port) = ports;
    parsed.transport_offset = at as u16;
    parsed.header_len = header_len.map_or(0, |len| (at + len) as u16);
}

fn parse_echo(frame: &[u8], at: usize, parsed: &mut Parsed) {
    if let Some(identifier) = be16(frame, at + 4) {
        parsed.flow.src_port = identifier;
        parsed.transport_offset = at as u16;
    }
}
