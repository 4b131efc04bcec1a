//! One queue, first in first out, under one AQM: `codel`, `pie`, `red`.
//!
//! Units: packets, bytes, integer nanoseconds.
//! Invariants: at most `limit` packets and bytes, and what the AQM's bound leaves, are held after
//! every call; packets leave in the
//! order of arrival; offered = dequeued + dropped + held.
//! Memory: an entry per packet held at most at any time (the packet and its time of arrival);
//! nothing before the first packet.

use crate::accounts::{Backlog, Counters, DropReason, Gauge};
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::params::{Capacity, End, Limit};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::spec::{AqmParams, Policy, Spec};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::discriminant;
use sojourn_units::{Span, Time};

#[inline]
const fn view(backlog: Backlog, head_wait: Span) -> QueueView {
    QueueView {
        head_wait,
        packets: backlog.packets as u32,
        bytes: backlog.bytes,
        total_bytes: backlog.bytes,
        bulk_flows: 0,
    }
}

/// One queue under one AQM.
#[derive(Clone, Debug)]
pub struct SingleQueue<P, A: Aqm> {
    queue: VecDeque<(Time, P)>,
    aqm: A,
    state: A::State,
    limit: Limit,
    /// `limit` as packets and bytes.
    most: Capacity,
    backlog: Backlog,
    counters: Counters,
    /// What `aqm` was made from.
    policy: Option<Box<Policy>>,
}

impl<P: Packet, A: Aqm> SingleQueue<P, A> {
    /// An empty queue under a policy of one's own, for which no words stand.
    pub fn new(limit: Limit, aqm: A) -> Self {
        Self {
            queue: VecDeque::new(),
            aqm,
            state: A::State::default(),
            limit,
            most: limit.most(),
            backlog: Backlog::default(),
            counters: Counters::default(),
            policy: None,
        }
    }

