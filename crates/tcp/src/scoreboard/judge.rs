//! Which segments are lost: by duplicates (RFC 6675) or by time (RFC 8985).
//! Both walk forward only: what has been judged once is not looked at again.

use super::{LOST, RETRANSMITTED, Record, SACKED, Scoreboard};
use crate::{Span, Time};

enum Verdict {
    Lost,
    Wait,
    TooEarly,
}

impl Scoreboard {
    /// RFC 6675 IsLost for everything that has three SACKed segments above it. Returns how many
    /// segments are newly lost.
    pub(crate) fn judge_by_duplicates(&mut self) -> u32 {
        let Some(limit) = self.highest[2].checked_sub(1) else {
            return 0;
        };
        let mut id = self.dup_judged.max(self.first);
        let mut newly = 0;
        while id < limit.min(self.next) {
            let next = self.next_unsacked(id);
            if next > id {
                id = next;
                continue;
            }
            // A retransmission is not judged by count: what is SACKED above it was sent before
            // it. Its loss is left to the timeout.
            if !self.get(id).has(RETRANSMITTED | LOST) {
                newly += u32::from(self.mark_lost(id));
            }
            id += 1;
        }
        self.dup_judged = id;
        newly
    }

    /// Whether anything was delivered since the last judgement by time.
    pub(crate) fn rack_advanced(&self) -> bool {
        self.rack.advanced
    }

    /// Whether everything in flight was plainly sent after the newest segment that has arrived.
    /// Then [`judge_by_time`](Self::judge_by_time) would find nothing, and need not be called.
    #[expect(
        clippy::inline_always,
        reason = "the way that most ACKs of a recovery take"
    )]
    #[inline(always)]
    pub(crate) fn is_judged(&mut self) -> bool {
        let id = self.rack_judged.max(self.first);
        let newest = self.rack.sent;
        let is_judged = self.rack_waiting.is_none()
            && self.resent.front().is_none_or(|&(_, at)| at > newest)
            && (id >= self.next || (self.is_judgeable(id) && !self.rack.judges(self.get(id))));
        if is_judged {
            self.rack.advanced = false;
            self.rack_judged = id;
        }
        is_judged
    }

    /// RACK_detect_loss (RFC 8985 section 6.2 step 5): how many segments are newly lost, and
    /// when the last of those that must wait is due.
    pub(crate) fn judge_by_time(&mut self, now: Time, window: Span) -> (u32, Option<Time>) {
        self.rack.advanced = false;
        let id = self.next_judgeable(self.rack_judged.max(self.first));
        let waits = self.rack_waiting.is_some()
            || self.is_resent_before()
            || (id < self.next && self.rack.judges(self.get(id)));
        if waits {
            return self.judge_older(id, now, window);
        }
        self.rack_judged = id;
        (0, None)
    }

    /// Whether anything that was sent again, and is not acknowledged, was sent before the newest
    /// that has arrived.
    #[inline]
    fn is_resent_before(&mut self) -> bool {
        while let Some(&(id, at)) = self.resent.front() {
            if at > self.rack.sent {
                return false;
            }
            if id >= self.first {
                return true;
            }
            self.resent.pop_front();
        }
        false
    }

    /// [`judge_by_time`](Self::judge_by_time) of what was sent before the newest segment that has
    /// arrived. `id`: the first that was not judged.
    #[inline(never)]
    fn judge_older(&mut self, mut id: u64, now: Time, window: Span) -> (u32, Option<Time>) {
        let mut newly = 0;
        let patience = self.rack.rtt + window;
        let rack = self.rack.clone();
        let verdict = |record: &Record| {
            if !rack.judges(record) {
                Verdict::TooEarly
            } else if record.sent + patience <= now {
                Verdict::Lost
            } else {
                Verdict::Wait
            }
        };
        // Segments sent once are in the order of sending: lost, then waiting, then too early.
        while id < self.next && matches!(verdict(self.get(id)), Verdict::Lost) {
            newly += u32::from(self.mark_lost(id));
            id = self.next_judgeable(id + 1);
        }
        self.rack_judged = id;
        // While the newest that waits goes on waiting, none before it is looked at again.
        let (mut newest, from) = match self.rack_waiting {
            Some((newest, looked)) if newest >= id && self.is_judgeable(newest) => {
                (Some(newest), looked)
            }
            _ => (None, id),
        };
        let mut ahead = self.next_judgeable(from);
        while ahead < self.next && !matches!(verdict(self.get(ahead)), Verdict::TooEarly) {
            newest = Some(ahead);
            ahead = self.next_judgeable(ahead + 1);
        }
        self.rack_waiting = newest.map(|newest| (newest, ahead));
        let mut waiting = newest.map(|id| self.get(id).sent);
        // Retransmissions are in the order of sending only among themselves, so that they have a
        // queue of their own.
        while let Some(&(id, at)) = self.resent.front() {
            if self.is_resent_at(id, at) {
                match verdict(self.get(id)) {
                    Verdict::Lost => newly += u32::from(self.mark_lost(id)),
                    Verdict::Wait | Verdict::TooEarly => break,
                }
            }
            self.resent.pop_front();
        }
        for &(id, at) in &self.resent {
            if self.is_resent_at(id, at) {
                if matches!(verdict(self.get(id)), Verdict::TooEarly) {
                    break;
                }
                waiting = waiting.max(Some(at));
            }
        }
        (newly, waiting.map(|sent| sent + patience))
    }

    /// The first record at or after `id` that RACK may judge by its first sending.
    fn next_judgeable(&mut self, mut id: u64) -> u64 {
        while id < self.next && !self.is_judgeable(id) {
            id = self.next_unsacked(id).max(id + 1);
        }
        id
    }

    /// Whether a record was sent once, has not arrived, and has not been judged lost.
    fn is_judgeable(&self, id: u64) -> bool {
        !self.get(id).has(SACKED | LOST | RETRANSMITTED)
    }

    /// Whether the retransmission of `id` at `at` is still the one in flight.
    fn is_resent_at(&self, id: u64, at: Time) -> bool {
        id >= self.first && id < self.next && {
            let record = self.get(id);
            record.has(RETRANSMITTED) && record.sent == at
        }
    }
}
