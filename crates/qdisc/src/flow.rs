//! A flow queue: many queues, each under its own AQM, served by deficit round robin with
//! priority for new flows: `fq_codel`, `fq_pie`.
//!
//! Source: RFC 8290 sections 4 and 5; Shreedhar and Varghese 1996 (DRR). Compared with Linux
//! `sch_fq_codel.c`.
//! Units: packets, bytes, integer nanoseconds.
//!
//! Invariants: at most `limit` packets and `memory_limit` bytes are held after every call;
//! packets of a flow leave in the order of arrival; offered = dequeued + dropped + held.
//!
//! Memory of one instance: under 700 bytes before the first packet. Then 4 bytes per bucket
//! (`flows`), 80 bytes with CoDel and 128 with PIE per flow in use, and the packet with about 24
//! bytes per packet held at most at any time. A flow that is idle, and whose AQM remembers
//! nothing of consequence, gives its entry to the next new flow. An overloaded instance adds 20
//! bytes per flow in use.
//!
//! The fattest flow is found by a heap that exists only under overload (see `fat`): O(log flows)
//! per packet while overloaded, and nothing otherwise. Overload ends when the backlog falls
//! under half the limits.
//!
//! Differs from Linux: a batch is followed by another one while a limit is still exceeded;
//! `fq_pie` too drops from the fattest flow when it is full, where Linux drops the arrival; a
//! packet is charged at least one byte.
//!
//! What differs between a plain flow queue and CAKE's is a [`FlowPolicy`]: [`Plain`] compiles to
//! RFC 8290 and nothing more, [`HostFair`] adds set-associative hashing, host isolation, the ACK
//! filter and link-layer sizes over any AQM.
//!
//! A policy that bounds its queue ([`Aqm::BOUNDS`]) bounds that of each flow, which sheds a surplus
//! when a packet comes to it or its turn has come.
//!
//! Not here: shaping, tins (`Cake`).

mod acks;
mod bound;
mod debts;
mod fat;
mod find;
mod handover;
mod hosts;
mod lists;
mod loads;
mod overload;
mod policy;
mod ring;
mod round;
mod statistics;
mod turns;
mod walk;
mod ways;
mod wheel;

use crate::accounts::{Backlog, Counters, DropReason, FlowStatistics, Gauge};
use crate::ack::AckFilter;
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::change::{ChangeError, alike, unchanged};
use crate::packet::Packet;
use crate::params::{FlowParams, FlowParts};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::spec::{Aimed, AqmParams, Spec};
use alloc::boxed::Box;
use alloc::vec::Vec;
use fat::Fattest;
use lists::{Ends, NONE, Position, Slab};
use ring::{Calm, Ring};
use round::{Round, Turn};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

pub use hosts::{HostFair, Sharing};
pub use policy::{FlowPolicy, FlowTurns, Plain};
use ways::Set;
pub use ways::WayCounters;
use wheel::Debts;

/// Least quantum, as in Linux.
const LEAST_QUANTUM: u32 = 256;
/// Most buckets, as in Linux.
const MOST_FLOWS: u32 = 65_536;
/// Idle flows looked at for one whose entry a new flow may have.
const RECLAIM_TRIES: usize = 4;

/// One queue.
#[derive(Clone, Debug, Default)]
struct Flow<S, F> {
    packets: Ends,
    count: u32,
    bucket: u32,
    bytes: u64,
    /// Bytes that the flow may still send in this round.
    deficit: i64,
    /// Next flow in its list.
    next: u32,
    turn: Turn,
    /// What the policy keeps of it.
    share: F,
    state: S,
}

/// Many queues, each under its own AQM.
#[derive(Clone, Debug)]
pub struct FlowQueue<P, A: Aqm, F: FlowPolicy = Plain> {
    params: FlowParams,
    quantum: u32,
    buckets: u32,
    perturbation: u64,
    aqm: A,
    policy: F,
    ways: WayCounters,
    /// Flow of each bucket; empty before the first packet.
    table: Vec<u32>,
    /// The same of whole sets, where a flow may stand in another bucket than its own.
    sets: Vec<Set>,
    flows: Vec<Flow<A::State, F::Flow>>,
    /// Next flow to look at for an entry to reclaim.
    hand: u32,
    slab: Slab<P>,
    new: Round,
    old: Round,
    debts: Debts,
    calm: Calm,
    /// Whether the old flows stand in the ring.
    has_ring: bool,
    ring: Option<Box<Ring>>,
    fattest: Fattest,
    backlog: Backlog,
    /// Bytes of memory that the packets hold.
    memory: u64,
    counters: Counters,
    new_flow_count: u64,
    /// What `aqm` was made from.
    aimed: Option<Box<Aimed>>,
}

