//! The simulator's packet: one cache line. Who hands it on hands a reference on, and who keeps it
//! copies it.
//!
//! Not here: hosts, marks and classes, which few queues ask for (see `label`).

mod train;

use crate::outside::Token;
use sojourn_apps::Datagram;
use sojourn_qdisc::{AckFacts, Ecn, Packet as QdiscPacket, truesize};
use sojourn_radio::ArpMessage;
use sojourn_random::mix;
use sojourn_tcp::{Flags, SackBlock, Segment};
use sojourn_units::Time;

/// One direction of a connection, counted over all flows: `2 · connection` from the flow's first
/// end, `2 · connection + 1` back. Most flows have one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it is the direction from the flow's first end.
    pub(crate) fn is_forth(self) -> bool {
        self.0 & 1 == 0
    }
}

/// To whom a station sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    Station(u32),
    All,
}

/// A packet under way: what it carries in 56 bytes, and what queues and links ask for.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// What it carries, in a segment's fields whatever it is: [`body`](Self::body) reads them.
    fields: Segment,
    pub(crate) way: Way,
    /// Bytes with IP and link headers.
    pub(crate) len: u16,
    /// DSCP and ECN bits.
    pub(crate) tos: u8,
    /// Which body it has, below how often stations have forwarded it. No enum: its unused values
    /// would make every `Option` of a packet dearer to move.
    kind: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// What a packet carries. A new kind is a variant here, a number, and its own use of the fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body<'a> {
    /// Of TCP.
    Segment(&'a Segment),
    /// Of UDP.
    Datagram {
        datagram: Datagram,
        /// When this copy was sent.
        sent: Time,
    },
}

const SEGMENT: u8 = 0;
const DATAGRAM: u8 = 1;
const ROUTING: u8 = 2;
const ARP: u8 = 3;
/// The way of what stations tell each other: of no flow.
const NO_WAY: Way = Way(u32::MAX);
/// Bits of a body's number.
const KIND_BITS: u32 = 2;
/// Addressee of what is to all.
const ALL: u32 = u32::MAX;

impl Packet {
    /// With a segment of TCP.
    #[inline]
    pub(crate) fn segment(segment: Segment, way: Way, len: u16, tos: u8) -> Self {
        Self {
            fields: segment,
            way,
            len,
            tos,
            kind: SEGMENT,
        }
    }

    /// With a datagram that is sent at `sent`.
    pub(crate) fn datagram(datagram: Datagram, sent: Time, way: Way, len: u16, tos: u8) -> Self {
        let [first, second, third] = datagram.words;
        let fields = Segment {
            seq: datagram.number,
            ack: third,
            payload: datagram.len,
            ts: datagram.sent,
            ts_echo: sent,
            // The first block is that of a datagram from outside.
            sack: [
                SackBlock::default(),
                SackBlock {
                    start: first,
                    end: second,
                },
                SackBlock::default(),
            ],
            ..Segment::default()
        };
        Self {
            fields,
            way,
            len,
            tos,
            kind: DATAGRAM,
        }
    }

    /// With a datagram of a program around the simulator, whose bytes are kept under `token`.
    pub(crate) fn of_outside(mut self, token: Token, ttl: u8) -> Self {
        self.fields.sack[0] = SackBlock {
            start: token.0,
            end: ttl.into(),
        };
        self
    }

    /// Where the bytes of a datagram are kept that a program around the simulator has sent; none of
    /// other packets.
    #[inline]
    pub(crate) fn token(&self) -> Option<Token> {
        let token = self.fields.sack[0].start;
        (self.kind() == DATAGRAM && token > 0).then_some(Token(token))
    }

    /// The TTL of such a datagram.
    pub(crate) fn ttl(&self) -> u8 {
        self.fields.sack[0].end as u8
    }

    /// A node hands such a datagram on. Returns whether its TTL lets it.
    pub(crate) fn hop(&mut self) -> bool {
        let ttl = &mut self.fields.sack[0].end;
        *ttl = ttl.saturating_sub(1);
        *ttl > 0
    }

    /// With a message of the routing protocol to a station, or to all.
    pub(crate) fn route(words: [u32; 12], to: Option<u32>, len: u16) -> Self {
        let pair =
            |at: usize| Time::from_nanos(u64::from(words[at]) << 32 | u64::from(words[at + 1]));
        let block = |at: usize| SackBlock {
            start: words[at],
            end: words[at + 1],
        };
        let fields = Segment {
            ts: pair(0),
            ts_echo: pair(2),
            seq: words[4],
            ack: words[5],
            sack: [block(6), block(8), block(10)],
            ..Segment::default()
        };
        Self::told(fields, to, len, ROUTING)
    }

    /// With a question for an address to all, or the answer to a station.
    pub(crate) fn arp(message: ArpMessage, to: Option<u32>, len: u16) -> Self {
        let fields = Segment {
            seq: message.sender,
            ack: message.target,
            payload: message.is_answer.into(),
            ..Segment::default()
        };
        Self::told(fields, to, len, ARP)
    }

