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
//! - **Raising**, at an arrival above the target. If the link was idle since the last drop, and the
//!   rate since then and the long-term rate are both below the policy's, the target doubles, so
//!   that the AQM has no reason to drop yet.
//! - **Virtual queue**, with a ceiling. While the long-term rate is above the ceiling the target
//!   goes down by a quarter at each drop. When it is at its least, the AQM is shown a virtual queue
//!   instead, which drains slower than the link; its rate is controlled so that the long-term
//!   rate meets the ceiling. When that takes the whole link the real queue comes back.
//!
//! Ours, because the paper leaves it open:
//! - the rate of the link is measured while packets wait, unless it is given: it follows a link
//!   whose rate changes, and counts headers as the packets do;
//! - averages have a memory of 5 s (several drops of a few flows), γ is 1.5;
//! - the gain of the virtual rate is 1 − e^(−D/4M) for D since the last step: with a rate that is
//!   itself averaged over M, this is the critically damped loop whatever the distance of drops;
//! - at the highest delay the AQM drops as ever, and the state says that the policy is not met.
//!
//! In a flow queue all flows share the target, the rates and the virtual queue; the swing
//! is seen flow by flow.

use super::gsp::narrow;
use crate::average::{TdrmUtemaCpa, Utema};
use crate::{Aqm, Codel, Facts, Gsp, Pie, QueueView, SteerParams, Verdict};
use sojourn_units::{Rate, Span, Time};

/// Least target, and the step by which it is lowered.
const STEP: Span = Span::from_micros(200);
/// A raised target is at least this (0.025 times GSP's interval of 200 ms).
const LEAST_RAISE: Span = Span::from_millis(5);
/// Deviations of the swing that are kept beside its mean.
const GAMMA: f64 = 1.5;
/// Memory of the averages of swing and rate.
const MEMORY: Span = Span::from_secs(5);
/// Memory of the measured rate of the link, in time that packets waited.
const LINK_MEMORY: Span = Span::from_secs(1);
/// Time that packets waited which makes a sample of the link's rate.
const LINK_SAMPLE: Span = Span::from_millis(10);
/// Time constant of the virtual rate's control, in memories.
const DAMPING: u64 = 4;
/// Rates closer than this fraction are the same, when it comes to saying that one is not met.
const TOLERANCE: f64 = 0.01;

/// An AQM whose delay target can be read and moved.
pub trait Setpoint: Aqm {
    /// The delay target in force.
    fn target(&self) -> Span;

    /// Moves the target, from the next packet on.
    fn set_target(&mut self, target: Span);
}

impl Setpoint for Codel {
    fn target(&self) -> Span {
        self.params().target
    }

    fn set_target(&mut self, target: Span) {
        let params = *self.params();
        self.set_params(crate::CodelParams { target, ..params });
    }
}

impl Setpoint for Pie {
    fn target(&self) -> Span {
        self.params().target
    }

    fn set_target(&mut self, target: Span) {
        let params = *self.params();
        self.set_params(crate::PieParams { target, ..params });
    }
}

impl Setpoint for Gsp {
    fn target(&self) -> Span {
        self.params().threshold
    }

    fn set_target(&mut self, threshold: Span) {
        let params = *self.params();
        self.set_params(crate::GspParams {
            threshold,
            ..params
        });
    }
}

/// What Steering did last, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet: no drop so far.
    #[default]
    None,
    /// The target went down: part of the queue never drained.
    Lowered,
    /// The target went up: the link ran idle and was under-used.
    Raised,
    /// The target went down by a quarter: the rate is above the ceiling.
    SteppedDown,
    /// The AQM was given the virtual queue: at its least target the rate is above the ceiling.
    VirtualQueue,
    /// The virtual queue's rate moved towards the ceiling.
    VirtualRate,
    /// The AQM was given the real queue back: the virtual one took the whole link.
    RealQueue,
    /// No change: the queue swings as deep as the target.
    KeptSwing,
    /// No change: the link is not used well enough to lower the target.
    KeptUnderused,
    /// No change: the delay was never below the target, so the AQM has not converged.
    KeptStanding,
    /// No change: the link is under-used, but the target is at its highest.
    KeptHighest,
}