impl<P: Packet, A: Aqm> FlowQueue<P, A> {
    /// An empty discipline. `mtu` is the quantum when `params` has none; `dice` perturb the
    /// hash.
    pub fn new(params: FlowParams, mtu: u32, dice: Stream, aqm: A) -> Self {
        Self::with_policy(params, mtu, dice, aqm, Plain)
    }
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// An empty discipline whose flows share as `policy` says.
    pub fn with_policy(params: FlowParams, mtu: u32, mut dice: Stream, aqm: A, policy: F) -> Self {
        Self {
            params,
            quantum: params.quantum.unwrap_or(mtu).max(LEAST_QUANTUM),
            buckets: params.flows.clamp(1, MOST_FLOWS),
            perturbation: dice.bits(),
            aqm,
            policy,
            ways: WayCounters::default(),
            table: Vec::new(),
            sets: Vec::new(),
            flows: Vec::new(),
            hand: 0,
            slab: Slab::new(),
            new: Round::default(),
            old: Round::default(),
            debts: Debts::default(),
            calm: Calm::default(),
            has_ring: false,
            ring: None,
            fattest: Fattest::default(),
            backlog: Backlog::default(),
            memory: 0,
            counters: Counters::default(),
            new_flow_count: 0,
            aimed: None,
        }
    }

    /// Its AQM was made from `aimed`.
    pub(crate) fn of(mut self, aimed: Aimed) -> Self {
        self.aimed = Some(Box::new(aimed));
        self
    }

    /// The parameters in force.
    pub const fn params(&self) -> &FlowParams {
        &self.params
    }

    /// The quantum in force, in bytes.
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Changes the parameters. The number of flows cannot change and stays. Packets above a
    /// lower limit stay until the next arrival, which drops from the fattest flows.
    pub fn set_params(&mut self, params: FlowParams) {
        if let Some(quantum) = params.quantum {
            self.quantum = quantum.max(LEAST_QUANTUM);
        }
        self.policy.set_parts(&params.parts);
        self.params = FlowParams {
            flows: self.params.flows,
            ..params
        };
    }

    /// The AQM: its parameters and counts.
    pub const fn aqm(&self) -> &A {
        &self.aqm
    }

    /// The AQM, to change its parameters.
    pub fn aqm_mut(&mut self) -> &mut A {
        &mut self.aqm
    }

    /// How its flows share.
    pub const fn policy(&self) -> &F {
        &self.policy
    }

    /// How its flows share, to change parameters.
    pub fn policy_mut(&mut self) -> &mut F {
        &mut self.policy
    }

    /// What set-associative hashing counts.
    pub const fn ways(&self) -> &WayCounters {
        &self.ways
    }

    /// Flows in either list: those that hold packets or have just done so.
    pub fn flows_in_turn(&self) -> u32 {
        self.new.len + self.old_flows()
    }

    /// Whether a new flow is the next one to have its turn.
    pub(crate) const fn is_new_next(&self) -> bool {
        self.new.len > 0
    }

    fn old_flows(&self) -> u32 {
        self.old.len + self.debts.len()
    }

    /// The states of the flows that hold packets, with their backlogs, in no promised order.
    pub fn busy_flows(&self) -> impl Iterator<Item = (Backlog, &A::State)> {
        self.flows.iter().filter(|flow| flow.count > 0).map(|flow| {
            let held = Backlog {
                packets: u64::from(flow.count),
                bytes: flow.bytes,
            };
            (held, &flow.state)
        })
    }

    /// Statistics beside [`Qdisc::counters`].
    pub fn statistics(&self) -> FlowStatistics {
        let overmemory = self.counters.dropped_for(DropReason::OverMemory);
        FlowStatistics {
            new_flow_count: self.new_flow_count,
            new_flows_len: self.new.len,
            old_flows_len: self.old_flows(),
            memory_used: self.memory,
            drop_overlimit: self.counters.dropped_for(DropReason::Overlimit) + overmemory,
            drop_overmemory: overmemory,
        }
    }

    /// Its spec, with these parameters.
    fn following(&self, flows: FlowParams) -> Option<Spec> {
        let policy = **self.aimed.as_ref()?;
        Some(Spec::Flows { flows, policy })
    }

    /// The flow of a packet.
    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    fn classify(&mut self, packet: &P, now: Time) -> u32 {
        let hash = self.policy.hash(packet, self.perturbation);
        if self.policy.is_associative() {
            return self.associate(hash, now);
        }
        let bucket = self.bucket(hash);
        match self.table.get(bucket as usize) {
            Some(&flow) if flow != NONE => flow,
            _ => self.open(bucket, now),
        }
    }

