//! First in, first out, with a limit in packets or bytes: `pfifo`, `bfifo`, `pfifo_head_drop`.
//!
//! Source: `tc-pfifo(8)`, Linux `sch_fifo.c`.
//! Units: packets, bytes, integer nanoseconds.
//! Invariants: offered = dequeued + dropped + held; packets leave in the order of arrival; no
//! arrival makes the queue exceed its limit.
//! Memory: an entry per packet held at most at any time; nothing before the first packet.

use crate::accounts::{Backlog, Counters, DropReason};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::params::{Capacity, FifoParams};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::Time;

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    queue: VecDeque<(Time, P)>,
    /// The limit of `params`, so that the fast path knows no kinds.
    most: Capacity,
    params: FifoParams,
    backlog: Backlog,
    counters: Counters,
}

impl<P> Fifo<P> {
    /// An empty queue.
    pub fn new(params: FifoParams) -> Self {
        Self {
            queue: VecDeque::new(),
            most: most(params),
            params,
            backlog: Backlog::default(),
            counters: Counters::default(),
        }
    }
}

fn most(params: FifoParams) -> Capacity {
    match params {
        FifoParams::Packets(limit) | FifoParams::HeadDrop(limit) => {
            Capacity::of_packets(limit.into())
        }
        FifoParams::Bytes(limit) => Capacity::of_bytes(limit),
    }
}

impl<P: Packet> Fifo<P> {
    #[inline]
    fn is_full(&self, len: u32) -> bool {
        self.backlog.packets >= self.most.packets
            || self.backlog.bytes + u64::from(len) > self.most.bytes
    }

    /// Takes a packet for which there is no room, or no memory yet.
    #[cold]
    #[inline(never)]
    fn enqueue_rare(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        if self.is_full(len) && !self.make_room(out) {
            return self.counters.refuse(packet, len, DropReason::Tail, out);
        }
        self.backlog.add(len);
        self.queue.push_back((now, packet));
    }

    /// Whether the arrival may be queued: a tail drop refuses it, a head drop makes room.
    #[cold]
    fn make_room(&mut self, out: &mut dyn Outlet<P>) -> bool {
        if !matches!(self.params, FifoParams::HeadDrop(1..)) {
            return false;
        }
        // One for one, as in Linux: an excess after a change drains by departures.
        if let Some((_, oldest)) = self.queue.pop_front() {
            let len = oldest.len();
            self.backlog.remove(len);
            self.counters.refuse(oldest, len, DropReason::Head, out);
        }
        true
    }
}

impl<P: Packet> Qdisc<P> for Fifo<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        // What calls another function is one itself, so that no registers are saved here.
        if self.is_full(len) || self.queue.len() == self.queue.capacity() {
            return self.enqueue_rare(packet, now, out);
        }
        self.counters.offered.add(len);
        self.backlog.add(len);
        self.queue.push_back((now, packet));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let Some((arrived, packet)) = self.queue.pop_front() else {
            return Dequeue::Empty;
        };
        if self.queue.is_empty() {
            // Back to the ring's first places: those of a queue that seldom holds more than a few
            // packets stay in the cache, where going round the whole ring would miss it.
            self.queue.clear();
        }
        let len = packet.len();
        self.backlog.remove(len);
        self.counters.dequeued.add(len);
        Dequeue::Packet {
            packet,
            sojourn: now - arrived,
        }
    }

    fn ahead(&self, places: usize) -> Option<&P> {
        self.queue.get(places).map(|(_, packet)| packet)
    }

    #[inline]
    fn pass(&mut self, len: u32) -> bool {
        let passes =
            self.backlog.packets == 0 && self.most.packets > 0 && u64::from(len) <= self.most.bytes;
        if passes {
            self.counters.offered.add(len);
            self.counters.dequeued.add(len);
        }
        passes
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _now: Time) -> Report {
        let spec = self.spec();
        Report::new(spec.as_ref(), &self.counters, self.backlog, Vec::new())
    }

    fn spec(&self) -> Option<Spec> {
        Some(Spec::Fifo(self.params))
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        if let Spec::Fifo(params) = *spec {
            (self.params, self.most) = (params, most(params));
        }
        Ok(())
    }

    fn head_len(&self) -> Option<u32> {
        self.queue.front().map(|(_, packet)| packet.len())
    }

    fn room(&self) -> Option<usize> {
        Some(self.queue.capacity() - self.queue.len())
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        self.backlog = Backlog::default();
        self.queue.drain(..).collect()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        for (arrived, packet) in held {
            self.backlog.add(packet.len());
            self.queue.push_back((arrived, packet));
        }
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(self.clone()))
    }
}