impl Decision {
    /// As a statistic shows it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lowered => "lowered",
            Self::Raised => "raised",
            Self::SteppedDown => "stepped_down",
            Self::VirtualQueue => "virtual_queue",
            Self::VirtualRate => "virtual_rate",
            Self::RealQueue => "real_queue",
            Self::KeptSwing => "kept_swing",
            Self::KeptUnderused => "kept_underused",
            Self::KeptStanding => "kept_standing",
            Self::KeptHighest => "kept_highest",
        }
    }
}

/// The part of a policy that is not met at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// The utilisation is below, though the target is at its highest.
    Util,
    /// The delay has not been below the highest since the last drop.
    Delay,
    /// The rate is above the ceiling, though the virtual queue is as slow as it may be.
    Ceiling,
}

impl Unmet {
    /// The policy's name of it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Util => "util",
            Self::Delay => "delay",
            Self::Ceiling => "ceiling",
        }
    }
}

/// Steering's variables, for statistics and series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteerStatus {
    /// Target in force.
    pub target: Span,
    /// Rate of the link, as given or measured; zero while unknown.
    pub link: Rate,
    /// Long-term rate; zero before the first drop.
    pub rate: Rate,
    /// Mean depth of the swing below the target.
    pub swing: Span,
    /// Deviation of that depth: the root of its variance.
    pub deviation: Span,
    /// Rate of the virtual queue; None while the AQM sees the real one.
    pub virtual_rate: Option<Rate>,
    /// What was decided last.
    pub decision: Decision,
    /// When that was.
    pub decided: Time,
    /// What is not met.
    pub unmet: Option<Unmet>,
    /// Times that the target was lowered, for whatever reason.
    pub lowered: u64,
    /// Times that the target was raised.
    pub raised: u64,
}

/// A queue that drains slower than the link. It delays no packet.
#[derive(Clone, Copy, Debug)]
struct Virtual {
    /// Byte/s.
    rate: f64,
    bytes: f64,
    drained: Time,
    /// When the rate was moved last.
    moved: Time,
}

impl Virtual {
    fn drain(&mut self, now: Time) {
        let gone = (now - self.drained).as_secs_f64() * self.rate;
        self.bytes = (self.bytes - gone).max(0.0);
        self.drained = self.drained.max(now);
    }

    fn delay(&self) -> Span {
        Span::from_secs_f64(self.bytes / self.rate.max(1.0))
    }

    fn view(&self, len: u32) -> QueueView {
        let bytes = self.bytes as u64;
        let packets = bytes.div_ceil(u64::from(len.max(1)));
        QueueView {
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            bytes,
            total_bytes: bytes,
            head_wait: self.delay(),
        }
    }
}

/// The rate of the link, measured while packets wait.
#[derive(Clone, Copy, Debug)]
struct Link {
    rate: TdrmUtemaCpa,
    bytes: u64,
    time: Span,
    /// Length and time of the last packet, if others waited behind it.
    last: Option<(u32, Time)>,
}

