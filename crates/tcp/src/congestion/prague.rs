//! Prague: a window that follows the share of marks, for queues of L4S.
//! Source: draft-briscoe-iccrg-prague-congestion-control-04: alpha as DCTCP's (g = 1/16; 1 at the
//! first mark), growth by what comes unmarked also while reducing, a virtual round trip of 25 ms
//! for shorter ones ([`Config::rtt_independence`]), pacing, half the window at a loss.
//! Two segments may always be in flight: a lone one would wait for a delayed ACK. A window below
//! that is fractional, and holds by pacing, which the draft has among its plans
//! ([`Config::fractional_window`]).
//! Queues of classic ECN are found on demand ([`Config::ecn_fallback`]; `classic`).
//! Not here: the draft's limit on bursts of offloads, which the model has none of.

mod classic;

use super::{AckEvent, Congestion, CongestionControl, INFINITE};
use crate::config::Config;
use classic::Classic;
use sojourn_units::{Rate, Span, Time};

/// Weight of a new share.
const GAIN: f64 = 1.0 / 16.0;
/// Shorter round trips count as this long (RTT_virt).
const VIRTUAL: Span = Span::from_millis(25);
/// Round trips after slow start before they do: short flows need not share in the long run.
const PATIENCE: u32 = 500;
/// Segments that may be in flight whatever the window.
const FLIGHT: u32 = 2;
/// The smallest fractional window, in segments.
const LEAST: f64 = 0.125;

/// Prague's congestion control.
#[derive(Clone, Debug)]
pub struct Prague {
    /// In segments.
    window: f64,
    ssthresh: u32,
    mss: u16,
    /// Round trips after slow start before short ones count as longer.
    patience: u32,
    /// Smoothed share of marked segments; none before the first mark.
    alpha: Option<f64>,
    /// Since alpha was last updated: when that was, segments delivered, and of them marked.
    updated: Time,
    delivered: u32,
    marked: u32,
    /// Round trips since slow start ended.
    rounds: u32,
    srtt: Span,
    in_flight: u32,
    /// Fast recovery is under way.
    recovering: bool,
    /// When a mark last reduced the window, and from where.
    reduced: Option<(Time, f64)>,
    /// A mark came within the virtual round trip and reduced nothing. The sender tells of no other
    /// before a real one has passed, so that later ones are looked for here.
    early: bool,
    /// Window and threshold before the last reduction by a loss.
    prior: Option<(f64, u32)>,
    /// The smallest window, in segments.
    least: f64,
    /// Looks for a queue of classic ECN, if it is to.
    classic: Option<Classic>,
}

impl Prague {
    /// With the initial window of `config`.
    pub fn new(config: &Config) -> Self {
        let start = super::Window::new(config);
        Self {
            window: f64::from(start.segments),
            ssthresh: start.ssthresh,
            mss: config.mss.max(1),
            patience: if config.rtt_independence {
                PATIENCE
            } else {
                u32::MAX
            },
            alpha: None,
            updated: Time::ZERO,
            delivered: 0,
            marked: 0,
            rounds: 0,
            srtt: Span::ZERO,
            in_flight: 0,
            recovering: false,
            reduced: None,
            early: false,
            prior: None,
            least: if config.fractional_window {
                LEAST
            } else {
                f64::from(FLIGHT)
            },
            classic: config.ecn_fallback.then(Classic::new),
        }
    }

