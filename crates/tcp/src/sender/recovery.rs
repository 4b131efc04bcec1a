//! Loss recovery: the states, proportional rate reduction and undo.
//! Source: RFC 5681, 6582, 6675, 6937 (with the slow-start reduction bound), 8985 section 6.2,
//! 5682, 4015; the states and their order are Linux's `tcp_fastretrans_alert`.

use super::Sender;
use super::ack::Facts;
use crate::congestion::{Congestion, CongestionControl};
use crate::scoreboard::Outcome;
use crate::{Span, Time};

/// Duplicate ACKs, or SACKed segments, that mean a loss (RFC 5681 section 3.2).
const DUP_THRESH: u32 = 3;
/// How long a widened reordering window lasts, in recoveries (RFC 8985 section 6.2 step 4).
const REORDER_PERSIST: u32 = 16;

/// What the sender is doing about loss; names in Linux in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing unusual (Open).
    #[default]
    Open,
    /// Segments arrived out of order (Disorder).
    Disorder,
    /// The window shrinks after a mark (CWR).
    Reduced,
    /// Fast recovery (Recovery).
    Recovering,
    /// After a retransmission timeout (Loss).
    Loss,
}

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct RecoveryState {
    pub(super) state: Recovery,
    /// RecoveryPoint: the episode ends when this is acknowledged.
    pub(super) high: u64,
    /// Consecutive timeouts.
    pub(super) timeouts: u32,
    /// F-RTO is deciding whether the timeout was spurious.
    pub(super) frto: bool,
    /// F-RTO step 2b: send new data before retransmissions.
    pub(super) prefer_new: bool,
    /// SND.NXT when a tail loss probe was sent, and whether it was a retransmission.
    pub(super) tail_probe: Option<(u64, bool)>,
    /// The one rescue retransmission of this recovery was sent (RFC 6675 NextSeg rule 4).
    rescued: bool,
    /// Reordering has been seen on this connection.
    pub(super) reordering: bool,
    /// RACK's reordering window in quarters of the shortest RTT.
    window_steps: u32,
    window_persist: u32,
    /// A DSACK waits for its round trip to pass; delivered count of the last widening.
    dsack_seen: bool,
    widened_at: u64,
}

impl RecoveryState {
    /// Whether PRR governs the window.
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, Recovery::Reduced | Recovery::Recovering)
    }
}

/// Proportional rate reduction (RFC 6937), all in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Window in force during the reduction.
    pub(super) window: u32,
    prior_window: u32,
    delivered: u32,
    pub(super) sent: u32,
}

/// What is needed to find out that a reduction was a mistake.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the reduction began; none when it cannot be undone.
    marker: Option<u64>,
    /// Retransmissions not yet reported as duplicates; none before the first.
    outstanding: Option<u32>,
    /// When the first retransmission was sent.
    first_sent: Option<Time>,
}

impl Undo {
    pub(super) fn start(&mut self, una: u64, retransmitting: bool) {
        self.marker = Some(una);
        if !retransmitting {
            self.outstanding = None;
        }
    }

    fn clear(&mut self) {
        self.marker = None;
    }

    pub(super) fn on_retransmit(&mut self, now: Time) {
        self.first_sent.get_or_insert(now);
        self.outstanding = Some(self.outstanding.unwrap_or(0) + 1);
    }

    fn on_duplicate(&mut self, end: u64) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(count) = &mut self.outstanding
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Every retransmission turned out to be a duplicate (RFC 3708).
    fn all_duplicates(&self) -> bool {
        self.marker.is_some() && self.outstanding == Some(0)
    }

    /// The ACK answers something sent before the first retransmission (Eifel, RFC 3522).
    fn answers_original(&self, echo: Time) -> bool {
        echo != Time::ZERO && self.first_sent.is_some_and(|sent| echo < sent)
    }

    fn possible(&self, echo: Time) -> bool {
        self.marker.is_some() && (self.all_duplicates() || self.answers_original(echo))
    }
}

