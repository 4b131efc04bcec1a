//! BBR version 3: version 1's model with bounds learnt from losses.
//! Source: draft-ietf-ccwg-bbr-01 (October 2024), whose names are in brackets where ours differ;
//! constants as it names them.
//! Rates are in payload bytes a second, volumes in segments.
//! Differences: a sample's volume in flight when sent (RS.tx_in_flight) is taken as what was
//! delivered or lost during its flight, which is the same while nothing is reordered; the volume
//! at which a probe failed is judged at the ACK that shows the loss, not segment by segment;
//! startup counts ACKs that show losses, as Linux's version, for the draft's lost ranges; a
//! spurious loss does not restore the bounds. The answer to ECN, which the draft leaves open, is
//! that of the authors' Linux version (`ecn`).

mod ecn;
mod flight;
mod rtt;

use super::bbr::{Base, MARGIN, MIN_WINDOW, Version, offload_unit};
use super::{AckEvent, INFINITE};
use crate::RateSample;
use crate::config::Config;
use ecn::Ecn;
use flight::{Flight, Log};
use sojourn_units::{Span, Time};

/// 4·ln 2: doubles the delivery rate every round trip.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.35;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
const PROBE_RTT_GAIN: f64 = 0.5;
/// What remains of a bound after a loss (BBRBeta).
const BETA: f64 = 0.7;
/// Share of `inflight_hi` that is left to others (BBRHeadroom).
const HEADROOM: f64 = 0.15;
/// ACKs with losses in a round that end startup (BBRStartupFullLossCnt).
const FULL_LOSSES: u32 = 6;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Wait between probes for bandwidth: this and up to a second more, or 63 rounds at most.
const PROBE_WAIT: Span = Span::from_secs(2);
const PROBE_WAIT_RANDOM_MILLIS: u64 = 1000;
const MAX_PROBE_ROUNDS: u32 = 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    /// One of the four phases of ProbeBW.
    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Which ACKs are coming in, seen from the last probe (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Plain,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The congestion control of draft-ietf-ccwg-bbr.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    base: Base,
    mode: Mode,
    losses: Log,

    /// A round that counts losses and marks ends when this much is delivered.
    loss_round_end: u64,
    loss_round_start: bool,
    loss_events: u32,
    latest_rate: f64,
    latest_delivered: u32,
    ecn: Ecn,

    /// Largest rates of this probing cycle and the last.
    bandwidth: [f64; 2],
    /// Short-term bounds (bw_lo, inflight_lo) and the long-term one (inflight_hi).
    rate_low: f64,
    low: u32,
    high: u32,

    full_bandwidth: f64,
    full_rounds: u32,
    full_now: bool,

    recent_rtt: Option<Span>,
    recent_rtt_at: Time,
    rtt_expired: bool,
    probe_done_at: Option<Time>,
    probe_round_done: bool,

    acks: Acks,
    phase_since: Time,
    probe_wait: Span,
    rounds_since_probe: u32,
    /// Samples come from a probe (bw_probe_samples).
    probed: bool,
    up_rounds: u32,
    up_acks: u32,
    up_count: u32,
}

