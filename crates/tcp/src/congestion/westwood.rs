//! Westwood+: Reno whose reductions follow an estimate of the bandwidth.
//! Source: Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: Bandwidth estimation for
//! enhanced transport over wireless links", MobiCom 2001, and Grieco and Mascolo, "Performance
//! evaluation and comparison of Westwood+, New Reno and Vegas", ACM CCR 34(2), 2004: one sample
//! a round trip, `ssthresh = BWE·RTTmin`.
//! As Linux: samples last at least 50 ms and pass two low-pass filters of 7/8; the shortest RTT
//! is forgotten at a timeout.
//! Differences: Linux lowers the window to half during recovery and sets `BWE·RTTmin` at its end;
//! here, as in the papers, it is the target from the start. A loss never raises the window.

use super::{AckEvent, Congestion, CongestionControl, Window};
use crate::config::Config;
use sojourn_units::{Span, Time};

/// Shortest time over which the bandwidth is measured.
const MIN_INTERVAL: Span = Span::from_millis(50);
/// What a filter keeps of its value at each sample.
const KEEP: f64 = 7.0 / 8.0;

/// Bytes per second, filtered twice.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    once: f64,
    twice: f64,
}

impl Bandwidth {
    fn first(sample: f64) -> Self {
        Self {
            once: sample,
            twice: sample,
        }
    }

    fn filter(&mut self, sample: f64) {
        self.once = KEEP * self.once + (1.0 - KEEP) * sample;
        self.twice = KEEP * self.twice + (1.0 - KEEP) * self.once;
    }
}

/// The congestion control of Mascolo et al.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    mss: u16,
    bandwidth: Option<Bandwidth>,
    rtt: Option<Span>,
    rtt_min: Option<Span>,
    /// When the running measurement began, and what had been delivered then.
    since: Option<(Time, u64)>,
}

impl Westwood {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            mss: config.mss.max(1),
            bandwidth: None,
            rtt: None,
            rtt_min: None,
            since: None,
        }
    }

    fn measure(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt);
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        let (since, delivered) = *self.since.get_or_insert((ack.now, ack.delivered_total));
        let elapsed = ack.now - since;
        if self.rtt.is_none_or(|rtt| elapsed <= rtt.max(MIN_INTERVAL)) {
            return;
        }
        let sample = ack.delivered_total.saturating_sub(delivered) as f64 / elapsed.as_secs_f64();
        match &mut self.bandwidth {
            Some(bandwidth) => bandwidth.filter(sample),
            None => self.bandwidth = Some(Bandwidth::first(sample)),
        }
        self.since = Some((ack.now, ack.delivered_total));
    }

    /// BWE·RTTmin in segments; half the window before the first estimate.
    fn target(&self) -> u32 {
        match (self.bandwidth, self.rtt_min) {
            (Some(bandwidth), Some(rtt)) => {
                (bandwidth.twice * rtt.as_secs_f64() / f64::from(self.mss)) as u32
            }
            _ => self.window.segments / 2,
        }
    }
}

impl CongestionControl for Westwood {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.measure(ack);
        self.window.reno(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        let mut target = self.target();
        if !why.is_timeout() {
            target = target.min(self.window.segments);
        }
        self.window.reduce(target, why, in_flight);
        if why.is_timeout() {
            self.rtt_min = self.rtt;
        }
    }

    fn on_undo(&mut self) {
        self.window.undo();
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        // Idle time is no measurement.
        self.since = None;
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.window.application_limited(used);
    }
}

#[cfg(test)]
mod tests;
