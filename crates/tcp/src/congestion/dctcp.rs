//! DCTCP: reductions in proportion to the share of marked segments.
//! Source: RFC 8257 sections 3.3 to 3.5; g = 1/16, alpha begins at 1. The receiver's exact echo
//! (section 3.2) is in `receiver`; with AccECN it counts instead. Alpha's arithmetic is Linux's
//! (`dctcp_update_alpha` in net/ipv4/tcp_dctcp.c) or the RFC's ([`DctcpRule`]).
//! As Linux: losses halve the window; otherwise Reno.

use super::{AckArrival, AckEvent, Congestion, CongestionControl, Window};
use crate::config::{Config, DctcpRule};
use sojourn_units::Time;

/// Weight of a new observation (section 4.2), and as Linux's shift (`dctcp_shift_g`).
const GAIN: f64 = 1.0 / 16.0;
const SHIFT: u32 = 4;
/// Linux's alpha of 1 (`DCTCP_MAX_ALPHA`), and as a shift.
const ONE: u32 = 1 << ONE_SHIFT;
const ONE_SHIFT: u32 = 10;

/// RFC 8257's congestion control.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    alpha: Alpha,
    /// Delivered in this observation window, and of it marked: segments by Linux's rule, bytes by
    /// the RFC's.
    delivered: u64,
    marked: u64,
    /// Where in the stream the observation window ends.
    end: u64,
}

/// The estimated share of marks.
#[derive(Clone, Copy, Debug)]
enum Alpha {
    /// In 1024ths.
    Linux(u32),
    Real(f64),
}

impl Alpha {
    /// After an observation window with so much delivered, more than nothing.
    fn observe(&mut self, marked: u64, delivered: u64) {
        match self {
            Self::Linux(alpha) => {
                // What the shift cuts to nothing is all of it (Linux `min_not_zero`).
                *alpha -= match *alpha >> SHIFT {
                    0 => *alpha,
                    part => part,
                };
                let added = (marked << (ONE_SHIFT - SHIFT)) / delivered.max(1);
                *alpha = alpha.saturating_add(added as u32).min(ONE);
            }
            Self::Real(alpha) => {
                let share = marked as f64 / delivered as f64;
                *alpha = *alpha * (1.0 - GAIN) + GAIN * share;
            }
        }
    }

    /// What a mark costs of a window.
    fn cost(self, segments: u32) -> u32 {
        match self {
            Self::Linux(alpha) => {
                ((u64::from(segments) * u64::from(alpha)) >> (ONE_SHIFT + 1)) as u32
            }
            Self::Real(alpha) => (f64::from(segments) * alpha / 2.0) as u32,
        }
    }

    fn share(self) -> f64 {
        match self {
            Self::Linux(alpha) => f64::from(alpha) / f64::from(ONE),
            Self::Real(alpha) => alpha,
        }
    }
}

impl Dctcp {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            alpha: match config.dctcp {
                DctcpRule::Linux => Alpha::Linux(ONE),
                DctcpRule::Rfc8257 => Alpha::Real(1.0),
            },
            delivered: 0,
            marked: 0,
            end: 0,
        }
    }

    fn observe(&mut self, ack: &AckArrival) {
        let (delivered, marked) = match self.alpha {
            Alpha::Linux(_) => (ack.delivered.into(), ack.marked.into()),
            Alpha::Real(_) => (ack.delivered_bytes, ack.marked_bytes),
        };
        self.delivered += delivered;
        self.marked += marked;
        if ack.una >= self.end && self.delivered > 0 {
            self.alpha.observe(self.marked, self.delivered);
            self.delivered = 0;
            self.marked = 0;
            self.end = ack.next;
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
        Some(self.alpha.share())
    }

    /// Before the reduction by this ACK, as the RFC and Linux.
    fn on_ack_arrival(&mut self, ack: &AckArrival) {
        self.observe(ack);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.window.reno(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        let segments = self.window.segments;
        let target = match why {
            Congestion::Mark => segments - self.alpha.cost(segments),
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
