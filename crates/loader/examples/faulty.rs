//! A plug-in for tests: the library's own CoDel and congestion controls behind the border of
//! plug-ins, and others that fail.

use sojourn_plugin::{
    AckArrival, AckEvent, Aqm, Config, Congestion, CongestionControl, Facts, Make, MakeControl,
    Options, QueueView, Rate, Setting, Span, Time, Verdict, Window,
};
use sojourn_qdisc::{Codel, CodelParams, CodelState};
use sojourn_tcp::{Bbr, Cubic, Vegas, Westwood};

struct Same(Codel);

impl Make for Same {
    fn make(options: &mut Options<'_>, setting: Setting<'_>) -> Result<Self, String> {
        let usual = CodelParams::default();
        let target = options.span("target", usual.target)?;
        let params = CodelParams { target, ..usual };
        Ok(Self(Codel::new(params, setting.mtu)))
    }
}

impl Aqm for Same {
    type State = CodelState;
    type Params = ();

    fn arrive(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        self.0.arrive(state, queue, packet, now)
    }

    fn leave(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.0.leave(state, queue, packet, sojourn, now)
    }

    fn found_empty(&mut self, state: &mut CodelState, now: Time) {
        self.0.found_empty(state, now);
    }
}

/// Panics at an arrival.
struct Panics {
    at: u32,
    seen: u32,
}

impl Make for Panics {
    fn make(options: &mut Options<'_>, _: Setting<'_>) -> Result<Self, String> {
        let at = options.get("at", 100)?;
        assert!(at > 0, "at the first there is nothing to see");
        Ok(Self { at, seen: 0 })
    }
}

impl Aqm for Panics {
    type State = ();
    type Params = ();

    const SEES_ALL_ARRIVALS: bool = true;

    fn arrive(&mut self, (): &mut (), _: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        self.seen += 1;
        assert!(self.seen < self.at, "arrival {} is one too many", self.seen);
        Verdict::Pass
    }
}

/// A congestion control of the library, asked behind the border for all that it says.
macro_rules! same {
    ($name:ident, $control:ty) => {
        #[derive(Debug)]
        struct $name($control);

        impl MakeControl for $name {
            fn make(options: &mut Options<'_>, config: &Config) -> Result<Self, String> {
                let initial_window = options.get("window", config.initial_window)?;
                let config = Config {
                    initial_window,
                    ..*config
                };
                Ok(Self(<$control>::new(&config)))
            }
        }

        impl CongestionControl for $name {
            fn window(&self) -> u32 {
                self.0.window()
            }

            fn ssthresh(&self) -> u32 {
                self.0.ssthresh()
            }

            fn pacing_rate(&self) -> Option<Rate> {
                self.0.pacing_rate()
            }

            fn controls_recovery(&self) -> bool {
                self.0.controls_recovery()
            }

            fn limits_itself(&self) -> bool {
                self.0.limits_itself()
            }

            fn buffered_windows(&self) -> u32 {
                self.0.buffered_windows()
            }

            fn marked_share(&self) -> Option<f64> {
                self.0.marked_share()
            }

            fn seed(&mut self, bits: u64) {
                self.0.seed(bits);
            }

            fn on_ack_arrival(&mut self, arrival: &AckArrival) {
                self.0.on_ack_arrival(arrival);
            }

            fn on_established(&mut self, rtt: Option<Span>, now: Time) {
                self.0.on_established(rtt, now);
            }

            fn on_ack(&mut self, ack: &AckEvent) {
                self.0.on_ack(ack);
            }

            fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
                self.0.on_congestion(why, in_flight, now);
            }

            fn on_recovery_end(&mut self, now: Time) {
                self.0.on_recovery_end(now);
            }

            fn on_undo(&mut self) {
                self.0.on_undo();
            }

            fn on_transmit_start(&mut self, idle: Span, next: u64, now: Time) {
                self.0.on_transmit_start(idle, next, now);
            }

            fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
                self.0.on_idle_restart(timeouts, restart);
            }

            fn on_application_limited(&mut self, used: u32) {
                self.0.on_application_limited(used);
            }
        }
    };
}

same!(SameCubic, Cubic);
same!(SameVegas, Vegas);
same!(SameWestwood, Westwood);
same!(SameBbr, Bbr);

/// Panics at an ACK, or has no window from then on.
#[derive(Debug)]
struct Fails {
    at: u32,
    panics: bool,
    seen: u32,
    window: Window,
}

impl MakeControl for Fails {
    fn make(options: &mut Options<'_>, config: &Config) -> Result<Self, String> {
        let (at, panics) = (options.get("at", 100)?, options.get("panics", true)?);
        if at == 0 {
            return Err("`at` must be 1 or more".to_owned());
        }
        Ok(Self {
            at,
            panics,
            seen: 0,
            window: Window::new(config),
        })
    }
}

impl CongestionControl for Fails {
    fn window(&self) -> u32 {
        if self.seen < self.at {
            self.window.segments
        } else {
            0
        }
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.seen += 1;
        assert!(
            !self.panics || self.seen < self.at,
            "ACK {} is one too many",
            self.seen
        );
        self.window.reno(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _: Time) {
        self.window.reduce(self.window.segments / 2, why, in_flight);
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

sojourn_plugin::export!(Same, Panics);
sojourn_plugin::export_controls!(SameCubic, SameVegas, SameWestwood, SameBbr, Fails);
