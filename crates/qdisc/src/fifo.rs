//! First in, first out.

use crate::{Backlog, Counters, Dequeue, DropReason, Outlet, Packet, Qdisc};
use alloc::collections::VecDeque;
use sojourn_units::Time;

/// First in, first out with tail drop.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    queue: VecDeque<(Time, P)>,
    limit: u32,
    backlog: Backlog,
    counters: Counters,
}

impl<P> Fifo<P> {
    /// Holds up to `limit` packets.
    pub fn new(limit: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            limit,
            backlog: Backlog::default(),
            counters: Counters::default(),
        }
    }
}

impl<P: Packet> Qdisc<P> for Fifo<P> {
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        if self.backlog.packets >= u64::from(self.limit) {
            self.counters.drop(len, DropReason::Tail);
            out.dropped(packet, DropReason::Tail);
            return;
        }
        self.backlog.add(len);
        self.queue.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Time, _out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let Some((arrived, packet)) = self.queue.pop_front() else {
            return Dequeue::Empty;
        };
        self.backlog.remove(packet.len());
        self.counters.dequeued.add(packet.len());
        Dequeue::Packet {
            packet,
            sojourn: now - arrived,
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
