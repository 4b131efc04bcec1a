//! RED: drops on arrival with a probability that grows with the average queue.
//!
//! Source: Floyd and Jacobson 1993 (section 4, figure 2); gentle: Floyd 2000; adaptive: Floyd,
//! Gummadi and Shenker 2001, as in Linux `red.h`; options: `tc-red(8)`, ns-2's `Queue/RED`.
//! Units: the average and its thresholds are bytes or packets ([`RedUnit`]); times are integer
//! nanoseconds; probabilities are 0 to 1.
//!
//! There is no timer. The adaptive form's updates, every 500 ms since time zero, are made up for
//! at the next arrival; meanwhile the average is constant or decays by the idle rule, so the
//! result is the same as with a timer.
//!
//! The distance between two marks is drawn once, as in Linux, and compared with the probability of
//! the moment; with `wait` or `bytemode`, rules of ns-2's, it is the paper's `p/(1 - count·p)` at
//! each packet, which is the same while the probability stands still.
//!
//! Differs from Linux: the average and its idle decay are exact, not shifts and a table; a drop
//! into an empty queue does not end its idle time. And `adaptive` adapts: today's tc sends it as
//! an attribute (`TCA_RED_FLAGS`), where `sch_red.c` looks into the old field, in 6.1 and 7.3
//! alike, so that Linux's RED does not. With `law linux` ours does not either.
//! Differs from ns-2: `wait`, `spare` and `bytemode`, its rules, are off unless asked for, as in
//! the paper and in Linux.
//!
//! Not here: the hard limit, which the queue enforces.

use crate::accounts::{Counters, DropReason};
use crate::aqm::{Aqm, Facts, QueueView, Verdict};
use crate::params::{RedLaw, RedParams, RedUnit, RedWeight};
use crate::report::{Field, int};
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// Interval of the adaptive form's updates.
const ADAPT_EVERY: Span = Span::from_millis(500);
/// Updates made up for at once. Seventy take the probability from one end to the other.
const MAX_CATCH_UP: u32 = 256;
/// The adaptive form keeps the probability in this range.
const ADAPT_RANGE: (f64, f64) = (0.01, 0.5);

/// RED's parameters, its dice and its counts.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    weight: f64,
    /// Time of one mean packet on the link.
    packet_time: Span,
    dice: Stream,
    counters: RedCounters,
}

/// What RED counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedCounters {
    /// Drops with the probability between the thresholds.
    pub prob_drop: u64,
    /// Marks with the probability between the thresholds.
    pub prob_mark: u64,
    /// Drops above the upper threshold.
    pub forced_drop: u64,
    /// Marks above the upper threshold.
    pub forced_mark: u64,
}

/// RED's variables for one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RedState {
    /// The average queue, in the unit of the thresholds.
    pub average: f64,
    /// The adaptive form's probability at the upper threshold; none before it adapted.
    pub adapted: Option<f64>,
    /// Packets since the last mark or drop, while the average is over the lower threshold; with
    /// `bytemode` mean packets.
    count: Option<f64>,
    /// The share of the longest distance at which the next one is hit.
    drawn: f64,
    idle: Idle,
    next_adapt: Time,
}

/// Since when the link has had nothing to send.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Idle {
    /// Never used, or packets wait.
    #[default]
    No,
    /// The last packet will have been sent then, if `bandwidth` is the link's.
    Emptied(Time),
    /// The link asked for more then.
    Since(Time),
}

/// What the average says about an arrival.
enum Zone {
    Below,
    Between(f64),
    Above,
}

/// The binary logarithm of 1/weight that tc derives from `burst`: the least `n` from 1 to 31
/// with `burst + 1 − min ≤ (1 − (1 − 2⁻ⁿ)^burst) / 2⁻ⁿ`, where `min` is the lower threshold in
/// mean packets. None when the burst is too small for this threshold, or too large for any.
/// From 10 on tc warns that the average is very slow.
pub fn red_wlog(min_packets: f64, burst: u32) -> Option<u8> {
    let left = f64::from(burst) + 1.0 - min_packets;
    if left < 1.0 {
        return None;
    }
    (1..32).find(|&n| {
        let weight = libm::exp2(-f64::from(n));
        left <= (1.0 - libm::pow(1.0 - weight, f64::from(burst))) / weight
    })
}

/// tc's `Plog`: the least `n` with `probability · 2ⁿ > max − min`, all in tc's bytes. None when
/// there is none below 32.
pub fn red_plog(min: u64, max: u64, probability: f64) -> Option<u8> {
    let step = probability / max.saturating_sub(min).max(1) as f64;
    (0..32).find(|&n| step * libm::exp2(f64::from(n)) > 1.0)
}

impl Red {
    /// The dice decide which packets are hit.
    pub fn new(params: RedParams, dice: Stream) -> Self {
        let mut red = Self {
            params,
            weight: 1.0,
            packet_time: Span::ZERO,
            dice,
            counters: RedCounters::default(),
        };
        red.set_params(params);
        red
    }

    /// The parameters in force.
    pub const fn params(&self) -> &RedParams {
        &self.params
    }

