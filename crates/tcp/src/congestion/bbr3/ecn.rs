//! BBR's answer to ECN: the volume in flight falls by the share of marks, as DCTCP's window.
//! Source: the authors' Linux version, github.com/google/bbr, branch v3, `net/ipv4/tcp_bbr.c`
//! (`bbr_update_ecn_alpha`, `bbr_ecn_lower_bounds`, `bbr_check_ecn_too_high_in_startup`, the
//! parameters `ecn_*` and `full_ecn_cnt`); draft-ietf-ccwg-bbr leaves it open.
//! Difference: theirs uses ECN only where the shortest RTT is at most 5 ms (`ecn_max_rtt_us`),
//! because marks of a distant queue may mean what a loss means; here, who asks for ECN gets it.

use super::flight::Log;
use crate::AckEvent;

/// Weight of a new share (ecn_alpha_gain).
const GAIN: f64 = 1.0 / 16.0;
/// What a share of one takes off inflight_lo (ecn_factor).
const FACTOR: f64 = 1.0 / 3.0;
/// Share of marks that is too much for a probe, and in startup (ecn_thresh).
pub(super) const ECN_THRESH: f64 = 0.5;
/// Rounds with such a share that end startup (full_ecn_cnt).
const FULL_ROUNDS: u32 = 2;

/// What the marks say.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Marks by the amount delivered.
    pub(super) log: Log,
    /// A mark has come in this round.
    pub(super) in_round: bool,
    /// Smoothed share of marked segments (ecn_alpha); one until measured (ecn_alpha_init).
    alpha: f64,
    delivered: u32,
    marked: u32,
    startup_rounds: u32,
}

impl Default for Ecn {
    fn default() -> Self {
        Self {
            log: Log::default(),
            in_round: false,
            alpha: 1.0,
            delivered: 0,
            marked: 0,
            startup_rounds: 0,
        }
    }
}

impl Ecn {
    pub(super) fn note(&mut self, ack: &AckEvent) {
        self.log.note(ack.delivered_total, ack.marked);
        self.in_round |= ack.marked > 0;
        self.delivered += ack.delivered;
        self.marked += ack.marked;
    }

    /// A round trip is over; `full`: startup is.
    pub(super) fn end_round(&mut self, full: bool) {
        if self.delivered == 0 {
            return;
        }
        let share = f64::from(self.marked) / f64::from(self.delivered);
        self.alpha = (self.alpha * (1.0 - GAIN) + share * GAIN).min(1.0);
        self.startup_rounds = if full || share < ECN_THRESH {
            0
        } else {
            self.startup_rounds + 1
        };
        self.delivered = 0;
        self.marked = 0;
    }

    pub(super) fn too_marked_in_startup(&self) -> bool {
        self.startup_rounds >= FULL_ROUNDS
    }

    /// What remains of the volume in flight.
    pub(super) fn remainder(&self) -> f64 {
        1.0 - self.alpha * FACTOR
    }
}
