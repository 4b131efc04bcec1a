//! GSP, Global Synchronization Protection: drops one arrival when the queue is above a threshold,
//! then pauses for an interval, so that only one flow backs off at a time; the interval shrinks
//! while the queue stays above the threshold.
//!
//! Source: Lautenschlaeger and Francini, "Global synchronization protection for bandwidth sharing
//! TCP flows in high-speed links", HPSR 2015 (arXiv 1602.05333), and draft-lauten-aqm-gsp.
//! Units: integer nanoseconds. All arithmetic is on integers, rounded down.
//!
//! The threshold is a time, compared with how long the packet at the head has waited, so that
//! it means the same at every rate. With A and B the times above and below it:
//!
//! ```text
//! cumul    = clamp(cumul + alpha·A − B, 0, max_time)
//! interval = interval₀ / (1 + cumul/tau)
//! ```
//!
//! A span between two calls counts for the side that the queue was on when it began, so idle time
//! counts as below; time exactly at the threshold counts for neither. The interval is taken when a
//! packet is dropped and holds for the pause that this starts. After a real overflow time below
//! does not count until the queue has been empty and then above the threshold again: what drains
//! after a burst of losses says nothing about the interval.
//!
//! Ours, because no source gives a number or a rule:
//! - the threshold is 5 ms, what CoDel accepts as a standing delay for the same range of RTTs;
//! - `max_time` is such that the interval never falls under `min_interval`. 1 ms is one
//!   signal per millisecond: at 1 Gbit/s and an RTT of 50 ms enough for about 300 Reno flows
//!   (each wants one per W/2 round trips of W packets, W = BDP/flows), and it keeps the way back
//!   to `interval₀` bounded: `max_time` is 199 s with the other defaults;
//! - an ECN-capable packet is marked instead of dropped, and starts a pause like a drop.
//!
//! Not here: flow isolation (`FlowQueue`), a threshold in bytes.

use crate::accounts::{Counters, DropReason, FlowStatistics, Gauge};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::GspParams;
use crate::report::{Field, int, micros};
use alloc::vec::Vec;
use core::cmp::Ordering;
use sojourn_units::{Span, Time, Unit};

/// GSP's parameters and what it counts over all its queues.
#[derive(Clone, Debug)]
pub struct Gsp {
    params: GspParams,
    counters: GspCounters,
}

/// What GSP counts over all its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GspCounters {
    /// Packets dropped above the threshold.
    pub dropped: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
    /// Times that a queue overflowed after it had recovered from the time before.
    pub overflows: u64,
}

/// What a real overflow still waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overflow {
    /// Nothing: there was none, or it is over.
    #[default]
    Stable,
    /// For the queue to become empty.
    WaitEmpty,
    /// For the queue to rise above the threshold again.
    WaitThreshold,
}

/// GSP's variables for one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GspState {
    /// How long the packet at the head had waited when last looked at.
    pub delay: Span,
    /// Surplus of time above the threshold, weighted by alpha.
    pub cumul: Span,
    /// End of the pause.
    pub expiry: Time,
    /// When `cumul` was brought up to date.
    updated: Time,
    /// Side of the threshold that the queue has been on since.
    side: Ordering,
    overflow: Overflow,
}

impl Default for GspState {
    fn default() -> Self {
        Self {
            delay: Span::ZERO,
            cumul: Span::ZERO,
            expiry: Time::ZERO,
            updated: Time::ZERO,
            side: Ordering::Less,
            overflow: Overflow::Stable,
        }
    }
}