impl Bbr3 {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            base: Base::new(config, STARTUP_GAIN),
            mode: Mode::Startup,
            losses: Log::default(),
            loss_round_end: 0,
            loss_round_start: false,
            loss_events: 0,
            latest_rate: 0.0,
            latest_delivered: 0,
            ecn: Ecn::default(),
            bandwidth: [0.0; 2],
            rate_low: f64::INFINITY,
            low: INFINITE,
            high: INFINITE,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full_now: false,
            recent_rtt: None,
            recent_rtt_at: Time::ZERO,
            rtt_expired: false,
            probe_done_at: None,
            probe_round_done: false,
            acks: Acks::Plain,
            phase_since: Time::ZERO,
            probe_wait: PROBE_WAIT,
            rounds_since_probe: 0,
            probed: false,
            up_rounds: 0,
            up_acks: 0,
            up_count: u32::MAX,
        }
    }

    fn max_bandwidth(&self) -> f64 {
        self.bandwidth[0].max(self.bandwidth[1])
    }

    /// The rate in force, below the long-term estimate after losses.
    fn rate(&self) -> f64 {
        self.max_bandwidth().min(self.rate_low)
    }

    /// BBRQuantizationBudget.
    fn with_allowance(&self, inflight: u32) -> u32 {
        let floor = (3 * offload_unit(self.base.pacing, self.base.mss)).max(MIN_WINDOW);
        inflight.max(floor) + if self.mode == Mode::Up { 2 } else { 0 }
    }

    fn inflight(&self, gain: f64) -> u32 {
        self.with_allowance(self.base.bdp(self.max_bandwidth(), gain))
    }

    /// What leaves room for others to start.
    fn with_headroom(&self) -> u32 {
        if self.high == INFINITE {
            return INFINITE;
        }
        let headroom = ((f64::from(self.high) * HEADROOM) as u32).max(1);
        self.high.saturating_sub(headroom).max(MIN_WINDOW)
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => STARTUP_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::Down => DOWN_GAIN,
            Mode::Up => UP_GAIN,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Up => UP_WINDOW_GAIN,
            Mode::ProbeRtt => PROBE_RTT_GAIN,
            _ => WINDOW_GAIN,
        }
    }

    fn start_round(&mut self, ack: &AckEvent) {
        self.base.round_end = ack.delivered_total;
    }

    fn update_rounds(&mut self, ack: &AckEvent, sample: RateSample, flight: &Flight) {
        if sample.prior_delivered >= self.base.round_end {
            self.start_round(ack);
            self.base.round_start = true;
            self.rounds_since_probe += 1;
            self.base.repair.conserving = false;
        }
        if sample.prior_delivered >= self.loss_round_end {
            self.loss_round_end = ack.delivered_total;
            self.loss_round_start = true;
        }
        self.latest_rate = self.latest_rate.max(flight.rate);
        self.latest_delivered = self.latest_delivered.max(flight.delivered);
        self.base.app_limited = flight.app_limited;
        if flight.rate >= self.max_bandwidth() || !flight.app_limited {
            self.bandwidth[0] = self.bandwidth[0].max(flight.rate);
        }
    }

    /// BBRAdaptLowerBoundsFromCongestion: once a round with losses or marks, unless a probe
    /// caused them. Marks lower the volume alone, by their share.
    fn adapt_lower_bounds(&mut self) {
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if probing || (self.loss_events == 0 && !self.ecn.in_round) {
            return;
        }
        if self.low == INFINITE {
            self.low = self.base.window;
        }
        let marked = if self.ecn.in_round {
            self.ecn.cut(self.low)
        } else {
            INFINITE
        };
        if self.loss_events > 0 {
            if self.rate_low.is_infinite() {
                self.rate_low = self.max_bandwidth();
            }
            self.rate_low = self.latest_rate.max(self.rate_low * BETA);
            self.low = self
                .latest_delivered
                .max((f64::from(self.low) * BETA) as u32);
        }
        self.low = self.low.min(marked);
    }

    fn reset_lower_bounds(&mut self) {
        self.rate_low = f64::INFINITY;
        self.low = INFINITE;
    }

    fn reset_full(&mut self, rate: f64) {
        self.full_bandwidth = rate;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn check_full(&mut self, flight: &Flight) {
        if self.full_now || flight.app_limited {
            return;
        }
        if flight.rate >= self.full_bandwidth * FULL_GROWTH {
            self.reset_full(flight.rate);
        } else if self.base.round_start {
            self.full_rounds += 1;
            self.full_now = self.full_rounds >= FULL_ROUNDS;
            self.base.full |= self.full_now;
        }
    }

    fn check_startup(&mut self, ack: &AckEvent, flight: &Flight) {
        if self.mode == Mode::Startup {
            let lossy = self.base.repair.is_active()
                && self.loss_round_start
                && self.loss_events >= FULL_LOSSES
                && flight.too_lossy();
            if lossy || self.ecn.too_marked_in_startup() {
                self.base.full = true;
                let bdp = self.base.bdp(self.max_bandwidth(), 1.0);
                self.high = bdp.max(self.latest_delivered);
            }
            if self.base.full {
                self.mode = Mode::Drain;
                self.ecn.forget_signals();
            }
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.inflight(1.0) {
            self.start_down(ack);
        }
    }

    fn start_down(&mut self, ack: &AckEvent) {
        self.loss_events = 0;
        self.latest_rate = 0.0;
        self.latest_delivered = 0;
        self.ecn.forget_signals();
        self.up_count = u32::MAX;
        self.rounds_since_probe = self.base.dice.below(2) as u32;
        let extra = self.base.dice.below(PROBE_WAIT_RANDOM_MILLIS + 1);
        self.probe_wait = PROBE_WAIT + Span::from_millis(extra);
        self.phase_since = ack.now;
        self.acks = Acks::ProbeStopping;
        self.start_round(ack);
        self.mode = Mode::Down;
    }

    /// Fills the pipe before a probe; that raises the bound by 2 to the `up_rounds` in its first
    /// round.
    fn start_refill(&mut self, ack: &AckEvent, up_rounds: u32) {
        self.reset_lower_bounds();
        self.up_rounds = up_rounds;
        self.up_acks = 0;
        self.acks = Acks::Refilling;
        self.start_round(ack);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, ack: &AckEvent, flight: &Flight) {
        self.acks = Acks::ProbeStarting;
        self.start_round(ack);
        self.reset_full(flight.rate);
        self.phase_since = ack.now;
        self.mode = Mode::Up;
        self.raise_slope();
    }

    /// The bound rises by 1, 2, 4 … segments a round.
    fn raise_slope(&mut self) {
        let growth = 1_u32 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (self.base.window / growth).max(1);
    }

    /// BBRUpdateProbeBWCyclePhase.
    fn update_phase(&mut self, ack: &AckEvent, flight: &Flight) {
        if !self.base.full {
            return;
        }
        self.adapt_upper_bound(ack, flight);
        match self.mode {
            // Half of the bound at once, where marks have ceased (ecn_reprobe_gain).
            Mode::Down | Mode::Cruise if self.ecn.has_ceased(ack.calm) => {
                self.start_refill(ack, (self.high / 2).max(1).ilog2());
            }
            Mode::Down | Mode::Cruise if self.time_to_probe(ack.now) => self.start_refill(ack, 0),
            Mode::Down => {
                let drained = ack.in_flight <= self.with_headroom();
                if drained && ack.in_flight <= self.inflight(1.0) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.base.round_start => {
                self.probed = true;
                self.start_up(ack, flight);
            }
            Mode::Up => {
                if ack.window_limited && self.base.window >= self.high {
                    // The bound, not the path, holds the rate back.
                    self.reset_full(flight.rate);
                } else if self.full_now {
                    self.start_down(ack);
                }
            }
            _ => {}
        }
    }

    /// After the random wait, or when Reno with this window would have grown by one BDP.
    fn time_to_probe(&self, now: Time) -> bool {
        let target = self.base.bdp(self.rate(), 1.0).min(self.base.window);
        now - self.phase_since > self.probe_wait
            || self.rounds_since_probe >= target.min(MAX_PROBE_ROUNDS)
    }

    /// BBRAdaptUpperBounds.
    fn adapt_upper_bound(&mut self, ack: &AckEvent, flight: &Flight) {
        if self.base.round_start {
            match self.acks {
                Acks::ProbeStarting => self.acks = Acks::ProbeFeedback,
                Acks::ProbeStopping => {
                    // The last samples of the probe are in.
                    self.acks = Acks::Plain;
                    self.probed = false;
                    if self.mode.probes_bandwidth() && !flight.app_limited {
                        self.advance_bandwidth();
                    }
                }
                _ => {}
            }
        }
        if flight.too_lossy() || flight.too_marked() {
            if self.probed {
                self.probe_failed(ack, flight);
            }
            return;
        }
        if self.high == INFINITE {
            return;
        }
        self.high = self.high.max(flight.volume);
        if self.mode == Mode::Up {
            self.probe_upward(ack);
        }
    }

    /// A probing cycle is over: its largest rate becomes the last one's.
    fn advance_bandwidth(&mut self) {
        if self.bandwidth[0] > 0.0 {
            self.bandwidth = [0.0, self.bandwidth[0]];
        }
    }

    /// BBRHandleInflightTooHigh.
    fn probe_failed(&mut self, ack: &AckEvent, flight: &Flight) {
        self.probed = false;
        if !flight.app_limited {
            let target = self.base.bdp(self.rate(), 1.0).min(self.base.window);
            let floor = (f64::from(target) * BETA) as u32;
            self.high = flight.volume.max(floor).min(INFINITE);
        }
        if self.mode == Mode::Up {
            self.start_down(ack);
        }
    }

    fn probe_upward(&mut self, ack: &AckEvent) {
        if !ack.window_limited || self.base.window < self.high {
            return;
        }
        self.up_acks += ack.delivered;
        if self.up_acks >= self.up_count {
            let steps = self.up_acks / self.up_count;
            self.up_acks -= steps * self.up_count;
            self.high = (self.high + steps).min(INFINITE);
        }
        if self.base.round_start {
            self.raise_slope();
        }
    }

    fn set_window(&mut self, ack: &AckEvent) {
        let extra = self.base.extra(self.max_bandwidth());
        let bdp = self.base.bdp(self.rate(), self.window_gain());
        self.base.follow(ack, self.with_allowance(bdp + extra));
        if self.mode == Mode::ProbeRtt {
            self.base.window = self.base.window.min(self.probe_rtt_window());
        }
        let bound = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.high,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => INFINITE,
        };
        self.base.window = self.base.window.min(bound.min(self.low).max(MIN_WINDOW));
    }

    /// BBRUpdateModelAndState, for an ACK with a rate sample.
    fn update_model(&mut self, ack: &AckEvent, sample: RateSample) {
        let flight = Flight::read(
            ack,
            sample,
            &mut self.losses,
            &mut self.ecn.log,
            self.base.mss,
        );
        self.update_rounds(ack, sample, &flight);
        let bandwidth = self.max_bandwidth();
        self.base.update_aggregation(ack, bandwidth);
        self.loss_events += u32::from(ack.lost > 0);
        if self.base.round_start {
            self.ecn.end_round(self.base.full);
        }
        if self.loss_round_start {
            self.adapt_lower_bounds();
        }
        self.check_full(&flight);
        self.check_startup(ack, &flight);
        if self.loss_round_start {
            self.loss_events = 0;
            self.ecn.in_round = false;
        }
        self.update_phase(ack, &flight);
        if self.loss_round_start {
            self.latest_rate = flight.rate;
            self.latest_delivered = flight.delivered;
        }
        self.ecn.note_flight(flight.lost, flight.marked);
    }
}

impl Version for Bbr3 {
    const STARTUP_GAIN: f64 = STARTUP_GAIN;

    fn base(&self) -> &Base {
        &self.base
    }

    fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }

    fn probes_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn threshold(&self) -> u32 {
        INFINITE
    }

    fn established(&mut self, rtt: Option<Span>, now: Time) {
        self.recent_rtt = rtt;
        self.recent_rtt_at = now;
    }

    fn acked(&mut self, ack: &AckEvent) {
        self.base.round_start = false;
        self.loss_round_start = false;
        self.ecn.note(ack);
        if let Some(sample) = ack.rate {
            self.update_model(ack, sample);
        } else {
            self.losses.note(ack.delivered_total, ack.lost);
            self.loss_events += u32::from(ack.lost > 0);
        }
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.base.pace(self.rate() * self.pacing_gain());
        self.set_window(ack);
    }

    fn undone(&mut self) {
        self.loss_events = 0;
        self.reset_full(0.0);
    }

    fn woken(&mut self, _now: Time) {
        if self.mode.probes_bandwidth() {
            self.base.pacing = self.rate() * MARGIN;
        }
    }
}

#[cfg(test)]
mod tests;
