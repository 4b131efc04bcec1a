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
    folded(u64::from(start) + sum_of_words(bytes))
}

/// The sum of 16-bit words before its carries are [`folded`]. Four bytes at a time: the upper two
/// count 2¹⁶ times themselves, which is once in one's complement.
#[inline]
pub(crate) fn sum_of_words(bytes: &[u8]) -> u64 {
    let (fours, rest) = bytes.as_chunks::<4>();
    let sum: u64 = fours
        .iter()
        .map(|four| u64::from(u32::from_be_bytes(*four)))
        .sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// A sum with its carries added until 16 bits are left (RFC 1071).
#[inline]
pub(crate) const fn folded(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Writes a 16-bit field of an IPv4 header and mends its checksum.
#[inline]
pub(crate) fn mend_v4(header: &mut [u8], at: usize, new: u16) {
    let Some(header) = header.first_chunk_mut::<20>() else {
        debug_assert!(false, "the header was read before");
        return;
    };
    let old = u16::from_be_bytes([header[at], header[at + 1]]);
    let sum = u16::from_be_bytes([header[10], header[11]]);
    let sum = update_checksum(sum, old, new);
    [header[at], header[at + 1]] = new.to_be_bytes();
    [header[10], header[11]] = sum.to_be_bytes();
}

/// RFC 1624 equation 3: the checksum after one 16-bit word changed from `old` to `new`.
#[inline]
fn update_checksum(sum: u16, old: u16, new: u16) -> u16 {
    let wide = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (wide & 0xffff) + (wide >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::{ones_complement, update_checksum};

    /// RFC 1071 section 3: the words 0001, f203, f4f5 and f6f7 have the sum ddf2.
    #[test]
    fn rfc_1071_section_3_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(ones_complement(&bytes, 0), 0xddf2);
        let halves = ones_complement(&bytes[..4], 0);
        assert_eq!(ones_complement(&bytes[4..], halves.into()), 0xddf2);
    }

    /// Word by word, with each carry added at once.
    #[test]
    fn sums_are_those_of_single_words() {
        let bytes: [u8; 9000] =
            core::array::from_fn(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 13) as u8);
        let (ones, nothing) = ([0xff; 9000], [0; 9000]);
        for bytes in [&bytes, &ones, &nothing] {
            for len in (0..50).chain([1460, 8999, 9000]) {
                for start in [0, 6, 0xffff, u32::MAX] {
                    let mut sum = u64::from(start);
                    for pair in bytes[..len].chunks(2) {
                        sum += u64::from(pair[0]) << 8;
                        sum += u64::from(*pair.get(1).unwrap_or(&0));
                    }
                    while sum > 0xffff {
                        sum = (sum & 0xffff) + (sum >> 16);
                    }
                    assert_eq!(u64::from(ones_complement(&bytes[..len], start)), sum);
                }
            }
        }
    }

    #[test]
    fn rfc_1624_section_4_example() {
        // HC = 0xDD2F, m = 0x5555, m' = 0x3285: the result is 0x0000 and not 0xFFFF.
        assert_eq!(update_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