impl Sender {
    /// Runs the state machine on an ACK that is not plainly in order.
    pub(super) fn recover(&mut self, facts: &mut Facts, out: &Outcome, now: Time) {
        if facts.dsack_end > 0 {
            self.undo.on_duplicate(facts.dsack_end);
        }
        if facts.ece {
            self.recovery_cannot_be_undone();
        }
        if self.recovery.state == Recovery::Open {
            self.undo.first_sent = None;
        } else if self.una >= self.recovery.high && self.leave_episode(facts, now) {
            return;
        }
        match self.recovery.state {
            Recovery::Recovering => {
                if facts.advanced {
                    if self.undo_partial(facts, now) {
                        return;
                    }
                    self.newreno_partial();
                } else {
                    self.count_duplicate(facts);
                }
                if self.undo.all_duplicates() {
                    self.undo_reduction(false);
                    self.try_to_open(facts, now);
                }
                self.detect(facts, now);
                if self.recovery.state == Recovery::Recovering || !self.time_to_recover() {
                    return;
                }
                self.enter_recovery(facts.ece, now);
            }
            Recovery::Loss => {
                self.process_loss(facts, out, now);
                let resent = self.board.retransmissions();
                self.detect(facts, now);
                // What was sent again is lost again: one more reduction, and a fast recovery.
                if self.recovery.state == Recovery::Open || self.board.retransmissions() < resent {
                    self.judge(facts, now);
                }
            }
            _ => self.judge(facts, now),
        }
    }

    /// Outside of an episode: is there reason to begin one?
    fn judge(&mut self, facts: &mut Facts, now: Time) {
        if facts.advanced {
            self.board.reset_duplicates();
        }
        self.count_duplicate(facts);
        let calm = matches!(self.recovery.state, Recovery::Open | Recovery::Disorder);
        if calm && self.undo.all_duplicates() {
            self.undo_reduction(false);
        }
        self.detect(facts, now);
        if self.time_to_recover() {
            self.enter_recovery(facts.ece, now);
        } else {
            self.try_to_open(facts, now);
        }
    }

    fn recovery_cannot_be_undone(&mut self) {
        self.undo.clear();
    }

    fn count_duplicate(&mut self, facts: &mut Facts) {
        if !self.sack && facts.duplicate {
            let before = self.board.sacked();
            self.board.add_duplicate();
            facts.delivered += self.board.sacked() - before;
        }
    }

    /// Everything of the episode is acknowledged. Returns whether the ACK is dealt with.
    fn leave_episode(&mut self, facts: &Facts, now: Time) -> bool {
        match self.recovery.state {
            Recovery::Reduced if self.una > self.recovery.high => {
                self.recovery.state = Recovery::Open;
                self.control.on_recovery_end(now);
            }
            Recovery::Recovering => {
                if !self.sack {
                    self.board.reset_duplicates();
                }
                if self.finish_recovery(facts) {
                    return true;
                }
                self.control.on_recovery_end(now);
            }
            _ => {}
        }
        false
    }

    /// Leaves recovery or loss; undoes the reduction if it was a mistake. Without SACK the
    /// state is held until something above the recovery point is acknowledged, so that late
    /// duplicates do not start another recovery (RFC 6582 section 4.1).
    fn finish_recovery(&mut self, facts: &Facts) -> bool {
        if self.undo.possible(facts.echo) {
            self.undo_reduction(false);
        } else if self.recovery.window_persist > 0 {
            self.recovery.window_persist -= 1;
        }
        if !self.sack && self.una == self.recovery.high {
            return true;
        }
        self.recovery.state = Recovery::Open;
        self.undo.clear();
        false
    }

    /// A partial ACK that answers an original: nothing was lost after all.
    fn undo_partial(&mut self, facts: &Facts, now: Time) -> bool {
        if self.undo.marker.is_none() || !self.undo.answers_original(facts.echo) {
            return false;
        }
        self.recovery.reordering = true;
        if self.board.retransmissions() > 0 {
            // Their ACKs must not be mistaken for those of the originals.
            return true;
        }
        self.undo_reduction(true);
        self.recovery.state = Recovery::Open;
        self.try_to_open(facts, now);
        true
    }

