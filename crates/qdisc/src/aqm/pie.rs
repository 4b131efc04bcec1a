//! PIE: drops on arrival with a probability that a controller moves every `tupdate`, so that the
//! delay meets its target.
//!
//! Source: RFC 8033 sections 4 and 5. Compared with Linux `sch_pie.c` (6.1).
//! Units: integer nanoseconds, bytes, probabilities as fractions.
//!
//! There is no timer. Between two packets neither the measured delay nor the backlog changes, so
//! the updates that came due meanwhile are made up for at the next packet, one by one and with
//! the same result. The loop ends when an update changes nothing more, and after
//! `MAX_CATCH_UP` updates at the latest (one minute at 15 ms): a queue that nothing touched
//! for longer than that keeps the probability it had then.
//!
//! Where RFC and Linux differ, this is Linux, because it is what people run and measure:
//! - the delay is the sojourn time of the last departure, zero if it left the queue empty;
//! - the burst allowance shrinks by the time between departures, not by `tupdate`, and the
//!   probability moves on meanwhile; it is restored when delay and probability are low for two
//!   updates, as in the RFC;
//! - arrivals are safe while that delay is under half the target and the probability under 20 %
//!   (the RFC takes the delay of the update before);
//! - the probability decays by 1/64 per idle update, not by 0.02;
//! - above 250 ms of delay the probability grows by another 2 % per update;
//! - the departure rate averages with 1/8, over cycles of 16 KiB;
//! - the first update comes 500 ms after time zero, when queues are made, the next ones in steps
//!   of `tupdate`: until then nothing is dropped early;
//! - the probability may exceed one, as it does in half a second of a queue above 250 ms, and has
//!   to come down again before anything is let in; at 256 it falls back to one;
//! - where the accumulated probability forces a signal, only a drop resets it, not a mark;
//! - PIE is always active; an empty, idle queue returns to its initial state instead.
//!
//! With `law dummynet`, as FreeBSD's dummynet has it (`dn_aqm_pie.c`, Dummynet AQM 0.2.1 of the
//! Centre for Advanced Internet Architectures), whose `pie` has `dq_rate_estimator` on and whose
//! `fq_pie` has it off:
//! - the first update comes one `tupdate` after the first packet, and so each time that a flow
//!   queue takes a queue into its round, with everything forgotten but the delay;
//! - the delay of time stamps is zero at an update that finds the queue empty, not before;
//! - a measurement of the departure rate starts with the first packet, however little waits, and
//!   later ones with 16 KiB waiting; what averages are times and not rates, with 1/4;
//! - the burst allowance shrinks by `tupdate` per update. An arrival restores it while the
//!   probability is zero, and both delays under half the target;
//! - arrivals are safe while the delay of the update before is short, as in the RFC, and while no
//!   more than 1600 bytes wait;
//! - the probability grows by no more than the controller says, and is one at most;
//! - nothing returns an idle queue to its initial state.
//!
//! Differs from Linux: updates run on nanoseconds and not on jiffies, and probabilities are not
//! whole multiples of 2⁻⁵⁶. From dummynet: probabilities are no
//! multiples of 2⁻³¹, nor times of a microsecond; a flow queue's PIE too sees no delay in an empty
//! queue.
//!
//! Not here: flow isolation (`FlowQueue`).

use crate::accounts::{Counters, DropReason, FlowStatistics, Gauge};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::{PieLaw, PieParams};
use crate::report::{Field, float, int, micros};
use alloc::vec::Vec;
use departures::Departures;
use sojourn_random::Stream;
use sojourn_units::{Span, Time, Unit};

mod departures;

/// No early drops for this long after an idle time (RFC 8033 section 4.2, MAX_BURST).
const MAX_BURST: Span = Span::from_millis(150);
/// Delay above which the probability grows faster (RFC 8033 section 5.5).
const HIGH_DELAY: Span = Span::from_millis(250);
/// Largest growth per update once the probability has reached [`CAPPED_FROM`] (section 5.5).
const MAX_STEP: f64 = 0.02;
/// See [`MAX_STEP`].
const CAPPED_FROM: f64 = 0.1;
/// Below this probability a short delay makes arrivals safe (section 4.1).
const SAFE_BELOW: f64 = 0.2;
/// Accumulated probability below which nothing is dropped (section 5.4).
const DERANDOMISE_LOW: f64 = 0.85;
/// Accumulated probability at which the next packet is dropped (section 5.4).
const DERANDOMISE_HIGH: f64 = 8.5;
/// Dummynet drops nothing from a backlog of up to twice its mean packet, in bytes.
const DUMMYNET_SPARES: u64 = 1600;
/// Linux keeps a probability in 64 bits of which 56 are for what is below one.
const OVERFLOW: f64 = 256.0;
/// The first update.
const FIRST_UPDATE: Time = Time::from_nanos(500_000_000);
/// Overdue updates made up for at once.
const MAX_CATCH_UP: u32 = 4096;

