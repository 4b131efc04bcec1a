//! What has come to stations over a radio, until it is handed on there.

use crate::packet::Packet;
use sojourn_units::Time;
use std::collections::VecDeque;

/// A packet that has come from a station to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) packet: Packet,
}

#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// By the time at which they are handed on.
    waiting: VecDeque<(Time, Arrival)>,
    /// So many of the first are to be handed on now.
    due: usize,
    /// When the others are; `Time::MAX` for none.
    next: Time,
}

impl Arrivals {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            due: 0,
            next: Time::MAX,
        }
    }

    /// All packets.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().map(|(_, arrival)| &arrival.packet)
    }

    /// One that is to be handed on at `at`.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, arrival: Arrival) {
        self.next = self.next.min(at);
        if self.waiting.back().is_none_or(|(last, _)| *last <= at) {
            self.waiting.push_back((at, arrival));
        } else {
            let place = self.waiting.partition_point(|(other, _)| *other <= at);
            self.waiting.insert(place, (at, arrival));
        }
    }

    /// Lets go those whose time has come. Returns when the next ones follow; `Time::MAX` for
    /// never.
    #[inline]
    pub(crate) fn let_go(&mut self, now: Time) -> Time {
        while self.next <= now {
            self.due += 1;
            self.next = (self.waiting.get(self.due)).map_or(Time::MAX, |(at, _)| *at);
        }
        self.next
    }

    /// Whether one is to be handed on now.
    #[inline]
    pub(crate) fn any_due(&self) -> bool {
        self.due > 0
    }

    /// The next one that is to be handed on now.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Arrival> {
        self.due = self.due.checked_sub(1)?;
        self.waiting.pop_front().map(|(_, arrival)| arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Way;
    use sojourn_apps::Datagram;

    #[test]
    fn they_are_handed_on_in_the_order_of_their_times() {
        let at = Time::from_nanos;
        let mut arrivals = Arrivals::new();
        let (number, len, sent) = (0, 100, at(0));
        let datagram = Datagram {
            number,
            len,
            sent,
            ..Datagram::default()
        };
        let packet = Packet::datagram(datagram, sent, Way::forth(0), len, 0);
        for (to, time) in [(1, 10), (2, 30), (3, 20), (4, 20), (5, 30)] {
            let from = 0;
            arrivals.add(at(time), Arrival { from, to, packet });
        }
        assert_eq!(arrivals.let_go(at(9)), at(10));
        assert!(!arrivals.any_due() && arrivals.pop().is_none());
        let mut handed_on = |now, next| {
            assert_eq!(arrivals.let_go(at(now)), next);
            std::iter::from_fn(|| arrivals.pop().map(|arrival| arrival.to)).collect::<Vec<_>>()
        };
        assert_eq!(handed_on(20, at(30)), [1, 3, 4]);
        assert_eq!(handed_on(29, at(30)), []);
        assert_eq!(handed_on(30, Time::MAX), [2, 5]);
    }
}
