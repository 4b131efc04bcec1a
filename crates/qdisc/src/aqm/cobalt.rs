//! COBALT: CoDel for flows that respond to signals, BLUE for those that do not.
//!
//! Source: Høiland-Jørgensen, Täht, Morton, "Piece of CAKE" (2018) section III-E; Feng et al.,
//! "BLUE" (1999); compared with Linux `sch_cake.c`.
//! Units: integer nanoseconds; BLUE's probability in 2⁻³².
//!
//! Differs from CoDel: the count is not reset when the delay falls under the target but decays
//! at the pace at which it grew. BLUE's probability grows by 1/256 when the queue overflows and
//! shrinks by 1/4096 when it is empty, at most once per target. BLUE drops and never marks. The
//! last packet of a queue is never dropped.
//!
//! The first signal comes an interval after the delay has exceeded the target, with two exceptions
//! that Linux has: at once, for the next packet that is late, when the count is zero and no packet
//! has left for an interval, or when this queue has never given a signal (`cobalt_vars_init` leaves
//! 1/√count at zero until the count first changes by a step).
//!
//! Not in Linux: `ce_threshold` with its selector marks as CoDel's does, beside the signals. A
//! queue of L4S needs such a step (RFC 9331 section 5.4).
//!
//! Differs from Linux: 1/√count is exact; an idle queue's state decays when it is next asked,
//! as if it had been asked all the time, so there is no list of decaying flows; a flow queue may
//! forget a queue at rest, which then begins like one that was never used.

use crate::accounts::{Counters, DropReason};
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::CobaltParams;
use crate::report::{Field, float, int};
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// BLUE's step when the queue overflows: 1/256.
const BLUE_UP: u32 = 1 << 24;
/// BLUE's step when the queue is empty: 1/4096.
const BLUE_DOWN: u32 = 1 << 20;

/// COBALT's parameters, dice, and what it counts over all its queues.
#[derive(Clone, Debug)]
pub struct Cobalt {
    params: CobaltParams,
    /// Delay that a flow alone must exceed for a signal.
    bearable: Span,
    dice: Stream,
    counters: CobaltCounters,
}

/// What COBALT counts over all its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CobaltCounters {
    /// Largest packet seen at a head, in bytes.
    pub maxpacket: u32,
    /// Packets dropped by CoDel's law.
    pub dropped: u64,
    /// Packets dropped by BLUE.
    pub blue_drop: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
}

/// COBALT's variables for one queue, with the names of `tc -s class`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CobaltState {
    /// When the next signal is due; for an idle queue until when its state matters.
    pub drop_next: Time,
    /// When BLUE's probability changed last.
    pub blue_timer: Time,
    /// BLUE's probability in 2⁻³².
    pub blue_prob: u32,
    /// Signals of CoDel's law, decaying.
    pub count: u32,
    /// The delay is over the target.
    pub dropping: bool,
    /// The count has gone up or down by a step: before, signals have no distance.
    is_paced: bool,
    /// The queue was found empty and no packet has come since.
    is_empty: bool,
}

impl CobaltState {
    /// BLUE's probability as a fraction.
    pub fn blue_fraction(&self) -> f64 {
        f64::from(self.blue_prob) / 4_294_967_296.0
    }
}

/// Packets of a slow link wait for the one being sent: that is no standing queue.
fn bearable(params: &CobaltParams) -> Span {
    params.target.max(params.mtu_time * 4)
}

