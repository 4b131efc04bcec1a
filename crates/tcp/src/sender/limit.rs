//! What limits the sender, noted whenever nothing more can be sent.
//!
//! The order is that in which Linux's `tcp_write_xmit` and `tcp_cwnd_validate` ask: the congestion
//! window first, then the receive window, and the send buffer where nothing is left to be sent.

use super::Sender;
use crate::Time;
use crate::limits::{LimitedBy, Limits};

impl Sender {
    /// Nothing more can be sent now: notes why not.
    pub(super) fn note_limit(&mut self, now: Time) {
        self.turn_to(self.limited_by(now), now);
    }

    /// What limits it is this from now on.
    #[inline]
    pub(super) fn turn_to(&mut self, by: Option<LimitedBy>, now: Time) {
        if by != self.limited {
            self.meter.turn(self.limited, now);
            self.limited = by;
        }
    }

    fn limited_by(&self, now: Time) -> Option<LimitedBy> {
        if self.fin_acked() {
            return None;
        }
        let has_more = self.has_unsent();
        let waits_for_room = self.waits_for_room() || self.short_write;
        // Nothing is under way and nothing is there: an idle connection is not at its window.
        let idle = self.una == self.next && !has_more;
        if !idle && self.in_flight() >= self.window() {
            return Some(LimitedBy::Window);
        }
        Some(if has_more {
            self.held_back(now)
        } else if waits_for_room {
            LimitedBy::SendBuffer
        } else {
            LimitedBy::Application
        })
    }

    /// What holds data back that the congestion window would let go.
    fn held_back(&self, now: Time) -> LimitedBy {
        let unsent = self.written.min(self.buffered).saturating_sub(self.next);
        let next = unsent.min(u64::from(self.mss));
        if self.ns2.is_none() && self.next + next > self.window_end {
            LimitedBy::ReceiveWindow
        } else if self.pace_pending(now) {
            LimitedBy::Pacing
        } else {
            LimitedBy::Window
        }
    }

    /// How long it was limited by what until now.
    pub(crate) fn limits(&self, now: Time) -> Limits {
        self.meter.until(self.limited, now)
    }
}
