//! A leaf's queue, which is there only while it is needed, and what it has counted.

use crate::accounts::{Backlog, Counters, Tally};
use crate::packet::Packet;
use crate::qdisc::Qdisc;
use alloc::boxed::Box;
use sojourn_units::{Span, Time};

pub(super) struct Leaf<P> {
    pub(super) queue: Option<Box<dyn Qdisc<P>>>,
    /// Since when the queue has had nothing.
    pub(super) idle_since: Option<Time>,
    /// Whether it is in the list of those that have become empty.
    pub(super) is_listed: bool,
    /// Counted by queues that were given back.
    past: Past,
    /// What all packets that have left have waited, and a moving mean.
    pub(super) waited: Span,
    pub(super) delay: Span,
}

/// The part of the last packet in the moving mean.
const LAST: u64 = 8;

/// What is told of a circuit.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    offered: Tally,
    dequeued: Tally,
    dropped: Tally,
    marked: Tally,
}

impl<P> Default for Leaf<P> {
    fn default() -> Self {
        Self {
            queue: None,
            idle_since: None,
            is_listed: false,
            past: Past::default(),
            waited: Span::ZERO,
            delay: Span::ZERO,
        }
    }
}

impl<P: Packet> Leaf<P> {
    pub(super) fn holds(&self) -> bool {
        let queue = self.queue.as_ref();
        queue.is_some_and(|queue| queue.backlog().packets > 0)
    }

    /// A packet leaves that has waited for so long.
    pub(super) fn has_sent(&mut self, sojourn: Span) {
        self.waited += sojourn;
        self.delay = self.delay - self.delay / LAST + sojourn / LAST;
    }

    /// Gives the queue up; it must be empty.
    pub(super) fn give_back(&mut self) {
        debug_assert!(!self.holds(), "packets would be lost");
        let (counters, _) = self.accounts();
        self.past = Past {
            offered: counters.offered,
            dequeued: counters.dequeued,
            dropped: counters.dropped,
            marked: counters.marked,
        };
        (self.queue, self.idle_since) = (None, None);
    }

    /// Counts of all queues that there have been, and what is held.
    pub(super) fn accounts(&self) -> (Counters, Backlog) {
        let queue = self.queue.as_ref();
        let mut counters = queue.map(|queue| *queue.counters()).unwrap_or_default();
        let backlog = queue.map(Qdisc::backlog).unwrap_or_default();
        for (tally, past) in [
            (&mut counters.offered, self.past.offered),
            (&mut counters.dequeued, self.past.dequeued),
            (&mut counters.dropped, self.past.dropped),
            (&mut counters.marked, self.past.marked),
        ] {
            tally.packets += past.packets;
            tally.bytes += past.bytes;
        }
        (counters, backlog)
    }
}