impl Cobalt {
    /// `dice` are BLUE's.
    pub fn new(params: CobaltParams, dice: Stream) -> Self {
        Self {
            params,
            bearable: bearable(&params),
            dice,
            counters: CobaltCounters::default(),
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &CobaltParams {
        &self.params
    }

    /// Changes the parameters from the next packet on.
    pub fn set_params(&mut self, params: CobaltParams) {
        self.params = params;
        self.bearable = bearable(&params);
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &CobaltCounters {
        &self.counters
    }

    /// `t + interval/√count`.
    fn control_law(&self, t: Time, count: u32) -> Time {
        // `libm::sqrt` rounds correctly, so this is the same everywhere.
        let root = libm::sqrt(f64::from(count.max(1)));
        t + self.params.interval.mul_f64(1.0 / root)
    }

    fn is_over_target(&self, queue: QueueView, sojourn: Span) -> bool {
        // With `ingress`, each bulk flow may have two packets before its flow is told to slow down.
        sojourn > self.bearable
            && sojourn > self.params.mtu_time * (2 * u64::from(queue.bulk_flows))
    }

    /// What becomes of a packet whose queue may have a signal, or has had one.
    #[inline(never)]
    fn judge(
        &mut self,
        state: &mut CobaltState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        over: bool,
        now: Time,
    ) -> Verdict {
        let (mut verdict, is_behind) = self.codel(state, packet, over, now);
        let mut is_blue = false;
        // Lack of ECN is deliberate: a flow that does not respond would not respond to a mark.
        if state.blue_prob > 0
            && verdict != Verdict::Drop
            && ((self.dice.bits() >> 32) as u32) < state.blue_prob
        {
            verdict = Verdict::Drop;
            is_blue = true;
        }
        // `drop_next` of a queue at rest says until when its state is not forgotten.
        if state.count == 0 {
            state.drop_next = now + self.params.interval;
        } else if is_behind && verdict != Verdict::Drop {
            state.drop_next = now;
        }
        if verdict == Verdict::Drop && queue.packets == 0 {
            verdict = Verdict::Pass;
        }
        if verdict == Verdict::Pass
            && let Some(threshold) = self.params.ce_threshold
            && sojourn > threshold
            && self.params.ce_selector.has(packet.ecn())
        {
            verdict = Verdict::Mark;
        }
        match verdict {
            Verdict::Mark => self.counters.ecn_mark += 1,
            Verdict::Drop if is_blue => self.counters.blue_drop += 1,
            Verdict::Drop => self.counters.dropped += 1,
            Verdict::Pass => {}
        }
        verdict
    }

    /// CoDel's part: whether a signal is due now, and whether the schedule is behind the clock.
    #[inline]
    fn codel(
        &mut self,
        state: &mut CobaltState,
        packet: Facts<'_>,
        over: bool,
        now: Time,
    ) -> (Verdict, bool) {
        let due = state.count > 0 && now >= state.drop_next;
        // As the schedule was: what follows may move it.
        let is_behind = now > state.drop_next;
        if over {
            if !state.dropping {
                state.dropping = true;
                state.drop_next = if state.is_paced {
                    self.control_law(now, state.count)
                } else {
                    now
                };
            }
            state.count = state.count.max(1);
        } else {
            state.dropping = false;
        }
        if !due {
            return (Verdict::Pass, is_behind);
        }
        let mut verdict = Verdict::Pass;
        if state.dropping {
            state.count = state.count.saturating_add(1);
            state.is_paced = true;
            state.drop_next = self.control_law(state.drop_next, state.count);
            verdict = if packet.ect() && self.params.ecn {
                Verdict::Mark
            } else {
                Verdict::Drop
            };
        } else {
            self.decay(state, now);
        }
        (verdict, now > state.drop_next)
    }

    /// Lets the count fall for each time at which a signal would have been due.
    fn decay(&self, state: &mut CobaltState, now: Time) {
        state.is_paced |= now >= state.drop_next;
        // The sum of interval/√i for i up to n is below 2·interval·√n.
        let whole = self
            .params
            .interval
            .mul_f64(2.0 * libm::sqrt(f64::from(state.count)));
        if now - state.drop_next > whole {
            state.count = 0;
            state.drop_next += whole;
            return;
        }
        while state.count > 0 && now >= state.drop_next {
            state.count -= 1;
            state.drop_next = self.control_law(state.drop_next, state.count);
        }
    }

    /// Makes up for the time in which the queue was empty.
    #[inline]
    fn rest(&self, state: &mut CobaltState, now: Time) {
        if !state.is_empty {
            return;
        }
        if state.blue_prob > 0 {
            let steps = match self.params.target.as_nanos() {
                0 => u64::MAX,
                target => (now - state.blue_timer).as_nanos() / target,
            };
            let fall = steps.saturating_mul(u64::from(BLUE_DOWN));
            state.blue_prob = state
                .blue_prob
                .saturating_sub(u32::try_from(fall).unwrap_or(u32::MAX));
            if steps > 0 {
                state.blue_timer = now;
            }
        }
        if state.count > 0 {
            self.decay(state, now);
        }
    }
}

impl Aqm for Cobalt {
    type State = CobaltState;
    type Params = CobaltParams;

    const JUDGES_DEPARTURES: bool = true;

    #[inline]
    fn arrive(
        &mut self,
        state: &mut CobaltState,
        _queue: QueueView,
        _packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        if state.is_empty {
            self.rest(state, now);
            state.is_empty = false;
        }
        Verdict::Pass
    }

    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    fn leave(
        &mut self,
        state: &mut CobaltState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.counters.maxpacket = self.counters.maxpacket.max(packet.len);
        let over = self.is_over_target(queue, sojourn);
        // A queue at rest, as nearly all are.
        if !over && state.count == 0 && state.blue_prob == 0 && self.params.ce_threshold.is_none() {
            state.dropping = false;
            state.drop_next = now + self.params.interval;
            return Verdict::Pass;
        }
        self.judge(state, queue, packet, sojourn, over, now)
    }

    #[inline]
    fn found_empty(&mut self, state: &mut CobaltState, now: Time) {
        state.dropping = false;
        if !state.is_empty {
            state.is_empty = true;
            if state.blue_prob > 0 && now - state.blue_timer > self.params.target {
                state.blue_prob = state.blue_prob.saturating_sub(BLUE_DOWN);
                state.blue_timer = now;
            }
        }
    }

    fn tail_dropped(&mut self, state: &mut CobaltState, now: Time) {
        self.overflowed(state, 1, now);
    }

    fn overflowed(&mut self, state: &mut CobaltState, _packets: u32, now: Time) {
        if now - state.blue_timer > self.params.target {
            state.blue_prob = state.blue_prob.saturating_add(BLUE_UP);
            state.blue_timer = now;
        }
        state.dropping = true;
        state.drop_next = now;
        state.count = state.count.max(1);
    }

    fn is_forgettable(&mut self, state: &mut CobaltState, now: Time) -> bool {
        self.rest(state, now);
        state.count == 0 && state.blue_prob == 0 && now >= state.drop_next
    }

    fn retune(&mut self, params: CobaltParams) {
        self.set_params(params);
    }

    fn statistics(&self, state: &CobaltState, counters: &Counters, _now: Time) -> Vec<Field> {
        let own = &self.counters;
        let mut fields = Vec::from([int("count", state.count)]);
        if state.dropping {
            fields.push(Field::switch("dropping", true));
        }
        fields.extend([
            float("blue_prob", state.blue_fraction()),
            int("maxpacket", own.maxpacket),
            int("ecn_mark", own.ecn_mark),
            int("blue_drop", own.blue_drop),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ]);
        fields
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}
