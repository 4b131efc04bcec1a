//! What is lost and sent again: marks, NextSeg's order, retransmission timeouts and their undo.
//! Source: RFC 6675 section 4 (NextSeg), RFC 8985 section 6.3 (timeouts), RFC 2018 section 8
//! (reneging).

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, Scoreboard};
use crate::Time;
use crate::rate::Stamp;
use core::cmp::Reverse;

impl Scoreboard {
    /// Declares a segment lost. Returns whether that is news.
    pub(crate) fn mark_lost(&mut self, id: u64) -> bool {
        let flags = self.get(id).flags;
        if flags & SACKED != 0 || flags & (LOST | RETRANSMITTED) == LOST {
            return false;
        }
        self.get_mut(id).flags = flags & !RETRANSMITTED | LOST;
        self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
        self.lost += u32::from(flags & LOST == 0);
        // The pointer has passed it: a queue of its own, or each loss would send the pointer back
        // over all that was repaired.
        if id < self.resend_from {
            self.lost_again.push(Reverse(id));
        } else {
            self.lost_end = self.lost_end.max(id + 1);
        }
        self.reno_sacked = self.reno_sacked.min(self.reno_room());
        true
    }

    /// Whether it is plain that [`next_lost`](Self::next_lost) has none to name.
    #[inline]
    pub(crate) fn is_resent(&self) -> bool {
        self.lost == 0 || (self.resend_from >= self.lost_end && self.lost_again.is_empty())
    }

    /// The next lost segment to send again: the first of all, whether it was lost once or again
    /// (NextSeg rule 1, Linux `tcp_verify_retransmit_hint`). Behind one that waits its turn, the
    /// others would come and wait at the receiver, and the timer would expire.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(id)) = self.lost_again.peek() {
            // Entries may be out of date: acknowledged, SACKed or sent since they were queued.
            if id >= self.first && self.awaits_resending(id) {
                return Some(id);
            }
            self.lost_again.pop();
        }
        self.resend_from = self.resend_from.max(self.first);
        while self.resend_from < self.lost_end {
            let id = self.resend_from;
            let next = self.next_unsacked(id);
            if next > id {
                self.resend_from = next;
            } else if self.awaits_resending(id) {
                return Some(id);
            } else {
                self.resend_from += 1;
            }
        }
        None
    }

    fn awaits_resending(&self, id: u64) -> bool {
        self.get(id).flags & (SACKED | LOST | RETRANSMITTED) == LOST
    }

    /// The first hole below the highest SACKed segment that was not sent again (NextSeg rule 3).
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        let mut id = self.resend_from.max(self.first);
        // Rule 3 asks for a SACKed segment above, or the hole may just be the newest data under
        // way.
        while id + 1 < self.highest[0] {
            let next = self.next_unsacked(id);
            if next > id {
                id = next;
            } else if self.get(id).has(RETRANSMITTED) {
                id += 1;
            } else {
                return Some(id);
            }
        }
        None
    }

    /// The highest segment that has not arrived: what a rescue (RFC 6675 NextSeg rule 4) or a
    /// tail loss probe sends again.
    pub(crate) fn highest_hole(&self) -> Option<u64> {
        (self.first..self.next)
            .rev()
            .find(|&id| !self.get(id).has(SACKED))
    }

    /// Notes that `id` is sent again.
    pub(crate) fn resend(&mut self, id: u64, now: Time, stamp: &Stamp) {
        let record = self.get_mut(id);
        let flags = record.flags;
        debug_assert!(flags & SACKED == 0, "resending what has arrived");
        record.stamp(now, stamp);
        record.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        // A rescue or probe may send what is in flight again already; it counts once.
        self.retransmitted += u32::from(flags & RETRANSMITTED == 0);
        if self.track_resent {
            self.resent.push_back((id, now));
        }
    }

    /// A retransmission timeout: everything that has not arrived is lost, except what was sent
    /// less than RACK's round trip ago (`rack`: whether that counts). Walks the window.
    pub(crate) fn mark_all_lost(&mut self, now: Time, rack: bool) {
        self.reno_sacked = 0;
        // SND.UNA was reported as received and yet not acknowledged: the receiver has reneged.
        if self.head().is_some_and(|id| self.get(id).has(SACKED)) {
            self.forget_sacks();
        }
        self.resend_from = self.first;
        self.lost_end = self.first;
        self.lost_again.clear();
        for id in self.first..self.next {
            let record = self.get(id);
            // The head has timed out whatever its age; others may still be answered (RFC 8985
            // section 6.3).
            let young = rack && id != self.first && record.sent + self.rack.rtt > now;
            if young && !record.has(LOST) {
                continue;
            }
            if !self.mark_lost(id) && !self.get(id).has(SACKED) {
                self.lost_end = id + 1;
            }
        }
    }

    /// The receiver has dropped what it had reported (RFC 2018 section 8).
    fn forget_sacks(&mut self) {
        for id in self.first..self.next {
            self.get_mut(id).flags &= !SACKED;
        }
        (self.sacked, self.joined) = (0, 0);
        self.highest = [0; 3];
        self.reported = [(0, 0); 3];
        self.dup_judged = self.first;
        self.rack_judged = self.first;
        self.rack_waiting = None;
    }

    /// The losses were none: everything lost and not sent again is in flight after all. Walks
    /// the window.
    pub(crate) fn unmark_lost(&mut self) {
        for id in self.first..self.next {
            self.get_mut(id).flags &= !LOST;
        }
        self.lost = 0;
        self.lost_again.clear();
        self.resend_from = self.first;
        self.lost_end = self.first;
        self.dup_judged = self.first;
        self.rearm_rack();
    }

    /// Makes RACK judge everything once more, after an undo.
    pub(crate) fn rearm_rack(&mut self) {
        self.rack_judged = self.first;
        self.rack_waiting = None;
        self.rack.advanced = true;
    }
}
