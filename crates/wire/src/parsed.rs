//! What is known of a frame, and the numbers in it.

use crate::FlowKey;
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
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const QINQ: u16 = 0x88a8;
    pub(crate) const QINQ_OLD: u16 = 0x9100;
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_UPSTREAM: u16 = 0x8848;
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
}

/// Two bytes in the order of the network.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Four bytes in the order of the network.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The sum of 16-bit words in one's complement (RFC 1071), on top of `start`; an odd byte is the
/// upper half of one.
pub(crate) fn ones_complement(bytes: &[u8], start: u32) -> u16 {
    let mut sum = u64::from(start);
    for pair in bytes.chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Writes a 16-bit field of an IPv4 header and mends its checksum.
pub(crate) fn mend_v4(header: &mut [u8], at: usize, new: u16) {
    let old = be16(header, at).unwrap_or(0);
    let sum = update_checksum(be16(header, 10).unwrap_or(0), old, new);
    header[at..at + 2].copy_from_slice(&new.to_be_bytes());
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1624 equation 3: the checksum after one 16-bit word changed from `old` to `new`.
fn update_checksum(sum: u16, old: u16, new: u16) -> u16 {
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
