//! What makes packets belong together.

use crate::parsed::ether_type;
use sojourn_random::mix;

/// Addresses, ports and protocol of a packet; equal for all packets of a flow.
///
/// IPv4 addresses stand in the last four bytes, the rest being zero. A frame without IP has its
/// MAC addresses there and the EtherType in `ether_type`; nothing else is known to stay the same
/// within a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Source address.
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
    /// Source port, or the identifier of an ICMP echo; zero when there is none to see.
    pub src_port: u16,
    /// Destination port; zero when there is none to see.
    pub dst_port: u16,
    /// EtherType of what `src` and `dst` are addresses of.
    pub ether_type: u16,
    /// IP protocol; zero without IP.
    pub protocol: u8,
}

const fn word(bytes: [u8; 16], upper: bool) -> u64 {
    let value = u128::from_be_bytes(bytes);
    if upper {
        (value >> 64) as u64
    } else {
        value as u64
    }
}

/// An IPv4 address in its place.
const fn v4(address: u32) -> [u8; 16] {
    (address as u128).to_be_bytes()
}

impl FlowKey {
    /// The key of an IPv4 packet: addresses and ports in the host's byte order, the source port in
    /// the upper half of `ports`.
    #[inline]
    pub const fn of_v4(src: u32, dst: u32, ports: u32, protocol: u8) -> Self {
        Self {
            src: v4(src),
            dst: v4(dst),
            src_port: (ports >> 16) as u16,
            dst_port: ports as u16,
            ether_type: ether_type::IPV4,
            protocol,
        }
    }

    /// A hash of the whole key under `perturbation`, uniform over 32 bits. Who does not know the
    /// perturbation cannot choose keys that collide.
    #[inline]
    pub const fn hash(&self, perturbation: u64) -> u32 {
        let rest = (self.src_port as u64) << 48
            | (self.dst_port as u64) << 32
            | (self.ether_type as u64) << 16
            | self.protocol as u64;
        (self.fold(perturbation, rest, true, true) >> 32) as u32
    }

    /// A hash of the source address alone, for fairness between hosts.
    #[inline]
    pub const fn src_hash(&self, perturbation: u64) -> u32 {
        (self.fold(perturbation, self.ether_type as u64, true, false) >> 32) as u32
    }

    /// A hash of the destination address alone, for fairness between hosts. The same address
    /// has the same hash as source and as destination.
    #[inline]
    pub const fn dst_hash(&self, perturbation: u64) -> u32 {
        (self.fold(perturbation, self.ether_type as u64, false, true) >> 32) as u32
    }

    #[inline]
    const fn fold(&self, perturbation: u64, rest: u64, src: bool, dst: bool) -> u64 {
        let mut hash = mix(mix(perturbation ^ 0x9e37_79b9_7f4a_7c15) ^ rest);
        if src {
            hash = mix(mix(hash ^ word(self.src, true)) ^ word(self.src, false));
        }
        if dst {
            hash = mix(mix(hash ^ word(self.dst, true)) ^ word(self.dst, false));
        }
        hash
    }

    /// The key of the opposite direction.
    #[must_use]
    pub const fn reversed(&self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            ..*self
        }
    }
}
