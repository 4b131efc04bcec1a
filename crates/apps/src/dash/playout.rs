//! What is watched: the buffer of a player, playing and stalling, and what the viewer thinks of it.
//!
//! Playing begins when the buffer holds the pre-fill, and goes on after a stall with the next
//! chunk.
//!
//! Quality of experience: the linear model of Yin, Jindal, Sekar and Sinopoli 2015 (SIGCOMM,
//! "balanced"), per chunk and in kbit/s: its rate, less the change of rate, less 3000 for each
//! second of stall or of waiting for the first picture.

use crate::{Metric, Port};
use sojourn_units::{Rate, Span, Time};

/// What a second without a picture costs, in kbit/s (Yin et al. 2015).
const STALL_COST: f64 = 3000.0;
/// How often a stall is looked at, so that the end of a run does not hide it.
const STALL_STEP: Span = Span::from_millis(500);

/// A chunk of video that was fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetched {
    /// How long it plays.
    pub(super) length: Span,
    /// The nominal rate of its representation.
    pub(super) rate: Rate,
    pub(super) bytes: u32,
    /// Time from the request to the last byte.
    pub(super) took: Span,
}

/// A player's buffer and its picture.
#[derive(Clone, Debug)]
pub(super) struct Playout {
    prefill: Span,
    /// Unplayed video, as of `seen`.
    pub(super) buffer: Span,
    seen: Time,
    pub(super) playing: bool,
    /// The pre-fill has been reached once.
    pub(super) began: bool,
    pub(super) last_rate: Option<Rate>,
    /// Time without a picture since the last chunk.
    dark: Span,
}

impl Playout {
    /// Plays from `prefill` in the buffer on.
    pub(super) const fn new(prefill: Span) -> Self {
        Self {
            prefill,
            buffer: Span::ZERO,
            seen: Time::ZERO,
            playing: false,
            began: false,
            last_rate: None,
            dark: Span::ZERO,
        }
    }

    /// The viewer sits down.
    pub(super) const fn start(&mut self, now: Time) {
        self.seen = now;
    }

    /// Plays until now.
    pub(super) fn play(&mut self, now: Time, port: &mut dyn Port) {
        let passed = now - self.seen;
        self.seen = self.seen.max(now);
        if self.playing {
            let played = passed.min(self.buffer);
            self.buffer -= played;
            if self.buffer.is_zero() && passed > played {
                self.playing = false;
                port.observe(Metric::Stalls, 1.0);
                self.darken(passed - played, port);
            }
        } else {
            self.darken(passed, port);
        }
    }

    fn darken(&mut self, time: Span, port: &mut dyn Port) {
        self.dark += time;
        if self.began {
            port.observe(Metric::StalledS, time.as_secs_f64());
        }
    }

    /// A chunk is there.
    pub(super) fn add(&mut self, chunk: &Fetched, port: &mut dyn Port) {
        if chunk.bytes > 0 && !chunk.took.is_zero() {
            let kbps = f64::from(chunk.bytes) * 8.0 / chunk.took.as_secs_f64() / 1e3;
            port.observe(Metric::AchievedKbps, kbps);
        }
        self.buffer += chunk.length;
        let enough = if self.began {
            chunk.length
        } else {
            self.prefill
        };
        if !self.playing && self.buffer >= enough {
            (self.playing, self.began) = (true, true);
        }
        self.judge(chunk.rate, port);
        port.observe(Metric::BufferS, self.buffer.as_secs_f64());
    }

    fn judge(&mut self, rate: Rate, port: &mut dyn Port) {
        let kbps = rate.as_bps() as f64 / 1e3;
        port.observe(Metric::RequestedKbps, kbps);
        let before = self.last_rate.replace(rate);
        let change = before.map_or(0.0, |rate| (rate.as_bps() as f64 / 1e3 - kbps).abs());
        if change > 0.0 {
            port.observe(Metric::Switches, 1.0);
        }
        let dark = core::mem::take(&mut self.dark).as_secs_f64();
        port.observe(Metric::Qoe, kbps - change - STALL_COST * dark);
    }

    /// When to look next, so that no stall is missed.
    pub(super) fn look_at(&self, now: Time) -> Time {
        if self.playing {
            // One step beyond the end of the buffer: at its end nothing is missing yet.
            now + self.buffer + Span::from_millis(1)
        } else {
            now + STALL_STEP
        }
    }
}
