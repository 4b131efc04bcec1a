//! Which segments are lost: by duplicates (RFC 6675) or by time (RFC 8985).
//! Both walk forward only: what has been judged once is not looked at again.

use super::{LOST, RETRANSMITTED, Record, Scoreboard};
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

    /// RACK_detect_loss (RFC 8985 section 6.2 step 5): how many segments are newly lost, and
    /// when the last of those that must wait is due.
    pub(crate) fn judge_by_time(&mut self, now: Time, window: Span) -> (u32, Option<Time>) {
        self.rack.advanced = false;
        let mut newly = 0;
        // When the newest segment was sent that must wait.
        let mut waiting: Option<Time> = None;
        let patience = self.rack.rtt + window;
        let (sent, end) = (self.rack.sent, self.rack.end);
        let verdict = |record: &Record| {
            if record.sent > sent || (record.sent == sent && record.end() >= end) {
                Verdict::TooEarly
            } else if record.sent + patience <= now {
                Verdict::Lost
            } else {
                Verdict::Wait
            }
        };
        let mut id = self.rack_judged.max(self.first);
        self.rack_judged = self.next;
        while id < self.next {
            let next = self.next_unsacked(id);
            if next > id {
                id = next;
                continue;
            }
            let record = self.get(id);
            if !record.has(LOST | RETRANSMITTED) {
                let sent = record.sent;
                match verdict(record) {
                    Verdict::Lost => newly += u32::from(self.mark_lost(id)),
                    // Segments sent once are in the order of sending: those behind wait too.
                    Verdict::Wait => {
                        self.rack_judged = self.rack_judged.min(id);
                        waiting = Some(sent);
                    }
                    Verdict::TooEarly => {
                        self.rack_judged = self.rack_judged.min(id);
                        break;
                    }
                }
            }
            id += 1;
        }
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

    /// Whether the retransmission of `id` at `at` is still the one in flight.
    fn is_resent_at(&self, id: u64, at: Time) -> bool {
        id >= self.first && id < self.next && {
            let record = self.get(id);
            record.has(RETRANSMITTED) && record.sent == at
        }
    }
}
