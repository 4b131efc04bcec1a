//! What AccECN (RFC 9768) does to an open connection. Its counters are in `accecn`.

use super::{Connection, Phase, Received};
use crate::Codepoint;
use crate::Time;
use crate::config::{AccEcnRule, Algorithm};
use crate::info::{CeCounts, State};
use crate::segment::{Flags, Segment};
use crate::sender::Outgoing;

/// The flag ECE alone.
const ECE: u8 = 0b001;

impl Connection {
    /// A segment whose flags for ECN are a counter.
    #[inline(never)]
    pub(super) fn receive_accurate(
        &mut self,
        segment: &Segment,
        ecn: Codepoint,
        now: Time,
    ) -> Received {
        self.note_option(segment);
        self.sender.note_ace(segment.flags.ace());
        // To the rest it is an ACK with an echo, so that none is taken for a plain one.
        let read = Segment {
            flags: segment.flags.with_ace(ECE),
            ..*segment
        };
        let received = self.receive_open(&read, false, now);
        let unacknowledged = self.receiver.has_unacknowledged();
        if let Some(reflector) = &mut self.accurate {
            let prompt = reflector.note(ecn, segment.payload, unacknowledged);
            self.receiver.ack_now |= prompt;
        }
        self.leave_room();
        received
    }

    /// The segment that ends the handshake at the end that listened.
    pub(super) fn read_last_ack(&mut self, segment: &Segment, now: Time) {
        let fin = segment.flags.has(Flags::FIN);
        if segment.payload == 0 && segment.sack_blocks().is_empty() && !fin {
            self.sender.read_last_ack(segment, now);
        }
    }

    /// The SYN-ACK has come once more.
    pub(super) fn note_syn_ack(&mut self, ecn: Codepoint) {
        if let Some(reflector) = &mut self.accurate {
            reflector.note_syn_ack(ecn);
        }
    }

    /// The peer sends options, if this segment has one.
    pub(super) fn note_option(&mut self, segment: &Segment) {
        if let Some(reflector) = &mut self.accurate
            && segment.accecn().is_some()
        {
            reflector.note_option();
        }
    }

    /// The ECN field of an ACK without data.
    #[inline(never)]
    pub(super) fn ack_codepoint(&self) -> Codepoint {
        let capable = self.config.accecn != AccEcnRule::Rfc9768
            && self.phase == Phase::Open
            && self.sender.is_ecn_capable();
        match self.config.algorithm {
            _ if !capable => Codepoint::NotEct,
            Algorithm::Prague => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// Data leaves room for the option that is due.
    pub(super) fn leave_room(&mut self) {
        let reserve = self
            .accurate
            .as_ref()
            .map_or(0, |reflector| reflector.reserve());
        self.mss = self.config.mss.saturating_sub(reserve).max(1);
    }

    /// A segment that says what has arrived marked.
    #[inline(never)]
    pub(super) fn echo(&mut self, mut segment: Segment, is_pure: bool, fits: bool) -> Segment {
        // Its TIME-WAIT has forgotten the counter (Linux `tcp_timewait_state_process`).
        let forgets = self.config.accecn != AccEcnRule::Rfc9768 && self.state() == State::TimeWait;
        match &mut self.accurate {
            None => segment.flags = segment.flags.with(Flags::ECE),
            Some(_) if forgets => {}
            Some(reflector) => {
                reflector.encode(&mut segment, is_pure, fits);
                self.leave_room();
            }
        }
        segment
    }

    /// ECT(1) of a control for L4S (RFC 9331 section 4.1). As Linux, what is sent again is capable
    /// too.
    pub(super) fn accurate_codepoint(&self, outgoing: &Outgoing) -> Codepoint {
        if outgoing.payload == 0 {
            return self.ack_codepoint();
        }
        if !self.sender.is_ecn_capable() {
            return Codepoint::NotEct;
        }
        match self.config.algorithm {
            Algorithm::Prague => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// What both halves have counted.
    pub(super) fn ce_counts(&self) -> Option<CeCounts> {
        let (reflector, counter) = (self.accurate.as_ref()?, self.sender.marks.as_ref()?);
        Some(CeCounts {
            received: reflector.marked(),
            received_bytes: reflector.bytes(),
            told: counter.marked(),
            told_bytes: counter.bytes(),
            capable: counter.is_capable(),
        })
    }
}
