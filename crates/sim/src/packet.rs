//! The simulator's packet: one cache line, moved by value.

use sojourn_qdisc::{AckFacts, Ecn, Packet as QdiscPacket};
use sojourn_random::mix;
use sojourn_tcp::{Flags, Segment};
use sojourn_units::Time;

/// One direction of a flow: `2 · flow` from the flow's first end, `2 · flow + 1` back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way(pub(crate) u32);

impl Way {
    pub(crate) fn forth(flow: usize) -> Self {
        Self(2 * flow as u32)
    }

    /// The other direction of the same flow.
    pub(crate) fn back(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Index of the flow.
    pub(crate) fn flow(self) -> usize {
        self.0 as usize / 2
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

/// A packet under way. A datagram travels as a segment without flags: its number in `seq`, the
/// time of its first copy in `ts`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    pub(crate) way: Way,
    /// Bytes with IP and link headers.
    pub(crate) len: u16,
    /// DSCP and ECN bits.
    pub(crate) tos: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl QdiscPacket for Packet {
    fn len(&self) -> u32 {
        u32::from(self.len)
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        mix(u64::from(self.way.0).wrapping_add(perturbation)) as u32
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

    fn is_same_flow(&self, other: &Self) -> bool {
        self.way == other.way
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
