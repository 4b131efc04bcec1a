//! The congestion control at each end of the agent's flow: it keeps what the agent has decided, and
//! counts what ACKs say between two decisions.
//!
//! Differs from the built-in ones: the window holds during recovery too, and only a timeout changes
//! it without the agent, to one segment (RFC 5681's loss window). Losses are found and repaired by
//! the sender as always.

use sojourn_tcp::{AckEvent, Config, Congestion, CongestionControl, INFINITE};
use sojourn_units::{Rate, Span, Time};

/// Most segments of a window.
const MOST: f64 = 65_536.0;

/// What ACKs have said since the last decision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
    /// Round trips: their sum in ns, and how many.
    pub(crate) rtt: (u64, u64),
    /// Whether there was an ACK at all.
    pub(crate) any: bool,
}

/// One end's control.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    mss: u64,
    /// In segments, with the fraction that a factor has left.
    window: f64,
    /// Windows that are sent in a smoothed round trip.
    pacing: f64,
    pub(crate) heard: Heard,
    /// Whether there has ever been an ACK.
    pub(crate) talks: bool,
    pub(crate) srtt: Span,
    pub(crate) min_rtt: Span,
    pub(crate) in_flight: u32,
}

impl Decided {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mss: u64::from(config.mss.max(1)),
            window: f64::from(config.initial_window.max(1)),
            pacing: 2.0,
            heard: Heard::default(),
            talks: false,
            srtt: Span::ZERO,
            min_rtt: Span::ZERO,
            in_flight: 0,
        }
    }

    /// Takes a decision: factors of the window and of the pacing rate, as powers of two. What was
    /// heard is counted anew.
    pub(crate) fn decide(&mut self, [window, pacing]: [f64; 2]) {
        self.heard = Heard::default();
        self.window = (self.window * libm::exp2(window)).clamp(1.0, MOST);
        self.pacing = libm::exp2(pacing);
    }

    /// The window with its fraction, and windows a round trip.
    pub(crate) const fn decided(&self) -> [f64; 2] {
        [self.window, self.pacing]
    }

    pub(crate) const fn mss(&self) -> u64 {
        self.mss
    }
}

impl CongestionControl for Decided {
    fn window(&self) -> u32 {
        self.window as u32
    }

    fn ssthresh(&self) -> u32 {
        INFINITE
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // Before the first round trip is known, nothing holds the window's segments back.
        let srtt = self.srtt.as_secs_f64();
        (srtt > 0.0).then(|| {
            let bits = self.window * self.mss as f64 * 8.0;
            Rate::from_bps_f64((bits * self.pacing / srtt).max(1.0))
        })
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn on_established(&mut self, rtt: Option<Span>, _: Time) {
        self.srtt = rtt.unwrap_or(self.srtt);
        self.min_rtt = self.srtt;
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let heard = &mut self.heard;
        heard.any = true;
        self.talks = true;
        heard.delivered += u64::from(ack.delivered);
        heard.lost += u64::from(ack.lost);
        heard.marked += u64::from(ack.marked);
        if let Some(rtt) = ack.rtt {
            heard.rtt.0 += rtt.as_nanos();
            heard.rtt.1 += 1;
        }
        self.srtt = ack.srtt;
        self.min_rtt = ack.min_rtt;
        self.in_flight = ack.in_flight;
    }

    fn on_congestion(&mut self, why: Congestion, _: u32, _: Time) {
        if why.is_timeout() {
            self.window = 1.0;
        }
    }

    fn on_undo(&mut self) {}

    fn on_idle_restart(&mut self, _: u32, _: u32) {}

    fn on_application_limited(&mut self, _: u32) {}

    fn fork(&self) -> Option<Box<dyn CongestionControl + Send>> {
        Some(Box::new(self.clone()))
    }
}
