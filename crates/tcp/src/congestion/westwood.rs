//! Westwood+: Reno whose reductions follow an estimate of the bandwidth.
//! Source: Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: Bandwidth estimation for
//! enhanced transport over wireless links", MobiCom 2001, and Grieco and Mascolo, "Performance
//! evaluation and comparison of Westwood+, New Reno and Vegas", ACM CCR 34(2), 2004: one sample
//! a round trip, `ssthresh = BWE·RTTmin`.
//! As Linux: congestion halves the window as Reno's, and `BWE·RTTmin` becomes window and threshold
//! when recovery ends, which may raise them; samples last at least 50 ms and pass two low-pass
//! filters of 7/8; the shortest RTT is forgotten at a timeout. Rates are whole bytes a tick,
//! times whole ticks rounded up, with ticks of 1 ms (`HZ` 1000).
//! Difference: delivered bytes are counted as they are, not reckoned from duplicate ACKs.

use super::{AckEvent, Congestion, CongestionControl, Window};
use crate::config::Config;
use sojourn_units::Time;

const TICK: u64 = 1_000_000;
/// Shortest time over which the bandwidth is measured, in ticks.
const MIN_INTERVAL: u64 = 50;

/// Bytes a tick, filtered twice.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    once: u64,
    twice: u64,
}

impl Bandwidth {
    fn filter(&mut self, sample: u64) {
        if (self.once, self.twice) == (0, 0) {
            (self.once, self.twice) = (sample, sample);
            return;
        }
        self.once = (7 * self.once + sample) / 8;
        self.twice = (7 * self.twice + self.once) / 8;
    }
}

/// The congestion control of Mascolo et al.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    mss: u16,
    bandwidth: Bandwidth,
    /// In ticks.
    rtt: Option<u64>,
    rtt_min: Option<u64>,
    /// The episode that runs began with a loss or a mark and without a timeout.
    reducing: bool,
    /// When the running measurement began, and what had been delivered then.
    since: Option<(Time, u64)>,
}

impl Westwood {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            mss: config.mss.max(1),
            bandwidth: Bandwidth::default(),
            rtt: None,
            rtt_min: None,
            reducing: false,
            since: None,
        }
    }

    fn measure(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            let ticks = rtt.as_nanos().div_ceil(TICK);
            self.rtt = Some(ticks);
            self.rtt_min = Some(self.rtt_min.map_or(ticks, |least| least.min(ticks)));
        }
        let tick = |time: Time| time.as_nanos() / TICK;
        let (since, delivered) = *self.since.get_or_insert((ack.now, ack.delivered_total));
        let elapsed = tick(ack.now) - tick(since);
        if self.rtt.is_none_or(|rtt| elapsed <= rtt.max(MIN_INTERVAL)) {
            return;
        }
        let bytes = ack.delivered_total.saturating_sub(delivered);
        self.bandwidth.filter(bytes / elapsed);
        self.since = Some((ack.now, ack.delivered_total));
    }

    /// BWE·RTTmin in segments, at least 2.
    fn target(&self) -> u32 {
        let bytes = self.bandwidth.twice * self.rtt_min.unwrap_or(0);
        u32::try_from(bytes / u64::from(self.mss))
            .unwrap_or(u32::MAX)
            .max(2)
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
        self.reducing = !why.is_timeout();
        let ssthresh = if self.reducing {
            self.window.segments / 2
        } else {
            self.target()
        };
        self.window.reduce(ssthresh, why, in_flight);
        if why == Congestion::Timeout {
            self.rtt_min = self.rtt;
        }
    }

    fn on_recovery_end(&mut self, _now: Time) {
        if core::mem::take(&mut self.reducing) {
            self.window.ssthresh = self.target();
            self.window.segments = self.window.ssthresh;
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
