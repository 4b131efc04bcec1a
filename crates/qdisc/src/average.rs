//! Averages and rates of samples that come at irregular times, forgetting with a time constant.
//!
//! Source: Menth and Hauser, "On moving averages, histograms and time-dependent rates for online
//! measurement", ICPE 2017. M is the memory, D the time since the last sample; a sample of age t
//! weighs e^(−t/M).
//! Units: samples are plain numbers in the unit of whoever adds them; rates are byte/s.
//!
//! A clock that runs backwards counts as standing still.

use sojourn_units::{Span, Time};

/// What is left of a weight after `elapsed`: e^(−elapsed/memory).
fn decay(elapsed: Span, memory: Span) -> f64 {
    if memory.is_zero() {
        return if elapsed.is_zero() { 1.0 } else { 0.0 };
    }
    libm::exp(-(elapsed.as_secs_f64() / memory.as_secs_f64()))
}

/// UTEMA, the unbiased time-exponential moving average: S/N with S ← S·e^(−D/M) + X and
/// N ← N·e^(−D/M) + 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utema {
    memory: Span,
    sum: f64,
    count: f64,
    updated: Time,
}

impl Utema {
    /// No samples yet; `memory` is M.
    pub const fn new(memory: Span) -> Self {
        Self {
            memory,
            sum: 0.0,
            count: 0.0,
            updated: Time::ZERO,
        }
    }

    /// Adds a sample taken at `now`.
    pub fn add(&mut self, sample: f64, now: Time) {
        let kept = decay(now - self.updated, self.memory);
        self.sum = self.sum * kept + sample;
        self.count = self.count * kept + 1.0;
        self.updated = self.updated.max(now);
    }

    /// The average; None before the first sample. It does not change between samples.
    pub fn average(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// TDRM-UTEMA, a time-dependent rate: R(t) = S(t)/T(t) with S ← S·e^(−D/M) + X and
/// T(t) = M·(1 − e^(−(t−t₀)/M)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdrmUtema {
    memory: Span,
    start: Time,
    bytes: f64,
    updated: Time,
}

impl TdrmUtema {
    /// Counts from `start`, which is t₀; `memory` is M.
    pub const fn new(memory: Span, start: Time) -> Self {
        Self {
            memory,
            start,
            bytes: 0.0,
            updated: start,
        }
    }

    /// Adds a packet that came at `now`.
    pub fn add(&mut self, bytes: u64, now: Time) {
        self.bytes = self.bytes * decay(now - self.updated, self.memory) + bytes as f64;
        self.updated = self.updated.max(now);
    }

    /// Byte/s at `now`; None at the start itself, when no time has passed.
    pub fn rate(&self, now: Time) -> Option<f64> {
        let bytes = self.bytes * decay(now - self.updated, self.memory);
        let time = self.memory.as_secs_f64() * (1.0 - decay(now - self.start, self.memory));
        (time > 0.0).then(|| bytes / time)
    }
}

/// TDRM-UTEMA-CPA, for continuous packet arrivals: bytes count as if they had come evenly since
/// the sample before, so the rate is defined between samples. First R = X/D, then
/// R ← R·e^(−D/M) + (1 − e^(−D/M))·X/D.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdrmUtemaCpa {
    memory: Span,
    rate: Option<f64>,
}

impl TdrmUtemaCpa {
    /// No samples yet; `memory` is M.
    pub const fn new(memory: Span) -> Self {
        Self { memory, rate: None }
    }

    /// Adds `bytes` that came within `elapsed`, which must follow the sample before. No time
    /// at all is no sample.
    pub fn add(&mut self, bytes: u64, elapsed: Span) {
        if elapsed.is_zero() {
            return;
        }
        let sample = bytes as f64 / elapsed.as_secs_f64();
        let kept = decay(elapsed, self.memory);
        self.rate = Some(match self.rate {
            Some(rate) => rate * kept + sample * (1.0 - kept),
            None => sample,
        });
    }

    /// Byte/s; None before the first sample.
    pub const fn rate(&self) -> Option<f64> {
        self.rate
    }
}

#[cfg(test)]
mod tests;