impl Link {
    #[inline]
    fn sent(&mut self, len: u32, is_last: bool, now: Time) {
        if let Some((len, since)) = self.last {
            self.bytes += u64::from(len);
            self.time += now - since;
            if self.time >= LINK_SAMPLE {
                self.rate.add(self.bytes, self.time);
                (self.bytes, self.time) = (0, Span::ZERO);
            }
        }
        self.last = (!is_last).then_some((len, now));
    }
}

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
    /// A drop has happened, and the queue ran empty after it.
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
            link: Link {
                rate: TdrmUtemaCpa::new(LINK_MEMORY),
                bytes: 0,
                time: Span::ZERO,
                last: None,
            },
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

    /// The policy in force.
    pub const fn params(&self) -> &SteerParams {
        &self.params
    }

    /// The target that the AQM was configured with.
    pub const fn initial_target(&self) -> Span {
        self.initial
    }

    /// Changes the policy, and the AQM's own parameters by `change`. What was learned stays,
    /// the target too, unless the configured one has changed.
    ///
    /// # Errors
    /// Those of `change`; then nothing has changed.
    pub(crate) fn reconfigure<T, E>(
        &mut self,
        params: SteerParams,
        change: impl FnOnce(&mut A) -> Result<T, E>,
    ) -> Result<T, E> {
        let target = self.aqm.target();
        let answer = change(&mut self.aqm)?;
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
        Ok(answer)
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
            decision: self.decision,
            decided: self.decided,
            unmet: self.unmet,
            lowered: self.lowered,
            raised: self.raised,
        }
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
            None => self.link.rate.rate(),
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

    /// An arrival above the target, after the link has been idle.
    #[cold]
    fn consider_raising(&mut self, now: Time) {
        if !self.is_underused(now) {
            return;
        }
        if self.virtual_queue.is_some() {
            self.move_virtual_rate(now);
            return;
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
    }

    /// The AQM has dropped or marked a packet of a queue that had drained to `least`.
    #[cold]
    fn signalled(&mut self, least: Span, now: Time) {
        let elapsed = self.elapsed(now);
        self.rate.add(self.sent, elapsed);
        if !elapsed.is_zero() || self.since.is_none() {
            self.sent = 0;
            self.since = Some(now);
        }
        let was_idle = core::mem::take(&mut self.emptied);
        let (Some(link), Some(rate)) = (self.link_rate(), self.rate.rate()) else {
            return;
        };
        if self.virtual_queue.is_some() {
            self.move_virtual_rate(now);
            return;
        }
        let target = self.aqm.target();
        self.unmet = if least == Span::MAX {
            // No packet left since the last drop: nothing new is known.
            self.unmet
        } else if least > self.params.delay {
            Some(Unmet::Delay)
        } else {
            let is_highest = was_idle && target >= self.params.delay;
            self.unmet.filter(|unmet| is_highest && *unmet == Unmet::Util)
        };
        if self.params.ceiling < 100 && rate > link * fraction(self.params.ceiling) {
            self.step_down(link, now);
            return;
        }
        if least >= target {
            self.decide(Decision::KeptStanding, now);
            return;
        }
        let depth = (target - least).as_secs_f64();
        self.swing.add(depth, now);
        self.squares.add(depth * depth, now);
        self.lower(rate > link * fraction(self.params.util), now);
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

    /// The rate is above the ceiling: a lower target, or else the virtual queue.
    fn step_down(&mut self, link: f64, now: Time) {
        let target = self.aqm.target();
        if target > self.least_target() {
            let lowered = narrow(u128::from(target.as_nanos()) * 3 / 4);
            self.aqm.set_target(lowered.max(self.least_target()));
            self.lowered += 1;
            self.decide(Decision::SteppedDown, now);
        } else {
            self.virtual_queue = Some(Virtual {
                rate: link,
                bytes: 0.0,
                drained: now,
                moved: now,
            });
            self.decide(Decision::VirtualQueue, now);
        }
    }

    /// Moves the virtual queue's rate so that the long-term rate meets the ceiling.
    fn move_virtual_rate(&mut self, now: Time) {
        let (Some(link), Some(rate)) = (self.link_rate(), self.rate.rate()) else {
            return;
        };
        let Some(queue) = &mut self.virtual_queue else {
            return;
        };
        queue.drain(now);
        let wanted = link * fraction(self.params.ceiling);
        let elapsed = (now - queue.moved).as_secs_f64();
        let gain = 1.0 - libm::exp(-elapsed / (MEMORY * DAMPING).as_secs_f64());
        queue.rate = (queue.rate + gain * (wanted - rate)).max(wanted);
        queue.moved = queue.moved.max(now);
        let is_least = queue.rate <= wanted;
        if queue.rate >= link && elapsed > 0.0 {
            self.virtual_queue = None;
            self.unmet = None;
            self.decide(Decision::RealQueue, now);
            return;
        }
        self.unmet = (is_least && rate > wanted * (1.0 + TOLERANCE)).then_some(Unmet::Ceiling);
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

    const SEES_ALL_ARRIVALS: bool = A::SEES_ALL_ARRIVALS;

    #[inline]
    fn arrive(
        &mut self,
        state: &mut Self::State,
        queue: QueueView,
        packet: Facts,
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
        if self.emptied && view.head_wait > self.aqm.target() {
            self.consider_raising(now);
        }
        let verdict = self.aqm.arrive(&mut state.aqm, view, packet, now);
        if verdict != Verdict::Pass {
            self.signalled(core::mem::replace(&mut state.least, Span::MAX), now);
        }
        if verdict != Verdict::Drop
            && let Some(virtual_queue) = &mut self.virtual_queue
        {
            virtual_queue.bytes += f64::from(packet.len);
        }
        verdict
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut Self::State,
        queue: QueueView,
        packet: Facts,
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
            self.signalled(core::mem::replace(&mut state.least, Span::MAX), now);
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

    fn is_forgettable(&mut self, state: &mut Self::State, now: Time) -> bool {
        self.aqm.is_forgettable(&mut state.aqm, now)
    }
}
