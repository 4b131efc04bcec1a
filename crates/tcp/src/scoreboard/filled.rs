//! The ACK of a retransmission that has filled a gap.

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, Run, SACKED, Scoreboard};
use crate::{Span, Time};

impl Scoreboard {
    /// Removes everything below `una`, as [`ack_through`](Self::ack_through) does. This must be one
    /// segment that was sent again, and those behind it that had arrived before. Others must
    /// remain. Otherwise nothing is done. Returns what has arrived now.
    #[expect(clippy::inline_always, reason = "as `Sender::on_next_sack`")]
    #[inline(always)]
    pub(crate) fn ack_filled(&mut self, una: u64, min_rtt: Span, now: Time) -> Option<Run> {
        let head = self.first;
        if head >= self.next {
            return None;
        }
        let record = *self.get(head);
        let flags = record.flags;
        if flags & (SACKED | EVER_RETRANSMITTED) != EVER_RETRANSMITTED || record.end() > una {
            return None;
        }
        let mut id = head + 1;
        while id < self.next {
            let behind = self.get(id);
            if !behind.has(SACKED) || behind.end() > una {
                break;
            }
            id += 1;
        }
        // What is left must begin there.
        if id >= self.next || self.get(id).start() != una {
            return None;
        }
        let arrived = (id - head - 1) as u32;
        if arrived > 0 {
            self.sacked -= arrived;
            self.joined -= arrived - 1 + u32::from(self.is_sacked(id));
        }
        self.lost -= u32::from(flags & LOST != 0);
        self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
        self.first = id;
        if self
            .resent
            .front()
            .is_some_and(|&(resent, _)| resent == head)
        {
            self.resent.pop_front();
        }
        // See `deliver`.
        if now - record.sent >= min_rtt {
            self.rack.note(&record, now);
        }
        Some(Run {
            segments: 1,
            bytes: u64::from(record.len),
            sent: (record.sent, record.sent),
        })
    }
}
