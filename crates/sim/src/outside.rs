//! Ends of flows that a program around the simulator has in its hands: their datagrams with all
//! bytes, from the moment they are sent until the program has taken them.
//!
//! A packet carries the number of a place here instead of the bytes. Whoever loses one notes that
//! number down ([`Outside::lost`]); the places are used again when new ones are needed.

use crate::packet::{Packet, Way};
use sojourn_qdisc::Ecn;
use sojourn_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// One end of a flow of the kind `outside`, of one run and its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End(pub(crate) Way);

/// A datagram that an end sends. A literal with `..Datagram::default()` needs only its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// What UDP carries: at most 65 000 bytes.
    pub payload: Vec<u8>,
    /// The ECN field that it is sent with.
    pub ecn: Ecn,
    /// How many nodes between the two hosts' own may hand it on, plus one: the IP header's TTL or
    /// hop limit.
    pub ttl: u8,
}

impl Default for Datagram {
    /// Empty, not ECN-capable, and with a TTL of 64.
    fn default() -> Self {
        Self {
            payload: Vec::new(),
            ecn: Ecn::NotEct,
            ttl: 64,
        }
    }
}

/// A datagram that has come to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// As it comes: queues may have marked it, and nodes count its TTL down.
    pub datagram: Datagram,
    /// When the other end sent it.
    pub sent: Time,
    /// When it came.
    pub at: Time,
}

/// A place for a payload.
#[derive(Clone, Debug, Default)]
struct PayloadSlot {
    payload: Option<Arc<Vec<u8>>>,
    /// Packets under way that carry it.
    copies: u32,
}

/// What has come, before the program takes it.
#[derive(Clone, Debug)]
struct Waiting {
    payload: Arc<Vec<u8>>,
    ecn: Ecn,
    ttl: u8,
    sent: Time,
    at: Time,
}

/// All ends of a run that are outside.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    places: Vec<PayloadSlot>,
    free: Vec<u32>,
    /// By way of what an end sends: whether the end is here.
    held: Vec<bool>,
    /// What has come, each with the way of what its end sends, in the order of arrival.
    arrived: VecDeque<(Way, Waiting)>,
    /// By way of what an end sends: datagrams sent.
    numbers: Vec<u32>,
}

impl Outside {
    /// Of so many directions; `ways` tells whose ends are here. None when none are.
    pub(crate) fn of(ways: impl Iterator<Item = bool>) -> Option<Self> {
        let held: Vec<bool> = ways.collect();
        held.contains(&true).then(|| Self {
            places: Vec::new(),
            free: Vec::new(),
            numbers: vec![0; held.len()],
            held,
            arrived: VecDeque::new(),
        })
    }

    /// Whether the ends of a connection are here.
    pub(crate) fn has(&self, way: Way) -> bool {
        self.held.get(way.index()).is_some_and(|is| *is)
    }

    /// The number of the next datagram of an end.
    pub(crate) fn number(&mut self, way: Way) -> u32 {
        let number = &mut self.numbers[way.index()];
        *number = number.wrapping_add(1);
        *number - 1
    }

    /// Whether places must be looked for whose packets were lost, before there is a new one.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty() && self.places.len() > 64
    }

    /// Keeps a payload. The token stands in its packet.
    pub(crate) fn keep(&mut self, payload: Vec<u8>) -> Token {
        let place = PayloadSlot {
            payload: Some(Arc::new(payload)),
            copies: 1,
        };
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = place;
            return Token::of(index);
        }
        self.places.push(place);
        Token::of(self.places.len() as u32 - 1)
    }

    /// The payload of a packet under way.
    pub(crate) fn payload(&self, token: Token) -> Option<&[u8]> {
        let place = self.places.get(token.index())?;
        Some(place.payload.as_ref()?.as_slice())
    }

    /// There are two packets from now on.
    pub(crate) fn copied(&mut self, token: Token) {
        self.places[token.index()].copies += 1;
    }

    /// A packet is no more.
    pub(crate) fn lost(&mut self, token: Token) {
        self.release(token);
    }

    /// A packet carries it no longer; the last one hands the payload over.
    fn release(&mut self, token: Token) -> Option<Arc<Vec<u8>>> {
        let place = self.places.get_mut(token.index())?;
        debug_assert!(place.copies > 0, "a payload was released twice");
        place.copies = place.copies.saturating_sub(1);
        if place.copies > 0 {
            return place.payload.clone();
        }
        self.free.push(token.index() as u32);
        place.payload.take()
    }

    /// A packet has come to the end that sends in direction `to`.
    pub(crate) fn arrived(&mut self, token: Token, packet: &Packet, sent: Time, now: Time) {
        let to = packet.way.back();
        if let (Some(payload), true) = (self.release(token), self.has(to)) {
            let waiting = Waiting {
                payload,
                ecn: Ecn::from_bits(packet.tos),
                ttl: packet.ttl(),
                sent,
                at: now,
            };
            self.arrived.push_back((to, waiting));
        }
    }

    /// Whether something has come that the program has not taken.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Takes the next datagram that has come, and the end that it has come to.
    pub(crate) fn take(&mut self) -> Option<(End, Arrival)> {
        let (way, waiting) = self.arrived.pop_front()?;
        let arrival = Arrival {
            datagram: Datagram {
                payload: Arc::unwrap_or_clone(waiting.payload),
                ecn: waiting.ecn,
                ttl: waiting.ttl,
            },
            sent: waiting.sent,
            at: waiting.at,
        };
        Some((End(way), arrival))
    }
}

/// The number of a payload, which is none for other packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u32);

impl Token {
    const fn of(index: u32) -> Self {
        Self(index + 1)
    }

    const fn index(self) -> usize {
        self.0 as usize - 1
    }
}
