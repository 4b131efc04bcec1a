//! A plug-in: Reno, but after a loss or a mark the window is `beta` of what it was, and it grows by
//! `alpha` segments a round trip.
//!
//!     cargo build --release -p sojourn-plugin --example calm
//!     sojourn run line.toml --set 'tcp.cc=rust:target/release/examples/libcalm.so:Calm beta=0.8'

use sojourn_plugin::{
    AckEvent, Config, Congestion, CongestionControl, MakeControl, Options, Time, Window,
};

#[derive(Debug)]
struct Calm {
    alpha: f64,
    beta: f64,
    window: Window,
}

impl MakeControl for Calm {
    fn make(options: &mut Options<'_>, config: &Config) -> Result<Self, String> {
        let alpha: f64 = options.get("alpha", 1.0)?;
        let beta: f64 = options.get("beta", 0.8)?;
        if alpha.is_nan() || alpha < 0.0 {
            return Err("`alpha` must be 0 or more".to_owned());
        }
        if !(0.0..1.0).contains(&beta) {
            return Err("`beta` must be 0 or more, and less than 1".to_owned());
        }
        let window = Window::new(config);
        Ok(Self {
            alpha,
            beta,
            window,
        })
    }
}

impl CongestionControl for Calm {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.delivered;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        let each = self.alpha / f64::from(self.window.segments);
        self.window.grow(acked, each);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _: Time) {
        let share = if why.is_timeout() { 0.5 } else { self.beta };
        let ssthresh = f64::from(self.window.segments) * share;
        self.window.reduce(ssthresh as u32, why, in_flight);
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

sojourn_plugin::export_controls!(Calm);
