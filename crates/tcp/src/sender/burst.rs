//! Before, between and after the segments of a burst: pacing, idle times, and whether the window
//! is what limits.
//! Source: RFC 2861 (idle times), Linux's `tcp_update_pacing_rate` and `tcp_cwnd_validate`.

use super::{LimitedBy, Recovery, Sender, UNPACED, Usage};
use crate::{Rate, Span, Time};

impl Sender {
    /// The rate at which segments are spaced: the control's, or as Linux: two windows a round
    /// trip below half the threshold, 1.2 above. Zero before the first sample.
    pub(crate) fn pacing_rate(&self) -> Rate {
        if let Some(rate) = self.control.pacing_rate() {
            return rate;
        }
        let srtt = self.rtt.srtt().as_nanos();
        if srtt == 0 {
            return Rate::ZERO;
        }
        let window = self.control.window();
        let percent = if window < self.control.ssthresh() / 2 {
            200
        } else {
            120
        };
        let segments = window.max(self.board.outstanding());
        let bits = u128::from(segments) * u128::from(self.mss) * 8 * percent * 10_000_000;
        Rate::from_bps(u64::try_from(bits / u128::from(srtt)).unwrap_or(u64::MAX))
    }

    pub(crate) fn paced(&self) -> bool {
        self.pacing || self.control.paces()
    }

    /// Everything was acknowledged: the window may be out of date.
    pub(super) fn resume(&mut self, now: Time) {
        let idle = now - self.last_sent;
        let rto = self.rtt.rto();
        // RFC 2861: after a timeout without sending, the window says nothing of the path any
        // more. BBR keeps its model instead.
        let stale = self.forgets && self.data_segments > 0 && idle > rto;
        if stale && !self.control.controls_recovery() {
            let timeouts = idle.as_nanos() / rto.as_nanos().max(1);
            let timeouts = u32::try_from(timeouts).unwrap_or(u32::MAX);
            self.control.on_idle_restart(timeouts, self.initial_window);
            self.usage.used = 0;
            self.usage.since = now;
        }
    }

    /// A segment is about to be sent while nothing is in flight: tells the control.
    #[cold]
    pub(super) fn start_transmission(&mut self, now: Time) {
        if self.data_segments > 0 {
            let idle = now - self.last_sent;
            self.control.on_transmit_start(idle, self.next, now);
        }
    }

    /// Accounts for a sent segment, if segments are paced.
    pub(super) fn pace(&mut self, payload: u16, now: Time) {
        if self.paced() {
            // The gap follows the segment that has been sent, so that one may always go at once.
            let rate = self.pacing_rate();
            let start = self.pace_at.max(now);
            let mut gap = Span::ZERO;
            if !rate.is_zero() && self.data_segments >= UNPACED {
                gap = rate.time_for(u64::from(payload.max(1)));
                // Who comes late may make up for half of the next gap.
                let late = start - self.pace_at;
                gap -= if self.joins {
                    self.make_up(late, gap)
                } else {
                    late.min(gap / 2)
                };
            }
            self.pace_at = start + gap;
        }
    }

    /// Everything that could be sent has been: is it the window that limits?
    pub(super) fn after_burst(&mut self, now: Time) {
        let sent_new = core::mem::take(&mut self.sent_new);
        let limited = core::mem::take(&mut self.window_limited);
        let probed = core::mem::take(&mut self.probed);
        if !sent_new && !limited && self.has_outstanding() {
            return;
        }
        if sent_new {
            self.recovery.prefer_new = false;
            // A probe is followed by the timeout, counted from it (RFC 8985 section 7.3), not by
            // another one (Linux `tcp_write_xmit`).
            if !probed {
                self.schedule_probe(false, now);
            }
        }
        if sent_new || limited {
            // Full also when the data ended in the very segment that has filled the window.
            let full = limited || self.board.in_flight() >= self.window();
            self.validate_window(full, now);
        }
        if self.board.is_empty()
            && self.has_unsent()
            && !self.timer.is_armed()
            && !self.pace_pending(now)
        {
            // Data waits, nothing is in flight and no timer runs: only the peer's closed window is
            // left, which must be probed, or a lost update would stall both for ever.
            self.arm_persist(now);
        }
    }

    /// A segment of [`poll_calm`](Self::poll_calm) has filled the window: does what its next call
    /// would do, which would send nothing.
    #[inline(never)]
    pub(crate) fn after_full_burst(&mut self, now: Time) {
        self.sent_new = false;
        self.window_limited = false;
        if !core::mem::take(&mut self.probed) {
            self.schedule_probe(false, now);
        }
        self.usage = Usage {
            limited: true,
            most_outstanding: self.board.outstanding(),
            until: self.next,
            used: 0,
            since: now,
        };
        self.turn_to(Some(LimitedBy::Window), now);
    }

    /// Whether the next segment waits for its time only.
    pub(crate) fn pace_pending(&self, now: Time) -> bool {
        self.pace_at > now
            && self.paced()
            && (self.has_unsent() || self.board.lost() > 0)
            && self.board.in_flight() < self.window()
    }

    /// Linux `tcp_cwnd_validate`: a window that stays unused for a timeout shrinks.
    fn validate_window(&mut self, limited: bool, now: Time) {
        let outstanding = self.board.outstanding();
        let usage = &mut self.usage;
        // A round's most counts: a burst that has just ended must not hide that the window was
        // full in it.
        if self.una >= usage.until
            || limited
            || (!usage.limited && outstanding > usage.most_outstanding)
        {
            usage.limited = limited;
            usage.most_outstanding = outstanding;
            usage.until = self.next;
        }
        if self.is_window_limited() {
            self.usage.used = 0;
            self.usage.since = now;
            return;
        }
        self.usage.used = self.usage.used.max(outstanding);
        let stale = self.forgets && now - self.usage.since >= self.rtt.rto();
        if stale && !self.control.controls_recovery() {
            if self.recovery.state == Recovery::Open && !self.has_unsent() {
                let used = self.usage.used.max(self.initial_window);
                self.control.on_application_limited(used);
            }
            self.usage.used = 0;
            self.usage.since = now;
        }
    }

    /// Whether the window is what holds the sender back; in slow start, using half of it is
    /// enough (Linux `tcp_is_cwnd_limited`).
    pub(super) fn is_window_limited(&self) -> bool {
        let window = self.control.window();
        self.usage.limited
            || (window < self.control.ssthresh() && window < 2 * self.usage.most_outstanding)
    }
}