/// Probability below which the steps are divided by this much (section 4.2), smallest first.
const TUNING: [(f64, f64); 6] = [
    (1e-6, 1.0 / 2048.0),
    (1e-5, 1.0 / 512.0),
    (1e-4, 1.0 / 128.0),
    (1e-3, 1.0 / 32.0),
    (1e-2, 1.0 / 8.0),
    (1e-1, 1.0 / 2.0),
];

/// PIE's parameters, its dice and what it counts over all its queues.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    mtu: u32,
    dice: Stream,
    counters: PieCounters,
}

/// What PIE counts over all its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieCounters {
    /// Packets let in.
    pub pkts_in: u64,
    /// Packets dropped early.
    pub dropped: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
    /// Most packets in one queue, found by an arrival that was let in.
    pub maxq: u32,
}

/// PIE's variables for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieState {
    /// Probability of an early drop or mark; above 1 it has that much to come down first (`prob` of
    /// `tc -s`).
    pub prob: f64,
    /// Delay as measured last (`delay` of `tc -s`).
    pub delay: Span,
    /// Time during which bursts are still safe.
    pub burst_allowance: Span,
    /// Delay at the last update.
    delay_old: Span,
    /// Sum of the probabilities since the last drop.
    pub accumulated: f64,
    /// When the next update is due; zero before the first packet.
    next_update: Time,
    departures: Departures,
}

impl Default for PieState {
    fn default() -> Self {
        Self {
            prob: 0.0,
            delay: Span::ZERO,
            burst_allowance: MAX_BURST,
            delay_old: Span::ZERO,
            accumulated: 0.0,
            next_update: Time::ZERO,
            departures: Departures::default(),
        }
    }
}

impl PieState {
    /// Departure rate in byte/s, zero while unknown (`avg_dq_rate` of `tc -s`).
    pub const fn avg_dq_rate(&self) -> f64 {
        self.departures.rate
    }

    /// Back to the start, but for the delays and the clock (Linux `pie_vars_init`).
    fn restart(&mut self) {
        *self = Self {
            prob: self.prob,
            delay: self.delay,
            delay_old: self.delay_old,
            next_update: self.next_update,
            ..Self::default()
        };
    }
}

