//! The most frequent frames in a few instructions: TCP or UDP on IPv4, without tags, options and
//! fragments.

use crate::parsed::ether_type;
use crate::{FlowKey, protocol};

/// Bytes that are read: up to the data offset of TCP.
const HEAD: usize = 48;
/// Bytes before the IPv4 header, and before the transport header.
const NETWORK: usize = 14;
const TRANSPORT: usize = NETWORK + 20;

/// What [`parse`](crate::parse) finds in such a frame, in integers of the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Source port in the upper half, destination port in the lower one.
    pub ports: u32,
    /// Length of all headers up to the payload: bytes.
    pub header_len: u16,
    /// TOS byte.
    pub tos: u8,
    /// IP protocol: TCP or UDP.
    pub protocol: u8,
}

impl Plain {
    /// Where the IP header begins: bytes.
    pub const NETWORK_OFFSET: u16 = NETWORK as u16;

    /// Reads a frame. None if it is of another kind, or too short to tell: then
    /// [`parse`](crate::parse) finds what there is.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD] = frame.first_chunk()?;
        let be16 = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let be32 =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        // Neither more fragments nor an offset, as in `parse`.
        let is_plain = be32(12) >> 8 == u32::from(ether_type::IPV4) << 8 | 0x45
            && be16(NETWORK + 6) << 2 == 0
            && usize::from(be16(NETWORK + 2)) >= HEAD - NETWORK;
        if !is_plain {
            return None;
        }
        let protocol = head[NETWORK + 9];
        let transport_len = match (protocol, head[TRANSPORT + 12] >> 4) {
            (protocol::UDP, _) => 8,
            // The data offset counts words of four bytes, at least five.
            (protocol::TCP, words @ 5..) => u16::from(words) * 4,
            _ => return None,
        };
        Some(Self {
            src: be32(NETWORK + 12),
            dst: be32(NETWORK + 16),
            ports: be32(TRANSPORT),
            header_len: TRANSPORT as u16 + transport_len,
            tos: head[NETWORK + 1],
            protocol,
        })
    }

    /// Its flow.
    #[inline]
    pub const fn flow(&self) -> FlowKey {
        FlowKey::of_v4(self.src, self.dst, self.ports, self.protocol)
    }
}

/// The TOS byte or traffic class of an IP packet without tags before it, whose IP header begins at
/// [`Plain::NETWORK_OFFSET`]. None: [`parse`](crate::parse) finds what there is.
#[inline]
pub fn plain_tos(frame: &[u8]) -> Option<u8> {
    const NO_OPTIONS: u32 = (ether_type::IPV4 as u32) << 8 | 0x45;
    const V6: u32 = (ether_type::IPV6 as u32) << 4 | 6;
    let head: &[u8; TRANSPORT] = frame.first_chunk()?;
    let kind = u32::from_be_bytes([head[12], head[13], head[14], head[15]]);
    if kind >> 8 == NO_OPTIONS {
        let total = u16::from_be_bytes([head[NETWORK + 2], head[NETWORK + 3]]);
        return (usize::from(total) >= TRANSPORT - NETWORK).then_some(kind as u8);
    }
    (kind >> 12 == V6 && frame.len() >= NETWORK + 40).then_some((kind >> 4) as u8)
}
