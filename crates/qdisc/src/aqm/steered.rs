//! AQM Steering: an outer loop that moves the delay target of any AQM that has one, so that a
//! policy is met: at least so much utilisation, at most so much delay, and, if wanted, no more
//! than so much utilisation.
//!
//! Source: Bless, Hock and Zitterbart, "Policy-oriented AQM Steering", IFIP Networking 2018.
//! Units: integer nanoseconds, bytes; rates are byte/s in f64, fractions are of the link's rate.
//!
//! [`Steered`] is itself an AQM around another one, which knows nothing of it: it sees the same
//! calls, reads the other's verdicts, and writes its target through [`Setpoint`].
//!
//! - **Lowering**, at a drop or mark. The smallest sojourn time since the one before tells how
//!   deep the queue swings below the target; what never drains can go. The target goes down to
//!   the mean swing plus γ deviations, in steps of 0.2 ms, if the link is used well enough.
//! - **Raising** (Algorithm 2), at an arrival above the target for which the AQM is not in a pause.
//!   If the queue has run empty since the last drop, and the rate since then and the long-term rate
//!   are both below the policy's, the target doubles and nothing is dropped. The next raise needs
//!   the queue to run empty again (line 11).
//! - **Virtual queue** (Algorithms 3 and 4), with a ceiling. While the rate since the last drop and
//!   the long-term rate are both above the ceiling, the target goes down by a quarter at each drop.
//!   When it reaches its minimum, the AQM is shown a virtual queue instead, which drains slower
//!   than the link. The virtual rate goes down at a drop with a long-term rate above the ceiling.
//!   It goes up, in place of a drop, where a target would be raised. Between the two it stays.
//!   When it reaches the rate of the link, the real queue comes back.
//!
//! Ours, because the paper leaves it open:
//! - the rate of the link is measured while packets wait, unless it is given: it follows a link
//!   whose rate changes, and counts headers as the packets do;
//! - averages have a memory of 5 s, so that a crowd that stays for 20 s is followed; two flows at
//!   1 Gbit/s drop about as seldom, and their target wanders with the last swings. γ is 1.5;
//! - the gain α of the virtual rate is 1 − e^(−D/4M) for D since the last drop or step: with a rate
//!   that is itself averaged over M, this is the critically damped loop however often drops come;
//! - the virtual queue has the minimum target (the paper's thresh_vq), and does not grow beyond
//!   200 ms, or the policy's delay if that is more;
//! - an underused link whose target is at the highest delay is told as a policy that is not met.
//!
//! In a flow queue all flows share the target, the rates and the virtual queue; the swing
//! is seen flow by flow.

mod link;
mod virtual_queue;

use super::gsp::narrow;
use crate::accounts::{Counters, FlowStatistics, Gauge};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::status::{Decision, SteerStatus, Unmet};
use crate::aqm::{Aqm, Bound, Facts, QueueView, Verdict};
use crate::average::{TdrmUtemaCpa, Utema};
use crate::params::{SteerParams, SteeredParams};
use crate::report::Field;
use alloc::vec::Vec;
use link::Link;
use sojourn_units::{Rate, Span, Time};
use virtual_queue::Virtual;

/// Least target, and the step by which it is lowered.
const STEP: Span = Span::from_micros(200);
/// A raised target is at least this (0.025 times GSP's interval of 200 ms).
const LEAST_RAISE: Span = Span::from_millis(5);
/// Deviations of the swing that are kept beside its mean.
const GAMMA: f64 = 1.5;
/// Memory of the averages of swing and rate.
const MEMORY: Span = Span::from_secs(5);
/// Time constant of the virtual rate's control, in memories.
const DAMPING: u64 = 4;
/// Delay beyond which the virtual queue does not grow: two of CoDel's intervals, since an AQM that
/// waits for a standing queue must see one between the bursts of a round trip. Without end,
/// sources that do not answer would keep it long after they have gone.
const LONGEST_VIRTUAL: Span = Span::from_millis(200);
/// Rates closer than this fraction are the same, when it comes to saying that one is not met.
const TOLERANCE: f64 = 0.01;

