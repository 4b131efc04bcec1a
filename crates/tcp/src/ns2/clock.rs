//! Round trips in ticks, and the timeout that follows from them.
//! Source: ns-2 2.35, `TcpAgent::rtt_update`, `rtt_timeout` and `rtt_backoff` in `tcp/tcp.cc`;
//! `LinuxTcpAgent::rtt_update` in `tcp/tcp-linux.cc`.

use crate::config::Ns2Agent;
use crate::{Config, Span, Time};

/// Integers as in ns-2: the mean in eighths of a tick, the deviation in quarters.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    tick: Span,
    /// When the first tick was, before time zero.
    offset: Span,
    linux: bool,
    echoes: bool,
    mean: i64,
    deviation: i64,
    current: Span,
    least: Span,
    most: Span,
    backoff: u32,
}

impl Clock {
    pub(super) fn new(agent: Ns2Agent, config: &Config) -> Self {
        let linux = agent == Ns2Agent::Linux;
        // Linux's agents tick in jiffies (`JIFFY_RATIO`), the others by `tcpTick_`.
        let tick = Span::from_millis(if linux { 1 } else { 10 });
        Self {
            tick,
            offset: Span::ZERO,
            linux,
            echoes: linux && config.timestamps,
            mean: 0,
            // `rttvar_init_` 12, in quarters of a tick; it counts only once there is a mean.
            deviation: 12,
            current: config.initial_rto,
            least: config.min_rto,
            most: config.max_rto,
            backoff: 1,
        }
    }

    /// ns-2's `boot_time_`: up to a tick of 10 ms.
    pub(super) fn seed(&mut self, bits: u64) {
        self.offset = Span::from_nanos(bits % 10_000_000);
    }

    /// Whether every ACK with a timestamp ends the backoff (`ts_resetRTO_`).
    pub(super) fn echoes_end_backoff(&self) -> bool {
        self.echoes
    }

    fn ticks(&self, round_trip: Span, now: Time) -> i64 {
        let tick = self.tick.as_nanos();
        let whole = if self.echoes {
            (round_trip.as_nanos() + tick / 2) / tick
        } else {
            let sent = (now - round_trip).as_nanos() + self.offset.as_nanos();
            (round_trip.as_nanos() + sent % tick) / tick
        };
        i64::try_from(whole).unwrap_or(i64::MAX >> 8).max(1)
    }

    pub(super) fn sample(&mut self, round_trip: Span, now: Time) {
        let ticks = self.ticks(round_trip, now);
        if self.mean == 0 {
            self.mean = ticks << 3;
            self.deviation = ticks << 1;
        } else {
            let error = ticks - (self.mean >> 3);
            self.mean = (self.mean + error).max(1);
            let mut change = error.abs() - (self.deviation >> 2);
            if self.linux {
                // Faster answers move the deviation up by an eighth only.
                if error < 0 && change > 0 {
                    change >>= 3;
                }
                self.deviation += change;
            } else {
                self.deviation = (self.deviation + change).max(1);
            }
        }
        let ticks = ((self.deviation << 3) + self.mean) >> 3;
        self.current = self.tick * u64::try_from(ticks).unwrap_or(0);
    }

    pub(super) fn timeout(&self) -> Span {
        let timeout = self.current.max(self.least) * u64::from(self.backoff);
        timeout.min(self.most).max(self.tick * 2)
    }

    pub(super) fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.most {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            // What was measured is no longer believed.
            self.deviation += self.mean >> 3;
            self.mean = 0;
        }
    }

    pub(super) fn reset_backoff(&mut self) {
        self.backoff = 1;
    }
}
