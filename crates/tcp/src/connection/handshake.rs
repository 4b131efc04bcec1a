//! The handshake, and what is agreed in it.
//! Source: RFC 9293 sections 3.5 and 3.10.7, RFC 6298 section 5.7, RFC 5681 section 3.1 (lost SYN),
//! RFC 3168 section 6.1.1 and RFC 9768 section 3.1 (ECN).

use super::{Connection, Phase, Received, Reset, Transmit};
use crate::Codepoint;
use crate::Time;
use crate::accecn::{self, Counter, Reflector};
use crate::config::Ecn;
use crate::segment::{Flags, Segment};
use crate::ticks::on_tick;
use alloc::boxed::Box;

impl Connection {
    /// What the next SYN asks for. One that is sent again may have been lost for its bits: RFC 3168
    /// section 6.1.1.1; RFC 9768 section 3.1.4.1 asks twice.
    fn syn_ecn(&self) -> Ecn {
        match self.config.wanted_ecn() {
            wanted if !self.config.ecn_checked => wanted,
            Ecn::Classic if self.syn_count == 0 => Ecn::Classic,
            Ecn::Accurate if self.syn_count < 2 => Ecn::Accurate,
            _ => Ecn::Off,
        }
    }

    /// The flags of the next SYN-ACK. The third is sent without ECN's (RFC 9768 section 3.2.3.2.2).
    fn syn_ack_flags(&mut self) -> Flags {
        let Some(reflector) = &self.accurate else {
            return accecn::answer(self.ecn, Codepoint::NotEct);
        };
        if self.syn_count < 2 {
            return accecn::answer(Ecn::Accurate, reflector.handshake());
        }
        self.sender.give_up_ecn();
        accecn::answer(Ecn::Off, Codepoint::NotEct)
    }

    /// AccECN begins, if it is agreed on; `ecn`: of the peer's SYN or SYN-ACK.
    fn begin_accurate(&mut self, ecn: Codepoint, is_client: bool) {
        if self.ecn == Ecn::Accurate {
            let rule = self.config.accecn;
            self.accurate = Some(Box::new(Reflector::new(ecn, is_client, rule)));
            let mut counter = Counter::new(rule);
            counter.checks_handshake = self.config.ecn_checked;
            self.sender.marks = Some(Box::new(counter));
            self.receiver.echo_counts();
            self.leave_room();
        } else {
            self.sender.control.do_without_counts(&self.config);
        }
    }

    pub(super) fn answer_syn(&mut self, segment: &Segment, ecn: Codepoint, now: Time) {
        self.ecn = accecn::agreed_by_server(self.config.wanted_ecn(), segment.flags);
        self.receiver.start(segment, false, now);
        self.begin_accurate(ecn, false);
        self.phase = Phase::SynReceived;
        self.syn_due = true;
    }

    /// The SYN that is being answered comes once more.
    pub(super) fn receive_syn_again(&mut self, segment: &Segment, ecn: Codepoint) {
        if accecn::contradicts(self.ecn, segment.flags) {
            self.abort();
            return;
        }
        self.syn_due = true;
        if let Some(reflector) = &mut self.accurate {
            reflector.note_syn(ecn);
            if segment.flags.ace() == 0 {
                // The client may have given up ECN (RFC 9768 section 3.1.5).
                self.sender.give_up_ecn();
            }
        }
    }

    pub(super) fn receive_in_syn_sent(
        &mut self,
        segment: &Segment,
        ecn: Codepoint,
        now: Time,
        received: &mut Received,
    ) {
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        if !segment.flags.has(Flags::ACK) {
            // Both opened at once.
            self.answer_syn(segment, ecn, now);
            return;
        }
        if segment.ack != self.isn.wrapping_add(1) {
            return;
        }
        self.ecn = accecn::agreed_by_client(self.config.wanted_ecn(), segment.flags);
        self.receiver.start(segment, true, now);
        self.receiver.ack_now = true;
        self.receiver.syn_ack_first = self.config.ns2.is_none();
        self.begin_accurate(ecn, true);
        self.note_option(segment);
        self.establish(segment, now, received);
        self.sender.read_syn_ack(segment, now);
    }

    pub(super) fn establish(&mut self, segment: &Segment, now: Time, received: &mut Received) {
        self.phase = Phase::Open;
        self.syn_due = false;
        self.syn_at = Time::MAX;
        self.sender.start(segment.window, now);
        self.receiver.establish(now);
        if self.syn_count == 1 {
            let sample = now - self.syn_sent;
            self.sender.rtt.sample(sample, 1, 1);
            self.sender.rtt.observe_min(sample, now);
            received.rtt = Some(sample);
        } else if self.syn_count > 2 {
            self.sender.restart_from_one();
        }
        let rtt = self.sender.rtt.measured().then(|| self.sender.rtt.srtt());
        self.sender.control.on_established(rtt, now);
        received.established = true;
    }

    fn send_reset(&mut self, reset: &Reset, now: Time) -> Transmit {
        let mut sent = self.plain(reset.seq, Flags::RST, now);
        if let Some((ack, echo)) = reset.ack {
            sent.segment.flags = Flags::RST.with(Flags::ACK);
            sent.segment.ack = ack;
            if self.config.timestamps {
                sent.segment.ts_echo = echo;
            }
        }
        sent
    }

    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        if let Some(reset) = self.reset_due.take() {
            return Some(self.send_reset(&reset, now));
        }
        if core::mem::take(&mut self.challenge_due) {
            let number = self.isn.wrapping_add(1);
            return Some(self.plain(number, Flags::ACK, now));
        }
        if !core::mem::take(&mut self.syn_due) {
            return None;
        }
        let answers = self.phase == Phase::SynReceived;
        let flags = if answers {
            self.syn_ack_flags()
        } else {
            accecn::setup(self.syn_ecn())
        };
        // The tries that wait as long as the first (Linux `tcp_retransmit_timer`).
        let linear = if answers { 0 } else { self.config.linear_syns };
        let tries = self.syn_count + self.sender.copies.as_ref().map_or(0, |copies| copies.waits);
        let backoff = 1_u64 << tries.saturating_sub(linear).min(16);
        let wait = (self.config.initial_rto * backoff).min(self.config.max_rto);
        self.syn_at = on_tick(now + wait, now, self.sender.tick);
        if !answers && self.syn_count > 0 && self.sender.holds_syn() {
            return None;
        }
        self.syn_sent = now;
        self.syn_count += 1;
        let mut sent = self.plain(self.isn, flags, now);
        if !answers {
            sent.segment.ack = 0;
            sent.segment.ts_echo = Time::ZERO;
        } else if self.ecn == Ecn::Accurate && self.syn_count == 1 {
            // One that is sent again may have been lost for the option (RFC 9768 3.2.3.2.2).
            if let Some(option) = Reflector::first_option(self.config.accecn) {
                sent.segment.set_accecn(&option);
            }
        }
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        sent.segment.window = sent.segment.window.min(u32::from(u16::MAX));
        Some(sent)
    }
}
