//! The simulator's packet: one cache line, moved by value.

use crate::calendar::{MAX_SOURCES, SOURCE_BITS};
use sojourn_qdisc::{AckFacts, Ecn, Packet as QdiscPacket};
use sojourn_random::mix;
use sojourn_tcp::{Flags, Segment};
use sojourn_units::Time;

/// One direction of a connection, counted over all flows: `2 · connection` from the flow's first
/// end, `2 · connection + 1` back. Most flows have one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way(pub(crate) u32);

impl Way {
    pub(crate) fn forth(connection: usize) -> Self {
        Self(2 * connection as u32)
    }

    /// The other direction of the same connection.
    pub(crate) fn back(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Index into tables by direction.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it is the direction from the flow's first end.
    pub(crate) fn is_forth(self) -> bool {
        self.0 & 1 == 0
    }
}

/// The hosts at both ends of a direction. They count modulo 256: those beyond share fairly with
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hosts {
    pub(crate) src: u8,
    pub(crate) dst: u8,
}

impl Hosts {
    /// Those of the opposite direction.
    pub(crate) fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
        }
    }
}

/// A packet under way. A datagram travels as a segment without flags: its number in `seq`, the
/// time of its first copy in `ts`.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub(crate) segment: Segment,
    /// The direction in the low 24 bits (there are fewer: `MAX_SOURCES`), the receiver's host
    /// in the others.
    way_and_dst: u32,
    /// Bytes with IP and link headers.
    pub(crate) len: u16,
    /// DSCP and ECN bits.
    pub(crate) tos: u8,
    /// The sender's host.
    src: u8,
}

impl Packet {
    pub(crate) fn new(segment: Segment, way: Way, hosts: Hosts, len: u16, tos: u8) -> Self {
        debug_assert!(way.index() < MAX_SOURCES, "more directions than sources");
        Self {
            segment,
            way_and_dst: way.0 | u32::from(hosts.dst) << SOURCE_BITS,
            len,
            tos,
            src: hosts.src,
        }
    }

    #[inline]
    pub(crate) fn way(&self) -> Way {
        Way(self.way_and_dst & (MAX_SOURCES as u32 - 1))
    }

    /// What tells a packet of a direction from others at both ends, as far as its headers do:
    /// without timestamps a retransmission looks like the first copy.
    pub(crate) fn identity(&self) -> u64 {
        let s = &self.segment;
        let words = [
            s.ts.as_nanos(),
            s.ts_echo.as_nanos(),
            u64::from(s.seq) << 32 | u64::from(s.ack),
            u64::from(s.window) << 32 | u64::from(s.payload) << 16 | u64::from(s.flags.bits()),
        ];
        let blocks = s.sack_blocks().iter();
        let blocks = blocks.map(|block| u64::from(block.start) << 32 | u64::from(block.end));
        words
            .into_iter()
            .chain(blocks)
            .fold(0, |hash, word| mix(hash ^ word))
    }
}

const _: () = assert!(size_of::<Packet>() == 64);

/// What a host's address hashes to.
pub(crate) fn host_hash(number: u32, perturbation: u64) -> u32 {
    (mix(u64::from(number) ^ mix(perturbation)) >> 32) as u32
}

impl QdiscPacket for Packet {
    fn len(&self) -> u32 {
        u32::from(self.len)
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        mix(u64::from(self.way().0).wrapping_add(perturbation)) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.tos |= Ecn::Ce as u8;
        }
        capable
    }

    fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.tos &= 3;
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        (
            host_hash(u32::from(self.src), perturbation),
            host_hash(self.way_and_dst >> SOURCE_BITS, perturbation),
        )
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.way() == other.way()
    }

    fn ack(&self) -> Option<AckFacts> {
        let segment = &self.segment;
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let mut sack = [(0, 0); 4];
        for (to, block) in sack.iter_mut().zip(segment.sack_blocks()) {
            *to = (block.start, block.end);
        }
        // The option counts in milliseconds, as Linux's does; the model has nanoseconds.
        let stamp = |time: Time| (time.as_nanos() / 1_000_000) as u32;
        Some(AckFacts {
            ack: segment.ack,
            timestamp: Some((stamp(segment.ts), stamp(segment.ts_echo))),
            sack,
            sacks: segment.sack_count.min(3),
            flags: segment.flags.bits(),
            payload: segment.payload > 0,
            other_options: false,
        })
    }
}