impl Pie {
    /// `mtu` is the link's largest packet as [`crate::Packet::len`] counts it.
    pub fn new(params: PieParams, mtu: u32, dice: Stream) -> Self {
        Self {
            params,
            mtu,
            dice,
            counters: PieCounters::default(),
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &PieParams {
        &self.params
    }

    /// Changes the parameters from the next packet on; a new `tupdate` counts from the next
    /// update on.
    pub fn set_params(&mut self, params: PieParams) {
        self.params = params;
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &PieCounters {
        &self.counters
    }

    /// A queue's state as it is at `now`, when `backlog` bytes wait: with the updates that the
    /// next packet would make up for. For statistics.
    pub fn state_at(&self, state: &PieState, backlog: u64, now: Time) -> PieState {
        let mut state = *state;
        self.catch_up(&mut state, backlog, now);
        state
    }

    /// Makes up for the updates that came due until `now`.
    #[inline]
    fn catch_up(&self, state: &mut PieState, backlog: u64, now: Time) {
        if now >= state.next_update {
            self.updates(state, backlog, now);
        }
    }

    #[cold]
    fn updates(&self, state: &mut PieState, backlog: u64, now: Time) {
        let every = self.params.tupdate;
        if every.is_zero() {
            // As in Linux, without an interval there are no updates.
            state.next_update = now;
            return;
        }
        // The state of a queue that was never used is not changed by updates.
        let unused = state.next_update == Time::ZERO;
        if unused && self.is_dummynet() {
            state.departures.start(now);
            state.next_update = now + every;
            return;
        }
        let mut left = if unused { 0 } else { MAX_CATCH_UP };
        while now >= state.next_update && left > 0 {
            let before = *state;
            self.update(state, backlog);
            if *state == before {
                break;
            }
            state.next_update += every;
            left -= 1;
        }
        if !self.is_dummynet() {
            state.next_update = state.next_update.max(FIRST_UPDATE);
        }
        if now >= state.next_update {
            let overdue = (now - state.next_update).as_nanos() / every.as_nanos();
            state.next_update += every * overdue.saturating_add(1);
        }
    }

    /// The measured delay at an update.
    fn measure(&self, state: &mut PieState, backlog: u64) {
        let rate = state.departures.rate;
        if self.params.dq_rate_estimator {
            state.delay_old = state.delay;
            state.delay = if rate > 0.0 {
                Span::from_secs_f64(backlog as f64 / rate)
            } else {
                Span::ZERO
            };
        } else if self.is_dummynet() && backlog == 0 {
            state.delay = Span::ZERO;
        }
    }

    /// What the controller adds to the probability.
    fn step(&self, state: &PieState) -> f64 {
        let p = &self.params;
        let delay = state.delay.as_secs_f64();
        let scale = TUNING
            .iter()
            .find(|(below, _)| state.prob < *below)
            .map_or(1.0, |(_, scale)| *scale);
        let error = f64::from(p.alpha) * (delay - p.target.as_secs_f64());
        let trend = f64::from(p.beta) * (delay - state.delay_old.as_secs_f64());
        let step = (error + trend) / 16.0 * scale;
        if state.prob >= CAPPED_FROM {
            step.min(MAX_STEP)
        } else {
            step
        }
    }

    /// One update of the probability.
    fn update(&self, state: &mut PieState, backlog: u64) {
        self.measure(state, backlog);
        let step = self.step(state);
        if self.is_dummynet() {
            state.prob = (state.prob + step).max(0.0);
            if state.delay.is_zero() && state.delay_old.is_zero() {
                state.prob -= state.prob / 64.0;
            }
            state.prob = state.prob.min(1.0);
            state.delay_old = state.delay;
            state.burst_allowance -= self.params.tupdate;
            return;
        }
        let high = if state.delay > HIGH_DELAY {
            MAX_STEP
        } else {
            0.0
        };
        state.prob = (state.prob + (step + high)).max(0.0);
        let overflows = state.prob >= OVERFLOW;
        if overflows {
            state.prob = 1.0;
        }
        if state.delay.is_zero() && state.delay_old.is_zero() && backlog == 0 && !overflows {
            state.prob -= state.prob / 64.0;
        }
        let estimates = self.params.dq_rate_estimator;
        let knows = !estimates || state.departures.rate > 0.0;
        if self.is_quiet(state) && knows {
            state.restart();
        }
        if !estimates {
            state.delay_old = state.delay;
        }
    }

    fn is_quiet(&self, state: &PieState) -> bool {
        let low = self.params.target / 2;
        state.delay < low && state.delay_old < low && state.prob <= 0.0
    }

    fn is_dummynet(&self) -> bool {
        self.params.law == PieLaw::Dummynet
    }

    /// Whether nothing is dropped now, whatever the dice say.
    fn is_safe(&self, state: &PieState, queue: QueueView) -> bool {
        let (delay, spared) = if self.is_dummynet() {
            (state.delay_old, DUMMYNET_SPARES + 1)
        } else {
            (state.delay, 2 * u64::from(self.mtu))
        };
        // The floating point last: a kernel does without a processor's.
        !state.burst_allowance.is_zero()
            || queue.bytes < spared
            || (delay < self.params.target / 2 && state.prob < SAFE_BELOW)
    }

    /// Whether this arrival is to be signalled (RFC 8033 sections 4.1 and 5.4).
    fn is_hit(&mut self, state: &mut PieState, queue: QueueView, len: u32) -> bool {
        if self.is_safe(state, queue) {
            return false;
        }
        let mut prob = state.prob;
        if self.params.bytemode && len < self.mtu {
            prob *= f64::from(len) / f64::from(self.mtu);
        }
        if prob <= 0.0 {
            state.accumulated = 0.0;
            return false;
        }
        state.accumulated += prob;
        if state.accumulated < DERANDOMISE_LOW {
            return false;
        }
        if state.accumulated >= DERANDOMISE_HIGH {
            return true;
        }
        let hit = self.dice.chance(prob.min(1.0));
        if hit {
            state.accumulated = 0.0;
        }
        hit
    }
}

impl Aqm for Pie {
    type State = PieState;
    type Params = PieParams;

    #[inline]
    fn arrive(
        &mut self,
        state: &mut PieState,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        self.catch_up(state, queue.bytes, now);
        let hit = self.is_hit(state, queue, packet.len);
        if self.is_dummynet() && self.is_quiet(state) {
            state.burst_allowance = MAX_BURST;
        }
        let verdict = if hit {
            if self.params.ecn && packet.ect() && state.prob <= self.params.ecn_limit {
                self.counters.ecn_mark += 1;
                Verdict::Mark
            } else {
                self.counters.dropped += 1;
                state.accumulated = 0.0;
                return Verdict::Drop;
            }
        } else {
            Verdict::Pass
        };
        self.counters.pkts_in += 1;
        self.counters.maxq = self.counters.maxq.max(queue.packets);
        verdict
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut PieState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.catch_up(state, queue.bytes + u64::from(packet.len), now);
        if self.is_dummynet() {
            if self.params.dq_rate_estimator {
                state.departures.note_time(queue.bytes, packet.len, now);
            } else {
                state.delay = sojourn;
            }
            return Verdict::Pass;
        }
        let elapsed = if self.params.dq_rate_estimator {
            state.departures.note(queue.bytes, packet.len, now)
        } else {
            state.delay = if queue.packets == 0 {
                Span::ZERO
            } else {
                sojourn
            };
            state.departures.mark.replace(now).map(|last| now - last)
        };
        if let Some(elapsed) = elapsed {
            state.burst_allowance -= elapsed;
        }
        Verdict::Pass
    }

    fn tail_dropped(&mut self, state: &mut PieState, _now: Time) {
        state.accumulated = 0.0;
    }

    fn rejoined(&mut self, state: &mut PieState) {
        if self.is_dummynet() {
            *state = PieState {
                delay: state.delay,
                ..PieState::default()
            };
        }
    }

    fn is_forgettable(&mut self, state: &mut PieState, now: Time) -> bool {
        if self.is_dummynet() {
            return true;
        }
        self.catch_up(state, 0, now);
        state.prob <= 0.0 && state.delay.is_zero() && state.burst_allowance == MAX_BURST
    }

    fn retune(&mut self, params: PieParams) {
        self.set_params(params);
    }

    fn gauges(&self, state: Option<&PieState>, _now: Time, tell: &mut dyn FnMut(Gauge)) {
        if let Some(state) = state {
            tell(Gauge {
                name: "probability",
                unit: Unit::Share,
                value: state.prob.min(1.0),
            });
        }
    }

    fn statistics(&self, state: &PieState, counters: &Counters, now: Time) -> Vec<Field> {
        let own = &self.counters;
        let gone = counters.dequeued.bytes + counters.dropped.bytes;
        let state = self.state_at(state, counters.offered.bytes - gone, now);
        let mut fields = Vec::from([
            float("prob", state.prob.min(1.0)),
            micros("delay", state.delay),
        ]);
        if self.params.dq_rate_estimator {
            fields.push(int("avg_dq_rate", state.avg_dq_rate() as u64));
        }
        fields.extend([
            int("pkts_in", own.pkts_in),
            int("overlimit", counters.dropped_for(DropReason::Tail)),
            int("dropped", own.dropped),
            int("maxq", own.maxq),
            int("ecn_mark", own.ecn_mark),
        ]);
        fields
    }

    fn flow_statistics(&self, flows: &FlowStatistics) -> Vec<Field> {
        let own = &self.counters;
        Vec::from([
            int("pkts_in", own.pkts_in),
            int("overlimit", flows.drop_overlimit - flows.drop_overmemory),
            int("overmemory", flows.drop_overmemory),
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("new_flow_count", flows.new_flow_count),
            int("new_flows_len", flows.new_flows_len),
            int("old_flows_len", flows.old_flows_len),
            int("memory_used", flows.memory_used),
        ])
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Setpoint for Pie {
    fn target(&self) -> Span {
        self.params.target
    }

    fn set_target(&mut self, target: Span) {
        self.params.target = target;
    }
}
