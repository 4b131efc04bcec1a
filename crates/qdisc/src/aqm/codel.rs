//! CoDel: drops at the head once the sojourn time has stayed above a target for an interval.
//!
//! Source: RFC 8289, pseudocode of section 5. Compared with Linux `codel_impl.h` (4.x).
//! Units: integer nanoseconds, bytes.
//!
//! Differs from the RFC, as Linux does:
//! - an ECN-capable packet is marked instead of dropped, which advances the control law like a
//!   drop, and ends the dequeue;
//! - every ECN-capable packet that waited longer than `ce_threshold` is marked;
//! - "no more than one packet is left" compares with the link's MTU, not with the largest packet
//!   seen; in a flow queue it is the backlog of all flows that counts, not the flow's own.
//!
//! Differs from Linux: times have nanoseconds, not 1024 ns; 1/√count is exact, not one Newton
//! step behind; the first drop comes at exactly one interval and not after it (RFC).
//!
//! Not here: flow isolation (`FlowQueue`).

use crate::accounts::{Counters, DropReason, FlowStatistics};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::CodelParams;
use crate::report::{Field, int, micros};
use crate::spec::{Aim, Aimed, Policy};
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Re-entering the dropping state within this many intervals resumes the last drop rate.
const RESUME_INTERVALS: u64 = 16;

/// CoDel's parameters and what it counts over all its queues.
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
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
}

impl Codel {
    /// `mtu` is the link's largest packet as [`crate::Packet::len`] counts it.
    pub fn new(params: CodelParams, mtu: u32) -> Self {
        Self {
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
        self.params = params;
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &CodelCounters {
        &self.counters
    }

    /// `t + interval/√count`.
    fn control_law(&self, t: Time, count: u32) -> Time {
        // Count is at least 1. `libm::sqrt` rounds correctly, so this is the same everywhere.
        t + self
            .params
            .interval
            .mul_f64(1.0 / libm::sqrt(f64::from(count.max(1))))
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
        if sojourn < self.params.target || queue.total_bytes <= u64::from(self.mtu) {
            state.first_above = Time::ZERO;
            return false;
        }
        if state.first_above == Time::ZERO {
            // Zero means "below", so an interval of zero at time zero needs a nanosecond.
            state.first_above = (now + self.params.interval).max(Time::from_nanos(1));
            return false;
        }
        now >= state.first_above
    }

    /// The delay is standing: drop or mark now?
    #[cold]
    fn standing(&mut self, state: &mut CodelState, packet: Facts, now: Time) -> Verdict {
        if !state.dropping {
            // Near to the last dropping state, its drop rate is a good one to start with.
            let drops = state.count.wrapping_sub(state.lastcount);
            let recent = now - state.drop_next < self.params.interval * RESUME_INTERVALS;
            state.count = if drops > 1 && recent { drops } else { 1 };
            state.lastcount = state.count;
            state.dropping = true;
            state.drop_next = self.control_law(now, state.count);
            return self.signal(packet);
        }
        if state.rescheduling {
            state.rescheduling = false;
            state.drop_next = self.control_law(state.drop_next, state.count);
        }
        if now < state.drop_next {
            return Verdict::Pass;
        }
        state.count = state.count.saturating_add(1);
        let verdict = self.signal(packet);
        if verdict == Verdict::Drop {
            state.rescheduling = true;
        } else {
            state.drop_next = self.control_law(state.drop_next, state.count);
        }
        verdict
    }

    fn signal(&mut self, packet: Facts) -> Verdict {
        if self.params.ecn && packet.ect {
            self.counters.ecn_mark += 1;
            Verdict::Mark
        } else {
            self.counters.dropped += 1;
            Verdict::Drop
        }
    }
}

impl Aqm for Codel {
    type State = CodelState;

    #[inline]
    fn leave(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        state.ldelay = sojourn;
        self.counters.maxpacket = self.counters.maxpacket.max(packet.len);
        let mut verdict = if self.is_standing(state, queue, sojourn, now) {
            self.standing(state, packet, now)
        } else {
            // After a scheduled drop, `drop_next` stays where it was, as in the RFC's loop.
            state.dropping = false;
            state.rescheduling = false;
            Verdict::Pass
        };
        if let Some(threshold) = self.params.ce_threshold
            && sojourn > threshold
            && packet.ect
            && verdict != Verdict::Drop
        {
            self.counters.ce_mark += 1;
            verdict = Verdict::Mark;
        }
        verdict
    }

    #[inline]
    fn found_empty(&mut self, state: &mut CodelState, _now: Time) {
        state.first_above = Time::ZERO;
        state.dropping = false;
        state.rescheduling = false;
    }

    fn overflowed(&mut self, state: &mut CodelState, packets: u32, _now: Time) {
        // A flow that fills the whole queue deserves a stronger signal (Linux `fq_codel_drop`).
        state.count = state.count.saturating_add(packets);
    }

    fn is_forgettable(&mut self, state: &mut CodelState, now: Time) -> bool {
        let resumes = now - state.drop_next < self.params.interval * RESUME_INTERVALS;
        // The queue is empty, so `first_above` and `dropping` are only stale, if set at all.
        state.count == 0 || !resumes
    }

    fn retune(&mut self, policy: &Policy) {
        if let Policy::Aimed(Aimed {
            aim: Aim::Codel(params),
            ..
        }) = *policy
        {
            self.set_params(params);
        }
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
}

impl Setpoint for Codel {
    fn target(&self) -> Span {
        self.params.target
    }

    fn set_target(&mut self, target: Span) {
        self.params.target = target;
    }
}
