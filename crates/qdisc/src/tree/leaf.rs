//! A leaf's queue, which is there only while it is needed, and what it has counted.

use crate::accounts::{Backlog, Tally};
use crate::packet::Packet;
use crate::qdisc::Qdisc;
use alloc::boxed::Box;
use sojourn_units::{Span, Time};

pub(super) struct Leaf<P> {
    pub(super) queue: Option<Box<dyn Qdisc<P>>>,
    /// Since when the queue has had nothing; [`Time::MAX`] while it has, and without one.
    pub(super) idle_since: Time,
    /// Whether it is in the list of those that have become empty.
    pub(super) is_listed: bool,
    /// Whether the queue is to be another one.
    pub(super) is_outdated: bool,
    /// Counted by queues that were given back, if it is anything.
    past: Option<Box<Past>>,
    /// What all packets that have left have waited, and a moving mean.
    pub(super) waited: Span,
    pub(super) delay: Span,
}

/// The part of the last packet in the moving mean.
const LAST: u64 = 8;

/// What is told of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) dropped: Tally,
    pub(super) marked: Tally,
}

impl<P> Default for Leaf<P> {
    fn default() -> Self {
        Self {
            queue: None,
            idle_since: Time::MAX,
            is_listed: false,
            is_outdated: false,
            past: None,
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

    /// A copy, if its queue can be copied.
    pub(super) fn fork(&self) -> Option<Self>
    where
        P: Clone,
    {
        let queue = match &self.queue {
            Some(queue) => Some(queue.fork()?),
            None => None,
        };
        Some(Self {
            queue,
            past: self.past.clone(),
            ..*self
        })
    }

    /// Gives the queue up; it must be empty.
    pub(super) fn give_back(&mut self) {
        debug_assert!(!self.holds(), "packets would be lost");
        let (past, _) = self.accounts();
        self.past = (past != Past::default()).then(|| Box::new(past));
        (self.queue, self.idle_since) = (None, Time::MAX);
    }

    /// What all queues that there have been have dropped and marked, and what is held.
    pub(super) fn accounts(&self) -> (Past, Backlog) {
        let queue = self.queue.as_ref();
        let mut past = self.past.as_deref().copied().unwrap_or_default();
        let now = queue.map(|queue| *queue.counters()).unwrap_or_default();
        for (tally, now) in [
            (&mut past.dropped, now.dropped),
            (&mut past.marked, now.marked),
        ] {
            tally.packets += now.packets;
            tally.bytes += now.bytes;
        }
        (past, queue.map(Qdisc::backlog).unwrap_or_default())
    }
}
