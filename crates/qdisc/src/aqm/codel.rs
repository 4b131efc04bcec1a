//! CoDel: drops at the head once the sojourn time has stayed above a target for an interval.
//!
//! Source: RFC 8289, pseudocode of section 5; Linux 6.1 `codel_impl.h`.
//! Units: integer nanoseconds, bytes.
//!
//! Differs from the RFC, as Linux does:
//! - an ECN-capable packet is marked instead of dropped, which advances the control law like a
//!   drop, and ends the dequeue;
//! - every ECN-capable packet that waited longer than `ce_threshold` is marked;
//! - "no more than one packet is left" compares with the link's MTU, not with the largest packet
//!   seen.
//!
//! As Linux, and not with `law rfc8289` or `law ns2`:
//! - 1/√count is a number of 16 bits that Newton's method moves by one step whenever the count
//!   changes: after 1 follow 0.5 for a count of two, where 0.71 would be right, and 0.56 for three,
//!   so that second drops come sooner. Where a drop rate is resumed it may still be far off;
//! - times count in units of 1024 ns;
//! - the first drop comes later than one interval, not at exactly one.
//!
//! As Linux and ns-2, and not with `law rfc8289`: of a flow queue the backlog of all flows counts
//! for "no more than one packet is left", not the flow's own.
//!
//! `law linux` is Linux since the fix of March 2026 (commit 815980fe6dbb, in 6.1.192 too), by which
//! a queue that runs empty forgets since when its delay has been above the target, as the RFC's
//! does. `law linux-3.5` is Linux before, from 3.5 on: it forgets only when a drop has emptied the
//! queue. A flow of few packets behind other flows then looks as if its delay had been standing
//! since its last packet, and loses the next.
//!
//! With `law ns2`, as ns-2's `queue/codel.cc` of the distribution of Nichols and Jacobson (2012),
//! which differs from RFC 8289 in this:
//! - a delay that has come back less than 8 intervals after the last scheduled drop, with a count
//!   above one, is standing after interval/√count already;
//! - the dropping state resumes when the last scheduled drop is less than 8 intervals ago and the
//!   count above two: at two less, from 127 on at 0.9844 of the count (rounded down);
//! - the count grows when the drop after is scheduled, so not with one that ends the state;
//! - the queue is small up to the largest packet seen, 256 bytes at least.
//!
//! Not here: flow isolation (`FlowQueue`).

use crate::accounts::{Counters, DropReason, FlowStatistics};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::{CodelLaw, CodelParams};
use crate::report::{Field, int, micros};
use alloc::vec::Vec;
use sojourn_units::Ecn;
use sojourn_units::{Span, Time};

/// Largest packet that ns-2 has seen before the first one, in bytes.
const NS2_PACKET: u32 = 256;

/// CoDel's parameters and what it counts over all its queues.
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
    /// Bits of a time in nanoseconds that the law reckons with.
    unit: u64,
    mtu: u32,
    counters: CodelCounters,
}

/// What CoDel counts over all its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodelCounters {
    /// Largest packet seen at a head, in bytes.
    pub maxpacket: u32,
    /// Packets dropped by the control law.
    pub dropped: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
    /// Packets marked because they waited longer than `ce_threshold`.
    pub ce_mark: u64,
}

/// CoDel's variables for one queue, with the names of `tc -s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodelState {
    /// When the delay will have been above the target for an interval; zero while it is below.
    first_above: Time,
    /// When the next drop is due, or was due last.
    pub drop_next: Time,
    /// Sojourn time of the last packet at the head.
    pub ldelay: Span,
    /// Drops since the dropping state was entered, plus where it resumed.
    pub count: u32,
    /// `count` when the dropping state was entered last.
    pub lastcount: u32,
    /// In the dropping state.
    pub dropping: bool,
    /// The last packet was dropped on schedule; whether another follows depends on the next.
    rescheduling: bool,
    /// The last packet whose delay was standing was dropped.
    dropped: bool,
    /// 1/√count as Linux has it, in 2⁻¹⁶.
    inverse_root: u16,
}

/// The unit of time of Linux is 1024 ns.
const fn unit_of(law: CodelLaw) -> u64 {
    match law {
        CodelLaw::Linux | CodelLaw::Linux3Dot5 => !1023,
        CodelLaw::Rfc8289 | CodelLaw::Ns2 => !0,
    }
}

impl CodelState {
    /// One step of Newton's method towards 1/√count, in Linux's 32 bits with its overflows, which
    /// happen when an overflow of the queue has raised the count.
    fn step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        let next = rest.wrapping_mul(root) >> 31;
        self.inverse_root = (next >> 16) as u16;
    }

    /// Counts one more signal.
    fn advance(&mut self) {
        self.count = self.count.wrapping_add(1);
        self.step();
    }
}

