//! DCTCP: reductions in proportion to the share of marked bytes.
//! Source: RFC 8257 sections 3.3 to 3.5; g = 1/16, alpha begins at 1. The receiver's exact echo
//! (section 3.2) is in `receiver`; with AccECN it counts instead.
//! As Linux: losses halve the window; otherwise Reno.
//! Difference: the ACK that ends an observation window and carries the first echo of the next
//! reduces by the alpha of before it; Linux updates alpha first.

use super::{AckEvent, Congestion, CongestionControl, Window};
use crate::config::Config;
use sojourn_units::Time;

/// Weight of a new observation (section 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// RFC 8257's congestion control.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    /// Estimated share of marked bytes.
    alpha: f64,
    /// Delivered in this observation window, and of it with an echo.
    bytes: u64,
    marked: u64,
    /// Delivered before this ACK.
    delivered: u64,
}

impl Dctcp {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            alpha: 1.0,
            bytes: 0,
            marked: 0,
            delivered: 0,
        }
    }

    fn observe(&mut self, ack: &AckEvent) {
        let new = ack.delivered_total.saturating_sub(self.delivered);
        self.delivered = ack.delivered_total;
        self.bytes += new;
        self.marked += ack.marked_bytes.min(new);
        if ack.round_start && self.bytes > 0 {
            let share = self.marked as f64 / self.bytes as f64;
            self.alpha = self.alpha * (1.0 - GAIN) + GAIN * share;
            self.bytes = 0;
            self.marked = 0;
        }
    }
}

impl CongestionControl for Dctcp {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.alpha)
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.observe(ack);
        self.window.reno(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        let segments = self.window.segments;
        let target = match why {
            Congestion::Mark => segments - (f64::from(segments) * self.alpha / 2.0) as u32,
            _ => segments / 2,
        };
        self.window.reduce(target, why, in_flight);
    }

    fn on_undo(&mut self) {
        self.window.undo();
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
