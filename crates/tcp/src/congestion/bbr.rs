//! BBR version 1: sends at the measured bandwidth and keeps about two BDP in flight.
//! Source: Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00. Constants
//! and the order of steps as Linux 6.x `tcp_bbr`, with its allowance for aggregated ACKs and for
//! segmentation offload in the window.
//! Rates are in payload bytes a second, windows in segments.
//! As Linux without segmentation offload, sending is paced segment by segment: there is no quantum.

use super::{AckEvent, Congestion, CongestionControl, INFINITE};
use crate::config::Config;
use policer::Policer;
use sojourn_units::{Span, Time};

mod base;
mod filter;
mod policer;
pub(super) use base::{Base, MIN_WINDOW, Version};
use filter::MaxFilter;
pub(super) use filter::{MARGIN, offload_unit};

/// 2/ln 2 in Linux's units of 1/256, rounded up: doubles the rate every round trip.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Its inverse, rounded down: undoes the queue of startup in one round trip.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
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
    base: Base,
    ssthresh: u32,
    mode: Mode,
    rounds: u64,
    bandwidth: MaxFilter,
    policer: Policer,
    full_bandwidth: f64,
    full_rounds: u32,
    probe_done_at: Option<Time>,
    probe_round_done: bool,
    phase: usize,
    phase_since: Time,
}

impl Bbr {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            base: Base::new(config, HIGH_GAIN),
            ssthresh: INFINITE,
            mode: Mode::Startup,
            rounds: 0,
            bandwidth: MaxFilter::default(),
            policer: Policer::default(),
            full_bandwidth: 0.0,
            full_rounds: 0,
            probe_done_at: None,
            probe_round_done: false,
            phase: 0,
            phase_since: Time::ZERO,
        }
    }

    /// The estimate in force: a policer's rate goes before the largest one measured.
    fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.max())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth if self.policer.rate().is_some() => 1.0,
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

    /// What a window needs beyond the BDP to keep the links busy (`bbr_quantization_budget`).
    fn with_allowance(&self, window: u32) -> u32 {
        let unit = offload_unit(self.base.pacing, self.base.mss);
        let even = (window + 3 * unit).next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even + if probing { 2 } else { 0 }
    }

    /// What the largest rate measured keeps in flight, whatever a policer allows.
    fn inflight(&self, gain: f64) -> u32 {
        self.with_allowance(self.base.bdp(self.bandwidth.max(), gain))
    }

    /// What `in_flight` will have become when pacing lets the next segment go, with that segment
    /// if the window is meant to grow (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, in_flight: u32, ack: &AckEvent) -> u32 {
        let delivered = self.rate() * ack.pacing_wait.as_secs_f64() / self.base.mss;
        let sent = if self.pacing_gain() > 1.0 {
            offload_unit(self.base.pacing, self.base.mss)
        } else {
            0
        };
        (in_flight + sent).saturating_sub(delivered as u32)
    }

    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.base.round_start = false;
        self.policer.note_losses(ack);
        let Some(sample) = ack.rate else {
            return;
        };
        if sample.prior_delivered >= self.base.round_end {
            self.base.round_end = ack.delivered_total;
            self.rounds += 1;
            self.base.round_start = true;
            self.base.repair.conserving = false;
        }
        self.look_for_policers(ack);
        self.base.app_limited = sample.app_limited;
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
            .base
            .min_rtt
            .is_some_and(|rtt| ack.now - self.phase_since > rtt);
        let gain = self.pacing_gain();
        let in_flight = self.at_departure(ack.prior_in_flight, ack);
        let due = if gain > 1.0 {
            // Probe until the queue would show, or something is lost.
            full && (ack.lost_by_ack > 0 || in_flight >= self.inflight(gain))
        } else if gain < 1.0 {
            full || in_flight <= self.inflight(1.0)
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
        self.phase = CYCLE.len() - 1 - self.base.dice.below(CYCLE.len() as u64 - 1) as usize;
        self.next_phase(now);
    }

    fn check_full(&mut self) {
        if self.base.full || !self.base.round_start || self.base.app_limited {
            return;
        }
        if self.bandwidth.max() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.max();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.base.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.base.full {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(1.0);
        }
        if self.mode == Mode::Drain && self.at_departure(ack.in_flight, ack) <= self.inflight(1.0) {
            self.start_probing(ack.now);
        }
    }

    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let expired = ack.now > self.base.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.base.min_rtt.is_none_or(|least| rtt < least))
        {
            self.base.min_rtt = Some(rtt);
            self.base.min_rtt_at = ack.now;
        }
        if expired && !self.base.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.base.repair.save(self.base.window, false);
            self.probe_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_done_at {
                None if ack.in_flight <= MIN_WINDOW => {
                    self.probe_done_at = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_round_done = false;
                    self.base.round_end = ack.delivered_total;
                }
                None => {}
                Some(_) => {
                    self.probe_round_done |= self.base.round_start;
                    if self.probe_round_done {
                        self.check_probe_done(ack.now);
                    }
                }
            }
        }
        if ack.delivered > 0 {
            self.base.idle_restart = false;
        }
    }

    fn check_probe_done(&mut self, now: Time) {
        if self.probe_done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.base.min_rtt_at = now;
        self.base.window = self.base.window.max(self.base.repair.saved());
        if self.base.full {
            self.start_probing(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_window(&mut self, ack: &AckEvent) {
        let extra = self.base.extra(self.rate());
        let bdp = self.base.bdp(self.rate(), self.window_gain());
        self.base.follow(ack, self.with_allowance(bdp + extra));
        if self.mode == Mode::ProbeRtt {
            self.base.window = self.base.window.min(MIN_WINDOW);
        }
    }

    /// Whoever was held to a policer's rate for long enough probes again.
    fn look_for_policers(&mut self, ack: &AckEvent) {
        let probing = self.mode == Mode::ProbeBandwidth;
        let mss = self.base.mss;
        if self
            .policer
            .on_ack(ack, mss, self.base.round_start, probing)
        {
            self.start_probing(ack.now);
        }
    }
}

impl Version for Bbr {
    const STARTUP_GAIN: f64 = HIGH_GAIN;

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
        self.ssthresh
    }

    fn acked(&mut self, ack: &AckEvent) {
        self.update_bandwidth(ack);
        let bandwidth = self.rate();
        self.base.update_aggregation(ack, bandwidth);
        self.update_phase(ack);
        self.check_full();
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.base.pace(self.rate() * self.pacing_gain());
        self.set_window(ack);
    }

    fn timed_out(&mut self) {
        self.full_bandwidth = 0.0;
    }

    fn undone(&mut self) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
        self.policer.forget();
    }

    fn woken(&mut self, now: Time) {
        match self.mode {
            Mode::ProbeBandwidth => self.base.pacing = self.rate() * MARGIN,
            Mode::ProbeRtt => self.check_probe_done(now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
