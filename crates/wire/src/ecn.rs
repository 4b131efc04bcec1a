//! The ECN mark and the DSCP, in place.

use crate::parsed::{Network, Parsed, mend_v4};
use sojourn_qdisc::Ecn;

/// Sets CE in the packet's IP header if it is ECN-capable, and mends the IPv4 header checksum;
/// returns whether it now carries CE. `parsed` must be of the same frame.
pub fn set_ce(frame: &mut [u8], parsed: &mut Parsed) -> bool {
    parsed.ecn().is_capable() && set_tos(frame, parsed, parsed.tos | Ecn::Ce as u8)
}

/// Clears the DSCP in the packet's IP header, keeps ECN, and mends the IPv4 header checksum.
/// `parsed` must be of the same frame; one without IP stays as it is.
pub fn clear_dscp(frame: &mut [u8], parsed: &mut Parsed) {
    set_tos(frame, parsed, parsed.tos & 3);
}

/// Writes the TOS or traffic class byte; false without IP.
fn set_tos(frame: &mut [u8], parsed: &mut Parsed, tos: u8) -> bool {
    let at = usize::from(parsed.network_offset);
    match (parsed.network, frame.get_mut(at..at + 20)) {
        (Network::Opaque, _) => return false,
        (_, None) => {
            debug_assert!(false, "an IP header was found in this frame");
            return false;
        }
        (Network::Ipv4, Some(header)) => mend_v4(header, 0, u16::from_be_bytes([header[0], tos])),
        // The traffic class is in the second half of the first byte and the first half of the
        // second (RFC 8200 section 3); there is no checksum.
        (Network::Ipv6, Some(header)) => {
            header[0] = header[0] & 0xf0 | tos >> 4;
            header[1] = header[1] & 0x0f | tos << 4;
        }
    }
    parsed.tos = tos;
    true
}
