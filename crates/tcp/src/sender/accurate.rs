//! Marks that the peer tells of by counters: AccECN (RFC 9768).

use super::Sender;
use super::ack::Facts;
use crate::scoreboard::Outcome;
use crate::{Segment, Time};

impl Sender {
    /// Whether data may be sent as ECN-capable.
    pub(crate) fn is_ecn_capable(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_capable())
    }

    /// From now on nothing is sent as ECN-capable.
    pub(crate) fn give_up_ecn(&mut self) {
        if let Some(marks) = &mut self.marks {
            marks.give_up();
        }
    }

    /// The SYN-ACK says what has happened to the SYN.
    pub(crate) fn read_syn_ack(&mut self, segment: &Segment, now: Time) {
        let marked = self
            .marks
            .as_mut()
            .is_some_and(|marks| marks.read_syn_ack(segment));
        if marked {
            self.enter_reduced(now);
        }
    }

    /// The ACK of the SYN-ACK says what has happened to that.
    pub(crate) fn read_last_ack(&mut self, segment: &Segment, now: Time) {
        let marked = self
            .marks
            .as_mut()
            .is_some_and(|marks| marks.read_last_ack(segment));
        if marked {
            self.enter_reduced(now);
        }
    }

    /// A segment with this ACE field has come, which the next ACK is.
    pub(crate) fn note_ace(&mut self, ace: u8) {
        if let Some(marks) = &mut self.marks {
            marks.note_ace(ace);
        }
    }

    /// Reads the counters of an ACK. `out`: what it has acknowledged.
    pub(super) fn count_marks(&mut self, segment: &Segment, facts: &mut Facts, out: &Outcome) {
        if let Some(marks) = &mut self.marks {
            // Without progress the counters may be those of an older ACK that was overtaken.
            let progress = facts.advanced || out.sacked > 0;
            let marked = marks.read(segment, progress, out.delivered, self.mss);
            facts.ece = marked.packets > 0;
            let full = u64::from(marked.packets) * u64::from(self.mss);
            // An ACK that wraps or lies says no more than it acknowledges.
            facts.marked = Some((
                marked.packets.min(out.delivered),
                marked.bytes.unwrap_or(full).min(out.delivered_bytes),
            ));
        }
    }
}
