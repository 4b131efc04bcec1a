//! Vegas: keeps between alpha and beta segments of its own in the queue.
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995, section 4. `Diff` is in segments:
//! (expected − actual)·BaseRTT = window·(RTT − BaseRTT)/RTT, with the round's shortest RTT.
//! As Linux: `Diff` is window·(RTT − BaseRTT)/BaseRTT in whole segments, more than the paper's
//! where the queue is long; judged once a round trip if there were more than two samples, else as
//! Reno; leaving slow start, the window falls to what fills the path without a queue, and one;
//! losses halve the window as Reno; while segments are out of order or lost Vegas is Reno, and the
//! next judgement comes a round trip later. Whether the window is used does not matter. BaseRTT is
//! forgotten whenever something is sent with nothing in flight, and the delay counts from then on,
//! also before losses are repaired. So a window of two, whose segments one ACK answers, grows as
//! Reno's.
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
    /// What the last ACK said, or a loss since.
    calm: bool,
    /// The delay counts; otherwise this is Reno.
    is_on: bool,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
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
            calm: true,
            is_on: true,
            round_end: 0,
        }
    }

    /// From now on the delay counts, in a round that ends behind `next`.
    fn turn_on(&mut self, next: u64) {
        self.is_on = true;
        self.round_end = next;
        self.round_min = None;
        self.samples = 0;
    }

    /// `Diff`: segments in the queue by a round's RTT.
    fn queued(&self, rtt: u64, base: u64) -> f64 {
        let segments = u64::from(self.window.segments);
        if self.thresholds.by_base {
            return (segments * (rtt - base) / base) as f64;
        }
        segments as f64 * (rtt - base) as f64 / rtt as f64
    }

    fn measure(&mut self, rtt: Span) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
    }

    /// Compares expected and actual throughput of the round that ends with this ACK.
    fn judge(&mut self, ack: &AckEvent) {
        let (Some(rtt), Some(base)) = (self.round_min, self.base_rtt) else {
            return;
        };
        // As Linux, in microseconds, and none of zero.
        let [rtt, base] = [rtt, base].map(|span| span.as_micros() + 1);
        let queued = self.queued(rtt, base);
        if self.window.in_slow_start() {
            if queued > self.thresholds.gamma {
                let segments = self.window.segments;
                let fitting = u64::from(segments) * base / rtt;
                self.shrink_to(segments.min(fitting as u32 + 1));
            } else {
                self.slow_start(ack);
            }
        } else if queued > self.thresholds.beta {
            self.shrink_to(self.window.segments - 1);
        } else if queued < self.thresholds.alpha {
            self.window.segments += 1;
        }
        self.window.remember();
    }

    fn slow_start(&mut self, ack: &AckEvent) {
        if !self.pausing {
            self.window.slow_start(ack.delivered);
        }
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
        if ack.calm != self.calm {
            self.calm = ack.calm;
            self.is_on = false;
            if ack.calm {
                self.turn_on(ack.next);
            }
        }
        if !ack.may_grow {
            return;
        }
        if !self.is_on {
            self.window.reno(ack);
        } else if ack.una > self.round_end {
            self.pausing = self.thresholds.alternate_slow_start && !self.pausing;
            if self.samples >= MIN_SAMPLES {
                self.judge(ack);
            } else if !(self.pausing && self.window.in_slow_start()) {
                self.window.reno(ack);
            }
            self.turn_on(ack.next);
        } else if self.window.in_slow_start() {
            self.slow_start(ack);
        }
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        self.calm = false;
        self.is_on = false;
        self.window.reduce(self.window.segments / 2, why, in_flight);
    }

    fn on_undo(&mut self) {
        self.window.undo();
    }

    fn on_transmit_start(&mut self, _idle: Span, next: u64, _now: Time) {
        // The route may have changed meanwhile.
        self.base_rtt = None;
        self.turn_on(next);
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
