//! The sender's one timer: retransmission, tail loss probe, reordering or window probe.
//! Source: RFC 6298 section 5, RFC 8985 sections 6.2 and 7, RFC 9293 section 3.8.6.1.

use super::{Recovery, Sender};
use crate::ticks::on_tick;
use crate::{Span, Time};

/// Linux TCP_TIMEOUT_MIN: two ticks of its 1 kHz clock.
const LEAST: Span = Span::from_millis(2);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    #[default]
    Idle,
    Retransmission,
    TailProbe,
    Reorder,
    Persist,
    Ns2,
}

/// What the timer is armed for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Timer {
    /// [`Time::MAX`] when idle.
    pub(crate) at: Time,
    /// When it was armed; [`Time::MAX`] once [`at`](Self::at) is a tick, or needs none.
    since: Time,
    /// Window probes since the window closed.
    probes: u32,
    kind: Purpose,
}

impl Default for Timer {
    fn default() -> Self {
        Self {
            kind: Purpose::Idle,
            at: Time::MAX,
            since: Time::MAX,
            probes: 0,
        }
    }
}

impl Timer {
    fn set(&mut self, kind: Purpose, at: Time, now: Time) {
        self.kind = kind;
        self.at = at;
        self.since = now;
    }

    fn clear(&mut self) {
        self.set(Purpose::Idle, Time::MAX, Time::MAX);
    }

    /// Whether it expires now. The tick is looked for only when the exact time has come: mostly an
    /// ACK comes first, and arms the timer anew.
    fn expires(&mut self, tick: Span, now: Time) -> bool {
        if now >= self.at && self.since != Time::MAX {
            self.at = on_tick(self.at, self.since, tick);
            self.since = Time::MAX;
        }
        now >= self.at
    }

    /// The timer of ns-2's sender; [`Time::MAX`] when it does not run.
    pub(super) fn follow(&mut self, at: Time) {
        self.set(Purpose::Ns2, at, Time::MAX);
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.kind != Purpose::Idle
    }

    pub(crate) fn is_reorder(&self) -> bool {
        self.kind == Purpose::Reorder
    }
}

impl Sender {
    /// Restarts the retransmission timer from now.
    pub(super) fn arm_rto(&mut self, now: Time) {
        self.timer
            .set(Purpose::Retransmission, now + self.rtt.rto(), now);
    }

    /// When the oldest segment times out.
    fn oldest_timeout(&self) -> Option<Time> {
        Some(self.board.oldest_sent()? + self.rtt.rto())
    }

    /// Arms it for what is left of the oldest segment's time. The other two purposes run beside the
    /// retransmission timer in the RFC; with one timer for all, the time since the segment was sent
    /// counts (Linux `tcp_rearm_rto`).
    pub(super) fn resume_rto(&mut self, now: Time) {
        let at = self.oldest_timeout().unwrap_or(now).max(now);
        self.timer.set(Purpose::Retransmission, at, now);
    }

