//! Against the closed forms.

use super::*;
use std::vec::Vec;

const MEMORY: Span = Span::from_secs(2);

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn near(ours: Option<f64>, exact: f64) {
    let ours = ours.expect("there were samples");
    assert!((ours / exact - 1.0).abs() < 1e-12, "{ours} and not {exact}");
}

/// Samples at irregular times: (ms, value).
const SAMPLES: [(u64, f64); 6] = [
    (0, 3.0),
    (10, 5.0),
    (1700, 1.0),
    (1700, 8.0),
    (4000, 2.0),
    (9000, 7.0),
];

#[test]
fn utema_is_the_weighted_mean() {
    let mut average = Utema::new(MEMORY);
    assert_eq!(average.average(), None);
    for (index, &(ms, sample)) in SAMPLES.iter().enumerate() {
        average.add(sample, at(ms));
        // Σ X·e^(−age/M) / Σ e^(−age/M).
        let weights: Vec<f64> = SAMPLES[..=index]
            .iter()
            .map(|(then, _)| libm::exp(-((ms - then) as f64) / 2000.0))
            .collect();
        let sum: f64 = weights.iter().zip(SAMPLES).map(|(w, (_, x))| w * x).sum();
        near(average.average(), sum / weights.iter().sum::<f64>());
    }
}

#[test]
fn utema_of_a_constant_is_the_constant_from_the_first_sample_on() {
    let mut average = Utema::new(MEMORY);
    for ms in [5, 6, 700, 100_000, 100_001] {
        average.add(4.5, at(ms));
        near(average.average(), 4.5);
    }
}

/// Bytes X every d: S = X·(1 − q^n)/(1 − q) with q = e^(−d/M), T = M·(1 − q^n) when n spans have
/// passed, so the rate is X/(M·(1 − q)) at each sample and exactly: no bias at the start.
#[test]
fn tdrm_utema_of_regular_packets_is_a_geometric_series() {
    let mut rate = TdrmUtema::new(MEMORY, Time::ZERO);
    assert_eq!(rate.rate(Time::ZERO), None);
    let q = libm::exp(-0.1 / 2.0);
    for n in 1..200 {
        rate.add(1500, at(n * 100));
        near(rate.rate(at(n * 100)), 1500.0 / (2.0 * (1.0 - q)));
    }
    // Without packets it falls, T being as good as M by now.
    let silent = rate.rate(at(199 * 100 + 2000)).unwrap() / rate.rate(at(199 * 100)).unwrap();
    assert!((silent - libm::exp(-1.0)).abs() < 1e-4, "{silent}");
}

/// One step: after D at X/D over a start of R₀ it is X/D + (R₀ − X/D)·e^(−D/M).
#[test]
fn tdrm_utema_cpa_goes_exponentially_to_a_new_rate() {
    let mut rate = TdrmUtemaCpa::new(MEMORY);
    assert_eq!(rate.rate(), None);
    rate.add(500, Span::ZERO);
    assert_eq!(rate.rate(), None, "no time is no sample");
    rate.add(3000, Span::from_secs(3));
    near(rate.rate(), 1000.0);
    // However the time is cut into samples.
    for millis in [1, 999, 250, 750, 2000] {
        rate.add(4 * millis, Span::from_millis(millis));
    }
    near(rate.rate(), 4000.0 - 3000.0 * libm::exp(-2.0));
}

#[test]
fn without_memory_only_the_last_sample_counts() {
    let mut average = Utema::new(Span::ZERO);
    average.add(1.0, at(1));
    average.add(9.0, at(2));
    near(average.average(), 9.0);
    // A clock that runs backwards does not raise weights.
    average.add(1.0, at(1));
    near(average.average(), 5.0);
}
