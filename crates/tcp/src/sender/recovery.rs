//! Loss recovery: the states, proportional rate reduction and undo.
//! Source: RFC 5681, 6582, 6675, 6937 (with the slow-start reduction bound), 8985 section 6.2,
//! 5682, 4015; the states and their order are Linux's `tcp_fastretrans_alert`.

use super::Sender;
use super::ack::Facts;
use super::phase::{Prr, Recovery};
use crate::congestion::Congestion;
use crate::scoreboard::Outcome;
use crate::{Span, Time};

/// Duplicate ACKs, or SACKed segments, that mean a loss (RFC 5681 section 3.2).
const DUP_THRESH: u32 = 3;
/// How long a widened reordering window lasts, in recoveries (RFC 8985 section 6.2 step 4).
const REORDER_PERSIST: u32 = 16;

impl Sender {
    /// Runs the state machine on an ACK that is not plainly in order.
    pub(super) fn recover(&mut self, facts: &mut Facts, out: &Outcome, now: Time) {
        if facts.dsack_end > 0 {
            self.undo.on_duplicate(facts.dsack_end);
        }
        // A mark is a reason of its own to reduce, which stands even if the loss was none.
        if facts.ece {
            self.recovery_cannot_be_undone();
        }
        if self.recovery.state == Recovery::Open {
            // The retransmissions of an episode that is over answer no question of the next one
            // (Linux `retrans_stamp`).
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
                // DSACKs have told that every retransmission was needless (Linux
                // `tcp_try_undo_dsack`). The scoreboard stays: what is still out may be lost.
                if self.undo.all_duplicates() {
                    self.undo_reduction(false);
                    self.try_to_open(facts, now);
                }
                self.detect(facts, now);
                // Only the undo above leaves the state: what is lost even so begins an episode of
                // its own.
                if self.recovery.state == Recovery::Recovering || !self.time_to_recover() {
                    return;
                }
                self.enter_recovery(facts.ece, now);
            }
            Recovery::Loss => {
                self.process_loss(facts, out, now);
                // RACK takes back the mark "retransmitted" of what it finds lost a second time,
                // so that fewer of them are left.
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
        // Without SACK duplicate ACKs stand for segments out of order; an advance has filled the
        // hole (Linux `tcp_reset_reno_sack`).
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
            // The board takes no more duplicates than there are segments out, so that the
            // difference counts and not each ACK.
            let before = self.board.sacked();
            self.board.add_duplicate();
            facts.delivered += self.board.sacked() - before;
        }
    }

    /// Everything of the episode is acknowledged. Returns whether the ACK is dealt with.
    fn leave_episode(&mut self, facts: &Facts, now: Time) -> bool {
        match self.recovery.state {
            // Held until something above the point is acknowledged: only then has the flag that
            // tells the receiver of the reduction arrived (Linux).
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
        // The originals arrive late, so nothing is sent again now; the window comes back when no
        // retransmission is out.
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
        // What was marked as lost was only late. Otherwise the marks stay, as some of them may be
        // right.
        if unmark {
            self.board.unmark_lost();
        } else {
            self.board.rearm_rack();
        }
        if self.undo.marker.take().is_some() {
            self.control.on_undo();
            // The peer need not hear of a reduction that is taken back.
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
            // Step 3b: something is acknowledged that was not sent again, so that the originals
            // arrive: the timeout was spurious.
            if out.original_delivered && self.undo_loss(facts, true) {
                return;
            }
            // Step 3a: after the new data a duplicate tells that the loss was real.
            if self.next > self.recovery.high {
                if out.sacked > 0 || facts.duplicate {
                    self.recovery.frto = false;
                }
            } else if facts.advanced && !recovered {
                // Step 2b: the first ACK has advanced. New data instead of retransmissions asks
                // whether the rest of the window arrives by itself.
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
        // Without SACK the state holds, as duplicates of the needless retransmissions would begin
        // another recovery (RFC 6582 section 4.1).
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
        // A reduction by a mark goes on until `leave_episode` ends it.
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
    pub(super) fn enter_reduced(&mut self, now: Time) {
        // In any other state this window of data has been paid for already.
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
        // Karn's rule: the segment that is timed may be about to be sent again.
        self.timed = None;
        self.recovery.rescued = false;
        if ece {
            self.undo.clear();
        } else {
            // Retransmissions of an earlier episode that are still out must not be reported as
            // needless in this one, so that their count is kept.
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
        // The episode repairs what the probe was meant to find (RFC 8985 section 7.4.1).
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
    #[inline]
    pub(super) fn reduce(&mut self, delivered: u32, newly_lost: u32, advanced: bool) {
        if delivered == 0 {
            return;
        }
        let in_flight = self.board.in_flight();
        let target = self.control.ssthresh();
        let prr = &mut self.prr;
        prr.delivered += delivered;
        // Above the target: sending in proportion to what arrives, so that the window shrinks
        // over the round trip and not in a pause of half of it. Below: what PRR-SSRB adds.
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
        // By count (RFC 6675) or by time (RFC 8985), never both: each would find losses that the
        // other takes for reordering.
        if !self.rack {
            facts.newly_lost += self.board.judge_by_duplicates();
        } else if self.board.rack_advanced() {
            let (newly, armed) = self.detect_by_time(now);
            facts.newly_lost += newly;
            facts.keep_timer |= armed;
        }
    }

    /// RACK. Returns how many are newly lost and whether the reordering timer was armed.
    #[inline]
    pub(super) fn detect_by_time(&mut self, now: Time) -> (u32, bool) {
        if self.board.is_judged() {
            return (0, false);
        }
        self.judge_by_time(now)
    }

    #[inline(never)]
    fn judge_by_time(&mut self, now: Time) -> (u32, bool) {
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
            // No reordering was ever seen: three segments behind the hole mean what three
            // duplicate ACKs have always meant, without a wait.
            if recovering || self.board.sacked() >= DUP_THRESH {
                return Span::ZERO;
            }
        }
        let quarter = self.rtt.min().unwrap_or(Span::ZERO) / 4;
        let steps = u64::from(self.recovery.window_steps.max(1));
        // The window never exceeds a round trip, or a timeout would come first.
        (quarter * steps).min(self.rtt.srtt())
    }

    /// A DSACK says the window was too short: widen it, once a round trip.
    pub(super) fn adapt_reorder_window(&mut self, dsack: bool, newest: Option<u64>) {
        let delivered = self.rate.delivered();
        let state = &mut self.recovery;
        state.dsack_seen |= dsack;
        // What this ACK acknowledges was sent before the last widening, which it cannot have
        // profited from.
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
