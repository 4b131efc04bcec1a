//! First in, first out, with a limit in packets or bytes: `pfifo`, `bfifo`, `pfifo_head_drop`.
//!
//! Source: `tc-pfifo(8)`, Linux `sch_fifo.c`.
//! Units: packets, bytes, integer nanoseconds.
//! Invariants: offered = dequeued + dropped + held; packets leave in the order of arrival; no
//! arrival makes the queue exceed its limit.
//! Memory: an entry per packet held at most at any time; nothing before the first packet.

use crate::{
    Backlog, ChangeError, Counters, Dequeue, DropReason, Outlet, Packet, Qdisc, Report, Spec,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::Time;

/// What a full queue does, and in which unit it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Packets,
    Bytes,
    HeadDrop,
}

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    queue: VecDeque<(Time, P)>,
    /// The limit that is not meant is out of reach, so that the fast path knows no kinds.
    packets: u64,
    bytes: u64,
    kind: Kind,
    backlog: Backlog,
    counters: Counters,
}

impl<P> Fifo<P> {
    /// `pfifo`: up to `limit` packets, and drops what arrives beyond.
    pub fn new(limit: u32) -> Self {
        Self::make(Kind::Packets, u64::from(limit))
    }

    /// `bfifo`: up to `limit` bytes, and drops what arrives beyond.
    pub fn bytes(limit: u64) -> Self {
        Self::make(Kind::Bytes, limit)
    }

    /// `pfifo_head_drop`: up to `limit` packets, and drops the oldest for each that arrives
    /// beyond.
    pub fn head_drop(limit: u32) -> Self {
        Self::make(Kind::HeadDrop, u64::from(limit))
    }

    fn make(kind: Kind, limit: u64) -> Self {
        let mut fifo = Self {
            queue: VecDeque::new(),
            packets: u64::MAX,
            bytes: u64::MAX,
            kind,
            backlog: Backlog::default(),
            counters: Counters::default(),
        };
        fifo.set_limit(limit);
        fifo
    }

    fn set_limit(&mut self, limit: u64) {
        match self.kind {
            Kind::Packets | Kind::HeadDrop => self.packets = limit,
            Kind::Bytes => self.bytes = limit,
        }
    }
}

impl<P: Packet> Fifo<P> {
    /// Whether the arrival may be queued: a tail drop refuses it, a head drop makes room.
    #[cold]
    fn make_room(&mut self, out: &mut dyn Outlet<P>) -> bool {
        if self.kind != Kind::HeadDrop || self.packets == 0 {
            return false;
        }
        // One for one, as in Linux: an excess after a change drains by departures.
        if let Some((_, oldest)) = self.queue.pop_front() {
            self.backlog.remove(oldest.len());
            self.counters.drop(oldest.len(), DropReason::Head);
            out.dropped(oldest, DropReason::Head);
        }
        true
    }
}

impl<P: Packet> Qdisc<P> for Fifo<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        let full = self.backlog.packets >= self.packets
            || self.backlog.bytes + u64::from(len) > self.bytes;
        if full && !self.make_room(out) {
            self.counters.drop(len, DropReason::Tail);
            out.dropped(packet, DropReason::Tail);
            return;
        }
        self.backlog.add(len);
        self.queue.push_back((now, packet));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let Some((arrived, packet)) = self.queue.pop_front() else {
            return Dequeue::Empty;
        };
        let len = packet.len();
        self.backlog.remove(len);
        self.counters.dequeued.add(len);
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

    fn report(&self, _now: Time) -> Report {
        Report::new(&self.spec(), &self.counters, self.backlog, Vec::new())
    }

    fn spec(&self) -> Spec {
        let packets = self.packets as u32;
        match self.kind {
            Kind::Packets => Spec::Pfifo { limit: packets },
            Kind::Bytes => Spec::Bfifo { limit: self.bytes },
            Kind::HeadDrop => Spec::PfifoHeadDrop { limit: packets },
        }
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        let limit = match (self.kind, spec) {
            (Kind::Packets, Spec::Pfifo { limit })
            | (Kind::HeadDrop, Spec::PfifoHeadDrop { limit }) => u64::from(*limit),
            (Kind::Bytes, Spec::Bfifo { limit }) => *limit,
            _ => return Err(ChangeError::other_kind(self.spec().name(), spec)),
        };
        self.set_limit(limit);
        Ok(())
    }

    fn head_len(&self) -> Option<u32> {
        self.queue.front().map(|(_, packet)| packet.len())
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
}
