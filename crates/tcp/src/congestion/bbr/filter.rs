//! What both versions of BBR measure with.

use crate::AckEvent;
use crate::config::Config;
use sojourn_units::{Span, Time};

/// The largest of the samples of the last `window` rounds, from the three best (Nichols's
/// algorithm, as Linux `lib/win_minmax`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MaxFilter {
    best: [(u64, f64); 3],
}

impl MaxFilter {
    pub(crate) fn max(&self) -> f64 {
        self.best[0].1
    }

    pub(crate) fn update(&mut self, window: u64, now: u64, value: f64) {
        let sample = (now, value);
        if value >= self.best[0].1 || now - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = now - self.best[0].0;
        if age > window {
            // The best has expired: the next ones move up.
            self.best = [self.best[1], self.best[2], sample];
            if now - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// Pace a little below the estimate, so that the queue drains on average.
pub(crate) const MARGIN: f64 = 0.99;
/// The RTT that the first pacing rate assumes when the handshake gave none.
const NOMINAL_RTT: Span = Span::from_millis(1);
/// Segmentation offload sends about a millisecond of data at once; rates below 1.2 Mbit/s send
/// single segments.
const OFFLOAD_SHIFT: u32 = 10;
const OFFLOAD_LOW_RATE: f64 = 150_000.0;
/// Of a unit: 64 KiB, less headers.
const OFFLOAD_BYTES: f64 = 65_215.0;
const OFFLOAD_MAX: u32 = 127;

/// Bytes a second that startup begins with.
pub(crate) fn initial_rate(config: &Config, gain: f64, rtt: Option<Span>) -> f64 {
    let rtt = rtt.unwrap_or(NOMINAL_RTT).max(Span::from_micros(1));
    let window = f64::from(config.initial_window.max(1)) * f64::from(config.mss);
    gain * MARGIN * window / rtt.as_secs_f64()
}

/// Segments that are sent at once at `rate` bytes a second (Linux `tcp_tso_autosize`). Here they
/// are paced one by one, but the window allows for three units all the same.
pub(crate) fn offload_unit(rate: f64, mss: f64) -> u32 {
    let least = if rate < OFFLOAD_LOW_RATE { 1 } else { 2 };
    let bytes = (rate / f64::from(1_u32 << OFFLOAD_SHIFT)).min(OFFLOAD_BYTES);
    let unit = bytes / mss;
    (unit as u32).clamp(least, OFFLOAD_MAX)
}

/// What of recovery a control is told, and what it saw with the last ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Losses {
    #[default]
    None,
    Repaired,
    TimedOut,
}

/// The window while losses are repaired: packet conservation for one round, then growth, and
/// afterwards the window of before.
///
/// What counts is the difference from ACK to ACK (Linux `prev_ca_state`): a recovery that begins
/// with the ACK that ends another one goes on as one, without a round of conservation of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repair {
    losses: Losses,
    seen: Losses,
    /// In the first round of recovery: one segment out for one in.
    pub(crate) conserving: bool,
    prior_window: u32,
}

impl Repair {
    /// Whether losses are being repaired.
    pub(crate) fn is_active(&self) -> bool {
        self.losses != Losses::None
    }

    /// Remembers a window; `shrunk`: it is one of a look for the RTT.
    pub(crate) fn save(&mut self, window: u32, shrunk: bool) {
        self.prior_window = if shrunk || self.seen != Losses::None {
            self.prior_window.max(window)
        } else {
            window
        };
    }

    pub(crate) const fn saved(&self) -> u32 {
        self.prior_window
    }

    pub(crate) fn begin(&mut self, timeout: bool) {
        if timeout {
            (self.losses, self.seen) = (Losses::TimedOut, Losses::TimedOut);
        } else {
            self.losses = Losses::Repaired;
        }
    }

    pub(crate) fn end(&mut self) {
        self.losses = Losses::None;
    }

    /// Adapts the window to this ACK. Returns whether a recovery has just begun, and with it a
    /// round.
    pub(crate) fn modulate(&mut self, window: &mut u32, ack: &AckEvent) -> bool {
        if ack.lost_by_ack > 0 {
            *window = window.saturating_sub(ack.lost_by_ack).max(1);
        }
        let before = core::mem::replace(&mut self.seen, self.losses);
        let entered = self.losses == Losses::Repaired && before != Losses::Repaired;
        if entered {
            self.conserving = true;
            *window = ack.in_flight + ack.delivered;
        } else if before != Losses::None && self.losses == Losses::None {
            *window = (*window).max(self.prior_window);
            self.conserving = false;
        }
        if self.conserving {
            *window = (*window).max(ack.in_flight + ack.delivered);
        }
        entered
    }
}

/// Rounds that one half of the filter of extra acknowledged data lasts.
const EXTRA_ROUNDS: u32 = 5;
/// No more than this much time's worth of data counts as extra.
const EXTRA_MAX: f64 = 0.1;
/// Segments of an epoch before its sums start over.
const EPOCH_MAX: u32 = 1 << 20;

/// How much more than the bandwidth explains is acknowledged at once (Linux
/// `bbr_update_ack_aggregation`), in whole segments; the largest of the last five to ten rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckAggregation {
    since: Option<Time>,
    acked: u32,
    extra: [u32; 2],
    half: usize,
    rounds: u32,
}

impl AckAggregation {
    /// Segments that the window should allow for, at so many a second.
    pub(crate) fn segments(&self, bandwidth: f64) -> u32 {
        let most = (bandwidth * EXTRA_MAX) as u32;
        self.extra[0].max(self.extra[1]).min(most)
    }

    pub(crate) fn restart(&mut self, now: Time) {
        self.since = Some(now);
        self.acked = 0;
    }

    /// `bandwidth` in segments a second.
    pub(crate) fn update(
        &mut self,
        ack: &AckEvent,
        bandwidth: f64,
        window: u32,
        round_start: bool,
    ) {
        if ack.delivered == 0 || ack.rate.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.extra[self.half] = 0;
            }
        }
        let elapsed: Span = self.since.map_or(Span::ZERO, |since| ack.now - since);
        let mut expected = (bandwidth * elapsed.as_secs_f64()) as u32;
        if self.since.is_none()
            || self.acked <= expected
            || self.acked.saturating_add(ack.delivered) >= EPOCH_MAX
        {
            self.since = Some(ack.now);
            self.acked = 0;
            expected = 0;
        }
        self.acked = self.acked.saturating_add(ack.delivered).min(EPOCH_MAX - 1);
        let extra = (self.acked - expected).min(window);
        let half = &mut self.extra[self.half];
        *half = (*half).max(extra);
    }
}

/// Lots drawn from a seed: Knuth's linear congruential generator (MMIX), of which only the high
/// bits are used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in `0..n`, for small `n`.
    pub(crate) const fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * n) >> 32
    }
}
