//! The ECN mark, in place.

use crate::{Network, Parsed};
use sojourn_qdisc::Ecn;

/// Sets CE in the packet's IP header if it is ECN-capable, and mends the IPv4 header checksum;
/// returns whether it now carries CE. `parsed` must be of the same frame.
pub fn set_ce(frame: &mut [u8], parsed: &mut Parsed) -> bool {
    if !parsed.ecn().is_capable() {
        return false;
    }
    let at = usize::from(parsed.network_offset);
    let Some(header) = frame.get_mut(at..at + 20) else {
        debug_assert!(false, "an IP header was found in this frame");
        return false;
    };
    match parsed.network {
        Network::Ipv4 => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= Ecn::Ce as u8;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            let sum = update_checksum(sum, old, new);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        // The traffic class is in the second half of the first byte and the first half of the
        // second (RFC 8200 section 3); there is no checksum.
        Network::Ipv6 => header[1] |= (Ecn::Ce as u8) << 4,
        Network::Opaque => return false,
    }
    parsed.tos |= Ecn::Ce as u8;
    true
}

/// Clears the DSCP in the packet's IP header, keeps ECN, and mends the IPv4 header checksum.
/// `parsed` must be of the same frame; one without IP stays as it is.
pub fn clear_dscp(frame: &mut [u8], parsed: &mut Parsed) {
    if parsed.network == Network::Opaque {
        return;
    }
    let at = usize::from(parsed.network_offset);
    let Some(header) = frame.get_mut(at..at + 20) else {
        return;
    };
    match parsed.network {
        Network::Ipv4 => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] &= 3;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            let sum = update_checksum(sum, old, new);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        // The traffic class is the second half of the first byte and the first of the second.
        Network::Ipv6 => {
            header[0] &= 0xf0;
            header[1] &= 0x3f;
        }
        Network::Opaque => return,
    }
    parsed.tos &= 3;
}

/// RFC 1624 equation 3: the checksum after one 16-bit word changed from `old` to `new`.
pub(crate) fn update_checksum(sum: u16, old: u16, new: u16) -> u16 {
    let wide = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (wide & 0xffff) + (wide >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::update_checksum;

    #[test]
    fn rfc_1624_section_4_example() {
        // HC = 0xDD2F, m = 0x5555, m' = 0x3285: the result is 0x0000 and not 0xFFFF.
        assert_eq!(update_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
