//! PIE by RFC 8033 sections 4 and 5, with time stamps, and with what has gone wrong in others.

use sojourn_qdisc::{Aqm, Facts, QueueView, Verdict};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

const TARGET: Span = Span::from_millis(15);
const T_UPDATE: Span = Span::from_millis(15);
const MAX_BURST: Span = Span::from_millis(150);
const MTU: u64 = 1514;

/// Probability below which a step is divided by so much (section 4.2).
const TUNING: [(f64, f64); 6] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (1e-1, 2.0),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Sound,
    /// The delay less the target is an unsigned number, as in DPDK's first PIE.
    Unsigned,
    /// The delay less the target is counted in whole seconds, as an integer division has it.
    Integer,
    /// Every update restores the burst allowance.
    KeepsBurst,
    /// An empty queue keeps the delay of its last packet.
    StaleDelay,
}

pub(crate) struct Pie {
    pub(crate) flaw: Flaw,
    pub(crate) dice: Stream,
}

#[derive(Clone)]
pub(crate) struct State {
    probability: f64,
    delay: Span,
    before: Span,
    burst: Span,
    next_update: Time,
}

impl Default for State {
    fn default() -> Self {
        Self {
            probability: 0.0,
            delay: Span::ZERO,
            before: Span::ZERO,
            burst: MAX_BURST,
            next_update: Time::ZERO + T_UPDATE,
        }
    }
}

/// One time less another, in seconds.
fn difference(flaw: Flaw, a: Span, b: Span) -> f64 {
    match flaw {
        Flaw::Unsigned => a.as_nanos().wrapping_sub(b.as_nanos()) as f64 * 1e-9,
        Flaw::Integer => {
            (a.as_nanos() / 1_000_000_000) as f64 - (b.as_nanos() / 1_000_000_000) as f64
        }
        _ => a.as_secs_f64() - b.as_secs_f64(),
    }
}

impl Pie {
    fn update(&self, state: &mut State) {
        let scale = TUNING.iter().find(|(below, _)| state.probability < *below);
        let full = 0.125 * difference(self.flaw, state.delay, TARGET)
            + 1.25 * difference(self.flaw, state.delay, state.before);
        let mut step = full / scale.map_or(1.0, |(_, scale)| *scale);
        if state.probability >= 0.1 {
            step = step.min(0.02);
        }
        if state.delay > Span::from_millis(250) {
            step += 0.02;
        }
        state.probability = (state.probability + step).clamp(0.0, 1.0);
        if state.delay.is_zero() && state.before.is_zero() {
            state.probability *= 0.98;
        }
        state.burst -= T_UPDATE;
        let is_quiet = state.delay < TARGET / 2 && state.before < TARGET / 2;
        if state.probability == 0.0 && is_quiet || self.flaw == Flaw::KeepsBurst {
            state.burst = MAX_BURST;
        }
        state.before = state.delay;
    }
}

impl Aqm for Pie {
    type State = State;
    type Params = ();

    fn arrive(&mut self, state: &mut State, queue: QueueView, _: Facts<'_>, now: Time) -> Verdict {
        while now >= state.next_update {
            self.update(state);
            state.next_update += T_UPDATE;
        }
        let is_short = state.delay < TARGET / 2 && state.probability < 0.2;
        if !state.burst.is_zero() || is_short || queue.bytes <= 2 * MTU {
            return Verdict::Pass;
        }
        if self.dice.chance(state.probability) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    fn leave(
        &mut self,
        state: &mut State,
        queue: QueueView,
        _: Facts<'_>,
        sojourn: Span,
        _: Time,
    ) -> Verdict {
        let is_last = queue.packets == 0 && self.flaw != Flaw::StaleDelay;
        state.delay = if is_last { Span::ZERO } else { sojourn };
        Verdict::Pass
    }
}
