//! Westwood+: Reno whose reductions follow an estimate of the bandwidth.
//! Source: Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: Bandwidth estimation for
//! enhanced transport over wireless links", MobiCom 2001, and Grieco and Mascolo, "Performance
//! evaluation and comparison of Westwood+, New Reno and Vegas", ACM CCR 34(2), 2004: one sample
//! a round trip, `ssthresh = BWE·RTTmin`.
//! As Linux: congestion halves the window as Reno's, and `BWE·RTTmin` becomes window
//! and threshold when recovery ends, which may raise them; samples last at least 50 ms, longer than
//! the last round trip, from the handshake on, and pass two low-pass filters of 7/8; a duplicate
//! ACK counts as a segment, and what such have counted is not counted again when it is
//! acknowledged; the first ACK counts as a duplicate. The shortest RTT is forgotten at a timeout.
//! Rates are whole bytes a tick, times whole ticks rounded up, with ticks of 1 ms (`HZ` 1000) or
//! those of [`Config::timer_tick`].
//! Not here: an ACK that header prediction takes counts whole. The last one of a recovery, where it
//! would matter, is not predicted: its window is smaller, by what the app has not read yet.

use super::{AckArrival, AckEvent, Congestion, CongestionControl, Window};
use crate::config::Config;
use sojourn_units::{Span, Time};

/// The tick of exact time.
const TICK: Span = Span::from_millis(1);
/// Shortest time over which the bandwidth is measured.
const MIN_INTERVAL: Span = Span::from_millis(50);
/// The round trip before there is one.
const INITIAL_RTT: Span = Span::from_secs(20);

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
    /// Nanoseconds.
    tick: u64,
    /// In ticks.
    rtt: u64,
    rtt_min: u64,
    /// No ACK has come yet.
    first: bool,
    /// The next ACK makes the last round trip the shortest.
    forget_min: bool,
    /// The episode that runs began with a loss or a mark and without a timeout.
    reducing: bool,
    /// When the running measurement began.
    since: Time,
    /// Bytes that it has counted.
    counted: u64,
    /// Bytes counted by duplicate ACKs that no ACK has covered yet.
    ahead: u64,
}

impl Westwood {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        let tick = match config.timer_tick {
            Span::ZERO => TICK.as_nanos(),
            tick => tick.as_nanos(),
        };
        let initial_rtt = INITIAL_RTT.as_nanos() / tick;
        Self {
            window: Window::new(config),
            mss: config.mss.max(1),
            bandwidth: Bandwidth::default(),
            tick,
            rtt: initial_rtt,
            rtt_min: initial_rtt,
            first: true,
            forget_min: true,
            reducing: false,
            since: Time::ZERO,
            counted: 0,
            ahead: 0,
        }
    }

    /// Ends the measurement if it has lasted, and begins to count anew.
    fn measure(&mut self, arrival: &AckArrival) {
        if let Some(rtt) = arrival.rtt.filter(|rtt| rtt.as_micros() > 0) {
            let micros = Span::from_micros(rtt.as_micros());
            self.rtt = micros.as_nanos().div_ceil(self.tick);
        }
        let ticks = |time: Time| time.as_nanos() / self.tick;
        let elapsed = ticks(arrival.now) - ticks(self.since);
        if elapsed > self.rtt.max(MIN_INTERVAL.as_nanos() / self.tick) {
            self.bandwidth.filter(self.counted / elapsed);
            self.counted = 0;
            self.since = arrival.now;
        }
        let acked = if core::mem::take(&mut self.first) {
            0
        } else {
            u64::from(arrival.acked) * u64::from(self.mss)
        };
        self.counted += self.counts(acked);
        if core::mem::take(&mut self.forget_min) {
            self.rtt_min = self.rtt;
        }
        self.rtt_min = self.rtt_min.min(self.rtt);
    }

    /// What an ACK of so many bytes tells of what has arrived.
    fn counts(&mut self, acked: u64) -> u64 {
        let segment = u64::from(self.mss);
        if acked == 0 {
            self.ahead += segment;
            segment
        } else if acked == segment {
            segment
        } else if self.ahead >= acked {
            self.ahead -= acked;
            segment
        } else {
            acked - core::mem::take(&mut self.ahead)
        }
    }

    /// BWE·RTTmin in segments, at least 2.
    fn target(&self) -> u32 {
        let bytes = self.bandwidth.twice * self.rtt_min;
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

    fn on_established(&mut self, _rtt: Option<Span>, now: Time) {
        self.since = now;
    }

    fn on_ack_arrival(&mut self, arrival: &AckArrival) {
        self.measure(arrival);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
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
            self.forget_min = true;
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
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.window.application_limited(used);
    }
}

#[cfg(test)]
mod tests;
