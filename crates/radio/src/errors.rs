//! How likely what is sent at a rate comes through, by its SINR.
//!
//! Sources. DBPSK (1 Mbit/s): ½ e^(−Eb/N0). DQPSK (2 Mbit/s): Proakis' approximation. CCK (5.5 and
//! 11 Mbit/s): M. B. Pursley, T. C. Royster, "Properties and Performance of the IEEE 802.11b
//! Complementary-Code-Key Signal Sets", IEEE Transactions on Communications 57(2), 2009, equations
//! 17 and 18. All in a noise bandwidth of 22 MHz, as ns-3's `DsssErrorRateModel` has them. OFDM
//! has a threshold ([`Profile::threshold`]).
//!
//! Interference counts as noise. Bits fail independently, so that a frame comes through a
//! disturbance with the product over its bits.

use crate::profile::Profile;
use alloc::boxed::Box;
use sojourn_units::{Rate, Span};

/// Lowest SINR of the table in dB; below it the lowest one counts.
const LOWEST: f64 = -12.0;
/// Steps of the table for each dB.
const STEPS: f64 = 10.0;
/// Length of the table: up to 14 dB, above which nothing is lost.
const LENGTH: usize = 261;
/// Rate of loss per bit that counts as none.
const NONE: f64 = 1e-14;

/// What happens to what is sent at one rate.
#[derive(Clone, Debug)]
pub(crate) enum Errors {
    /// OFDM: all comes through from this SINR on, nothing below it.
    Threshold(f64),
    /// DSSS and CCK.
    Bits {
        /// Bits a second.
        rate: f64,
        /// Logarithm of the loss per bit, by SINR: −ln of a bit's chance is linear in length.
        losses: Box<[f64]>,
    },
}

impl Errors {
    /// Of a rate.
    pub(crate) fn of(rate: Rate) -> Self {
        if Profile::is_ofdm(rate) {
            return Self::Threshold(Profile::threshold(rate));
        }
        let loss = |step: usize| {
            let sinr = Profile::ratio(LOWEST + step as f64 / STEPS);
            libm::log(loss_per_bit(rate, sinr).max(NONE))
        };
        Self::Bits {
            rate: rate.as_bps() as f64,
            losses: (0..LENGTH).map(loss).collect(),
        }
    }

    /// How likely it comes through so much time at this SINR.
    pub(crate) fn survival(&self, sinr: f64, time: Span) -> f64 {
        if time.is_zero() {
            return 1.0;
        }
        let (rate, losses) = match self {
            Self::Threshold(least) => return if sinr < *least { 0.0 } else { 1.0 },
            Self::Bits { rate, losses } => (rate, losses),
        };
        let place = ((Profile::decibels(sinr) - LOWEST) * STEPS).max(0.0);
        let low = place as usize;
        let Some(&[here, next]) = losses.get(low..low + 2) else {
            return 1.0;
        };
        let loss = libm::exp(here + (next - here) * (place - low as f64));
        libm::exp(-loss * rate * time.as_secs_f64())
    }
}

/// −ln of the chance that a bit comes through.
fn loss_per_bit(rate: Rate, sinr: f64) -> f64 {
    let lost = |chance: f64| -libm::log1p(-chance.min(0.5));
    match rate.as_bps() / 1000 {
        0..=1000 => lost(0.5 * libm::exp(-22.0 * sinr)),
        1001..=2000 => lost(dqpsk(11.0 * sinr)),
        // A symbol of 4 bits is one of 8 code words; one of 8 bits has two such decisions.
        2001..=5500 => lost(code_word(16.0 * sinr)) / 4.0,
        _ => lost(code_word(8.0 * sinr)) / 4.0,
    }
}

/// Chance that a bit of DQPSK fails at this Eb/N0.
fn dqpsk(energy: f64) -> f64 {
    use core::f64::consts::{PI, SQRT_2};
    let scale = (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2);
    scale / libm::sqrt(energy) * libm::exp(-(2.0 - SQRT_2) * energy)
}

