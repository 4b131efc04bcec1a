//! CoDel by RFC 8289 section 5, and with what has gone wrong in others.

use sojourn_qdisc::{Aqm, Facts, QueueView, Verdict};
use sojourn_units::{Span, Time};

const TARGET: Span = Span::from_millis(5);
const INTERVAL: Span = Span::from_millis(100);
const MTU: u64 = 1514;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Sound,
    /// A new dropping state goes on counting where the last one ended, however long ago.
    KeepsCount,
    /// The last packet of the queue is judged as any other.
    SparesNothing,
    /// It drops as soon as the delay is above the target.
    NoInterval,
    /// A delay below the target is forgotten only when a drop has ended the state.
    StaleFirstAbove,
}

#[derive(Clone, Copy)]
pub(crate) struct Codel(pub(crate) Flaw);

#[derive(Clone, Default)]
pub(crate) struct State {
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

fn control_law(from: Time, count: u32) -> Time {
    from + INTERVAL.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
}

impl Codel {
    /// Whether the delay has been above the target for an interval.
    fn is_standing(self, state: &mut State, queue: QueueView, sojourn: Span, now: Time) -> bool {
        let is_small = queue.bytes <= MTU && self.0 != Flaw::SparesNothing;
        if sojourn < TARGET || is_small {
            if self.0 != Flaw::StaleFirstAbove || state.dropping {
                state.first_above = None;
            }
            return false;
        }
        let wait = match self.0 {
            Flaw::NoInterval => Span::ZERO,
            _ => INTERVAL,
        };
        now >= *state.first_above.get_or_insert(now + wait)
    }
}

impl Aqm for Codel {
    type State = State;
    type Params = ();

    fn leave(
        &mut self,
        state: &mut State,
        queue: QueueView,
        _: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        if !self.is_standing(state, queue, sojourn, now) {
            state.dropping = false;
            return Verdict::Pass;
        }
        if state.dropping {
            if now < state.drop_next {
                return Verdict::Pass;
            }
            state.count += 1;
            state.drop_next = control_law(state.drop_next, state.count);
            return Verdict::Drop;
        }
        state.dropping = true;
        let drops = state.count - state.lastcount;
        let is_recent = now - state.drop_next < INTERVAL * 16;
        state.count = match self.0 {
            Flaw::KeepsCount => state.count + 1,
            _ if drops > 1 && is_recent => drops,
            _ => 1,
        };
        state.lastcount = state.count;
        state.drop_next = control_law(now, state.count);
        Verdict::Drop
    }

    fn found_empty(&mut self, state: &mut State, _: Time) {
        if self.0 != Flaw::StaleFirstAbove || state.dropping {
            state.first_above = None;
        }
        state.dropping = false;
    }
}
