//! Round-trip times from packets seen at both ends of a path: synthetic packet pairs.
//!
//! Sources: S. Zander, G. Armitage, T. Nguyen, L. Mark, B. Tyo, "Minimally Intrusive Round Trip
//! Time Measurements Using Synthetic Packet-Pairs", CAIA Technical Report 060707A, 2006; S. Zander
//! and G. Armitage, "Minimally-Intrusive Frequent Round Trip Time Measurements Using Synthetic
//! Packet-Pairs", IEEE LCN 2013.
//!
//! A packet that passes the reference point and then the monitor makes a pair with one that
//! passes the monitor later and comes back to the reference point. What the pair took at the
//! reference point, less what it took at the monitor, is a round trip. Only times of the same
//! clock are subtracted, so the two clocks need not agree.
//!
//! The pair of a packet that comes back is the last packet that had reached the monitor by then,
//! and each packet belongs to one pair at most. So the slower direction sets the number of
//! samples, and a receiver's wait before it answers (a delayed ACK) does not count.
//!
//! Differs from the authors' tool: a packet whose identity is not unique among those that it may
//! be gives no sample (the tool takes the first), and packets may overtake one another.

use sojourn_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Packets around the last match among which an identity is looked for first; as the authors'
/// tool (its option `-G`) for captures.
const WINDOW: u64 = 10_000;
/// Packets that have reached the monitor and are kept until one comes back. More of them than
/// this are only under way while nothing at all comes back.
const KEPT: usize = 4096;

/// A packet at two points, each time by the clock of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When it passed the first point.
    pub sent: Time,
    /// When it passed the second.
    pub arrived: Time,
}

/// A round trip of a synthetic pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Halfway between the two packets at the reference point, by its clock.
    pub at: Time,
    /// The round-trip time. Clocks of different speed may make it come out below zero: then zero.
    pub rtt: Span,
}

/// Makes pairs of one flow's packets.
#[derive(Clone, Debug, Default)]
pub struct PacketPairs {
    /// Packets at the monitor without a pair, in order.
    forth: VecDeque<Passage>,
}

impl PacketPairs {
    /// A packet went from the reference point to the monitor. To be told in the order in which
    /// packets reach the monitor.
    pub fn forth(&mut self, passage: Passage) {
        if self.forth.len() == KEPT {
            self.forth.pop_front();
        }
        self.forth.push_back(passage);
    }

    /// A packet went from the monitor back to the reference point. To be told in order, and when
    /// all packets that had reached the monitor before it left have been told.
    pub fn back(&mut self, passage: Passage) -> Option<RoundTrip> {
        let before = self
            .forth
            .partition_point(|forth| forth.arrived <= passage.sent);
        let forth = *self.forth.get(before.checked_sub(1)?)?;
        self.forth.drain(..before);
        let here = nanos(passage.arrived) - nanos(forth.sent);
        let there = nanos(passage.sent) - nanos(forth.arrived);
        let span = |nanos: i128| Span::from_nanos(u64::try_from(nanos).unwrap_or(0));
        Some(RoundTrip {
            at: forth.sent + span(here) / 2,
            rtt: span(here - there),
        })
    }
}

fn nanos(time: Time) -> i128 {
    i128::from(time.as_nanos())
}

/// Finds packets again at the second point, by what identifies them on the wire.
#[derive(Clone, Debug)]
pub struct PacketMatcher {
    /// When each packet passed the first point, by identity and number.
    times: BTreeMap<(u64, u64), Time>,
    /// Identities by number, from `oldest` on.
    order: VecDeque<u64>,
    oldest: u64,
    capacity: usize,
    /// Number of the packet that was found last.
    last: Option<u64>,
}

impl PacketMatcher {
    /// Remembers the last `capacity` packets that have passed the first point.
    pub fn new(capacity: usize) -> Self {
        Self {
            times: BTreeMap::new(),
            order: VecDeque::new(),
            oldest: 0,
            capacity,
            last: None,
        }
    }

    /// A packet passed the first point.
    pub fn left(&mut self, identity: u64, at: Time) {
        if self.order.len() >= self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.times.remove(&(oldest, self.oldest));
            self.oldest += 1;
        }
        let number = self.oldest + self.order.len() as u64;
        self.order.push_back(identity);
        self.times.insert((identity, number), at);
    }

    /// A packet passed the second point: when it had passed the first. None when it had not, or
    /// when it may be one of several.
    pub fn reached(&mut self, identity: u64) -> Option<Time> {
        let same = (identity, 0)..=(identity, u64::MAX);
        let (mut near, mut all) = ((None, 0), (None, 0));
        for (&(_, number), &at) in self.times.range(same) {
            let is_near = self.last.is_none_or(|last| number.abs_diff(last) <= WINDOW);
            for (found, count) in is_near.then_some(&mut near).into_iter().chain([&mut all]) {
                found.get_or_insert((number, at));
                *count += 1;
            }
        }
        let (found, count) = if near.1 > 0 { near } else { all };
        let (number, at) = found?;
        self.times.remove(&(identity, number));
        if count > 1 {
            return None;
        }
        self.last = Some(number);
        Some(at)
    }
}

#[cfg(test)]
mod tests;