impl Codel {
    /// `mtu` is the link's largest packet as [`crate::Packet::len`] counts it.
    pub fn new(params: CodelParams, mtu: u32) -> Self {
        Self {
            unit: unit_of(params.law),
            params,
            mtu,
            counters: CodelCounters::default(),
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &CodelParams {
        &self.params
    }

    /// Changes the parameters from the next packet on.
    pub fn set_params(&mut self, params: CodelParams) {
        self.unit = unit_of(params.law);
        self.params = params;
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &CodelCounters {
        &self.counters
    }

    /// Roots and times without Linux's rounding.
    const fn is_exact(&self) -> bool {
        self.unit == !0
    }

    /// What counts for "no more than one packet is left".
    #[inline]
    fn left(&self, queue: QueueView) -> u64 {
        match self.params.law {
            CodelLaw::Rfc8289 => queue.bytes,
            CodelLaw::Linux | CodelLaw::Linux3Dot5 | CodelLaw::Ns2 => queue.total_bytes,
        }
    }

    /// Re-entering the dropping state within this time resumes the last drop rate.
    fn resumes_within(&self) -> Span {
        let intervals = if self.params.law == CodelLaw::Ns2 {
            8
        } else {
            16
        };
        self.unit(self.params.interval) * intervals
    }

    /// Up to this many bytes are no standing queue.
    fn small_queue(&self) -> u32 {
        match self.params.law {
            CodelLaw::Ns2 => self.counters.maxpacket.max(NS2_PACKET),
            CodelLaw::Linux | CodelLaw::Linux3Dot5 | CodelLaw::Rfc8289 => self.mtu,
        }
    }

    /// `t + interval/√count`.
    fn control_law(&self, t: Time, state: &CodelState) -> Time {
        let interval = self.params.interval;
        if self.is_exact() {
            // `libm::sqrt` rounds correctly, so this is the same everywhere.
            return t + interval.mul_f64(1.0 / libm::sqrt(f64::from(state.count.max(1))));
        }
        let units = (interval.as_nanos() >> 10) * u64::from(state.inverse_root);
        t + Span::from_nanos((units >> 16) << 10)
    }

    /// Sojourn time and time in the units that the law reckons with.
    #[inline]
    fn clock(&self, sojourn: Span, now: Time) -> (Span, Time) {
        let exact = now.as_nanos();
        // A packet has arrived before now, so that nothing wraps.
        let arrived = exact.wrapping_sub(sojourn.as_nanos()) & self.unit;
        let now = exact & self.unit;
        let sojourn = Span::from_nanos(now.wrapping_sub(arrived));
        (sojourn, Time::from_nanos(now))
    }

    /// A parameter in those units.
    const fn unit(&self, span: Span) -> Span {
        Span::from_nanos(span.as_nanos() & self.unit)
    }

    /// Whether the delay has been above the target for at least an interval.
    #[inline]
    fn is_standing(
        &self,
        state: &mut CodelState,
        queue: QueueView,
        sojourn: Span,
        now: Time,
    ) -> bool {
        if sojourn < self.unit(self.params.target)
            || self.left(queue) <= u64::from(self.small_queue())
        {
            state.first_above = Time::ZERO;
            return false;
        }
        if state.first_above == Time::ZERO {
            self.rise_above(state, now);
            return false;
        }
        now > state.first_above || (self.is_exact() && now == state.first_above)
    }

    /// The delay is above the target from now on.
    #[cold]
    fn rise_above(&self, state: &mut CodelState, now: Time) {
        // Zero means "below", so an interval of zero at time zero needs a nanosecond.
        let is_ns2 = self.params.law == CodelLaw::Ns2 && state.count > 1;
        let due = if is_ns2 && now - state.drop_next < self.resumes_within() {
            self.control_law(now, state)
        } else {
            now + self.unit(self.params.interval)
        };
        state.first_above = due.max(Time::from_nanos(1));
    }

    /// The count with which the dropping state begins again soon after it ended.
    fn resumed(&self, state: &CodelState) -> Option<u32> {
        if self.params.law != CodelLaw::Ns2 {
            let drops = state.count.wrapping_sub(state.lastcount);
            return (drops > 1).then_some(drops);
        }
        let decayed = |count: u32| match count {
            0..=128 => count - 2,
            _ => (0.9844 * f64::from(count)) as u32,
        };
        (state.count > 2).then(|| decayed(state.count))
    }

    /// The delay is standing: drop or mark now?
    #[cold]
    fn standing(&mut self, state: &mut CodelState, packet: Facts<'_>, now: Time) -> Verdict {
        if !state.dropping {
            // Near to the last dropping state, its drop rate is a good one to start with.
            let recent = now - state.drop_next < self.resumes_within();
            if let Some(count) = self.resumed(state).filter(|_| recent) {
                state.count = count;
                state.step();
            } else {
                (state.count, state.inverse_root) = (1, u16::MAX);
            }
            state.lastcount = state.count;
            state.dropping = true;
            state.drop_next = self.control_law(now, state);
            return self.signal(packet);
        }
        if state.rescheduling {
            self.reschedule(state);
        }
        if now < state.drop_next {
            return Verdict::Pass;
        }
        if self.params.law != CodelLaw::Ns2 {
            state.advance();
        }
        let verdict = self.signal(packet);
        if verdict == Verdict::Drop {
            state.rescheduling = true;
        } else {
            self.reschedule(state);
        }
        verdict
    }

    /// The next drop follows the one that was due.
    fn reschedule(&self, state: &mut CodelState) {
        state.rescheduling = false;
        if self.params.law == CodelLaw::Ns2 {
            state.advance();
        }
        state.drop_next = self.control_law(state.drop_next, state);
    }

    fn signal(&mut self, packet: Facts<'_>) -> Verdict {
        if self.params.ecn && packet.ect() {
            self.counters.ecn_mark += 1;
            Verdict::Mark
        } else {
            self.counters.dropped += 1;
            Verdict::Drop
        }
    }
}

/// The ECN field that Linux looks at: a packet that CoDel has just marked carries CE.
const fn after(verdict: Verdict, ecn: Ecn) -> Ecn {
    match verdict {
        Verdict::Mark => Ecn::Ce,
        Verdict::Pass | Verdict::Drop => ecn,
    }
}

impl Aqm for Codel {
    type State = CodelState;
    type Params = CodelParams;

    const JUDGES_DEPARTURES: bool = true;

    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    fn leave(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        let (sojourn, now) = self.clock(sojourn, now);
        state.ldelay = sojourn;
        self.counters.maxpacket = self.counters.maxpacket.max(packet.len);
        let mut verdict = if self.is_standing(state, queue, sojourn, now) {
            let verdict = self.standing(state, packet, now);
            state.dropped = verdict == Verdict::Drop;
            verdict
        } else {
            // After a scheduled drop, `drop_next` stays where it was, as in the RFC's loop.
            state.dropping = false;
            state.rescheduling = false;
            state.dropped = false;
            Verdict::Pass
        };
        if let Some(threshold) = self.params.ce_threshold
            && sojourn > self.unit(threshold)
            && verdict != Verdict::Drop
            && self.params.ce_selector.has(after(verdict, packet.ecn()))
        {
            self.counters.ce_mark += 1;
            verdict = Verdict::Mark;
        }
        verdict
    }

    #[inline]
    fn found_empty(&mut self, state: &mut CodelState, _now: Time) {
        if self.params.law != CodelLaw::Linux3Dot5 || state.dropped {
            state.first_above = Time::ZERO;
        }
        state.dropping = false;
        state.rescheduling = false;
    }

    fn overflowed(&mut self, state: &mut CodelState, packets: u32, _now: Time) {
        // A flow that fills the whole queue deserves a stronger signal (Linux `fq_codel_drop`).
        state.count = state.count.saturating_add(packets);
    }

    fn is_forgettable(&mut self, state: &mut CodelState, now: Time) -> bool {
        let resumes = now - state.drop_next < self.resumes_within();
        let remembers = self.params.law == CodelLaw::Linux3Dot5 && state.first_above != Time::ZERO;
        // Else the queue is empty, so `first_above` and `dropping` are only stale, if set at all.
        (state.count == 0 || !resumes) && !remembers
    }

    fn retune(&mut self, params: CodelParams) {
        self.set_params(params);
    }

    fn statistics(&self, state: &CodelState, counters: &Counters, now: Time) -> Vec<Field> {
        let own = &self.counters;
        let mut fields = Vec::from([
            int("count", state.count),
            int("lastcount", state.lastcount),
            micros("ldelay", state.ldelay),
        ]);
        let mut drop_next = int("drop_next", 0_u32);
        if state.dropping {
            fields.push(Field::switch("dropping", true));
            drop_next = if state.drop_next >= now {
                micros("drop_next", state.drop_next - now)
            } else {
                micros("drop_next", now - state.drop_next).negated()
            };
        }
        fields.extend([
            drop_next,
            int("maxpacket", own.maxpacket),
            int("ecn_mark", own.ecn_mark),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ]);
        if own.ce_mark > 0 {
            fields.push(int("ce_mark", own.ce_mark));
        }
        fields
    }

    fn flow_statistics(&self, flows: &FlowStatistics) -> Vec<Field> {
        let own = &self.counters;
        let mut fields = Vec::from([
            int("maxpacket", own.maxpacket),
            int("drop_overlimit", flows.drop_overlimit),
            int("new_flow_count", flows.new_flow_count),
            int("ecn_mark", own.ecn_mark),
        ]);
        // tc leaves these out while they are zero.
        for (name, count) in [
            ("ce_mark", own.ce_mark),
            ("memory_used", flows.memory_used),
            ("drop_overmemory", flows.drop_overmemory),
        ] {
            if count > 0 {
                fields.push(int(name, count));
            }
        }
        fields.extend([
            int("new_flows_len", flows.new_flows_len),
            int("old_flows_len", flows.old_flows_len),
        ]);
        fields
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Setpoint for Codel {
    fn target(&self) -> Span {
        self.params.target
    }

    fn set_target(&mut self, target: Span) {
        self.params.target = target;
    }
}