    /// Whole segments, rounded up.
    fn whole(&self) -> u32 {
        libm::ceil(self.window) as u32
    }

    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh
    }

    /// How much shorter than the virtual round trip the real one is; one if none of both counts.
    fn shortness(&self) -> f64 {
        if self.rounds < self.patience || self.srtt.is_zero() || self.srtt >= VIRTUAL {
            return 1.0;
        }
        self.srtt.as_nanos() as f64 / VIRTUAL.as_nanos() as f64
    }

    /// Whether a round trip, perhaps the virtual one, has passed since then. `false` when only the
    /// real one counts, of which the sender keeps account.
    fn is_within_virtual(&self, since: Time, now: Time) -> bool {
        self.shortness() < 1.0 && now - since < VIRTUAL
    }

    fn observe(&mut self, ack: &AckEvent) {
        self.delivered += ack.delivered;
        self.marked += ack.marked;
        if !ack.round_start {
            return;
        }
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        if self.delivered == 0 || self.is_within_virtual(self.updated, ack.now) {
            return;
        }
        if let Some(alpha) = &mut self.alpha {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            *alpha += GAIN * (share.min(1.0) - *alpha);
            if let Some(classic) = &mut self.classic {
                classic.update(ack.min_rtt);
            }
        }
        self.updated = ack.now;
        self.delivered = 0;
        self.marked = 0;
    }

    fn grow(&mut self, ack: &AckEvent) {
        let unmarked = ack.delivered.saturating_sub(ack.marked);
        // Below what may be in flight pacing is the limit.
        let is_limited = ack.window_limited || self.window < f64::from(FLIGHT);
        if self.recovering || !is_limited || unmarked == 0 {
            return;
        }
        let mut unmarked = f64::from(unmarked);
        if self.in_slow_start() {
            let room = (f64::from(self.ssthresh) - self.window).max(0.0);
            let step = unmarked.min(room);
            self.window += step;
            unmarked -= step;
        }
        // A segment a virtual round trip, at the rate of a window that is sent in one of these.
        let shortness = self.shortness();
        self.window += unmarked * shortness * shortness / self.window.max(1.0);
        self.window = self.window.min(f64::from(INFINITE));
    }

    /// Where the window stood a round trip ago, if a mark has reduced it since.
    fn before_mark(&self, now: Time) -> f64 {
        match self.reduced {
            Some((at, window)) if now - at < self.srtt => window.max(self.window),
            _ => self.window,
        }
    }

    /// A mark's cost, at most once in a round trip.
    fn mark(&mut self, now: Time) {
        let last = self.reduced.map(|(at, _)| at);
        self.early = last.is_some_and(|last| self.is_within_virtual(last, now));
        if self.early {
            return;
        }
        let alpha = *self.alpha.get_or_insert(1.0);
        self.reduced = Some((now, self.window));
        let least = self.classic.as_ref().map_or(0.0, Classic::least_share);
        self.lower_to(self.window * (1.0 - alpha.max(least) / 2.0));
    }

    fn lower_to(&mut self, window: f64) {
        self.window = window.max(self.least);
        self.ssthresh = self.whole().max(FLIGHT);
    }
}

impl CongestionControl for Prague {
    fn window(&self) -> u32 {
        self.whole().max(FLIGHT)
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.srtt.is_zero() {
            return Some(Rate::ZERO);
        }
        // What is in flight leaves within a round trip, in early slow start twice as fast.
        let segments = if self.window < f64::from(FLIGHT) {
            self.window
        } else {
            f64::from(self.window().max(self.in_flight))
        };
        let early = self.window() < self.ssthresh / 2;
        let bits = segments * f64::from(self.mss) * 8.0 * if early { 2.0 } else { 1.0 };
        let seconds = self.srtt.as_nanos() as f64 / 1e9;
        Some(Rate::from_bps((bits / seconds).max(1.0) as u64))
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn marked_share(&self) -> Option<f64> {
        self.alpha
    }

    fn on_established(&mut self, rtt: Option<Span>, _now: Time) {
        self.srtt = rtt.unwrap_or(Span::ZERO);
        if let (Some(classic), Some(rtt)) = (&mut self.classic, rtt) {
            classic.sample(rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.srtt = ack.srtt;
        self.in_flight = ack.in_flight;
        if let (Some(classic), Some(rtt)) = (&mut self.classic, ack.rtt) {
            classic.sample(rtt);
        }
        if self.early && ack.marked > 0 && !self.recovering {
            self.mark(ack.now);
        }
        self.observe(ack);
        self.grow(ack);
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        if let Some(classic) = &mut self.classic {
            classic.follow(self.ssthresh);
        }
        match why {
            Congestion::Mark => self.mark(now),
            Congestion::Loss | Congestion::Timeout => {
                self.prior = Some((self.window, self.ssthresh));
                // Both signals of one round trip cost half together.
                let half = (self.before_mark(now) / 2.0).min(self.window);
                self.reduced = None;
                self.early = false;
                self.lower_to(half);
            }
            Congestion::TimeoutAgain => {}
        }
        if why.is_timeout() {
            self.window = self.window.min(f64::from(in_flight.saturating_add(1)));
        }
        self.recovering = why == Congestion::Loss;
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.recovering = false;
    }

    fn on_undo(&mut self) {
        self.recovering = false;
        if let Some((window, ssthresh)) = self.prior.take() {
            self.window = self.window.max(window);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    fn on_idle_restart(&mut self, _timeouts: u32, restart: u32) {
        self.window = self.window.min(f64::from(restart));
    }

    fn on_application_limited(&mut self, _used: u32) {}
}

#[cfg(test)]
mod tests;