    /// What a station tells another, or all.
    fn told(fields: Segment, to: Option<u32>, len: u16, kind: u8) -> Self {
        Self {
            fields: Segment {
                window: to.unwrap_or(ALL),
                ..fields
            },
            way: NO_WAY,
            len,
            tos: 0,
            kind,
        }
    }

    #[inline]
    const fn kind(&self) -> u8 {
        self.kind & ((1 << KIND_BITS) - 1)
    }

    /// Counts that it is forwarded once more. Returns whether it may be, at most 63 times.
    #[inline]
    pub(crate) fn forward(&mut self, most: u8) -> bool {
        let is_allowed = self.kind >> KIND_BITS < most;
        self.kind += u8::from(is_allowed) << KIND_BITS;
        is_allowed
    }

    /// What it asks or says about addresses; none when it carries something else.
    pub(crate) fn asks_address(&self) -> Option<ArpMessage> {
        (self.kind() == ARP).then_some(ArpMessage {
            sender: self.fields.seq,
            target: self.fields.ack,
            is_answer: self.fields.payload != 0,
        })
    }

    /// The message of the routing protocol that it carries; none when it carries something else.
    pub(crate) fn routing(&self) -> Option<[u32; 12]> {
        if self.kind() != ROUTING {
            return None;
        }
        let f = &self.fields;
        let high = |time: Time| (time.as_nanos() >> 32) as u32;
        let low = |time: Time| time.as_nanos() as u32;
        let [a, b, c] = f.sack;
        Some([
            high(f.ts),
            low(f.ts),
            high(f.ts_echo),
            low(f.ts_echo),
            f.seq,
            f.ack,
            a.start,
            a.end,
            b.start,
            b.end,
            c.start,
            c.end,
        ])
    }

    /// To whom a station tells it; none for packets of flows.
    #[inline]
    pub(crate) fn told_to(&self) -> Option<Addressee> {
        match self.fields.window {
            _ if self.kind() < ROUTING => None,
            ALL => Some(Addressee::All),
            station => Some(Addressee::Station(station)),
        }
    }

    /// Whether it carries a message of the routing protocol.
    #[inline]
    pub(crate) fn is_routing(&self) -> bool {
        self.kind() == ROUTING
    }

    /// Whether it has a UDP header.
    #[inline]
    pub(crate) fn has_udp(&self) -> bool {
        matches!(self.kind(), DATAGRAM | ROUTING)
    }

    /// What it carries.
    #[inline]
    pub(crate) fn body(&self) -> Body<'_> {
        let fields = &self.fields;
        match self.kind() {
            SEGMENT => Body::Segment(fields),
            _ => Body::Datagram {
                datagram: Datagram {
                    number: fields.seq,
                    len: fields.payload,
                    sent: fields.ts,
                    words: [fields.sack[1].start, fields.sack[1].end, fields.ack],
                    ecn: Ecn::from_bits(self.tos),
                },
                sent: fields.ts_echo,
            },
        }
    }

    /// The segment that it carries; none of other packets.
    pub fn tcp(&self) -> Option<&Segment> {
        (self.kind() == SEGMENT).then_some(&self.fields)
    }

    /// The same, for a queue of one's own that changes it as a middlebox does. The packet keeps its
    /// length.
    pub fn tcp_mut(&mut self) -> Option<&mut Segment> {
        (self.kind() == SEGMENT).then_some(&mut self.fields)
    }

    /// What tells a packet of a direction from others at both ends, as far as its headers do:
    /// without timestamps a retransmission looks like the first copy.
    pub(crate) fn identity(&self) -> u64 {
        let s = &self.fields;
        let words = [
            s.ts.as_nanos(),
            s.ts_echo.as_nanos(),
            u64::from(s.seq) << 32 | u64::from(s.ack),
            u64::from(s.window) << 32 | u64::from(s.payload) << 16 | u64::from(s.flags.bits()),
        ];
        let blocks = s
            .sack_blocks()
            .iter()
            .map(|block| u64::from(block.start) << 32 | u64::from(block.end));
        words
            .into_iter()
            .chain(blocks)
            .fold(0, |hash, word| mix(hash ^ word))
    }
}

impl QdiscPacket for Packet {
    fn len(&self) -> u32 {
        u32::from(self.len)
    }

    fn memory(&self) -> u32 {
        match self.body() {
            Body::Segment(segment) => truesize::of_segment(segment.payload.into()),
            Body::Datagram { .. } => truesize::of_datagram(self.len()),
        }
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

    fn segments(&self) -> Option<(u32, u32)> {
        self.is_train().then(|| self.count_segments())
    }

    fn ack(&self) -> Option<AckFacts> {
        let Body::Segment(segment) = self.body() else {
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
            sacks: segment.sack_blocks().len() as u8,
            flags: segment.flags.bits() as u8,
            ae: segment.flags.has(Flags::AE),
            payload: segment.payload > 0,
            // As of a frame: whatever AE or the option say must not be lost.
            other_options: segment.flags.has(Flags::AE) || segment.accecn().is_some(),
        })
    }
}
