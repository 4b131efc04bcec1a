//! Packets in flight over a delay: a ring in order of arrival.

use crate::forwarding::Next;
use crate::packet::Packet;
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

/// Packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    /// Index of the interface that it is behind.
    pub(crate) interface: u32,
    /// Where all of its packets go on to; none where that differs between directions.
    pub(crate) next: Option<Next>,
    /// Propagation delay of packets sent now.
    pub(crate) delay: Span,
    flight: VecDeque<(Time, Packet)>,
    /// No packet in flight arrives later.
    latest: Time,
    /// Time of the event that the calendar holds for this pipe; `Time::MAX` for none.
    pub(crate) armed: Time,
}

impl Pipe {
    pub(crate) fn new(interface: usize, delay: Span) -> Self {
        Self {
            interface: interface as u32,
            next: Some(Next::Nowhere),
            delay,
            flight: VecDeque::new(),
            latest: Time::ZERO,
            armed: Time::MAX,
        }
    }

    /// A direction goes through it, and on to `next`.
    pub(crate) fn lead(&mut self, next: Next) {
        self.next = match self.next {
            Some(Next::Nowhere) => Some(next),
            same => same.filter(|&before| before == next),
        };
    }

    /// Packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.flight.len()
    }

    /// All of them.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.flight.iter().map(|(_, packet)| packet)
    }

    /// Arrival of the next packet.
    pub(crate) fn due(&self) -> Option<Time> {
        self.flight.front().map(|&(at, _)| at)
    }

    /// The next packet.
    #[cfg(test)]
    pub(crate) fn head(&self) -> Option<&Packet> {
        self.flight.front().map(|(_, packet)| packet)
    }

    /// Puts a packet in flight. Equal times keep their order; the walk from the back is one
    /// step unless jitter may reorder.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, packet: &Packet) {
        if self.latest <= at {
            self.latest = at;
            self.flight.push_back((at, *packet));
        } else {
            self.insert(at, packet);
        }
    }

    #[cold]
    fn insert(&mut self, at: Time, packet: &Packet) {
        let place = self.flight.partition_point(|&(other, _)| other <= at);
        self.flight.insert(place, (at, *packet));
    }

    /// Arrival of the last packet in flight, or zero.
    pub(crate) fn last(&self) -> Time {
        self.flight.back().map_or(Time::ZERO, |&(at, _)| at)
    }

    /// The next packet, if it has arrived.
    #[inline]
    pub(crate) fn arrived(&self, now: Time) -> Option<&Packet> {
        let (at, packet) = self.flight.front()?;
        (*at <= now).then_some(packet)
    }

    /// Goes on to the packet behind it.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.flight.pop_front();
        if self.flight.is_empty() {
            // Back to the ring's first places: those of a pipe that seldom holds more than a few
            // packets stay in the cache, where going round the whole ring would miss it.
            self.flight.clear();
        }
    }
}