/// Chance that one of eight biorthogonal code words is taken for another, at this squared distance
/// from the decision: 1 − ∫ (2Φ(x + β) − 1)⁷ φ(x) dx from −β on, with β² = `distance`.
fn code_word(distance: f64) -> f64 {
    let beta = libm::sqrt(distance);
    let low = (-beta).max(-8.0);
    // The integrand and its derivatives vanish at both ends, so that the trapezoidal rule is
    // exact.
    let steps = 160;
    let width = (8.0 - low) / f64::from(steps);
    let inside = |step: i32| {
        let x = low + width * f64::from(step);
        let right = libm::erf((x + beta) / core::f64::consts::SQRT_2);
        libm::pow(right, 7.0) * libm::exp(-x * x / 2.0)
    };
    let sum: f64 = (1..steps).map(inside).sum();
    (1.0 - sum * width / libm::sqrt(2.0 * core::f64::consts::PI)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SINR in dB at which half of all frames of so many bytes are lost, as numbers: made by a
    /// script of these formulas in Python, Simpson's rule over 4000 steps.
    #[test]
    fn half_of_the_frames_come_through_where_the_formulas_say() {
        for (kbps, bytes, decibels) in [
            (1000, 1064, -4.02),
            (2000, 1064, 0.51),
            (5500, 1064, 3.13),
            (11_000, 1064, 6.14),
            (11_000, 14, 2.99),
            (11_000, 500, 5.74),
            (2000, 14, -2.88),
        ] {
            let rate = Rate::from_bps(kbps * 1000);
            let time = Span::from_nanos(bytes * 8_000_000 / kbps);
            let survival = |db: f64| Errors::of(rate).survival(Profile::ratio(db), time);
            let (below, above) = (survival(decibels - 0.015), survival(decibels + 0.015));
            assert!(
                below < 0.5 && above > 0.5,
                "{kbps} kbit/s, {bytes} B: {below} {above}"
            );
        }
    }

    /// How many come through 1 dB below that, 1 dB and 2 dB above it, by the same script.
    #[test]
    fn frames_come_through_as_the_formulas_say_beside_it() {
        for (kbps, bytes, decibels, wanted) in [
            (1000, 1064, -4.02, [0.0152, 0.9297, 0.9958]),
            (2000, 1064, 0.51, [0.0308, 0.9091, 0.9920]),
            (5500, 1064, 3.13, [0.0192, 0.9257, 0.9952]),
            (11_000, 1064, 6.14, [0.0191, 0.9257, 0.9952]),
            (11_000, 14, 2.99, [0.2075, 0.7827, 0.9368]),
            (11_000, 500, 5.74, [0.0352, 0.9112, 0.9926]),
            (2000, 14, -2.88, [0.2143, 0.7709, 0.9245]),
        ] {
            let rate = Rate::from_bps(kbps * 1000);
            let time = Span::from_nanos(bytes * 8_000_000 / kbps);
            for (step, wanted) in [-1.0, 1.0, 2.0].into_iter().zip(wanted) {
                let ratio = Profile::ratio(decibels + step);
                let survival = Errors::of(rate).survival(ratio, time);
                assert!(
                    (survival - wanted).abs() < 0.002,
                    "{kbps} kbit/s, {bytes} B, {step} dB: {survival}"
                );
            }
        }
    }

    /// IEEE 802.11-2007 18.4.8 asks for at most 8 % of 1024 bytes lost: a receiver without flaws
    /// needs 7.09 dB for it at 11 Mbit/s.
    #[test]
    fn the_standard_s_criterion_is_met_at_seven_decibels() {
        let rate = Rate::from_bps(11_000_000);
        let time = Span::from_nanos(1024 * 8_000_000 / 11_000);
        let survival = Errors::of(rate).survival(Profile::ratio(7.09), time);
        assert!((survival - 0.92).abs() < 0.003, "{survival}");
    }
}
