//! BOLA: choice by the playout buffer.
//! Source: Spiteri, Urgaonkar and Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online
//! Videos", INFOCOM 2016, as dash.js' BolaRule has it: utilities `ln(rate) + 1` relative to the
//! lowest, a buffer of at least 10 s and a target (30 s unless told otherwise), start by
//! throughput with a placeholder for the buffer that is not there yet, and BOLA-O against
//! switching up and down between two rates.
//! Differs from dash.js: it does not abandon requests under way.

use super::manifest::Manifest;
use alloc::vec::Vec;
use sojourn_units::Span;

/// The buffer below which the lowest rate is chosen (`MINIMUM_BUFFER_S`). A target at or below it
/// leaves no choice.
pub const BOLA_LEAST: Span = Span::from_secs(10);

/// The rule, for one player.
#[derive(Clone, Debug)]
pub(super) struct Bola {
    /// Nominal rates in bit/s and their utilities.
    rates: Vec<(f64, f64)>,
    /// The paper's γp and V·p.
    gp: f64,
    vp: f64,
    /// Seconds of buffer that are only imagined.
    placeholder: f64,
    steady: bool,
    last: usize,
}

impl Bola {
    /// For a video, with this target of the buffer; none when there is nothing to choose or no
    /// room for a choice (a target up to 10 s).
    pub(super) fn new(manifest: &Manifest, target: Span) -> Option<Self> {
        let lowest = manifest.rates()[0].as_bps() as f64;
        let rates: Vec<(f64, f64)> = manifest
            .rates()
            .iter()
            .map(|rate| {
                let bps = rate.as_bps() as f64;
                (bps, libm::log(bps / lowest) + 1.0)
            })
            .collect();
        let (_, highest) = *rates.last()?;
        let room = target.as_secs_f64() / BOLA_LEAST.as_secs_f64() - 1.0;
        if rates.len() < 2 || room <= 0.0 {
            return None;
        }
        let gp = (highest - 1.0) / room;
        Some(Self {
            rates,
            gp,
            vp: BOLA_LEAST.as_secs_f64() / gp,
            placeholder: 0.0,
            steady: false,
            last: 0,
        })
    }

    /// The representation with the best score at this buffer, the higher one of equals.
    fn at(&self, buffer_s: f64) -> usize {
        let score =
            |&(rate, utility): &(f64, f64)| (self.vp * (utility + self.gp) - buffer_s) / rate;
        let mut best = (0, f64::NEG_INFINITY);
        for (index, score) in self.rates.iter().map(score).enumerate() {
            if score >= best.1 {
                best = (index, score);
            }
        }
        best.0
    }

    /// The least buffer at which this representation is preferred to all lower ones.
    fn least_buffer(&self, index: usize) -> f64 {
        let (rate, utility) = self.rates[index];
        let over =
            |&(r, u): &(f64, f64)| self.vp * (self.gp + (rate * u - r * utility) / (rate - r));
        self.rates[..index].iter().map(over).fold(0.0, f64::max)
    }

    /// The buffer above which BOLA would rather wait than ask for this representation.
    fn most_buffer(&self, index: usize) -> f64 {
        self.vp * (self.rates[index].1 + self.gp)
    }

    /// The player waited this long, for reasons of its own, before it asked again.
    pub(super) fn waited(&mut self, time: Span) {
        self.placeholder += time.as_secs_f64();
    }

    /// Chooses, with so much in the buffer; `sustained` is what the throughput carries. Also
    /// tells how long to wait first.
    pub(super) fn choose(&mut self, buffer: Span, chunk: Span, sustained: usize) -> (usize, Span) {
        let buffer_s = buffer.as_secs_f64();
        if !self.steady {
            self.placeholder = (self.least_buffer(sustained) - buffer_s).max(0.0);
            self.steady = buffer >= chunk;
            self.last = sustained;
            return (sustained, Span::ZERO);
        }
        let mut choice = self.at(buffer_s + self.placeholder);
        if choice > self.last && choice > sustained {
            choice = sustained.max(self.last);
        }
        let mut wait = (buffer_s + self.placeholder - self.most_buffer(choice)).max(0.0);
        if wait <= self.placeholder {
            self.placeholder -= wait;
            wait = 0.0;
        } else {
            wait -= self.placeholder;
            self.placeholder = 0.0;
            if choice + 1 == self.rates.len() {
                wait = 0.0;
            }
        }
        self.last = choice;
        (choice, Span::from_secs_f64(wait))
    }
}
