//! UDP-Prague: a rate by the share of marks among the datagrams that a receiver has counted.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04, as `sojourn_tcp` has it for TCP. A
//! window in bytes over the smoothed round trip is the rate. Alpha follows the share of marks with
//! a gain of 1/16 and is 1 at the first mark. A mark costs alpha/2 of the window once in a round
//! trip, a loss half. What comes unmarked adds a segment in a round trip. After 500 round trips
//! those below 25 ms count as 25 ms. Until the first mark or loss the window doubles.
//!
//! A datagram is lost when three later ones have come (RFC 9002 section 6.1.1). Without an answer
//! for 200 ms and a round trip, the window is halved each such time.
//!
//! Differences: bounds of the encoder limit the rate, and no window limits what is in flight, since
//! what an encoder has produced is sent.

use sojourn_units::{Rate, Span, Time};

/// Weight of a new share.
const GAIN: f64 = 1.0 / 16.0;
/// Weight of a new round trip.
const RTT_GAIN: f64 = 1.0 / 8.0;
/// Shorter round trips count as this long, in seconds (RTT_virt).
const VIRTUAL: f64 = 0.025;
/// Round trips after the start before they do.
const PATIENCE: u32 = 500;
/// Later datagrams that have come when one is lost.
const REORDERED: u32 = 3;
/// A silence is a round trip and this long: Linux's shortest retransmission timeout.
const SILENCE: Span = Span::from_millis(200);

/// What the receiver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// The highest number of a datagram.
    pub(super) highest: u32,
    /// Datagrams that have come.
    pub(super) received: u32,
    /// Of them with CE.
    pub(super) marked: u32,
}

/// The rate of one sender.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// Payload of a full datagram in bytes.
    segment: f64,
    /// Lowest and highest rate in bytes a second.
    bounds: [f64; 2],
    /// Bytes of a round trip at the rate.
    window: f64,
    /// Smoothed round trip in seconds; none before the first answer.
    srtt: Option<f64>,
    is_starting: bool,
    /// Smoothed share of marks; none before the first.
    alpha: Option<f64>,
    heard: Heard,
    /// When the last answer came, or a silence was taken note of.
    answered: Time,
    /// A round ends with the answer to what was sent from here on.
    round: Time,
    rounds: u32,
    /// Since alpha was updated: when that was, datagrams that came, of them marked.
    updated: (Time, u32, u32),
    /// When a mark last reduced the window, and from where.
    reduced: Option<(Time, f64)>,
    /// When a loss last did.
    halved: Option<Time>,
    /// Datagrams known to be lost.
    lost: u32,
    /// The highest number when more were first missing.
    missing_from: Option<u32>,
}

impl Prague {
    /// For datagrams of up to `size` bytes, at the lowest and up to the highest of two rates.
    pub(super) fn new(size: u16, bounds: [Rate; 2]) -> Self {
        Self {
            segment: f64::from(size.max(1)),
            bounds: bounds.map(|rate| rate.as_bps() as f64 / 8.0),
            window: 0.0,
            srtt: None,
            is_starting: true,
            alpha: None,
            heard: Heard::default(),
            answered: Time::ZERO,
            round: Time::ZERO,
            rounds: 0,
            updated: (Time::ZERO, 0, 0),
            reduced: None,
            halved: None,
            lost: 0,
            missing_from: None,
        }
    }

    /// The payload rate.
    pub(super) fn rate(&self) -> Rate {
        let [least, most] = self.bounds;
        let bytes = self.srtt.map_or(least, |srtt| self.window / srtt);
        Rate::from_bps_f64(bytes.max(least).min(most) * 8.0)
    }

    /// How much shorter than the virtual round trip the real one is; one if none of both counts.
    fn shortness(&self) -> f64 {
        match self.srtt {
            Some(srtt) if self.rounds >= PATIENCE => (srtt / VIRTUAL).min(1.0),
            _ => 1.0,
        }
    }

    fn is_within_virtual(&self, since: Time, now: Time) -> bool {
        self.shortness() < 1.0 && (now - since).as_secs_f64() < VIRTUAL
    }

