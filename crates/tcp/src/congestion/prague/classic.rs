//! Whether the bottleneck is a queue with classic ECN, by how much the delay varies.
//!
//! A queue for L4S holds its delay short and even. One of RFC 3168 lets it swing by milliseconds,
//! and a mark of it stands for a loss. A score rises with the deviation of the round trip and with
//! the queue's depth; above a threshold marks cost more than their share.
//! Source: Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv
//! 1911.00710, version 2 of the algorithm, as the L4S team's Linux version has it
//! (`prague_classic_ecn_detection`, `prague_classic_ecn_fallback`, `prague_rtt_estimator`,
//! `prague_update_rtt_scaling`); the draft leaves it to these. There it is `prague_ecn_fallback` 1.
//! Difference: logarithms are exact, where theirs are whole numbers with a carry.
//! Not here, as there: the paper's term for senders that limit themselves.

use sojourn_units::Span;

/// Weight of the deviation (V) and of the depth (D).
const WEIGHT: f64 = 0.5;
/// Deviation that speaks neither for nor against (V0), in microseconds.
const DEVIATION: f64 = 750.0;
/// Depth above which it speaks for a classic queue (D0), in microseconds.
const DEPTH: f64 = 2000.0;
/// Score of pure L4S, at most (L_STICKY: 16 times the weight); it begins at zero.
const STICKY: f64 = 16.0 * WEIGHT;
/// Width of the transition from there to a classic queue.
const TRANSITION: f64 = 1.0;
/// Highest score (C_STICKY).
const MOST: f64 = STICKY + TRANSITION + STICKY;
/// Share that a mark of a classic queue counts as, at least: the window falls by 5/16.
const SHARE: f64 = 5.0 / 8.0;
/// Largest exponent of the mean's gain (PRAGUE_MAX_SRTT_BITS).
const MAX_SHIFT: u32 = 18;

/// The score, and what it is made of.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    /// Mean and mean deviation of the round trip in microseconds; no mean before a sample.
    mean: Option<f64>,
    deviation: f64,
    /// The mean's gain is 2 to the minus this, the deviation's half of that.
    shift: u32,
    score: f64,
}

impl Classic {
    pub(super) fn new() -> Self {
        Self {
            mean: None,
            deviation: 1.0,
            shift: MAX_SHIFT,
            score: 0.0,
        }
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, rtt: Span) {
        let micros = rtt.as_nanos() as f64 / 1e3;
        let Some(mean) = self.mean else {
            self.mean = Some(micros);
            return;
        };
        let gain = 1.0 / f64::from(1_u32 << self.shift);
        let error = micros - mean;
        self.mean = Some(mean + error * gain);
        self.deviation += (error.abs() - self.deviation) * gain / 2.0;
    }

    /// Before a reduction: sawteeth of this window are to be seen past. Their length grows with the
    /// window's power of 1.5.
    pub(super) fn follow(&mut self, ssthresh: u32) {
        let log = ssthresh.max(1).ilog2();
        self.shift = (log + log / 2 + 1).min(MAX_SHIFT);
    }

    /// Once for each update of the share of marks.
    pub(super) fn update(&mut self, least: Span) {
        let Some(mean) = self.mean else {
            return;
        };
        self.score += WEIGHT * libm::log2(self.deviation.max(1.0) / DEVIATION);
        let depth = mean - least.as_nanos() as f64 / 1e3;
        if depth > DEPTH {
            self.score += WEIGHT * libm::log2(depth / DEPTH);
        }
        self.score = self.score.clamp(0.0, MOST);
    }

    /// What a mark counts as at least: zero for L4S.
    pub(super) fn least_share(&self) -> f64 {
        (self.score - STICKY).clamp(0.0, TRANSITION) * SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// One that has converged on a deviation of 3 ms and a mean of 58 ms.
    fn classic() -> Classic {
        Classic {
            mean: Some(58_000.0),
            deviation: 3000.0,
            shift: 8,
            score: 0.0,
        }
    }

    /// By hand: lg(3000/750)/2 = 1, and with a queue of 8 ms lg(8/2)/2 = 1: two an update. After four
    /// it is at the threshold of 8, after five the transition of 1 is over, and 17 is the most.
    #[test]
    fn a_deep_swinging_queue_is_classic_after_five_updates() {
        let mut classic = classic();
        let least = Span::from_millis(50);
        for score in [2.0, 4.0, 6.0, 8.0] {
            near(classic.least_share(), 0.0);
            classic.update(least);
            near(classic.score, score);
        }
        near(classic.least_share(), 0.0);
        classic.update(least);
        near(classic.least_share(), 0.625);
        for _ in 0..9 {
            classic.update(least);
        }
        near(classic.score, 17.0);
        // A quarter of the reference takes 1 off an update, a short queue nothing.
        classic.deviation = 750.0 / 4.0;
        classic.mean = Some(50_500.0);
        for score in (8..17).rev() {
            classic.update(least);
            near(classic.score, f64::from(score));
        }
        near(classic.least_share(), 0.0);
    }

    /// In the middle of the transition a mark counts as half of five eighths.
    #[test]
    fn the_transition_is_linear() {
        let mut classic = classic();
        classic.score = 8.5;
        near(classic.least_share(), 0.3125);
        classic.score = 20.0;
        near(classic.least_share(), 0.625);
    }

    /// A depth of 2 ms or less says nothing; a deviation below a microsecond counts as one:
    /// lg(1/750)/2 = −4.775, and the score stays at zero.
    #[test]
    fn a_short_even_queue_is_for_l4s() {
        let mut classic = classic();
        (classic.score, classic.deviation) = (10.0, 0.25);
        classic.mean = Some(52_000.0);
        classic.update(Span::from_millis(50));
        near(classic.score, 10.0 - 4.775_373_392_110_156);
        classic.update(Span::from_millis(50));
        classic.update(Span::from_millis(50));
        near(classic.score, 0.0);
    }

    /// ssthresh 100: ⌊lg⌋ = 6, and 6 + 3 + 1 = 10: the mean's gain is 1/1024, the deviation's half of
    /// it. One sample 10.24 ms above the mean moves it by 10 µs, a deviation of 0 by 5 µs.
    #[test]
    fn gains_follow_the_window() {
        let mut classic = Classic::new();
        classic.sample(Span::from_millis(50));
        classic.follow(100);
        assert_eq!(classic.shift, 10);
        classic.deviation = 0.0;
        classic.sample(Span::from_micros(60_240));
        near(classic.mean.unwrap(), 50_010.0);
        near(classic.deviation, 5.0);
        for (ssthresh, shift) in [
            (0, 1),
            (2, 2),
            (4096, 18),
            (1 << 20, 18),
            (u32::MAX / 4, 18),
        ] {
            classic.follow(ssthresh);
            assert_eq!(classic.shift, shift, "{ssthresh}");
        }
    }
}