/// An AQM whose target follows a policy.
#[derive(Clone, Debug)]
pub struct Steered<A> {
    aqm: A,
    params: SteerParams,
    /// The target that the AQM was configured with.
    initial: Span,
    link: Link,
    rate: TdrmUtemaCpa,
    swing: Utema,
    squares: Utema,
    /// Bytes sent since the last drop, or since the first packet.
    sent: u64,
    since: Option<Time>,
    /// The queue ran empty after a drop, without a raise or drop since: the paper's thresh_up.
    emptied: bool,
    virtual_queue: Option<Virtual>,
    decision: Decision,
    decided: Time,
    unmet: Option<Unmet>,
    lowered: u64,
    raised: u64,
}

/// A queue's variables: the AQM's, and how far the queue has drained since the last drop.
#[derive(Clone, Copy, Debug)]
pub struct SteeredState<S> {
    /// The AQM's.
    pub aqm: S,
    /// Smallest sojourn time since the last drop; [`Span::MAX`] if there was none.
    pub least: Span,
}

impl<S: Default> Default for SteeredState<S> {
    fn default() -> Self {
        Self {
            aqm: S::default(),
            least: Span::MAX,
        }
    }
}

impl<A: Setpoint> Steered<A> {
    /// Steers `aqm` from the target that it has, or the policy's delay if that is less.
    pub fn new(params: SteerParams, aqm: A) -> Self {
        let mut steered = Self {
            initial: aqm.target(),
            aqm,
            params,
            link: Link::new(),
            rate: TdrmUtemaCpa::new(MEMORY),
            swing: Utema::new(MEMORY),
            squares: Utema::new(MEMORY),
            sent: 0,
            since: None,
            emptied: false,
            virtual_queue: None,
            decision: Decision::None,
            decided: Time::ZERO,
            unmet: None,
            lowered: 0,
            raised: 0,
        };
        steered.keep_within();
        steered
    }

    /// The AQM that is steered.
    pub const fn aqm(&self) -> &A {
        &self.aqm
    }

    /// The same, to tell it what it is to say.
    pub(crate) const fn aqm_mut(&mut self) -> &mut A {
        &mut self.aqm
    }

    /// The policy in force.
    pub const fn params(&self) -> &SteerParams {
        &self.params
    }

    /// Target, rates and the last decision.
    pub fn status(&self) -> SteerStatus {
        let (swing, deviation) = self.swing();
        SteerStatus {
            target: self.aqm.target(),
            link: bits(self.link_rate().unwrap_or(0.0)),
            rate: bits(self.rate.rate().unwrap_or(0.0)),
            swing: Span::from_secs_f64(swing),
            deviation: Span::from_secs_f64(deviation),
            virtual_rate: self.virtual_queue.map(|queue| bits(queue.rate)),
            virtual_delay: self.virtual_queue.map(|queue| queue.delay()),
            decision: self.decision,
            decided: self.decided,
            unmet: self.unmet,
            lowered: self.lowered,
            raised: self.raised,
        }
    }

    /// The AQM has other parameters: a target that stays the same stays where it was moved to.
    fn follow(&mut self, params: SteerParams, target: Span) {
        let configured = self.aqm.target();
        if configured == self.initial {
            self.aqm.set_target(target);
        }
        self.initial = configured;
        self.params = params;
        if params.ceiling >= 100 {
            self.virtual_queue = None;
        }
        self.keep_within();
    }

    fn keep_within(&mut self) {
        if self.aqm.target() > self.params.delay {
            self.aqm.set_target(self.params.delay);
        }
    }

    fn least_target(&self) -> Span {
        STEP.min(self.params.delay)
    }

    /// Mean and deviation of the swing, in seconds.
    fn swing(&self) -> (f64, f64) {
        let mean = self.swing.average().unwrap_or(0.0);
        let squares = self.squares.average().unwrap_or(0.0);
        // Rounding may take the difference below zero.
        (mean, libm::sqrt((squares - mean * mean).max(0.0)))
    }