    /// A partial ACK without SACK: the next segment is lost too (RFC 6582 section 3.2 step 3).
    fn newreno_partial(&mut self) {
        if !self.sack
            && let Some(head) = self.board.head()
        {
            self.board.mark_lost(head);
        }
    }

    pub(super) fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        } else {
            self.board.rearm_rack();
        }
        if self.undo.marker.take().is_some() {
            self.control.on_undo();
            self.reduced = false;
            self.counters.spurious += 1;
        }
    }

    /// RFC 5682 section 3 with SACK, and the way out of the loss state.
    fn process_loss(&mut self, facts: &Facts, out: &Outcome, now: Time) {
        let recovered = self.una >= self.recovery.high;
        if facts.advanced && self.undo_loss(facts, false) {
            return;
        }
        if self.recovery.frto {
            if out.original_delivered && self.undo_loss(facts, true) {
                return;
            }
            if self.next > self.recovery.high {
                if out.sacked > 0 || facts.duplicate {
                    self.recovery.frto = false;
                }
            } else if facts.advanced && !recovered {
                self.recovery.high = self.next;
                if self.has_unsent() && self.window_end > self.next {
                    self.recovery.prefer_new = true;
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            if !self.finish_recovery(facts) {
                self.control.on_recovery_end(now);
            }
            return;
        }
        if !self.sack {
            if self.next > self.recovery.high && facts.duplicate {
                self.board.add_duplicate();
            } else if facts.advanced {
                self.board.reset_duplicates();
            }
        }
    }

    fn undo_loss(&mut self, facts: &Facts, by_frto: bool) -> bool {
        if !by_frto && !self.undo.possible(facts.echo) {
            return false;
        }
        self.undo_reduction(true);
        self.recovery.timeouts = 0;
        if by_frto || self.sack {
            self.recovery.state = Recovery::Open;
            self.recovery.frto = false;
        }
        true
    }

    /// Nothing forces a recovery: react to a mark, or note disorder.
    fn try_to_open(&mut self, facts: &Facts, now: Time) {
        if self.board.retransmissions() == 0 && self.board.lost() == 0 {
            self.undo.first_sent = None;
        }
        if facts.ece {
            self.enter_reduced(now);
        }
        if self.recovery.state != Recovery::Reduced {
            let disorder = self.board.sacked() > 0
                || self.board.lost() > 0
                || self.board.retransmissions() > 0
                || self.undo.marker.is_some();
            self.recovery.state = if disorder {
                Recovery::Disorder
            } else {
                Recovery::Open
            };
        }
    }

    /// A mark, once a window (RFC 3168 section 6.1.2).
    fn enter_reduced(&mut self, now: Time) {
        if !matches!(self.recovery.state, Recovery::Open | Recovery::Disorder) {
            return;
        }
        self.undo.clear();
        self.counters.marks += 1;
        self.begin_reduction(Congestion::Mark, now);
        self.recovery.state = Recovery::Reduced;
        self.reduced = true;
    }

    pub(super) fn enter_recovery(&mut self, ece: bool, now: Time) {
        self.counters.fast_recoveries += 1;
        self.timed = None;
        self.recovery.rescued = false;
        if ece {
            self.undo.clear();
        } else {
            self.undo.start(self.una, self.board.retransmissions() > 0);
        }
        if !self.recovery.reducing() {
            self.begin_reduction(Congestion::Loss, now);
            // The next new segment tells an ECN peer to stop echoing.
            self.reduced = true;
        }
        self.recovery.state = Recovery::Recovering;
        if !self.sack
            && let Some(head) = self.board.head()
        {
            self.board.mark_lost(head);
        }
    }

    fn begin_reduction(&mut self, why: Congestion, now: Time) {
        let window = self.control.window();
        self.recovery.high = self.next;
        self.recovery.tail_probe = None;
        self.prr = Prr {
            window,
            prior_window: window.max(1),
            delivered: 0,
            sent: 0,
        };
        self.control.on_congestion(why, self.board.in_flight(), now);
    }

    /// A tail loss probe repaired a loss: reduce as one recovery would (RFC 8985 7.4.2).
    pub(super) fn reduce_after_probe(&mut self, now: Time) {
        if matches!(self.recovery.state, Recovery::Open | Recovery::Disorder) {
            self.control
                .on_congestion(Congestion::Loss, self.board.in_flight(), now);
            self.control.on_recovery_end(now);
            self.undo.clear();
            self.reduced = true;
        }
    }

    /// RFC 6937: how many segments may go now that `delivered` more have left.
    pub(super) fn reduce(&mut self, delivered: u32, newly_lost: u32, advanced: bool) {
        if delivered == 0 {
            return;
        }
        let in_flight = self.board.in_flight();
        let target = self.control.ssthresh();
        let prr = &mut self.prr;
        prr.delivered += delivered;
        let allowed = if in_flight > target {
            let share = u64::from(target) * u64::from(prr.delivered);
            let due = share.div_ceil(u64::from(prr.prior_window)) as u32;
            due.saturating_sub(prr.sent)
        } else {
            let mut bound = prr.delivered.saturating_sub(prr.sent).max(delivered);
            // Slow start only while the ACKs show progress and no new loss.
            bound += u32::from(advanced && newly_lost == 0);
            bound.min(target - in_flight)
        };
        // The first retransmission goes at once.
        prr.window = in_flight + allowed.max(u32::from(prr.sent == 0));
    }

    fn time_to_recover(&self) -> bool {
        self.board.lost() > 0 || (!self.sack && self.board.sacked() >= DUP_THRESH)
    }

    fn detect(&mut self, facts: &mut Facts, now: Time) {
        if !self.sack {
            return;
        }
        if !self.rack {
            facts.newly_lost += self.board.judge_by_duplicates();
        } else if self.board.rack_advanced() {
            let (newly, armed) = self.detect_by_time(now);
            facts.newly_lost += newly;
            facts.keep_timer |= armed;
        }
    }

    /// RACK. Returns how many are newly lost and whether the reordering timer was armed.
    pub(super) fn detect_by_time(&mut self, now: Time) -> (u32, bool) {
        let window = self.reorder_window();
        let (newly, again) = self.board.judge_by_time(now, window);
        if let Some(at) = again {
            self.arm_reorder(at, now);
        }
        (newly, again.is_some())
    }

    /// RFC 8985 section 6.2 step 4.
    pub(super) fn reorder_window(&self) -> Span {
        if !self.recovery.reordering {
            let recovering = matches!(self.recovery.state, Recovery::Recovering | Recovery::Loss);
            if recovering || self.board.sacked() >= DUP_THRESH {
                return Span::ZERO;
            }
        }
        let quarter = self.rtt.min().unwrap_or(Span::ZERO) / 4;
        let steps = u64::from(self.recovery.window_steps.max(1));
        (quarter * steps).min(self.rtt.srtt())
    }

    /// A DSACK says the window was too short: widen it, once a round trip.
    pub(super) fn adapt_reorder_window(&mut self, dsack: bool, newest: Option<u64>) {
        let delivered = self.rate.delivered();
        let state = &mut self.recovery;
        state.dsack_seen |= dsack;
        if newest.is_none_or(|prior| prior < state.widened_at) {
            state.dsack_seen = false;
        }
        if state.dsack_seen {
            state.window_steps = (state.window_steps.max(1) + 1).min(255);
            state.window_persist = REORDER_PERSIST;
            state.widened_at = delivered;
            state.dsack_seen = false;
        } else if state.window_persist == 0 {
            state.window_steps = 1;
        }
    }

    /// NextSeg rules 3 and 4 of RFC 6675, for recovery without RACK: a hole that is not yet
    /// known to be lost, then one rescue of the highest segment.
    pub(super) fn extra_retransmission(&mut self) -> Option<u64> {
        if self.rack || !self.sack || self.recovery.state != Recovery::Recovering {
            return None;
        }
        if let Some(id) = self.board.next_hole() {
            return Some(id);
        }
        if self.recovery.rescued {
            return None;
        }
        self.recovery.rescued = true;
        self.board.highest_hole()
    }
}
