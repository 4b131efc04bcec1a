//! Vegas: keeps between alpha and beta segments of its own in the queue.
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995, section 4. `Diff` is in segments:
//! (expected − actual)·BaseRTT = window·(RTT − BaseRTT)/RTT, with the round's shortest RTT.
//! As Linux: `Diff` is window·(RTT − BaseRTT)/BaseRTT in whole segments, more than the paper's
//! where the queue is long; judged once a round trip if there were more than two samples, else as
//! Reno; leaving slow start, the window falls to what fills the path without a queue, and one;
//! losses halve the window as Reno, until they are repaired Vegas is Reno, and the next judgement
//! comes a round trip later. Whether the window is used does not matter. BaseRTT is forgotten
//! whenever nothing was in flight.
//! Differences: the paper's early retransmission at the first duplicate ACK and its cut by a
//! quarter are the sender's matter and left out.

use super::{AckEvent, Congestion, CongestionControl, Window};
use crate::config::{Config, VegasConfig};
use sojourn_units::{Span, Time};

/// Fewer samples than this in a round may all be late ACKs.
const MIN_SAMPLES: u32 = 3;
/// The window never falls below this by delay alone.
const MIN_WINDOW: u32 = 2;

/// The congestion control of Brakmo and Peterson.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    thresholds: VegasConfig,
    /// Shortest round trip since nothing was in flight.
    base_rtt: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    /// Slow start pauses in this round, for a comparison in peace.
    pausing: bool,
    repairing: bool,
    /// Losses are repaired: a round begins with this ACK.
    restart: bool,
    /// What is delivered when the round ends; none until a recovery has begun one.
    round_end: Option<u64>,
}

impl Vegas {
    /// With the initial window and the thresholds of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            thresholds: config.vegas,
            base_rtt: None,
            round_min: None,
            samples: 0,
            pausing: false,
            repairing: false,
            restart: false,
            round_end: None,
        }
    }

    /// Nothing that was measured counts any more.
    fn forget(&mut self) {
        self.base_rtt = None;
        self.round_min = None;
        self.samples = 0;
    }

    /// Whether this ACK ends a round.
    fn ends_round(&mut self, ack: &AckEvent) -> bool {
        if core::mem::take(&mut self.restart) {
            self.round_end = Some(ack.delivered_total);
            self.start_round();
            return false;
        }
        let ends = match (self.round_end, ack.rate) {
            (Some(end), Some(rate)) => rate.prior_delivered >= end,
            _ => ack.round_start,
        };
        if ends && self.round_end.is_some() {
            self.round_end = Some(ack.delivered_total);
        }
        ends
    }

    /// `Diff`: segments in the queue by a round's RTT.
    fn queued(&self, rtt: Span, base: Span) -> f64 {
        let segments = u64::from(self.window.segments);
        if self.thresholds.by_base {
            // Linux has microseconds, and no zero.
            let (rtt, base) = (rtt.as_micros() + 1, base.as_micros() + 1);
            return (segments * (rtt - base) / base) as f64;
        }
        let rtt_nanos = rtt.as_nanos().max(1) as f64;
        segments as f64 * (rtt - base).as_nanos() as f64 / rtt_nanos
    }

    fn measure(&mut self, rtt: Span) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
    }

    fn start_round(&mut self) {
        self.round_min = None;
        self.samples = 0;
        self.pausing = self.thresholds.alternate_slow_start && !self.pausing;
    }

    /// Compares expected and actual throughput of the round that ends.
    fn judge(&mut self) {
        let (Some(rtt), Some(base)) = (self.round_min, self.base_rtt) else {
            return;
        };
        let queued = self.queued(rtt, base);
        if self.window.in_slow_start() {
            if queued > self.thresholds.gamma {
                let share = base.as_nanos() as f64 / rtt.as_nanos().max(1) as f64;
                let fitting = (f64::from(self.window.segments) * share) as u32 + 1;
                self.shrink_to(self.window.segments.min(fitting));
            }
        } else if queued > self.thresholds.beta {
            self.shrink_to(self.window.segments - 1);
        } else if queued < self.thresholds.alpha {
            self.window.segments += 1;
        }
        self.window.remember();
    }

    /// A smaller window, from which slow start does not begin again.
    fn shrink_to(&mut self, segments: u32) {
        let window = &mut self.window;
        window.segments = segments.max(MIN_WINDOW);
        window.ssthresh = window.ssthresh.min(window.segments).max(2);
    }
}

impl CongestionControl for Vegas {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt);
        }
        if self.repairing || !ack.may_grow {
            self.window.reno(ack);
            self.round_min = None;
            self.samples = 0;
            return;
        }
        let slow_start = self.window.in_slow_start();
        if self.ends_round(ack) {
            if self.samples >= MIN_SAMPLES {
                self.judge();
            } else if !slow_start {
                self.window.reno(ack);
            }
            self.start_round();
        }
        if self.window.in_slow_start() && !self.pausing {
            self.window.slow_start(ack.delivered);
        }
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        self.repairing = true;
        self.window.reduce(self.window.segments / 2, why, in_flight);
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.repairing = false;
        self.restart = true;
    }

    fn on_undo(&mut self) {
        self.repairing = false;
        self.restart = true;
        self.window.undo();
    }

    fn on_transmit_start(&mut self, _idle: Span, _now: Time) {
        // The route may have changed meanwhile.
        self.forget();
        self.restart = true;
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.window.application_limited(used);
    }
}

#[cfg(test)]
mod tests;