    /// Byte/s that the link can send, once known.
    fn link_rate(&self) -> Option<f64> {
        match self.params.rate {
            Some(rate) => Some(rate.as_bps() as f64 / 8.0),
            None => self.link.rate(),
        }
    }

    fn decide(&mut self, decision: Decision, now: Time) {
        self.decision = decision;
        self.decided = now;
    }

    fn elapsed(&self, now: Time) -> Span {
        self.since.map_or(Span::ZERO, |since| now - since)
    }

    /// Both the rate since the last drop and the long-term rate are below what is wanted.
    fn is_underused(&self, now: Time) -> bool {
        let (Some(link), Some(average)) = (self.link_rate(), self.rate.rate()) else {
            return false;
        };
        let wanted = link * fraction(self.params.util);
        let elapsed = self.elapsed(now).as_secs_f64();
        average < wanted && (self.sent as f64) < wanted * elapsed
    }

    /// An arrival above the target, after the queue ran empty. True if it raises the target or the
    /// virtual rate, so that the AQM is not to drop.
    #[cold]
    fn consider_raising(&mut self, now: Time) -> bool {
        if !self.is_underused(now) {
            return false;
        }
        self.emptied = false;
        if self.virtual_queue.is_some() {
            self.move_virtual_rate(now);
            return true;
        }
        let target = self.aqm.target();
        let raised = (target * 2).max(LEAST_RAISE).min(self.params.delay);
        if raised > target {
            self.aqm.set_target(raised);
            self.raised += 1;
            self.unmet = None;
            self.decide(Decision::Raised, now);
        } else {
            self.unmet = Some(Unmet::Util);
            self.decide(Decision::KeptHighest, now);
        }
        true
    }

    /// The AQM has dropped or marked a packet of a queue that had drained to `least`; `held` bytes
    /// wait in all.
    #[cold]
    fn signalled(&mut self, least: Span, held: u64, now: Time) {
        let elapsed = self.elapsed(now);
        let sent = self.sent as f64;
        self.rate.add(self.sent, elapsed);
        if !elapsed.is_zero() || self.since.is_none() {
            self.sent = 0;
            self.since = Some(now);
        }
        let was_idle = core::mem::take(&mut self.emptied);
        let (Some(link), Some(rate)) = (self.link_rate(), self.rate.rate()) else {
            return;
        };
        let ceiling = link * fraction(self.params.ceiling);
        if self.virtual_queue.is_some() {
            self.signalled_virtually(rate > ceiling, now);
            return;
        }
        let target = self.aqm.target();
        self.unmet = if least == Span::MAX {
            // No packet left since the last drop: nothing new is known.
            self.unmet
        } else if least > self.params.delay {
            Some(Unmet::Delay)
        } else {
            let was_idle = was_idle || self.unmet == Some(Unmet::Util);
            let is_underused = was_idle && rate < link * fraction(self.params.util);
            (is_underused && target >= self.params.delay).then_some(Unmet::Util)
        };
        if least >= target {
            self.decide(Decision::KeptStanding, now);
        } else {
            let depth = (target - least).as_secs_f64();
            self.swing.add(depth, now);
            self.squares.add(depth * depth, now);
            self.lower(rate > link * fraction(self.params.util), now);
        }
        let is_above = rate > ceiling && sent > ceiling * elapsed.as_secs_f64();
        if self.params.ceiling < 100 && is_above {
            self.step_down(link, held, now);
        }
    }

    /// Takes away what never drains.
    fn lower(&mut self, is_used: bool, now: Time) {
        let target = self.aqm.target();
        let (mean, deviation) = self.swing();
        let wanted = Span::from_secs_f64(mean + GAMMA * deviation);
        let steps = (target - wanted).as_nanos() / STEP.as_nanos();
        let lowered = (target - STEP * steps).max(self.least_target());
        if lowered >= target {
            self.decide(Decision::KeptSwing, now);
        } else if is_used {
            self.aqm.set_target(lowered);
            self.lowered += 1;
            self.decide(Decision::Lowered, now);
        } else {
            self.decide(Decision::KeptUnderused, now);
        }
    }

