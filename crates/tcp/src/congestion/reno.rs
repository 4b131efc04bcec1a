//! Reno: additive increase by one segment a round trip, halving on congestion.
//! Source: RFC 5681 section 3.1, equations 2 to 4. As in Linux, equation 3 is kept as a count of
//! acknowledged segments, and equation 4 halves the window rather than FlightSize, because the
//! window is validated (RFC 2861) and so never far above what is used.

use super::{AckEvent, CongestionControl, HyStartPlusPlus, Window};
use crate::Congestion;
use crate::config::{Config, SlowStart};
use sojourn_units::Time;

/// RFC 5681's congestion control.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    early_exit: Option<HyStartPlusPlus>,
}

impl Reno {
    /// With the initial window, threshold and slow start of `config`; HyStart is CUBIC's, so
    /// only HyStart++ changes Reno's slow start.
    pub fn new(config: &Config) -> Self {
        let early_exit = (config.slow_start == SlowStart::HyStartPlusPlus)
            .then(|| HyStartPlusPlus::new(config.pacing));
        Self {
            window: Window::new(config),
            early_exit,
        }
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(early_exit) = &mut self.early_exit else {
            return self.window.reno(ack);
        };
        if self.window.in_slow_start() {
            early_exit.on_ack(ack, &mut self.window);
        }
        self.window
            .reno_from(ack, |window, acked| early_exit.grow(acked, window));
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        self.window.reduce(self.window.segments / 2, why, in_flight);
        if let Some(early_exit) = &mut self.early_exit {
            early_exit.on_congestion();
        }
    }

    fn on_undo(&mut self) {
        self.window.undo();
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.window.application_limited(used);
    }
}