    /// Changes the parameters from the next packet on; the average goes on from where it is.
    ///
    /// A burst that [`red_wlog`] refuses, which no parsed spec has, counts as the nearest weight.
    pub fn set_params(&mut self, params: RedParams) {
        let avpkt = params.avpkt.max(1);
        self.weight = match params.weight {
            RedWeight::Exact(weight) => weight.clamp(0.0, 1.0),
            RedWeight::Burst(burst) => {
                let min = match params.unit {
                    RedUnit::Packets => params.min as f64,
                    RedUnit::Bytes => params.min as f64 / f64::from(avpkt),
                };
                let too_small = f64::from(burst) < min;
                let wlog = red_wlog(min, burst).unwrap_or(if too_small { 1 } else { 31 });
                libm::exp2(-f64::from(wlog))
            }
        };
        self.packet_time = params.bandwidth.time_for(u64::from(avpkt));
        self.params = params;
    }

    /// Counts since construction.
    pub const fn counters(&self) -> &RedCounters {
        &self.counters
    }

    /// Weight of a new sample in the average, 0 to 1.
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    fn adapts(&self) -> bool {
        self.params.adaptive && self.params.law == RedLaw::Paper
    }

    /// Probability at the upper threshold now: the parameter, or what it was adapted to.
    pub fn max_probability(&self, state: &RedState) -> f64 {
        match state.adapted {
            Some(probability) if self.adapts() => probability,
            _ => self.params.probability,
        }
    }

    fn measure(&self, queue: QueueView) -> f64 {
        match self.params.unit {
            RedUnit::Bytes => queue.bytes as f64,
            RedUnit::Packets => f64::from(queue.packets),
        }
    }

    /// The average as if `packets` mean packets had found an empty queue (section 4 of the
    /// paper).
    fn decayed(&self, average: f64, packets: f64) -> f64 {
        average * libm::pow(1.0 - self.weight, packets)
    }

    /// Mean packets that the link could have sent between `since` and `now`.
    fn idle_packets(&self, since: Time, now: Time) -> f64 {
        (now - since).as_nanos() as f64 / self.packet_time.as_nanos().max(1) as f64
    }

    /// The average for an arrival that finds `queue` waiting.
    #[inline]
    fn average(&self, state: &mut RedState, queue: QueueView, now: Time) {
        state.average = match core::mem::take(&mut state.idle) {
            Idle::No => state.average + self.weight * (self.measure(queue) - state.average),
            Idle::Since(time) => self.decayed(state.average, self.idle_packets(time, now)),
            // The link may have been busy until now: at least this arrival counts.
            Idle::Emptied(time) => {
                self.decayed(state.average, self.idle_packets(time, now).max(1.0))
            }
        };
    }

    #[cold]
    fn adapt(&self, state: &mut RedState, now: Time) {
        let (min, max) = (self.params.min as f64, self.params.max as f64);
        let low = min + 0.4 * (max - min);
        let high = min + 0.6 * (max - min);
        // Before the first packet there is nothing to adapt to.
        let mut left = if state.next_adapt == Time::ZERO {
            0
        } else {
            MAX_CATCH_UP
        };
        let mut probability = self.max_probability(state);
        while now >= state.next_adapt && left > 0 {
            let average = match state.idle {
                Idle::No => state.average,
                Idle::Emptied(t) | Idle::Since(t) => {
                    self.decayed(state.average, self.idle_packets(t, state.next_adapt))
                }
            };
            if average > high && probability <= ADAPT_RANGE.1 {
                probability += (probability / 4.0).min(0.01);
            } else if average < low && probability >= ADAPT_RANGE.0 {
                probability *= 0.9;
            } else if state.idle == Idle::No || average < low {
                // Nothing will change until the next arrival.
                break;
            }
            state.next_adapt += ADAPT_EVERY;
            left -= 1;
        }
        state.adapted = Some(probability);
        if now >= state.next_adapt {
            let overdue = (now - state.next_adapt).as_nanos() / ADAPT_EVERY.as_nanos();
            state.next_adapt += ADAPT_EVERY * (overdue + 1);
        }
    }

    fn zone(&self, state: &RedState) -> Zone {
        let (min, max) = (self.params.min as f64, self.params.max as f64);
        let average = state.average;
        if average < min {
            return Zone::Below;
        }
        let top = self.max_probability(state);
        if average < max {
            Zone::Between(top * (average - min) / (max - min))
        } else if self.params.gentle && average < 2.0 * max {
            Zone::Between(top + (1.0 - top) * (average - max) / max)
        } else {
            Zone::Above
        }
    }

    /// Whether a packet between the thresholds is hit. The distance between two is uniform from 1
    /// to 1/probability, and counts from the first packet above the lower threshold (Linux
    /// `red_action`).
    fn is_hit(&mut self, state: &mut RedState, packet: Facts<'_>, probability: f64) -> bool {
        if self.params.wait || self.params.bytemode {
            return self.is_hit_by_lot(state, packet, probability);
        }
        let count = state.count.map(|before| before + 1.0);
        let hit = count.is_some_and(|count| count * probability >= state.drawn);
        if hit || count.is_none() {
            state.drawn = self.dice.unit();
        }
        state.count = Some(if hit { 0.0 } else { count.unwrap_or(0.0) });
        hit
    }

