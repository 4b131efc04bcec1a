//! Window and threshold with the rules that most controls share.

use super::border::{AckEvent, Congestion, INFINITE};
use crate::config::Config;

/// Window and threshold with the rules that all but BBR share.
#[derive(Clone, Debug)]
pub struct Window {
    /// The congestion window in segments.
    pub segments: u32,
    /// The slow-start threshold in segments; [`INFINITE`] before anything set it.
    pub ssthresh: u32,
    /// Acknowledged segments that have not yet made the window grow.
    pub(crate) credit: f64,
    /// Window and threshold before the last reduction.
    pub(crate) prior: Option<(u32, u32)>,
}

impl Window {
    /// The initial window and threshold of `config`.
    pub fn new(config: &Config) -> Self {
        let ssthresh = config.initial_ssthresh.map_or(INFINITE, |bytes| {
            u32::try_from(bytes / u64::from(config.mss.max(1)))
                .unwrap_or(INFINITE)
                .clamp(2, INFINITE)
        });
        Self {
            segments: config.initial_window.clamp(1, INFINITE),
            ssthresh,
            credit: 0.0,
            prior: None,
        }
    }

    /// Whether the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }

    /// Slow start (RFC 5681 equation 2, without the limit of appropriate byte counting, as
    /// Linux); returns the segments left when `ssthresh` is reached.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by `acked` times `per_segment` segments, whole segments at a time.
    pub fn grow(&mut self, acked: u32, per_segment: f64) {
        self.credit += f64::from(acked) * per_segment;
        // n times 1/n must count as one.
        if self.credit >= 1.0 - 1e-9 {
            let whole = (self.credit + 1e-9) as u32;
            self.credit -= f64::from(whole);
            self.segments = self.segments.saturating_add(whole).min(INFINITE);
        }
    }

    /// Reno's growth (RFC 5681 equations 2 and 3): doubling below the threshold, one segment a
    /// round trip above.
    pub fn reno(&mut self, ack: &AckEvent) {
        self.reno_from(ack, Self::slow_start);
    }

    /// Reno's growth with a slow start of one's own, which returns the segments it has left.
    /// As Linux: by what left the network, not what a filled hole releases.
    pub fn reno_from(&mut self, ack: &AckEvent, slow_start: impl FnOnce(&mut Self, u32) -> u32) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.delivered;
        if self.in_slow_start() {
            acked = slow_start(self, acked);
        }
        if acked > 0 {
            self.grow_each(acked, f64::from(self.segments));
        }
    }

    /// Grows by one for each `count` acknowledged segments, a whole number; those that a larger
    /// count has left over make one at most (Linux `tcp_cong_avoid_ai`).
    pub fn grow_each(&mut self, acked: u32, count: f64) {
        if self.credit >= count {
            self.credit = 0.0;
            self.segments = self.segments.saturating_add(1).min(INFINITE);
        }
        self.credit += f64::from(acked);
        if self.credit >= count {
            let whole = libm::floor(self.credit / count);
            self.credit -= whole * count;
            self.segments = self.segments.saturating_add(whole as u32).min(INFINITE);
        }
    }

    /// Sets the threshold, and the window to it or, after a timeout, to what is in flight and
    /// one (RFC 5681's loss window, when everything in flight is lost).
    pub fn reduce(&mut self, ssthresh: u32, why: Congestion, in_flight: u32) {
        if why != Congestion::TimeoutAgain {
            self.prior = Some((self.segments, self.ssthresh));
            self.ssthresh = ssthresh.max(2);
        }
        self.segments = if why.is_timeout() {
            in_flight.saturating_add(1).min(self.segments)
        } else {
            self.ssthresh
        };
        self.credit = 0.0;
    }

    /// Window and threshold before the last reduction, where they were larger (RFC 4015).
    pub fn undo(&mut self) {
        if let Some((segments, ssthresh)) = self.prior.take() {
            self.segments = self.segments.max(segments);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// The threshold that remembers the window when it is lowered for want of use, or by delay
    /// (Linux `tcp_current_ssthresh`).
    pub fn remember(&mut self) {
        let kept = self.segments / 2 + self.segments / 4;
        self.ssthresh = self.ssthresh.max(kept);
    }

    /// After an idle time of so many timeouts: one halving each, down to `restart` segments (RFC
    /// 2861 section 3).
    pub fn idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.remember();
        let floor = restart.min(self.segments);
        self.segments = (self.segments >> timeouts.min(31)).max(floor);
        self.credit = 0.0;
    }

    /// Only `used` segments were needed for a timeout: half way down to them (RFC 2861 section
    /// 3.2).
    pub fn application_limited(&mut self, used: u32) {
        if used < self.segments {
            self.remember();
            self.segments = u32::midpoint(self.segments, used).max(1);
        }
    }
}