    /// The bucket of a hash.
    #[inline]
    fn bucket(&self, hash: u32) -> u32 {
        // Lemire's reduction of a uniform 32-bit hash, as Linux's reciprocal_scale.
        ((u64::from(hash) * u64::from(self.buckets)) >> 32) as u32
    }

    /// Gives a bucket its flow: an entry that nobody needs, or else a new one.
    #[cold]
    fn open(&mut self, bucket: u32, now: Time) -> u32 {
        if self.table.is_empty() {
            self.table.resize(self.buckets as usize, NONE);
        }
        let fresh = Flow {
            bucket,
            ..Flow::default()
        };
        // A few steps of a clock hand: a full search would cost a packet as much as there are
        // flows, and none would let memory grow with every flow ever seen.
        for _ in 0..RECLAIM_TRIES.min(self.flows.len()) {
            self.hand = (self.hand + 1) % self.flows.len() as u32;
            let flow = &mut self.flows[self.hand as usize];
            // Idle is not enough: CoDel goes on at its last drop rate when a flow comes back soon
            // (RFC 8289 section 5.4), which a new state would forget.
            if flow.turn == Turn::Idle && self.aqm.is_forgettable(&mut flow.state, now) {
                let old = core::mem::replace(flow, fresh);
                self.forget(old.bucket);
                self.table[bucket as usize] = self.hand;
                return self.hand;
            }
        }
        let id = self.flows.len() as u32;
        self.flows.push(fresh);
        self.table[bucket as usize] = id;
        id
    }

    #[inline]
    fn view(&self, id: u32, now: Time) -> QueueView {
        let flow = &self.flows[id as usize];
        let head = self.slab.head(flow.packets);
        QueueView {
            head_wait: head.map_or(Span::ZERO, |(arrived, _)| now - arrived),
            packets: flow.count,
            bytes: flow.bytes,
            total_bytes: self.backlog.bytes,
            bulk_flows: 0,
        }
    }

    /// Puts a packet, whose memory is counted, at the end of its flow, and an idle flow among the
    /// new ones.
    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    fn push(&mut self, id: u32, packet: P, len: u32, now: Time) {
        // One more than the limit: an arrival may be what makes another flow the fattest.
        let most = || self.params.limit as usize + 1;
        let flow = &mut self.flows[id as usize];
        self.slab.push(&mut flow.packets, packet, now, most);
        flow.count += 1;
        flow.bytes += u64::from(len);
        self.backlog.add(len);
        if flow.turn == Turn::Idle {
            self.policy.joined(&mut flow.share);
            // A new flow begins with a whole quantum, so that a sparse flow's packet goes at once
            // (RFC 8290 section 4.1). What it owed before it was idle is forgiven, as in Linux.
            let quantum = u64::from(self.quantum);
            let share = self.policy.share(&flow.share);
            flow.deficit = self.policy.quantum(share, quantum);
            self.new_flow_count += 1;
            let bucket = flow.bucket;
            self.set_busy(bucket, true);
            self.append(id, Turn::New);
        // An old flow that was empty holds packets again: it stands in the round and counts as
        // bulk, as CAKE counts.
        } else if flow.turn != Turn::New && flow.count == 1 {
            self.policy.stands(&mut flow.share);
        }
        self.weigh(id);
    }

    /// Takes the packet at the head of a flow, and all accounts of it but the last.
    #[inline]
    fn pop(&mut self, id: u32) -> Option<(Time, P, u32)> {
        self.take_at(id, Position::Head)
    }

    /// The same with the packet at a place of the flow.
    #[inline]
    fn take_at(&mut self, id: u32, place: Position) -> Option<(Time, P, u32)> {
        let flow = &mut self.flows[id as usize];
        let (arrived, packet) = self.slab.take(&mut flow.packets, place)?;
        let len = packet.len();
        self.memory -= u64::from(packet.memory());
        flow.count -= 1;
        flow.bytes -= u64::from(len);
        self.backlog.remove(len);
        Some((arrived, packet, len))
    }

    /// Keeps the heap right after a flow's backlog has changed.
    #[inline]
    fn weigh(&mut self, id: u32) {
        if self.fattest.is_active() {
            let flow = &self.flows[id as usize];
            self.fattest.set(id, (flow.count > 0).then_some(flow.bytes));
        }
    }

