//! Packets in flight over a delay: a ring in order of arrival.

use crate::forwarding::Next;
use crate::packet::Packet;
use sojourn_units::{Span, Time};

/// Packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    /// Index of the interface that it is behind.
    pub(crate) interface: u32,
    /// Where all of its packets go on to; none where that differs between directions, or is to be
    /// [asked](Self::ask) for.
    pub(crate) next: Option<Next>,
    /// Where all go on to for whom that is so.
    pub(crate) asked: Option<Next>,
    /// Propagation delay of packets sent now.
    pub(crate) delay: Span,
    flight: Flight,
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
            asked: None,
            delay,
            flight: Flight::default(),
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

    /// Makes the run ask for each packet where it goes on to.
    pub(crate) fn ask(&mut self) {
        self.asked = self.next.take().or(self.asked);
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
    #[inline]
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
            self.flight.push(at, packet);
        } else {
            self.flight.insert(at, packet);
        }
    }

    /// Arrival of the last packet in flight, or zero.
    pub(crate) fn last(&self) -> Time {
        let last = self.flight.iter().next_back();
        last.map_or(Time::ZERO, |&(at, _)| at)
    }

    /// The packet so many places behind the next one.
    #[inline]
    pub(crate) fn ahead(&self, places: usize) -> Option<&Packet> {
        let number = self.flight.first + places;
        (number < self.flight.next).then(|| &self.flight.slots[self.flight.slot(number)].1)
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
        self.flight.pop();
    }
}

/// A ring, of a power of two, so that a number becomes a place by a mask.
#[derive(Clone, Debug, Default)]
struct Flight {
    slots: Vec<(Time, Packet)>,
    /// Number of the first packet, and that of the next to come.
    first: usize,
    next: usize,
}

impl Flight {
    #[inline]
    fn len(&self) -> usize {
        self.next - self.first
    }

    #[inline]
    fn slot(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &(Time, Packet)> {
        (self.first..self.next).map(|number| &self.slots[self.slot(number)])
    }

    #[inline]
    fn front(&self) -> Option<&(Time, Packet)> {
        (self.first != self.next).then(|| &self.slots[self.slot(self.first)])
    }

    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    fn push(&mut self, at: Time, packet: &Packet) {
        if self.len() == self.slots.len() {
            self.grow(packet);
        }
        let slot = self.slot(self.next);
        self.slots[slot] = (at, *packet);
        self.next += 1;
    }

    /// Makes room, filled with a packet that is none.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, packet: &Packet) {
        let mut slots: Vec<_> = self.iter().copied().collect();
        (self.first, self.next) = (0, slots.len());
        slots.resize((2 * slots.len()).max(4), (Time::ZERO, *packet));
        self.slots = slots;
    }

    /// Puts a packet before those that arrive later.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, at: Time, packet: &Packet) {
        self.push(at, packet);
        for number in (self.first + 1..self.next).rev() {
            let (before, here) = (self.slot(number - 1), self.slot(number));
            if self.slots[before].0 <= at {
                return;
            }
            self.slots.swap(before, here);
        }
    }

    #[inline]
    fn pop(&mut self) {
        self.first += 1;
        if self.first == self.next {
            // Back to the ring's first places: those of a pipe that seldom holds more than a few
            // packets stay in the cache, where going round the whole ring would miss it.
            (self.first, self.next) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flight, Packet};
    use crate::packet::Way;
    use proptest::prelude::*;
    use sojourn_tcp::Segment;
    use sojourn_units::Time;

    proptest! {
        /// The ring beside a list that is sorted by time, those of one time in their order.
        #[test]
        fn packets_leave_in_the_order_of_their_times(
            steps in prop::collection::vec((0_u64..50, any::<bool>()), 0..200),
        ) {
            let (mut flight, mut model) = (Flight::default(), Vec::<(u64, u16)>::new());
            for (number, (at, pops)) in (0..).zip(steps) {
                if pops {
                    let first = flight.front().map(|&(at, packet)| (at.as_nanos(), packet.len));
                    prop_assert_eq!(first, model.first().copied());
                    if first.is_some() {
                        flight.pop();
                        model.remove(0);
                    }
                    continue;
                }
                let packet = Packet::segment(Segment::default(), Way::forth(0), number, 0);
                let time = Time::from_nanos(at);
                if model.last().is_none_or(|&(last, _)| last <= at) {
                    flight.push(time, &packet);
                } else {
                    flight.insert(time, &packet);
                }
                let place = model.partition_point(|&(other, _)| other <= at);
                model.insert(place, (at, number));
                let all: Vec<_> = flight.iter().map(|(at, it)| (at.as_nanos(), it.len)).collect();
                prop_assert_eq!(&all, &model);
            }
        }
    }
}
