//! One queue, first in first out, under one AQM: `codel`, `pie`, `red`.
//!
//! Units: packets, bytes, integer nanoseconds.
//! Invariants: at most `limit` packets and bytes are held after every call; packets leave in the
//! order of arrival; offered = dequeued + dropped + held.
//! Memory: an entry per packet held at most at any time (the packet and its time of arrival);
//! nothing before the first packet.

use crate::describe::DescribeSingle;
use crate::{
    Aqm, Backlog, ChangeError, Counters, Dequeue, DropReason, Facts, Gauge, Outlet, Packet, Qdisc,
    QueueView, Report, Spec, Verdict,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Most that a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

impl Limit {
    /// A limit in packets only.
    pub const fn packets(packets: u32) -> Self {
        Self {
            packets,
            bytes: u64::MAX,
        }
    }

    /// A limit in bytes only.
    pub const fn bytes(bytes: u64) -> Self {
        Self {
            packets: u32::MAX,
            bytes,
        }
    }
}

/// One queue under one AQM.
#[derive(Clone, Debug)]
pub struct SingleQueue<P, A: Aqm> {
    queue: VecDeque<(Time, P)>,
    aqm: A,
    state: A::State,
    limit: Limit,
    backlog: Backlog,
    counters: Counters,
}

impl<P: Packet, A: Aqm> SingleQueue<P, A> {
    /// An empty queue.
    pub fn new(limit: Limit, aqm: A) -> Self {
        Self {
            queue: VecDeque::new(),
            aqm,
            state: A::State::default(),
            limit,
            backlog: Backlog::default(),
            counters: Counters::default(),
        }
    }

    /// The AQM: its parameters and counts.
    pub const fn aqm(&self) -> &A {
        &self.aqm
    }

    /// The AQM, to change its parameters.
    pub fn aqm_mut(&mut self) -> &mut A {
        &mut self.aqm
    }

    /// The AQM's variables.
    pub const fn state(&self) -> &A::State {
        &self.state
    }

    /// The limit in force.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Changes the limit. Packets that are above a lower one stay until they are sent; new ones
    /// are refused until then.
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    fn view(&self, head_wait: Span) -> QueueView {
        QueueView {
            head_wait,
            packets: self.backlog.packets as u32,
            bytes: self.backlog.bytes,
            total_bytes: self.backlog.bytes,
            bulk_flows: 0,
        }
    }

    #[inline]
    fn has_room(&self, len: u32) -> bool {
        self.backlog.packets < u64::from(self.limit.packets)
            && self.backlog.bytes.saturating_add(u64::from(len)) <= self.limit.bytes
    }

    /// Makes room for as many packets again, but for no more than the limit.
    #[cold]
    fn grow(&mut self) {
        let len = self.queue.len();
        let room = (self.limit.packets as usize).saturating_sub(len);
        self.queue.reserve_exact(len.max(16).min(room.max(1)));
    }

    #[cold]
    fn refuse(&mut self, packet: P, len: u32, reason: DropReason, out: &mut dyn Outlet<P>) {
        self.counters.drop(len, reason);
        out.dropped(packet, reason);
    }

    #[cold]
    fn mark(&mut self, packet: &mut P, len: u32, out: &mut dyn Outlet<P>) {
        if packet.set_ce() {
            self.counters.marked.add(len);
            out.marked(packet);
        }
    }
}

impl<P: Packet, A: DescribeSingle> Qdisc<P> for SingleQueue<P, A> {
    fn enqueue(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        let has_room = self.has_room(len);
        if has_room || A::SEES_ALL_ARRIVALS {
            let facts = Facts {
                len,
                ect: packet.ecn().is_capable(),
            };
            let head = self.queue.front();
            let view = self.view(head.map_or(Span::ZERO, |(arrived, _)| now - *arrived));
            match self.aqm.arrive(&mut self.state, view, facts, now) {
                Verdict::Mark if has_room => self.mark(&mut packet, len, out),
                Verdict::Pass | Verdict::Mark => {}
                Verdict::Drop => return self.refuse(packet, len, DropReason::Aqm, out),
            }
        }
        if !has_room {
            self.aqm.tail_dropped(&mut self.state, now);
            return self.refuse(packet, len, DropReason::Tail, out);
        }
        self.backlog.add(len);
        if self.queue.len() == self.queue.capacity() {
            self.grow();
        }
        self.queue.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        while let Some((arrived, mut packet)) = self.queue.pop_front() {
            let len = packet.len();
            self.backlog.remove(len);
            let facts = Facts {
                len,
                ect: packet.ecn().is_capable(),
            };
            let sojourn = now - arrived;
            let view = self.view(sojourn);
            match self.aqm.leave(&mut self.state, view, facts, sojourn, now) {
                Verdict::Pass => {}
                Verdict::Mark => self.mark(&mut packet, len, out),
                Verdict::Drop => {
                    self.refuse(packet, len, DropReason::Aqm, out);
                    continue;
                }
            }
            self.counters.dequeued.add(len);
            return Dequeue::Packet { packet, sojourn };
        }
        self.aqm.found_empty(&mut self.state, now);
        Dequeue::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, now: Time) -> Report {
        let own = self.aqm.statistics(&self.state, &self.counters, now);
        let counters = Counters {
            overlimits: self.aqm.overlimits(),
            ..self.counters
        };
        let accounts = (&counters, self.backlog);
        Report {
            inner: self.aqm.below(&self.state, self.limit, accounts, now),
            ..Report::new(&self.spec(), &counters, self.backlog, own)
        }
    }

    fn spec(&self) -> Spec {
        self.aqm.spec(self.limit)
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        self.limit = self.aqm.change(spec)?;
        Ok(())
    }

    fn head_len(&self) -> Option<u32> {
        self.queue.front().map(|(_, packet)| packet.len())
    }

    fn gauges(&self, now: Time, tell: &mut dyn FnMut(Gauge)) {
        self.aqm.gauges(&self.state, now, tell);
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