    /// An empty queue under `aqm`, which was made from `policy`.
    pub(crate) fn of(limit: Limit, policy: Policy, aqm: A) -> Self {
        Self {
            policy: Some(Box::new(policy)),
            ..Self::new(limit, aqm)
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
        self.most = limit.most();
    }

    #[inline]
    fn view(&self, head_wait: Span) -> QueueView {
        view(self.backlog, head_wait)
    }

    #[inline]
    fn has_room(&self, len: u32, most: Capacity) -> bool {
        self.backlog.packets < most.packets
            && self.backlog.bytes.saturating_add(u64::from(len)) <= most.bytes
    }

    /// What may be held now and what gives way when it is full, after a surplus has been dropped.
    #[inline]
    fn bounded(&mut self, now: Time, out: &mut dyn Outlet<P>) -> (Capacity, End) {
        if !A::BOUNDS {
            return (self.most, End::Tail);
        }
        let head = self.queue.front();
        let view = self.view(head.map_or(Span::ZERO, |(arrived, _)| now - *arrived));
        let bound = self.aqm.bound(&mut self.state, view, now);
        let keep = bound.keep.most();
        // The queue's own limit is no reason: what is above a lower one stays until it is sent.
        while self.backlog.packets > keep.packets || self.backlog.bytes > keep.bytes {
            if !self.shed(bound.surplus, DropReason::Surplus, out) {
                break;
            }
        }
        (bound.limit.most().min(self.most), bound.full)
    }

    /// Makes room for a packet of `len` bytes at the head, if there can be enough.
    #[cold]
    fn make_room(&mut self, len: u32, most: Capacity, now: Time, out: &mut dyn Outlet<P>) {
        let mut dropped = 0;
        while !self.has_room(len, most) && self.shed(End::Head, DropReason::Head, out) {
            dropped += 1;
        }
        if dropped > 0 {
            self.aqm.overflowed(&mut self.state, dropped, now);
        }
    }

    /// Drops the packet at one end; false when there is none.
    #[cold]
    fn shed(&mut self, end: End, reason: DropReason, out: &mut dyn Outlet<P>) -> bool {
        let taken = match end {
            End::Head => self.queue.pop_front(),
            End::Tail => self.queue.pop_back(),
        };
        let Some((_, packet)) = taken else {
            return false;
        };
        let len = packet.len();
        self.backlog.remove(len);
        self.counters.refuse(packet, len, reason, out);
        true
    }

    /// Makes room for as many packets again, but for no more than the limit.
    #[cold]
    fn grow(&mut self) {
        let len = self.queue.len();
        let most = usize::try_from(self.most.packets).unwrap_or(usize::MAX);
        let room = most.saturating_sub(len);
        self.queue.reserve_exact(len.max(16).min(room.max(1)));
    }
}

impl<P: Packet, A: Aqm<Params: AqmParams>> Qdisc<P> for SingleQueue<P, A> {
    fn enqueue(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        let (most, full) = self.bounded(now, out);
        let mut has_room = self.has_room(len, most);
        let can_make_room = full == End::Head && most.packets > 0 && u64::from(len) <= most.bytes;
        let may_enter = has_room || can_make_room;
        if may_enter || A::SEES_ALL_ARRIVALS {
            let facts = Facts::new(len, &packet);
            let head = self.queue.front();
            let view = self.view(head.map_or(Span::ZERO, |(arrived, _)| now - *arrived));
            match self.aqm.arrive(&mut self.state, view, facts, now) {
                Verdict::Mark if may_enter => self.counters.mark(&mut packet, len, out),
                Verdict::Pass | Verdict::Mark => {}
                Verdict::Drop => return self.counters.refuse(packet, len, DropReason::Aqm, out),
            }
        }
        if can_make_room && !has_room {
            self.make_room(len, most, now, out);
            has_room = self.has_room(len, most);
        }
        if !has_room {
            self.aqm.tail_dropped(&mut self.state, now);
            return self.counters.refuse(packet, len, DropReason::Tail, out);
        }
        self.backlog.add(len);
        if self.queue.len() == self.queue.capacity() {
            self.grow();
        }
        self.queue.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        self.bounded(now, out);
        // It is judged where it lies and moved once.
        while let Some((arrived, packet)) = self.queue.front_mut() {
            let len = packet.len();
            self.backlog.remove(len);
            let sojourn = now - *arrived;
            let view = view(self.backlog, sojourn);
            let facts = Facts::new(len, packet);
            let verdict = self.aqm.leave(&mut self.state, view, facts, sojourn, now);
            if verdict == Verdict::Mark {
                self.counters.mark(packet, len, out);
            }
            let Some((_, packet)) = self.queue.pop_front() else {
                break;
            };
            if verdict == Verdict::Drop {
                self.counters.refuse(packet, len, DropReason::Aqm, out);
                continue;
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
        let counters = Counters {
            overlimits: self.aqm.overlimits(),
            ..self.counters
        };
        let own = self.aqm.statistics(&self.state, &self.counters, now);
        let steering = self
            .aqm
            .steering()
            .map(|status| (status.target, status.statistics(Some(now))));
        let spec = self.spec();
        Report::policed(spec.as_ref(), &counters, self.backlog, own, steering)
    }

    fn spec(&self) -> Option<Spec> {
        let policy = **self.policy.as_ref()?;
        let limit = self.limit;
        Some(Spec::Single { limit, policy })
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::Single { limit, policy } = spec else {
            return Ok(());
        };
        if discriminant(limit) != discriminant(&self.limit) {
            // RED's average would be in the wrong unit.
            return Err(ChangeError::Fixed { option: "limit" });
        }
        if let Some(params) = A::Params::found_in(spec) {
            self.aqm.retune(params);
        }
        self.policy = Some(Box::new(*policy));
        self.set_limit(*limit);
        Ok(())
    }

    fn head_len(&self) -> Option<u32> {
        let decided = !A::JUDGES_DEPARTURES && !A::BOUNDS;
        let head = self.queue.front().filter(|_| decided);
        head.map(|(_, packet)| packet.len())
    }

    fn gauges(&self, now: Time, tell: &mut dyn FnMut(Gauge)) {
        self.aqm.gauges(Some(&self.state), now, tell);
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
        Some(Box::new(Self {
            queue: self.queue.clone(),
            aqm: self.aqm.fork()?,
            state: self.state.clone(),
            limit: self.limit,
            most: self.most,
            backlog: self.backlog,
            counters: self.counters,
            policy: self.policy.clone(),
        }))
    }
}
