//! The shortest round trip, and the phase that measures it (ProbeRTT).

use super::{Acks, Bbr3, MIN_WINDOW, Mode, PROBE_RTT_GAIN};
use crate::{AckEvent, Span};

const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const PROBE_RTT_TIME: Span = Span::from_millis(200);

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) {
        self.rtt_expired = ack.now > self.recent_rtt_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (self.rtt_expired || self.recent_rtt.is_none_or(|least| rtt < least))
        {
            self.recent_rtt = Some(rtt);
            self.recent_rtt_at = ack.now;
        }
        let Some(recent) = self.recent_rtt else {
            return;
        };
        let expired = ack.now > self.base.min_rtt_at + MIN_RTT_WINDOW;
        if expired || self.base.min_rtt.is_none_or(|least| recent < least) {
            self.base.min_rtt = Some(recent);
            self.base.min_rtt_at = self.recent_rtt_at;
        }
    }

    pub(super) fn probe_rtt_window(&self) -> u32 {
        self.base.bdp(self.rate(), PROBE_RTT_GAIN).max(MIN_WINDOW)
    }

    pub(super) fn check_probe_rtt(&mut self, ack: &AckEvent) {
        if self.mode != Mode::ProbeRtt && self.rtt_expired && !self.base.idle_restart {
            self.mode = Mode::ProbeRtt;
            self.base.repair.save(self.base.window, false);
            self.probe_done_at = None;
            self.acks = Acks::ProbeStopping;
            self.start_round(ack);
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_done_at.is_some() {
                self.probe_round_done |= self.base.round_start;
                if self.probe_round_done {
                    self.check_probe_done(ack);
                }
            } else if ack.in_flight <= self.probe_rtt_window() {
                self.probe_done_at = Some(ack.now + PROBE_RTT_TIME);
                self.probe_round_done = false;
                self.start_round(ack);
            }
        }
        if ack.delivered > 0 {
            self.base.idle_restart = false;
        }
    }

    fn check_probe_done(&mut self, ack: &AckEvent) {
        if self.probe_done_at.is_none_or(|done| ack.now <= done) {
            return;
        }
        self.recent_rtt_at = ack.now;
        self.base.window = self.base.window.max(self.base.repair.saved());
        self.reset_lower_bounds();
        if self.base.full {
            self.start_down(ack);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