    /// Takes a packet in, whatever the limits.
    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    pub(crate) fn offer(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        let id = self.classify(&packet, now);
        // Here, because a packet of which no field is read any more is moved in one piece.
        let memory = u64::from(packet.memory());
        let facts = Facts::new(len, &packet);
        let flow = &mut self.flows[id as usize];
        // Before the AQM judges the arrival, which it would else take for one more of the old
        // burst.
        if flow.turn == Turn::Idle {
            self.aqm.rejoined(&mut flow.state);
        }
        let bound = A::BOUNDS.then(|| self.bind(id, now, out));
        let may_enter = bound.is_none_or(|bound| self.may_enter(id, len, bound));
        if may_enter || A::SEES_ALL_ARRIVALS {
            let view = self.view(id, now);
            let flow = &mut self.flows[id as usize];
            match self.aqm.arrive(&mut flow.state, view, facts, now) {
                Verdict::Mark if may_enter => self.counters.mark(&mut packet, len, out),
                Verdict::Pass | Verdict::Mark => {}
                Verdict::Drop => return self.counters.refuse(packet, len, DropReason::Aqm, out),
            }
        }
        if !may_enter {
            // The bound is the policy's own; it hears that it has refused a packet.
            self.aqm
                .tail_dropped(&mut self.flows[id as usize].state, now);
            return self.counters.refuse(packet, len, DropReason::Tail, out);
        }
        if let Some(bound) = bound {
            self.make_room(id, len, bound, now, out);
        }
        self.memory += memory;
        self.push(id, packet, len, now);
        // After the packet is in: the filter drops older acknowledgements that this one makes
        // needless.
        if self.policy.ack_filter() != AckFilter::Off {
            self.filter_acks(id, out);
        }
    }
}

impl<P: Packet, A: Aqm<Params: AqmParams>, F: FlowPolicy> Qdisc<P> for FlowQueue<P, A, F> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        self.offer(packet, now, out);
        // The packet is in its flow before the fattest one is looked for: a flow that fills the
        // queue pays, not the one that happens to arrive (RFC 8290 section 4.1).
        if self.is_over_limit() {
            self.shed(now, out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        self.take(now, out)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _now: Time) -> Report {
        let mut own = self.aqm.flow_statistics(&self.statistics());
        let mut steering = self
            .aqm
            .steering()
            .map(|status| (status.target, status.statistics(None)));
        let outer = steering.as_mut().map_or(&mut own, |(_, fields)| fields);
        outer.extend(self.parts_statistics());
        // tc prints the quantum in force, also when it is the default.
        let quantum = Some(self.quantum);
        let spec = self.following(FlowParams {
            quantum,
            ..self.params
        });
        Report::policed(spec.as_ref(), &self.counters, self.backlog, own, steering)
    }

    fn spec(&self) -> Option<Spec> {
        self.following(self.params)
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        if let Spec::Flows { flows, policy } = *spec {
            same_flows(&flows, &self.params)?;
            if let Some(params) = A::Params::found_in(spec) {
                self.aqm.retune(params);
            }
            self.aimed = Some(Box::new(policy));
            self.set_params(flows);
        }
        Ok(())
    }

    fn gauges(&self, now: Time, tell: &mut dyn FnMut(Gauge)) {
        self.aqm.gauges(None, now, tell);
    }

    fn room(&self) -> Option<usize> {
        Some(self.slab.capacity() - self.backlog.packets as usize)
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        self.empty()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        for (arrived, packet) in held {
            self.admit(packet, arrived);
        }
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(Self {
            params: self.params,
            quantum: self.quantum,
            buckets: self.buckets,
            perturbation: self.perturbation,
            aqm: self.aqm.fork()?,
            policy: self.policy.clone(),
            ways: self.ways,
            table: self.table.clone(),
            sets: self.sets.clone(),
            flows: self.flows.clone(),
            hand: self.hand,
            slab: self.slab.clone(),
            new: self.new,
            old: self.old,
            debts: self.debts.clone(),
            calm: self.calm,
            has_ring: self.has_ring,
            ring: self.ring.clone(),
            fattest: self.fattest.clone(),
            backlog: self.backlog,
            memory: self.memory,
            counters: self.counters,
            new_flow_count: self.new_flow_count,
            aimed: self.aimed.clone(),
        }))
    }
}

/// The number of flows and what tells them apart are fixed, because packets are in queues by them,
/// and whether there are parts of CAKE at all. So is the default quantum, because the link's MTU
/// is known only at construction.
fn same_flows(new: &FlowParams, old: &FlowParams) -> Result<(), ChangeError> {
    let apart = |parts: &FlowParts| (parts.isolation, parts.nat);
    let ways = |parts: &FlowParts| (parts.set_associative, *parts == FlowParts::NONE);
    let (of_new, of_old) = (&new.parts, &old.parts);
    unchanged([
        (new.flows == old.flows, "flows"),
        (apart(of_new) == apart(of_old), "flowmode"),
        (ways(of_new) == ways(of_old), "set-associative"),
        (old.quantum.is_none() || new.quantum.is_some(), "quantum"),
    ])
}

#[cfg(test)]
mod tests;