    fn observe(&mut self, delivered: u32, marked: u32, sent: Time, now: Time) {
        self.updated.1 += delivered;
        self.updated.2 += marked;
        if sent < self.round {
            return;
        }
        self.round = now;
        self.rounds = self.rounds.saturating_add(u32::from(!self.is_starting));
        let (at, delivered, marked) = self.updated;
        if delivered == 0 || self.is_within_virtual(at, now) {
            return;
        }
        if let Some(alpha) = &mut self.alpha {
            *alpha += GAIN * (f64::from(marked) / f64::from(delivered) - *alpha);
        }
        self.updated = (now, 0, 0);
    }

    fn grow(&mut self, bytes: f64) {
        let shortness = self.shortness();
        self.window += if self.is_starting {
            bytes
        } else {
            // A segment in a (virtual) round trip.
            bytes * self.segment * shortness * shortness / self.window.max(self.segment)
        };
    }

    /// Whether more datagrams are lost than were known.
    fn loses(&mut self) -> bool {
        let sent = self.heard.highest.saturating_add(1);
        let missing = sent.saturating_sub(self.heard.received);
        if missing <= self.lost {
            // What was taken for lost may have come late.
            self.lost = missing;
            self.missing_from = None;
            return false;
        }
        let from = *self.missing_from.get_or_insert(self.heard.highest);
        // The first one that shows a gap is itself a later one.
        if self.heard.highest - from + 1 < REORDERED {
            return false;
        }
        self.lost = missing;
        self.missing_from = None;
        true
    }

    /// A mark of a datagram that was sent at `sent`.
    fn mark(&mut self, sent: Time, now: Time) {
        self.is_starting = false;
        if let Some((at, _)) = self.reduced
            && (sent < at || self.is_within_virtual(at, now))
        {
            return;
        }
        let alpha = *self.alpha.get_or_insert(1.0);
        self.reduced = Some((now, self.window));
        self.window *= 1.0 - alpha / 2.0;
    }

    /// A loss before a datagram that was sent at `sent`.
    fn lose(&mut self, sent: Time, now: Time) {
        self.is_starting = false;
        if self.halved.is_some_and(|at| sent < at) {
            return;
        }
        // Both signals of one round trip cost half together.
        let before = match self.reduced {
            Some((at, window)) if sent < at => window.max(self.window),
            _ => self.window,
        };
        self.window = self.window.min(before / 2.0);
        self.halved = Some(now);
    }

    /// An answer has come to the datagram that was sent at `sent`; those of its frame have `len`
    /// bytes.
    pub(super) fn heard(&mut self, heard: Heard, len: u32, sent: Time, now: Time) {
        let rtt = (now - sent).as_secs_f64().max(1e-6);
        let srtt = if let Some(srtt) = self.srtt {
            srtt + RTT_GAIN * (rtt - srtt)
        } else {
            self.window = self.bounds[0] * rtt;
            rtt
        };
        self.srtt = Some(srtt);
        self.answered = now;
        let Some(delivered) = heard.received.checked_sub(self.heard.received) else {
            return; // an older answer
        };
        let marked = heard
            .marked
            .saturating_sub(self.heard.marked)
            .min(delivered);
        self.heard = Heard {
            highest: heard.highest.max(self.heard.highest),
            ..heard
        };
        self.observe(delivered, marked, sent, now);
        self.grow(f64::from(delivered - marked) * f64::from(len));
        if marked > 0 {
            self.mark(sent, now);
        }
        if self.loses() {
            self.lose(sent, now);
        }
        self.hold();
    }

    /// Keeps the window within what the encoder can use.
    fn hold(&mut self) {
        if let Some(srtt) = self.srtt {
            let [least, most] = self.bounds.map(|bytes| bytes * srtt);
            self.window = self.window.max(least).min(most);
        }
    }

    /// Looks whether answers are missing.
    pub(super) fn looked(&mut self, now: Time) {
        let Some(srtt) = self.srtt else {
            return;
        };
        let silence = SILENCE + Span::from_secs_f64(srtt);
        if now - self.answered >= silence {
            self.answered = now;
            self.is_starting = false;
            self.window /= 2.0;
            self.hold();
        }
    }
}

#[cfg(test)]
mod tests;
