//! BBR's answer to ECN: the volume in flight falls by the share of marks, as DCTCP's window.
//! Source: the authors' Linux version, github.com/google/bbr, branch v3, `net/ipv4/tcp_bbr.c`
//! (`bbr_update_ecn_alpha`, `bbr_ecn_cut`, `bbr_check_ecn_too_high_in_startup`,
//! `bbr_is_inflight_too_high`, `bbr_check_time_to_probe_bw`, the parameters `ecn_*` and
//! `full_ecn_cnt`); draft-ietf-ccwg-bbr leaves it open.
//! Shares are in 1/256 and cut, as there: alpha does not see a share below a sixteenth.
//! Difference: theirs uses ECN only where the shortest RTT is at most 5 ms (`ecn_max_rtt_us`),
//! because marks of a distant queue may mean what a loss means; here, a flow that negotiates ECN
//! uses it at any RTT.

use super::flight::Log;
use crate::AckEvent;

/// A share of one (BBR_UNIT).
const UNIT: u32 = 256;
/// Weight of a new share (ecn_alpha_gain).
const GAIN: u32 = UNIT / 16;
/// What a share of one takes off inflight_lo (ecn_factor).
const FACTOR: u32 = UNIT / 3;
/// Share of marks that is too much in a round of startup, and, when exceeded, in a probe
/// (ecn_thresh).
const ECN_THRESH: u32 = UNIT / 2;
/// Rounds with such a share that end startup (full_ecn_cnt).
const FULL_ROUNDS: u32 = 2;

/// What the marks say.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Marks by the amount delivered.
    pub(super) log: Log,
    /// A mark has come in this round.
    pub(super) in_round: bool,
    /// A mark has come since the last probe (ecn_in_cycle).
    in_cycle: bool,
    /// A loss was found since then (loss_in_cycle).
    lost_in_cycle: bool,
    /// Smoothed share of marked segments (ecn_alpha); one until measured (ecn_alpha_init).
    pub(super) alpha: u32,
    delivered: u32,
    marked: u32,
    startup_rounds: u32,
}

impl Default for Ecn {
    fn default() -> Self {
        Self {
            log: Log::default(),
            in_round: false,
            in_cycle: false,
            lost_in_cycle: false,
            alpha: UNIT,
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
        self.lost_in_cycle |= ack.lost > 0;
        self.delivered += ack.delivered;
        self.marked += ack.marked;
    }

    /// What a delivered segment's flight tells of the cycle, once the ACK has been answered.
    pub(super) fn note_flight(&mut self, lost: u32, marked: u32) {
        self.in_cycle |= marked > 0;
        self.lost_in_cycle |= lost > 0;
    }

    /// The probe is over, or startup: marks from before count no more
    /// (bbr_reset_congestion_signals).
    pub(super) fn forget_signals(&mut self) {
        self.in_round = false;
        self.in_cycle = false;
        self.lost_in_cycle = false;
    }

    /// A round trip is over; `full`: startup is.
    pub(super) fn end_round(&mut self, full: bool) {
        if self.delivered == 0 {
            return;
        }
        let share = (u64::from(self.marked) * u64::from(UNIT) / u64::from(self.delivered))
            .min(UNIT.into()) as u32;
        self.alpha = ((UNIT - GAIN) * self.alpha / UNIT + GAIN * share / UNIT).min(UNIT);
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

    /// Marks came since the last probe, but no loss, and have ceased: who made the queue may have
    /// gone. `calm`: no reaction to a mark or a loss is under way.
    pub(super) fn has_ceased(&self, calm: bool) -> bool {
        self.in_cycle && !self.lost_in_cycle && calm
    }

    /// What remains of this volume in flight (bbr_ecn_cut).
    pub(super) fn cut(&self, volume: u32) -> u32 {
        let left = UNIT - self.alpha * FACTOR / UNIT;
        (u64::from(volume) * u64::from(left) / u64::from(UNIT)) as u32
    }
}

/// More than half of what was delivered carried a mark.
pub(super) fn is_too_marked(marked: u32, delivered: u32) -> bool {
    u64::from(marked) > u64::from(delivered) * u64::from(ECN_THRESH) / u64::from(UNIT)
}