    /// Both rates are above the ceiling: a lower target and, at the minimum, the virtual queue.
    fn step_down(&mut self, link: f64, held: u64, now: Time) {
        let target = self.aqm.target();
        let least = self.least_target();
        if target > least {
            let lowered = narrow(u128::from(target.as_nanos()) * 3 / 4).max(least);
            self.aqm.set_target(lowered);
            self.lowered += 1;
            self.decide(Decision::SteppedDown, now);
        }
        if self.aqm.target() <= least {
            // It begins with what really waits, so that it is never shorter.
            self.virtual_queue = Some(Virtual {
                rate: link,
                bytes: held as f64,
                longest: self.params.delay.max(LONGEST_VIRTUAL),
                drained: now,
                moved: now,
            });
            self.decide(Decision::VirtualQueue, now);
        }
    }

    /// The AQM has dropped or marked a packet because of the virtual queue.
    fn signalled_virtually(&mut self, is_above: bool, now: Time) {
        if is_above {
            self.move_virtual_rate(now);
        } else if let Some(queue) = &mut self.virtual_queue {
            queue.moved = queue.moved.max(now);
            self.unmet = None;
            self.decide(Decision::KeptVirtual, now);
        }
    }

    /// Moves the virtual queue's rate by its gain times the distance of the long-term rate from
    /// the ceiling.
    fn move_virtual_rate(&mut self, now: Time) {
        let (Some(link), Some(rate)) = (self.link_rate(), self.rate.rate()) else {
            return;
        };
        let Some(queue) = &mut self.virtual_queue else {
            return;
        };
        queue.drain(now);
        let ceiling = link * fraction(self.params.ceiling);
        let elapsed = (now - queue.moved).as_secs_f64();
        let gain = 1.0 - libm::exp(-elapsed / (MEMORY * DAMPING).as_secs_f64());
        queue.rate = (queue.rate + gain * (ceiling - rate))
            .max(ceiling)
            .min(link);
        queue.moved = queue.moved.max(now);
        let is_least = queue.rate <= ceiling;
        if queue.rate >= link {
            self.virtual_queue = None;
            self.unmet = None;
            self.decide(Decision::RealQueue, now);
            return;
        }
        let is_unmet = is_least && rate > ceiling * (1.0 + TOLERANCE);
        self.unmet = is_unmet.then_some(Unmet::Ceiling);
        self.decide(Decision::VirtualRate, now);
    }
}

