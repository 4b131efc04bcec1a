//! The ACK that most are: of segments in order, each sent once, while nothing is missing.

use super::{EVER_RETRANSMITTED, Newest, Scoreboard};
use crate::Time;

/// Segments that one ACK has taken off the board, when nothing is missing and none was sent twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    /// When the first of them was sent, and the last.
    pub(crate) sent: (Time, Time),
    pub(crate) newest: Newest,
}

impl Scoreboard {
    /// Removes everything below `una` if that is whole segments, none of which was sent twice, and
    /// nothing on the board is out of order. It does what [`ack_through`](Self::ack_through) does
    /// then.
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    pub(crate) fn ack_in_order(&mut self, una: u64, now: Time) -> Option<InOrder> {
        // With anything marked, each record has to be asked: its marks go with it, and so must
        // their counts.
        if self.sacked | self.lost | self.retransmitted | self.reno_sacked != 0 {
            return None;
        }
        let mut id = self.first;
        while id < self.next && self.get(id).end() <= una {
            // The ACK may answer either sending (Karn): which of them tells F-RTO, undo and RACK
            // something, `deliver` decides.
            if self.get(id).has(EVER_RETRANSMITTED) {
                return None;
            }
            id += 1;
        }
        // An ACK in the middle of a segment leaves a shorter record, which `ack_through` makes.
        let cut = id < self.next && self.get(id).start < una;
        if cut || id == self.first {
            return None;
        }
        let (first, last) = (self.get(self.first), self.get(id - 1));
        let taken = InOrder {
            segments: (id - self.first) as u32,
            bytes: last.end() - first.start,
            sent: (first.sent, last.sent),
            newest: last.newest(),
        };
        // Only the last counts for RACK: what was sent first has come first, so that the others
        // would only be written over.
        self.rack.rtt = now - taken.newest.sent;
        self.rack.advanced = true;
        if (taken.newest.sent, taken.newest.end) > (self.rack.sent, self.rack.end) {
            self.rack.sent = taken.newest.sent;
            self.rack.end = taken.newest.end;
        }
        self.first = id;
        // Numbers on these lists are of records that are gone; what is sent next reuses none.
        if self.is_empty() {
            self.lost_again.clear();
            self.resent.clear();
        }
        Some(taken)
    }
}
