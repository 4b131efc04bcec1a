//! BBR version 1: sends at the measured bandwidth and keeps about two BDP in flight.
//! Source: Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00. Constants
//! and the order of steps as Linux 6.x `tcp_bbr`, with its allowance for aggregated ACKs and for
//! segmentation offload in the window.
//! Rates are in payload bytes a second, windows in segments.
//! Differences: no detection of policers (Linux `lt_bw`); the paths here have none. Sending is
//! paced segment by segment, so there is no pacing quantum.

use super::{AckEvent, Congestion, CongestionControl, INFINITE};
use crate::config::Config;
use sojourn_units::{Rate, Span, Time};

mod filter;
pub(super) use filter::{
    AckAggregation, Dice, MARGIN, MIN_WINDOW, MaxFilter, Repair, initial_rate, offload_unit,
};

/// 2/ln 2, as Linux rounds it (2885/1000): doubles the rate every round trip.
const HIGH_GAIN: f64 = 2.885;
/// Its inverse (Linux: 1000/2885): undoes the queue of startup in one round trip.
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Window in bandwidth-delay products while probing for bandwidth.
const WINDOW_GAIN: f64 = 2.0;
/// Probe, drain, then cruise for six phases of one shortest RTT each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds that the bandwidth filter remembers.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// The pipe is full when the bandwidth grew by less than a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// How old the shortest RTT may get before it is measured afresh, with 4 segments for 200 ms.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Linux `tcp_bbr`'s congestion control.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: Config,
    mss: f64,
    window: u32,
    ssthresh: u32,
    mode: Mode,
    dice: Dice,
    /// Bytes a second.
    pacing: f64,

    rounds: u64,
    round_end: u64,
    round_start: bool,
    bandwidth: MaxFilter,
    aggregation: AckAggregation,

    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,

    min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_done_at: Option<Time>,
    probe_round_done: bool,
    idle_restart: bool,
    app_limited: bool,

    phase: usize,
    phase_since: Time,

    repair: Repair,
}

