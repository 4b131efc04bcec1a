//! Steering of DualPI2's delay target.
//!
//! What Steering knows of is an AQM that decides drop or mark for one queue. Here the pair decides,
//! and [`Decided`] says so: Steering hears of the C queue's packets with what became of them, and
//! of the L queue's as sent. Marks of the L queue tell nothing of the target, which is that of the
//! C queue: what holds the L queue short is its step.
//!
//! A ceiling is not for a pair: the virtual queue would have to be one of two.

use super::{DualPi2, Fate};
use crate::aqm::{Aqm, Facts, QueueView, Setpoint, Steered, SteeredState, Verdict};
use crate::packet::Packet;
use crate::params::{DualPi2Params, SteeredParams};
use sojourn_units::{Span, Time};

/// The AQM that Steering steers: it has a target, and the verdicts of the pair.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    target: Span,
    /// What becomes of the packet that it is asked about next.
    verdict: Verdict,
}

impl Aqm for Decided {
    type State = ();
    /// The configured target.
    type Params = Span;

    fn arrive(&mut self, (): &mut (), _: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        self.verdict
    }

    fn leave(&mut self, (): &mut (), _: QueueView, _: Facts<'_>, _: Span, _: Time) -> Verdict {
        self.verdict
    }

    fn retune(&mut self, target: Span) {
        self.target = target;
    }
}

impl Setpoint for Decided {
    fn target(&self) -> Span {
        self.target
    }

    fn set_target(&mut self, target: Span) {
        self.target = target;
    }
}

/// What moves the target, with how far each queue has drained since its last signal: of the C
/// queue and of the L queue.
#[derive(Clone, Debug)]
pub(super) struct Steering {
    pub(super) steered: Steered<Decided>,
    states: [SteeredState<()>; 2],
}

impl Steering {
    /// For these parameters; None where nothing steers.
    pub(super) fn new(params: &DualPi2Params) -> Option<Self> {
        let aqm = Decided {
            target: params.target,
            verdict: Verdict::Pass,
        };
        Some(Self {
            steered: Steered::new(params.steer?, aqm),
            states: [SteeredState::default(); 2],
        })
    }

    /// The target in force.
    pub(super) fn target(&self) -> Span {
        self.steered.aqm().target
    }

    fn judged(&mut self, is_low: bool, fate: Fate) -> &mut SteeredState<()> {
        let verdict = match fate {
            Fate::Pass => Verdict::Pass,
            // Of the L queue's signals Steering hears nothing.
            _ if is_low => Verdict::Pass,
            Fate::Mark => Verdict::Mark,
            Fate::Drop => Verdict::Drop,
        };
        self.steered.aqm_mut().verdict = verdict;
        &mut self.states[usize::from(is_low)]
    }
}

impl<P> DualPi2<P> {
    /// The delay of the C queue that the controller steers to now.
    pub(super) fn target(&self) -> Span {
        let moved = self.steering.as_ref().map(Steering::target);
        moved.unwrap_or(self.params.target)
    }

    /// Takes the parameters in force after a change of the live instance.
    pub(super) fn retune(&mut self) {
        match (&mut self.steering, self.params.steer) {
            (Some(steering), Some(steer)) => steering.steered.retune(SteeredParams {
                steer,
                aim: self.params.target,
            }),
            (steering, _) => *steering = Steering::new(&self.params),
        }
    }
}

impl<P: Packet> DualPi2<P> {
    /// The queue of a packet as Steering sees it, without that packet. The L queue's own wait is
    /// no reason to raise the C queue's target.
    fn view(&self, is_low: bool, now: Time) -> QueueView {
        let backlog = self.each[usize::from(is_low)].backlog;
        let (classic, _) = self.delays(now);
        QueueView {
            packets: u32::try_from(backlog.packets).unwrap_or(u32::MAX),
            bytes: backlog.bytes,
            total_bytes: self.backlog.bytes,
            head_wait: if is_low { Span::ZERO } else { classic },
            bulk_flows: 0,
        }
    }

    /// A packet arrives, and this becomes of it.
    #[inline]
    pub(super) fn tell_arrival(&mut self, packet: &P, is_low: bool, fate: Fate, now: Time) {
        if self.steering.is_some() {
            let view = self.view(is_low, now);
            if let Some(steering) = &mut self.steering {
                let facts = Facts::new(packet.len(), packet);
                let mut state = *steering.judged(is_low, fate);
                steering.steered.arrive(&mut state, view, facts, now);
                steering.states[usize::from(is_low)] = state;
            }
        }
    }

    /// A packet has left its queue after `sojourn`, and this becomes of it.
    #[inline]
    pub(super) fn tell_departure(
        &mut self,
        packet: &P,
        is_low: bool,
        fate: Fate,
        sojourn: Span,
        now: Time,
    ) {
        if self.steering.is_some() {
            let view = self.view(is_low, now);
            if let Some(steering) = &mut self.steering {
                let facts = Facts::new(packet.len(), packet);
                let mut state = *steering.judged(is_low, fate);
                steering
                    .steered
                    .leave(&mut state, view, facts, sojourn, now);
                steering.states[usize::from(is_low)] = state;
            }
        }
    }
}

#[cfg(test)]
mod tests;