    /// The same by a lot for each packet (section 7 of the paper, method 2): at a distance from 1
    /// to 1/probability, or with `wait` from there to twice that; then the first packet counts too,
    /// as in ns-2 and ns-3, and is not hit. With `bytemode` the distance counts mean packets, and a
    /// packet of twice the mean is twice as likely to be hit.
    fn is_hit_by_lot(&mut self, state: &mut RedState, packet: Facts<'_>, probability: f64) -> bool {
        let weight = if self.params.bytemode {
            f64::from(packet.len) / f64::from(self.params.avpkt.max(1))
        } else {
            1.0
        };
        let Some(before) = state.count else {
            if self.params.wait {
                state.count = Some(weight);
                return false;
            }
            return self.is_hit_after(state, 0.0, weight, probability);
        };
        self.is_hit_after(state, before + weight, weight, probability)
    }

    /// The same at a distance of `count` from the last hit.
    fn is_hit_after(
        &mut self,
        state: &mut RedState,
        count: f64,
        weight: f64,
        probability: f64,
    ) -> bool {
        let passed = count * probability;
        let (early, rest) = if self.params.wait {
            (passed < 1.0, 2.0 - passed)
        } else {
            (false, 1.0 - passed)
        };
        let hit = !early && (rest <= 0.0 || self.dice.chance(probability / rest * weight));
        state.count = Some(if hit { 0.0 } else { count });
        hit
    }

    /// Mark, drop, or spare the packet that was hit.
    fn signal(&mut self, packet: Facts<'_>, forced: bool) -> Verdict {
        let (p, c) = (&self.params, &mut self.counters);
        let may_mark = p.ecn && !(forced && p.harddrop);
        let (count, verdict) = match (may_mark && packet.ect(), forced) {
            (true, true) => (&mut c.forced_mark, Verdict::Mark),
            (true, false) => (&mut c.prob_mark, Verdict::Mark),
            (false, _) if may_mark && p.nodrop => return Verdict::Pass,
            (false, true) => (&mut c.forced_drop, Verdict::Drop),
            (false, false) => (&mut c.prob_drop, Verdict::Drop),
        };
        *count += 1;
        verdict
    }
}

impl Aqm for Red {
    type State = RedState;
    type Params = RedParams;

    const SEES_ALL_ARRIVALS: bool = true;

    #[inline]
    fn arrive(
        &mut self,
        state: &mut RedState,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        if self.adapts() && now >= state.next_adapt {
            self.adapt(state, now);
        }
        self.average(state, queue, now);
        if self.params.spare && self.measure(queue) <= 1.0 {
            // A large average outlives the queue: without this, drops would keep the link idle.
            state.count = None;
            return Verdict::Pass;
        }
        let verdict = match self.zone(state) {
            Zone::Below => {
                state.count = None;
                Verdict::Pass
            }
            Zone::Between(probability) => {
                if self.is_hit(state, packet, probability) {
                    self.signal(packet, false)
                } else {
                    Verdict::Pass
                }
            }
            Zone::Above => {
                let by_lot = self.params.wait || self.params.bytemode;
                state.count = by_lot.then_some(0.0);
                self.signal(packet, true)
            }
        };
        if verdict == Verdict::Drop && queue.packets == 0 {
            // A drop leaves the queue as empty as it was: the link is idle on. Else the average
            // would fall by one sample an arrival, and a link with nothing but timeouts starve.
            state.idle = Idle::Emptied(now);
        }
        verdict
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut RedState,
        queue: QueueView,
        packet: Facts<'_>,
        _sojourn: Span,
        now: Time,
    ) -> Verdict {
        if queue.packets == 0 {
            let sent = now + self.params.bandwidth.time_for(u64::from(packet.len));
            state.idle = Idle::Emptied(sent);
        }
        Verdict::Pass
    }

    #[inline]
    fn found_empty(&mut self, state: &mut RedState, now: Time) {
        if let Idle::Emptied(_) = state.idle {
            state.idle = Idle::Since(now);
        }
    }

    fn is_forgettable(&mut self, state: &mut RedState, _now: Time) -> bool {
        state.average <= 0.0 && state.adapted.is_none()
    }

    fn retune(&mut self, params: RedParams) {
        self.set_params(params);
    }

    fn statistics(&self, _state: &RedState, counters: &Counters, _now: Time) -> Vec<Field> {
        let own = &self.counters;
        Vec::from([
            int("marked", own.prob_mark + own.forced_mark),
            int("early", own.prob_drop + own.forced_drop),
            int("pdrop", counters.dropped_for(DropReason::Tail)),
            int("other", 0_u32),
        ])
    }

    fn overlimits(&self) -> u64 {
        let own = &self.counters;
        own.prob_mark + own.forced_mark + own.prob_drop + own.forced_drop
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}