impl Bbr {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        let window = config.initial_window.clamp(1, INFINITE);
        Self {
            config: *config,
            mss: f64::from(config.mss.max(1)),
            window,
            ssthresh: INFINITE,
            mode: Mode::Startup,
            dice: Dice::default(),
            pacing: initial_rate(config, HIGH_GAIN, None),
            rounds: 0,
            round_end: 0,
            round_start: false,
            bandwidth: MaxFilter::default(),
            aggregation: AckAggregation::default(),
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_done_at: None,
            probe_round_done: false,
            idle_restart: false,
            app_limited: false,
            phase: 0,
            phase_since: Time::ZERO,
            repair: Repair::default(),
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth => CYCLE[self.phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `gain` bandwidth-delay products in segments; the initial window before any RTT.
    fn bdp(&self, gain: f64) -> u32 {
        let Some(rtt) = self.min_rtt else {
            return self.config.initial_window;
        };
        let bytes = self.bandwidth.max() * rtt.as_secs_f64() * gain;
        libm::ceil(bytes / self.mss).min(f64::from(INFINITE)) as u32
    }

    /// What a window needs beyond the BDP to keep the links busy (`bbr_quantization_budget`).
    fn with_allowance(&self, window: u32) -> u32 {
        let unit = offload_unit(self.pacing, self.mss);
        let even = (window + 3 * unit).next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even + if probing { 2 } else { 0 }
    }

    fn inflight(&self, gain: f64) -> u32 {
        self.with_allowance(self.bdp(gain))
    }

    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.round_start = false;
        let Some(sample) = ack.rate else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round_end = ack.delivered_total;
            self.rounds += 1;
            self.round_start = true;
            self.repair.conserving = false;
        }
        self.app_limited = sample.app_limited;
        let rate = sample.delivered as f64 / sample.interval.as_secs_f64();
        if !sample.app_limited || rate >= self.bandwidth.max() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, rate);
        }
    }

    fn update_phase(&mut self, ack: &AckEvent) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let full = self
            .min_rtt
            .is_some_and(|rtt| ack.now - self.phase_since > rtt);
        let gain = CYCLE[self.phase];
        let due = if gain > 1.0 {
            // Probe until the queue would show, or something is lost.
            full && (ack.lost > 0 || ack.prior_in_flight >= self.inflight(gain))
        } else if gain < 1.0 {
            full || ack.prior_in_flight <= self.inflight(1.0)
        } else {
            full
        };
        if due {
            self.next_phase(ack.now);
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = now;
    }

    fn start_probing(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        // Any phase but the draining one, so that flows do not probe in step.
        self.phase = CYCLE.len() - 1 - self.dice.below(CYCLE.len() as u64 - 1) as usize;
        self.next_phase(now);
    }

    fn check_full(&mut self) {
        if self.full || !self.round_start || self.app_limited {
            return;
        }
        if self.bandwidth.max() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.max();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(1.0);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.inflight(1.0) {
            self.start_probing(ack.now);
        }
    }

    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let expired = ack.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.repair.save(self.window, false);
            self.probe_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_done_at {
                None if ack.in_flight <= MIN_WINDOW => {
                    self.probe_done_at = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_round_done = false;
                    self.round_end = ack.delivered_total;
                }
                None => {}
                Some(_) => {
                    self.probe_round_done |= self.round_start;
                    if self.probe_round_done {
                        self.check_probe_done(ack.now);
                    }
                }
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_done(&mut self, now: Time) {
        if self.probe_done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_at = now;
        self.window = self.window.max(self.repair.saved());
        if self.full {
            self.start_probing(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_pacing(&mut self) {
        let rate = self.bandwidth.max() * self.pacing_gain() * MARGIN;
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn set_window(&mut self, ack: &AckEvent) {
        if ack.delivered > 0 {
            self.grow_window(ack);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_WINDOW);
        }
    }

    fn grow_window(&mut self, ack: &AckEvent) {
        if self.repair.modulate(&mut self.window, ack) {
            self.round_end = ack.delivered_total;
        }
        if self.repair.conserving {
            return;
        }
        let extra = if self.full {
            (self.aggregation.bytes(self.bandwidth.max()) / self.mss) as u32
        } else {
            0
        };
        let target = self.with_allowance(self.bdp(self.window_gain()) + extra);
        let first = u64::from(self.config.initial_window) * u64::from(self.config.mss);
        if self.full {
            self.window = (self.window + ack.delivered).min(target);
        } else if self.window < target || ack.delivered_total < first {
            self.window += ack.delivered;
        }
        self.window = self.window.max(MIN_WINDOW);
    }
}

impl CongestionControl for Bbr {
    fn window(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64(self.pacing * 8.0))
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn seed(&mut self, bits: u64) {
        self.dice = Dice::new(bits);
    }

    fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.pacing = initial_rate(&self.config, HIGH_GAIN, rtt);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.update_bandwidth(ack);
        self.aggregation.update(
            ack,
            self.bandwidth.max(),
            self.window,
            self.mss,
            self.round_start,
        );
        self.update_phase(ack);
        self.check_full();
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.set_pacing();
        self.set_window(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        if why == Congestion::Mark {
            // Version 1 does not react to marks.
            return;
        }
        self.repair.save(self.window, self.mode == Mode::ProbeRtt);
        self.repair.begin(why.is_timeout());
        if why.is_timeout() {
            self.full_bandwidth = 0.0;
            self.window = in_flight.saturating_add(1).min(self.window);
        }
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.repair.end();
    }

    fn on_undo(&mut self) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
        self.repair.end();
    }

    fn on_transmit_start(&mut self, _idle: Span, now: Time) {
        if !self.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.pacing = self.bandwidth.max() * MARGIN,
            Mode::ProbeRtt => self.check_probe_done(now),
            _ => {}
        }
    }

    fn on_idle_restart(&mut self, _timeouts: u32, restart: u32) {
        // Only after a lost SYN: the sender leaves idle times to a control that paces.
        self.window = self.window.min(restart.max(1));
    }

    fn on_application_limited(&mut self, _used: u32) {}
}

#[cfg(test)]
mod tests;
