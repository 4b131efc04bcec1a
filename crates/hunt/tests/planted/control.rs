//! A CUBIC that stays at two packets once a loss has met it with a small window.

use sojourn_tcp::{AckArrival, AckEvent, Config, Congestion, CongestionControl, Cubic};
use sojourn_units::{Rate, Span, Time};

/// Up to so many packets in flight a loss is heavy.
const SMALL: u32 = 3;

#[derive(Debug)]
pub(crate) struct StuckAtTwo {
    inner: Cubic,
    is_stuck: bool,
}

impl StuckAtTwo {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            inner: Cubic::new(config),
            is_stuck: false,
        }
    }
}

impl CongestionControl for StuckAtTwo {
    fn window(&self) -> u32 {
        if self.is_stuck {
            2
        } else {
            self.inner.window()
        }
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        self.is_stuck |= in_flight <= SMALL;
        self.inner.on_congestion(why, in_flight, now);
    }

    sojourn_units::forward! { self.inner;
        ssthresh(self: &Self) -> u32;
        pacing_rate(self: &Self) -> Option<Rate>;
        seed(self: &mut Self, bits: u64);
        on_ack_arrival(self: &mut Self, arrival: &AckArrival);
        on_established(self: &mut Self, rtt: Option<Span>, now: Time);
        on_ack(self: &mut Self, ack: &AckEvent);
        on_recovery_end(self: &mut Self, now: Time);
        on_undo(self: &mut Self);
        on_transmit_start(self: &mut Self, idle: Span, next: u64, now: Time);
        on_idle_restart(self: &mut Self, timeouts: u32, restart: u32);
        on_application_limited(self: &mut Self, used: u32);
    }
}
