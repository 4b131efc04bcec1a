//! Compound TCP: a loss-based window as Reno's plus one that follows the delay.
//! Source: Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-Speed and Long
//! Distance Networks", INFOCOM 2006, equations 1 to 5; draft-sridharan-tcpm-ctcp-02.
//! win = cwnd + dwnd; cwnd grows by 1/win an ACK. Once a round trip, with
//! diff = win·(1 − baseRTT/RTT), the segments in the queue:
//! dwnd += max(alpha·win^k − 1, 0) while diff < gamma, else dwnd = max(dwnd − zeta·diff, 0);
//! at a loss cwnd is halved and dwnd = max(win·(1 − beta) − cwnd/2, 0).
//! (The study "codel-red" prints a sign of these wrong; the paper and the draft agree on them.)
//! RTT is the mean of the round's samples. Below 41 segments Compound is Reno (the low window; 38
//! in ns-2's port), and dwnd is given up.
//! Differences: gamma is fixed, not tuned as the draft suggests; slow start is judged by win.

use super::{AckEvent, Congestion, CongestionControl, Window};
use crate::config::Config;
use sojourn_units::{Span, Time};

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const K: f64 = 0.75;
const GAMMA: f64 = 30.0;
const ZETA: f64 = 1.0;
const LOW_WINDOW: f64 = 41.0;

/// The congestion control of Tan et al.
#[derive(Clone, Debug)]
pub struct Compound {
    /// The loss-based part; its threshold is that of the whole window.
    window: Window,
    /// The delay-based part (dwnd).
    delay: f64,
    /// It before the last reduction.
    prior_delay: f64,
    base_rtt: Option<Span>,
    sum: Span,
    samples: u32,
}

impl Compound {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            delay: 0.0,
            prior_delay: 0.0,
            base_rtt: None,
            sum: Span::ZERO,
            samples: 0,
        }
    }

    fn total(&self) -> f64 {
        f64::from(self.window.segments) + self.delay
    }

    /// The law of the delay-based window, once a round trip.
    fn adapt(&mut self) {
        let Some(base) = self.base_rtt.filter(|_| self.samples > 0) else {
            return;
        };
        let total = self.total();
        if total < LOW_WINDOW {
            self.delay = 0.0;
            return;
        }
        let rtt = self.sum / u64::from(self.samples);
        let queued = total * (rtt - base).as_nanos() as f64 / rtt.as_nanos().max(1) as f64;
        self.delay = if queued < GAMMA {
            self.delay + (ALPHA * libm::pow(total, K) - 1.0).max(0.0)
        } else {
            (self.delay - ZETA * queued).max(0.0)
        };
    }

    fn forget_round(&mut self) {
        self.sum = Span::ZERO;
        self.samples = 0;
    }
}

impl CongestionControl for Compound {
    fn window(&self) -> u32 {
        self.window.segments.saturating_add(self.delay as u32)
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
            self.sum += rtt;
            self.samples += 1;
        }
        let grows = ack.may_grow && ack.window_limited;
        let slow_start = self.window() < self.window.ssthresh;
        if ack.round_start {
            if grows && !slow_start {
                self.adapt();
            }
            self.forget_round();
        }
        if !grows {
            return;
        }
        if slow_start {
            self.window.slow_start(ack.delivered);
        } else {
            self.window.grow(ack.delivered, 1.0 / self.total());
        }
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        if why != Congestion::TimeoutAgain {
            self.prior_delay = self.delay;
        }
        let half = f64::from(self.window.segments) / 2.0;
        let target = self.total() * (1.0 - BETA);
        self.delay = if why.is_timeout() {
            0.0
        } else {
            (target - half).max(0.0)
        };
        self.window.reduce(target as u32, why, in_flight);
        if !why.is_timeout() {
            let part = self.window.ssthresh.saturating_sub(self.delay as u32);
            self.window.segments = part.max(1);
        }
    }

    fn on_undo(&mut self) {
        self.window.undo();
        self.delay = self.delay.max(self.prior_delay);
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.delay = 0.0;
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.delay = 0.0;
        self.window.application_limited(used);
    }
}

#[cfg(test)]
mod tests;