    /// After an ACK (RFC 6298 rules 5.2 and 5.3).
    pub(super) fn rearm(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer.clear();
            return;
        }
        match self.timer.kind {
            Purpose::Reorder | Purpose::TailProbe => self.resume_rto(now),
            _ => self.arm_rto(now),
        }
    }

    /// Arms a tail loss probe if one makes sense; `advanced`: an ACK has just restarted the
    /// timer (RFC 8985 section 7.2).
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, advanced: bool, now: Time) -> bool {
        let calm = matches!(self.recovery.state, Recovery::Open | Recovery::Reduced);
        if !self.rack || self.board.is_empty() || !calm || self.board.sacked() > 0 {
            return false;
        }
        let mut wait = if self.rtt.measured() {
            // The ACK of a single segment may be delayed, so that a probe would come before it
            // (RFC 8985 section 7.2: WCDelAckT; Linux takes its least timeout).
            let delayed_ack = if self.board.outstanding() == 1 {
                self.min_rto
            } else {
                LEAST
            };
            self.rtt.srtt() * 2 + delayed_ack
        } else {
            self.rtt.rto()
        };
        // The probe must come before the timeout, or it could not prevent it.
        let timeout = if advanced {
            now + self.rtt.rto()
        } else {
            self.oldest_timeout().unwrap_or(now)
        };
        if timeout > now {
            wait = wait.min(timeout - now);
        }
        self.timer.set(Purpose::TailProbe, now + wait, now);
        true
    }

    pub(super) fn arm_reorder(&mut self, at: Time, now: Time) {
        let at = (at.max(now) + LEAST).min(now + self.rtt.rto());
        self.timer.set(Purpose::Reorder, at, now);
    }

    pub(super) fn arm_persist(&mut self, now: Time) {
        let wait = self.rtt.backed_off(self.timer.probes);
        self.timer.set(Purpose::Persist, now + wait, now);
    }

    /// The window opened: no more probes.
    pub(super) fn stop_persist(&mut self) {
        self.timer.probes = 0;
        if self.timer.kind == Purpose::Persist {
            self.timer.clear();
        }
    }

    pub(crate) fn on_timer(&mut self, now: Time) {
        if !self.timer.expires(self.tick, now) {
            return;
        }
        let kind = self.timer.kind;
        self.timer.clear();
        match kind {
            Purpose::Idle => {}
            Purpose::Retransmission => self.on_timeout(now),
            Purpose::TailProbe => self.on_tail_probe(now),
            Purpose::Reorder => self.on_reorder_timer(now),
            Purpose::Ns2 => self.ns2_timeout(now),
            Purpose::Persist => {
                self.timer.probes += 1;
                self.counters.window_probes += 1;
                self.window_probe = true;
                self.arm_persist(now);
            }
        }
    }

    fn on_tail_probe(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        // One probe at a time: the ACK of a second one could not be told from that of the first.
        if self.recovery.tail_probe.is_none() {
            self.counters.tail_probes += 1;
            self.probe = true;
            self.arm_rto(now);
        } else {
            self.resume_rto(now);
        }
    }

    fn on_reorder_timer(&mut self, now: Time) {
        self.note_timer(now);
        let before = self.board.in_flight();
        // What must wait longer waits for the next ACK.
        let window = self.reorder_window();
        // The window is asked anew, since reordering may have been seen since the timer was
        // armed.
        let (newly, _) = self.board.judge_by_time(now, window);
        self.recovery.lost_by_timer += newly;
        if self.board.in_flight() < before && self.recovery.state != Recovery::Recovering {
            self.enter_recovery(false, now);
            // PRR opens the window by what an ACK delivers; no ACK has come, so one segment lets
            // the repair begin.
            self.reduce(1, newly, false);
        }
        if let Some(at) = self.oldest_timeout() {
            self.timer.set(Purpose::Retransmission, at.max(now), now);
        }
    }

    /// RFC 6298 rules 5.4 to 5.6, with RFC 5682's step 1.
    fn on_timeout(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        self.counters.timeouts += 1;
        self.note_timer(now);
        // RFC 5682 section 2.1: F-RTO after the first timeout, or a repeated one, but not in a
        // recovery: its retransmissions make ACKs ambiguous.
        let fresh = !matches!(self.recovery.state, Recovery::Recovering | Recovery::Loss);
        // Once for a window of data: a second timeout of the same data must not halve the
        // threshold again (RFC 5681 section 3.1, Linux `tcp_enter_loss`).
        let reduce = matches!(self.recovery.state, Recovery::Open | Recovery::Disorder)
            || self.recovery.high <= self.una
            || (self.recovery.state == Recovery::Loss && self.recovery.timeouts == 0);
        // Before the control is told, whose loss window counts from what stays in flight.
        let lost = self.board.lost();
        self.board.mark_all_lost(now, self.rack);
        self.recovery.lost_by_timer += self.board.lost().saturating_sub(lost);
        if reduce {
            self.undo.start(self.una, self.board.retransmissions() > 0);
        }
        let why = if reduce {
            crate::Congestion::Timeout
        } else {
            crate::Congestion::TimeoutAgain
        };
        self.control.on_congestion(why, self.board.in_flight(), now);
        self.recovery.frto = self.frto && (fresh || self.recovery.timeouts > 0);
        self.recovery.prefer_new = false;
        self.recovery.state = Recovery::Loss;
        self.recovery.high = self.next;
        self.recovery.tail_probe = None;
        self.recovery.timeouts += 1;
        self.timed = None;
        self.rtt.back_off();
        self.arm_rto(now);
    }
}