impl Gsp {
    /// A GSP with these parameters.
    pub fn new(params: GspParams) -> Self {
        Self {
            params,
            counters: GspCounters::default(),
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &GspParams {
        &self.params
    }

    /// Changes the parameters from the next packet on.
    pub fn set_params(&mut self, params: GspParams) {
        self.params = params;
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &GspCounters {
        &self.counters
    }

    /// The pause that a drop would start now, for a queue in this state.
    pub fn interval(&self, state: &GspState) -> Span {
        let p = &self.params;
        let (tau, cumul) = (wide(p.tau), wide(state.cumul));
        let interval = (wide(p.interval) * tau).checked_div(tau + cumul);
        narrow(interval.unwrap_or(0))
    }

    /// A queue's state as it is at `now`, with the time since the last packet. For statistics.
    pub fn state_at(&self, state: &GspState, now: Time) -> GspState {
        let mut state = *state;
        let delay = state.delay;
        self.advance(&mut state, delay, now);
        state
    }

    /// Counts the time since the last call, and notes where the queue is now.
    #[inline]
    fn advance(&self, state: &mut GspState, delay: Span, now: Time) {
        let elapsed = now - state.updated;
        match state.side {
            Ordering::Greater => {
                let more = elapsed * u64::from(self.params.alpha);
                state.cumul = (state.cumul + more).min(self.params.max_time());
            }
            // Saturates at zero.
            Ordering::Less if state.overflow == Overflow::Stable => state.cumul -= elapsed,
            _ => {}
        }
        // A clock that runs backwards must not count the same time twice.
        state.updated = state.updated.max(now);
        state.delay = delay;
        state.side = delay.cmp(&self.params.threshold);
        if state.side == Ordering::Greater && state.overflow == Overflow::WaitThreshold {
            state.overflow = Overflow::Stable;
        }
    }

    #[inline]
    fn emptied(state: &mut GspState) {
        if state.overflow == Overflow::WaitEmpty {
            state.overflow = Overflow::WaitThreshold;
        }
    }

    fn overflow(&mut self, state: &mut GspState) {
        if state.overflow == Overflow::Stable {
            self.counters.overflows += 1;
        }
        state.overflow = Overflow::WaitEmpty;
    }

    #[cold]
    fn signal(&mut self, state: &mut GspState, packet: Facts<'_>, now: Time) -> Verdict {
        state.expiry = now + self.interval(state);
        if self.params.ecn && packet.ect() {
            self.counters.ecn_mark += 1;
            Verdict::Mark
        } else {
            self.counters.dropped += 1;
            Verdict::Drop
        }
    }
}

impl Aqm for Gsp {
    type State = GspState;
    type Params = GspParams;

    #[inline]
    fn arrive(
        &mut self,
        state: &mut GspState,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        self.advance(state, queue.head_wait, now);
        if state.side == Ordering::Greater && now > state.expiry {
            self.signal(state, packet, now)
        } else {
            Verdict::Pass
        }
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut GspState,
        queue: QueueView,
        _packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        // The packet behind this one has waited about as long; the next call knows exactly.
        let empty = queue.packets == 0;
        self.advance(state, if empty { Span::ZERO } else { sojourn }, now);
        if empty {
            Self::emptied(state);
        }
        Verdict::Pass
    }

    #[inline]
    fn found_empty(&mut self, state: &mut GspState, now: Time) {
        self.advance(state, Span::ZERO, now);
        Self::emptied(state);
    }

    fn tail_dropped(&mut self, state: &mut GspState, now: Time) {
        let delay = state.delay;
        self.advance(state, delay, now);
        self.overflow(state);
    }

    fn overflowed(&mut self, state: &mut GspState, _packets: u32, now: Time) {
        self.tail_dropped(state, now);
    }

    fn is_forgettable(&mut self, state: &mut GspState, now: Time) -> bool {
        self.advance(state, Span::ZERO, now);
        // With nothing in `cumul`, whether time below counts makes no difference either.
        state.cumul.is_zero() && now > state.expiry
    }

    fn retune(&mut self, params: GspParams) {
        self.set_params(params);
    }

    fn gauges(&self, state: Option<&GspState>, now: Time, tell: &mut dyn FnMut(Gauge)) {
        if let Some(state) = state {
            tell(Gauge {
                name: "pause",
                unit: Unit::Ms,
                value: self.interval(&self.state_at(state, now)).as_millis_f64(),
            });
        }
    }

    fn statistics(&self, state: &GspState, counters: &Counters, now: Time) -> Vec<Field> {
        let (state, own) = (self.state_at(state, now), &self.counters);
        Vec::from([
            micros("delay", state.delay),
            micros("pause", self.interval(&state)),
            micros("cumul", state.cumul),
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("overflows", own.overflows),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ])
    }

    fn flow_statistics(&self, flows: &FlowStatistics) -> Vec<Field> {
        let own = &self.counters;
        let mut fields = Vec::from([
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("overflows", own.overflows),
        ]);
        fields.extend(flows.fields());
        fields
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Setpoint for Gsp {
    fn target(&self) -> Span {
        self.params.threshold
    }

    fn set_target(&mut self, target: Span) {
        self.params.threshold = target;
    }

    #[inline]
    fn is_ready(&self, state: &GspState, now: Time) -> bool {
        now > state.expiry
    }
}

const fn wide(span: Span) -> u128 {
    span.as_nanos() as u128
}

/// Back to a span; longer ones saturate.
pub(crate) fn narrow(nanos: u128) -> Span {
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
