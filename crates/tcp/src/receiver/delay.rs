//! When an ACK goes: at once, delayed, or as one of many behind a gap.
//! Source: RFC 5681 section 4.2; Linux 6.1's quick ACKs, interactive mode and SACK compression.

use super::{
    DELAY_MIN, MAX_HELD_SACKS, MAX_QUICK, PROMPT_SACKS, Pushed, Receiver, SACK_DELAY, SACK_SLACK,
};
use crate::ticks::on_tick;
use crate::{Span, Time};

impl Receiver {
    /// An acknowledgement was sent.
    pub(crate) fn on_ack_sent(&mut self) {
        // Only an ACK that was owed uses up the quick ones, not one that rides on data anyway
        // (Linux `tcp_dec_quickack_mode`).
        let owed = self.ack_now || self.ack_at != Time::MAX;
        if self.quick > 0 && owed {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = DELAY_MIN;
            }
        }
        self.ack_now = false;
        self.ack_at = Time::MAX;
        self.pushed = Pushed::No;
        self.held_sacks = 0;
        self.acked = self.next;
        self.sent += 1;
        if self.is_odd {
            self.told = None;
            self.duplicate = None;
            self.is_odd = !self.is_plain();
        }
    }

    /// Linux `tcp_incr_quickack`.
    fn hasten(&mut self, most: u32) {
        let offered = self.edge.saturating_sub(self.next);
        let segments = (offered / (2 * u64::from(self.full))).min(u64::from(most)) as u32;
        // Linux: with a window below two segments still two, or a stall would end by the delayed
        // ACK's timer alone.
        let segments = if segments == 0 { 2 } else { segments };
        self.quick = self.quick.max(segments);
    }

    /// Linux `tcp_enter_quickack_mode`.
    pub(super) fn enter_quick_mode(&mut self, most: u32) {
        self.hasten(most);
        self.interactive = false;
        self.delay = DELAY_MIN;
    }

    /// The delayed ACK's time has come. `rto`: this side's timeout.
    pub(crate) fn on_timer(&mut self, rto: Span, now: Time) {
        if now >= self.ack_at && self.ack_since != Time::MAX {
            self.ack_at = on_tick(self.ack_at, self.ack_since, self.tick);
            self.ack_since = Time::MAX;
        }
        if now < self.ack_at {
            return;
        }
        self.ack_at = Time::MAX;
        self.ack_now = true;
        if self.held_sacks > 0 {
            return;
        }
        // Nothing came that the ACK could have been part of: wait longer the next time.
        self.delay = if core::mem::take(&mut self.interactive) {
            DELAY_MIN
        } else {
            (self.delay * 2).min(rto)
        };
    }

    /// Data goes out: an answer, if data has just come in (Linux `tcp_event_data_sent`).
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        let delay = self.delay.min(self.delay_max);
        self.interactive |= self.last_data.is_some_and(|last| now - last < delay);
    }

    /// RFC 5681 section 4.2. `srtt`: zero if nothing of ours has been acknowledged yet.
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    pub(super) fn schedule_ack(&mut self, filled_gap: bool, srtt: Span, now: Time) {
        if self.delay_max.is_zero() {
            self.ack_now = true;
            return;
        }
        let unacknowledged = self.next - self.acked;
        // An app that reads at once has emptied the buffer by now (`tcp_cleanup_rbuf`).
        let write_ends = match self.pushed {
            Pushed::No => false,
            Pushed::Once => !self.interactive,
            Pushed::Twice => true,
        };
        let quick = self.quick > 0 && !self.interactive;
        let full = unacknowledged > u64::from(self.full);
        if quick || full || (filled_gap && self.store.is_empty()) {
            self.ack_now = true;
        } else if filled_gap {
            self.acknowledge_gap(srtt, now);
        } else if write_ends && self.reading {
            self.ack_now = true;
        } else {
            self.delay_ack(srtt, now);
        }
    }

    /// Linux `tcp_send_delayed_ack`.
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    fn delay_ack(&mut self, srtt: Span, now: Time) {
        let round_trip = if srtt.is_zero() {
            Span::MAX
        } else {
            srtt.max(DELAY_MIN)
        };
        let delay = self.delay.min(round_trip).min(self.delay_max);
        if self.ack_at <= now + delay / 4 {
            self.ack_now = true;
        } else if now + delay < self.ack_at {
            self.ack_at = now + delay;
            self.ack_since = now;
        }
    }

    /// Something is missing: tell the sender, but not for each of many segments. `srtt`: zero if
    /// nothing of ours has been acknowledged yet.
    pub(super) fn acknowledge_gap(&mut self, srtt: Span, now: Time) {
        if self.follows {
            // One ACK for all of a train, of which the first segment has decided.
            return;
        }
        let quick = self.quick > 0 && !self.interactive;
        let holds = self.sack && !self.delay_max.is_zero() && self.held_sacks < MAX_HELD_SACKS;
        if quick || !holds {
            self.ack_now = true;
            return;
        }
        if self.gap_at != self.next {
            self.gap_at = self.next;
            self.prompt_sacks = 0;
        }
        if self.prompt_sacks < PROMPT_SACKS {
            self.prompt_sacks += 1;
            self.ack_now = true;
            return;
        }
        self.held_sacks += 1;
        if self.held_sacks == 1 {
            let rtt = if srtt.is_zero() { Span::MAX } else { srtt };
            let delay = (self.window.rtt().min(rtt) / 20).min(SACK_DELAY) + SACK_SLACK;
            if now + delay < self.ack_at {
                self.ack_at = now + delay;
                // This timer is a finer one in Linux (`compressed_ack_timer`).
                self.ack_since = Time::MAX;
            }
        }
    }

    /// Data came in order (Linux `tcp_event_data_recv`).
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    pub(super) fn note_activity(&mut self, rto: Span, now: Time) {
        let distance = self.last_data.replace(now).map(|last| now - last);
        match distance {
            Some(short) if short <= DELAY_MIN / 2 => self.delay = self.delay / 2 + DELAY_MIN / 2,
            Some(middling) if middling < self.delay => {
                self.delay = (self.delay / 2 + middling).min(rto);
            }
            Some(long) if long <= rto => {}
            Some(_) | None => self.hasten(MAX_QUICK),
        }
    }
}