/// A policy's percentage as a fraction.
fn fraction(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

fn bits(bytes_per_sec: f64) -> Rate {
    Rate::from_bps_f64(bytes_per_sec * 8.0)
}

impl<A: Setpoint> Aqm for Steered<A> {
    type State = SteeredState<A::State>;
    type Params = SteeredParams<A::Params>;

    const SEES_ALL_ARRIVALS: bool = A::SEES_ALL_ARRIVALS;
    const JUDGES_DEPARTURES: bool = A::JUDGES_DEPARTURES;

    const BOUNDS: bool = A::BOUNDS;

    #[inline]
    fn bound(&mut self, state: &mut Self::State, queue: QueueView, now: Time) -> Bound {
        self.aqm.bound(&mut state.aqm, queue, now)
    }

    #[inline]
    fn arrive(
        &mut self,
        state: &mut Self::State,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        if self.since.is_none() {
            self.since = Some(now);
        }
        let mut view = queue;
        if let Some(virtual_queue) = &mut self.virtual_queue {
            virtual_queue.drain(now);
            view = virtual_queue.view(packet.len);
        }
        // Only what came after a drop counts: before the first one nothing is known.
        self.emptied |= view.total_bytes == 0 && self.rate.rate().is_some();
        if self.emptied
            && view.head_wait > self.aqm.target()
            && self.aqm.is_ready(&state.aqm, now)
            && self.consider_raising(now)
        {
            // No drop now, even if the delay is above the new target too.
            view.head_wait = view.head_wait.min(self.aqm.target());
        }
        let verdict = self.aqm.arrive(&mut state.aqm, view, packet, now);
        if verdict != Verdict::Pass {
            let least = core::mem::replace(&mut state.least, Span::MAX);
            self.signalled(least, queue.total_bytes, now);
        }
        if verdict != Verdict::Drop
            && let Some(virtual_queue) = &mut self.virtual_queue
        {
            virtual_queue.add(packet.len);
        }
        verdict
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut Self::State,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        state.least = state.least.min(sojourn);
        let (mut view, mut delay) = (queue, sojourn);
        if let Some(virtual_queue) = &mut self.virtual_queue {
            virtual_queue.drain(now);
            view = virtual_queue.view(packet.len);
            delay = view.head_wait;
        }
        let verdict = self.aqm.leave(&mut state.aqm, view, packet, delay, now);
        if verdict != Verdict::Pass {
            let least = core::mem::replace(&mut state.least, Span::MAX);
            self.signalled(least, queue.total_bytes, now);
        }
        if verdict == Verdict::Drop {
            if let Some(virtual_queue) = &mut self.virtual_queue {
                virtual_queue.bytes = (virtual_queue.bytes - f64::from(packet.len)).max(0.0);
            }
        } else {
            self.sent += u64::from(packet.len);
            self.link.sent(packet.len, queue.total_bytes == 0, now);
        }
        verdict
    }

    #[inline]
    fn found_empty(&mut self, state: &mut Self::State, now: Time) {
        if let Some(virtual_queue) = &mut self.virtual_queue {
            virtual_queue.drain(now);
            if virtual_queue.bytes > 0.0 {
                return;
            }
        }
        self.aqm.found_empty(&mut state.aqm, now);
    }

    fn tail_dropped(&mut self, state: &mut Self::State, now: Time) {
        self.aqm.tail_dropped(&mut state.aqm, now);
    }

    fn overflowed(&mut self, state: &mut Self::State, packets: u32, now: Time) {
        self.aqm.overflowed(&mut state.aqm, packets, now);
    }

    #[inline]
    fn rejoined(&mut self, state: &mut Self::State) {
        self.aqm.rejoined(&mut state.aqm);
    }

    fn is_forgettable(&mut self, state: &mut Self::State, now: Time) -> bool {
        self.aqm.is_forgettable(&mut state.aqm, now)
    }

    fn retune(&mut self, params: Self::Params) {
        let target = self.aqm.target();
        self.aqm.retune(params.aim);
        self.follow(params.steer, target);
    }

    fn statistics(&self, state: &Self::State, counters: &Counters, now: Time) -> Vec<Field> {
        self.aqm.statistics(&state.aqm, counters, now)
    }

    fn flow_statistics(&self, flows: &FlowStatistics) -> Vec<Field> {
        self.aqm.flow_statistics(flows)
    }

    fn overlimits(&self) -> u64 {
        self.aqm.overlimits()
    }

    fn gauges(&self, state: Option<&Self::State>, now: Time, tell: &mut dyn FnMut(Gauge)) {
        self.status().gauges(tell);
        self.aqm.gauges(state.map(|state| &state.aqm), now, tell);
    }

    fn steering(&self) -> Option<SteerStatus> {
        Some(self.status())
    }

    fn fork(&self) -> Option<Self> {
        Some(Self {
            aqm: self.aqm.fork()?,
            params: self.params,
            initial: self.initial,
            link: self.link,
            rate: self.rate,
            swing: self.swing,
            squares: self.squares,
            sent: self.sent,
            since: self.since,
            emptied: self.emptied,
            virtual_queue: self.virtual_queue,
            decision: self.decision,
            decided: self.decided,
            unmet: self.unmet,
            lowered: self.lowered,
            raised: self.raised,
        })
    }
}
