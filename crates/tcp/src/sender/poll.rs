//! Which segment goes next, if one may.

use super::{LimitedBy, Outgoing, Recovery, Sender};
use crate::Time;

impl Sender {
    /// Whether nothing is out and nothing waits: an end that only receives. Then
    /// [`poll`](Self::poll) has nothing to say and nothing to do.
    #[expect(clippy::inline_always, reason = "mostly it is one comparison")]
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        let asks = self.closing | self.probe | self.sent_new | self.window_limited;
        let told = self.limited == Some(LimitedBy::Application) && !self.short_write;
        // First: ns-2's senders have a board of their own.
        !self.by_ns2 && !self.has_outstanding() && self.written <= self.next && told && !asks
    }

    /// The next segment, if one may go now. `room`: the payload that options leave.
    pub(crate) fn poll(&mut self, room: u16, now: Time) -> Option<Outgoing> {
        if self.by_ns2 {
            let sent = self.ns2_poll(now);
            if sent.is_none() {
                self.note_limit(now);
            }
            return sent;
        }
        if self.nagle {
            self.full = self.mss.min(room);
        }
        let mut sent = self.next_of_any(room, now);
        if sent.is_none() && core::mem::take(&mut self.fin_waits) {
            sent = self.next_of_any(room, now);
        }
        if self.joins {
            self.count_train(sent.is_some());
        }
        if sent.is_none() {
            self.after_burst(now);
            self.note_limit(now);
        }
        sent
    }

    /// Whether nothing but new data can go, and at once as far as the windows let it. So it is also
    /// beside a recovery that has nothing to send again.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        let nothing_lost = if self.recovery.state == Recovery::Open {
            self.board.lost() == 0
        } else {
            // Without RACK a hole may be sent again that is not known to be lost.
            self.rack && self.board.is_resent()
        };
        nothing_lost && self.sends_new()
    }

    #[expect(clippy::inline_always, reason = "as `poll_calm`")]
    #[inline(always)]
    fn sends_new(&self) -> bool {
        let odd = self.probe | self.closing | self.spaces | self.recovery.prefer_new;
        !odd && !self.control.paces()
    }

    /// [`poll`](Self::poll) of a sender that [is calm](Self::is_calm), as most are. What it sends
    /// leaves it so.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most segments take, and once for others"
    )]
    #[inline(always)]
    pub(crate) fn poll_calm(&mut self, room: u16, now: Time) -> Option<Outgoing> {
        if self.nagle {
            self.full = self.mss.min(room);
        }
        let in_flight = self.board.in_flight();
        let window = self.own_window();
        let full = in_flight >= window;
        let fresh = self.fresh_len_here(room);
        if !full && let Some(len) = fresh {
            return Some(Outgoing {
                fills: in_flight + 1 >= window,
                ..self.send_fresh::<true>(len, in_flight, now)
            });
        }
        self.window_limited |= full && fresh.is_some();
        self.after_burst(now);
        if full && self.has_outstanding() {
            self.turn_to(Some(LimitedBy::Window), now);
        } else {
            self.note_limit(now);
        }
        None
    }

    fn next_of_any(&mut self, room: u16, now: Time) -> Option<Outgoing> {
        if core::mem::take(&mut self.probe)
            && let Some(sent) = self.send_probe(room, now)
        {
            return Some(sent);
        }
        if !self.has_outstanding() && !self.has_unsent() {
            return None;
        }
        // Segments in flight, not outstanding: what is lost or has arrived makes room (RFC 6675
        // section 4, "pipe").
        let full = self.board.in_flight() >= self.window();
        // The window does not hold the segment that carries the FIN (Linux `tcp_cwnd_test`).
        let last = full && self.fin_due() && self.next + u64::from(self.mss) >= self.written;
        if full && !last {
            self.window_limited |= self.fresh_len(room).is_some();
            return None;
        }
        if self.paced() && now < self.pace_at && !self.train_goes_on() {
            return None;
        }
        if last {
            let len = self.fresh_len(room)?;
            return Some(self.send_new(len, now));
        }
        if self.recovery.prefer_new {
            // F-RTO step 2b: new data tells whether the timeout was spurious.
            if let Some(len) = self.fresh_len(room) {
                return Some(self.send_new(len, now));
            }
            // The new data is out: its ACK decides, and nothing else may go until then.
            if self.next > self.recovery.high {
                return None;
            }
            self.recovery.prefer_new = false;
            self.recovery.frto = false;
        }
        // Retransmissions before new data (RFC 6675 NextSeg rules 1 and 2).
        if self.board.lost() > 0
            && let Some(id) = self.board.next_lost()
        {
            if !self.is_held(id) {
                return Some(self.send_again(id, now));
            }
            // An ACK lets new data go instead, a timer nothing.
            if self.by_timer(now) {
                return None;
            }
        }
        if let Some(len) = self.fresh_len(room) {
            if self.joins && !self.train_goes_on() && self.defers(now) {
                return None;
            }
            return Some(self.send_new(len, now));
        }
        // Rules 3 and 4 come last: what they send may not be lost at all.
        let id = self.extra_retransmission()?;
        (!self.is_held(id)).then(|| self.send_again(id, now))
    }
}
