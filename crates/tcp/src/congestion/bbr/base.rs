//! What both versions of BBR hold and do in the same way: the window and the pacing rate, how
//! they follow a target, and how they answer the sender.

use super::filter::{AckAggregation, Dice, MARGIN, Repair, initial_rate};
use super::{AckEvent, Congestion, CongestionControl, INFINITE};
use crate::config::Config;
use sojourn_units::{Rate, Span, Time};

/// The least window that keeps ACKs coming.
pub(crate) const MIN_WINDOW: u32 = 4;

#[derive(Clone, Debug)]
pub(crate) struct Base {
    config: Config,
    pub(crate) mss: f64,
    pub(crate) window: u32,
    /// Bytes a second.
    pub(crate) pacing: f64,
    pub(crate) dice: Dice,
    pub(crate) repair: Repair,
    pub(crate) aggregation: AckAggregation,
    pub(crate) min_rtt: Option<Span>,
    pub(crate) min_rtt_at: Time,
    /// What is delivered when this round ends; whether this ACK began it.
    pub(crate) round_end: u64,
    pub(crate) round_start: bool,
    /// The pipe has been full once.
    pub(crate) full: bool,
    pub(crate) idle_restart: bool,
    pub(crate) app_limited: bool,
}

impl Base {
    pub(crate) fn new(config: &Config, gain: f64) -> Self {
        Self {
            config: *config,
            mss: f64::from(config.mss.max(1)),
            window: config.initial_window.clamp(1, INFINITE),
            pacing: initial_rate(config, gain, None),
            dice: Dice::default(),
            repair: Repair::default(),
            aggregation: AckAggregation::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            round_end: 0,
            round_start: false,
            full: false,
            idle_restart: false,
            app_limited: false,
        }
    }

    pub(crate) fn establish(&mut self, gain: f64, rtt: Option<Span>, now: Time) {
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.pacing = initial_rate(&self.config, gain, rtt);
    }

    pub(crate) fn pacing_rate(&self) -> Rate {
        Rate::from_bps_f64(self.pacing * 8.0)
    }

    /// `gain` products of `rate` and the shortest RTT in segments; the initial window before any
    /// RTT.
    pub(crate) fn bdp(&self, rate: f64, gain: f64) -> u32 {
        let Some(rtt) = self.min_rtt else {
            return self.config.initial_window;
        };
        let bytes = rate * rtt.as_secs_f64() * gain;
        libm::ceil(bytes / self.mss).min(f64::from(INFINITE)) as u32
    }

    /// Segments that aggregated ACKs may bring beyond `bandwidth`.
    pub(crate) fn extra(&self, bandwidth: f64) -> u32 {
        if self.full {
            self.aggregation.segments(bandwidth / self.mss)
        } else {
            0
        }
    }

    pub(crate) fn update_aggregation(&mut self, ack: &AckEvent, bandwidth: f64) {
        self.aggregation
            .update(ack, bandwidth / self.mss, self.window, self.round_start);
    }

    /// Paces at `rate`, but in startup never slower than before.
    pub(crate) fn pace(&mut self, rate: f64) {
        let rate = rate * MARGIN;
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// The window while losses are repaired. Returns whether the target is in force.
    fn repair(&mut self, ack: &AckEvent) -> bool {
        if self.repair.modulate(&mut self.window, ack) {
            self.round_end = ack.delivered_total;
        }
        !self.repair.conserving
    }

    /// Towards `target`, unless losses are being repaired.
    pub(crate) fn follow(&mut self, ack: &AckEvent, target: u32) {
        if ack.delivered > 0 && self.repair(ack) {
            self.grow(ack, target);
        }
    }

    /// Towards `target`, by what was delivered; in startup regardless of it for a while.
    fn grow(&mut self, ack: &AckEvent, target: u32) {
        let first = u64::from(self.config.initial_window) * u64::from(self.config.mss);
        if self.full {
            self.window = (self.window + ack.delivered).min(target);
        } else if self.window < target || ack.delivered_total < first {
            self.window += ack.delivered;
        }
        self.window = self.window.max(MIN_WINDOW);
    }

    /// Losses: `shrunk` while the window is one of a look for the RTT.
    pub(crate) fn on_loss(&mut self, why: Congestion, in_flight: u32, shrunk: bool) {
        self.repair.save(self.window, shrunk);
        self.repair.begin(why.is_timeout());
        if why.is_timeout() {
            self.window = in_flight.saturating_add(1).min(self.window);
        }
    }

    /// Sending starts again after idling. Returns whether it was the application that idled.
    pub(crate) fn wake(&mut self, now: Time) -> bool {
        if self.app_limited {
            self.idle_restart = true;
            self.aggregation.restart(now);
        }
        self.app_limited
    }

    /// Only after a lost SYN: the sender leaves idle times to a control that paces.
    pub(crate) fn restart(&mut self, window: u32) {
        self.window = self.window.min(window.max(1));
    }
}

/// What a version of BBR adds to [`Base`].
pub(crate) trait Version: core::fmt::Debug {
    /// Pacing gain of startup.
    const STARTUP_GAIN: f64;

    fn base(&self) -> &Base;
    fn base_mut(&mut self) -> &mut Base;
    /// Whether the window is held small to see the path's own RTT.
    fn probes_rtt(&self) -> bool;
    fn threshold(&self) -> u32;

    fn established(&mut self, _rtt: Option<Span>, _now: Time) {}
    fn acked(&mut self, ack: &AckEvent);
    fn timed_out(&mut self) {}
    fn undone(&mut self);
    /// Sending starts again after the application idled.
    fn woken(&mut self, now: Time);
}

impl<V: Version + 'static> CongestionControl for V {
    fn window(&self) -> u32 {
        self.base().window
    }

    fn ssthresh(&self) -> u32 {
        self.threshold()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.base().pacing_rate())
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn limits_itself(&self) -> bool {
        self.probes_rtt()
    }

    fn buffered_windows(&self) -> u32 {
        3
    }

    fn seed(&mut self, bits: u64) {
        self.base_mut().dice = Dice::new(bits);
    }

    fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        self.base_mut().establish(V::STARTUP_GAIN, rtt, now);
        self.established(rtt, now);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.acked(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        // Version 1 does not react to marks; version 3 counts them by their share, ACK by ACK.
        if why != Congestion::Mark {
            let shrunk = self.probes_rtt();
            self.base_mut().on_loss(why, in_flight, shrunk);
            if why.is_timeout() {
                self.timed_out();
            }
        }
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.base_mut().repair.end();
    }

    fn on_undo(&mut self) {
        self.undone();
        self.base_mut().repair.end();
    }

    fn on_transmit_start(&mut self, _idle: Span, _next: u64, now: Time) {
        if self.base_mut().wake(now) {
            self.woken(now);
        }
    }

    fn on_idle_restart(&mut self, _timeouts: u32, restart: u32) {
        self.base_mut().restart(restart);
    }

    fn on_application_limited(&mut self, _used: u32) {}
}
