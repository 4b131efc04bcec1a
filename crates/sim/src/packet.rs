//! The simulator's packet: one cache line, moved by value.
//!
//! Not here: hosts, marks and classes, which few queues ask for (see `label`).

use sojourn_apps::Datagram;
use sojourn_qdisc::{AckFacts, Ecn, Packet as QdiscPacket};
use sojourn_random::mix;
use sojourn_tcp::{Flags, Segment};
use sojourn_units::Time;

/// One direction of a connection, counted over all flows: `2 · connection` from the flow's first
/// end, `2 · connection + 1` back. Most flows have one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// A packet under way. Each kind of body is a variant: it begins with the same fields, so that
/// these are read without asking which one it is, and has 56 bytes for itself.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Packet {
    /// Of TCP.
    Segment {
        /// DSCP and ECN bits.
        tos: u8,
        /// Bytes with IP and link headers.
        len: u16,
        way: Way,
        segment: Segment,
    },
    /// Of UDP.
    Datagram {
        /// DSCP and ECN bits.
        tos: u8,
        /// Bytes with IP and link headers.
        len: u16,
        way: Way,
        datagram: Datagram,
        /// When this copy was sent.
        sent: Time,
    },
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    #[inline]
    pub(crate) fn way(&self) -> Way {
        let (Self::Segment { way, .. } | Self::Datagram { way, .. }) = self;
        *way
    }

    /// DSCP and ECN bits.
    #[inline]
    pub(crate) fn tos(&self) -> u8 {
        let (Self::Segment { tos, .. } | Self::Datagram { tos, .. }) = self;
        *tos
    }

    fn tos_mut(&mut self) -> &mut u8 {
        let (Self::Segment { tos, .. } | Self::Datagram { tos, .. }) = self;
        tos
    }

    /// Bytes with IP and link headers.
    #[inline]
    pub(crate) fn bytes(&self) -> u16 {
        let (Self::Segment { len, .. } | Self::Datagram { len, .. }) = self;
        *len
    }

    /// What tells a packet of a direction from others at both ends, as far as its headers do:
    /// without timestamps a retransmission looks like the first copy.
    pub(crate) fn identity(&self) -> u64 {
        let fold = |hash, word| mix(hash ^ word);
        match self {
            Self::Segment { segment: s, .. } => {
                let words = [
                    s.ts.as_nanos(),
                    s.ts_echo.as_nanos(),
                    u64::from(s.seq) << 32 | u64::from(s.ack),
                    u64::from(s.window) << 32
                        | u64::from(s.payload) << 16
                        | u64::from(s.flags.bits()),
                ];
                let blocks = s.sack_blocks().iter();
                let blocks = blocks.map(|b| u64::from(b.start) << 32 | u64::from(b.end));
                words.into_iter().chain(blocks).fold(0, fold)
            }
            Self::Datagram { datagram, sent, .. } => {
                let words = [
                    datagram.sent.as_nanos(),
                    sent.as_nanos(),
                    u64::from(datagram.number) << 32,
                    u64::from(datagram.len) << 16,
                ];
                words.into_iter().fold(0, fold)
            }
        }
    }
}

impl QdiscPacket for Packet {
    fn len(&self) -> u32 {
        u32::from(self.bytes())
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        mix(u64::from(self.way().0).wrapping_add(perturbation)) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos())
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            *self.tos_mut() |= Ecn::Ce as u8;
        }
        capable
    }

    fn dscp(&self) -> u8 {
        self.tos() >> 2
    }

    fn clear_dscp(&mut self) {
        *self.tos_mut() &= 3;
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.way() == other.way()
    }

    fn ack(&self) -> Option<AckFacts> {
        let Self::Segment { segment, .. } = self else {
            return None;
        };
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
