//! The rules against numbers made by hand from their formulas.

use crate::dash::bola::Bola;
use crate::dash::throughput::Estimate;
use crate::dash::{Manifest, big_clip};
use sojourn_units::{Rate, Span};
use std::vec;
use std::vec::Vec;

fn video(kbps: &[u64]) -> Manifest {
    let rates: Vec<Rate> = kbps.iter().map(|k| Rate::from_bps(k * 1000)).collect();
    let sizes = kbps.iter().map(|k| vec![(k * 250) as u32]).collect();
    Manifest::new(Span::from_secs(2), rates, sizes).unwrap()
}

#[test]
fn the_estimate_is_nine_tenths_of_the_smaller_average() {
    let mut estimate = Estimate::default();
    assert_eq!(estimate.usable_bps(Span::from_secs(2)), None);
    let second = Span::from_secs(1);
    // 1 Mbit in 1 s: both averages are exact from the first sample on.
    estimate.add(125_000, Span::ZERO, second);
    assert!((estimate.usable_bps(Span::from_secs(2)).unwrap() - 0.9e6).abs() < 1.0);
    // Then 4 Mbit/s for 1 s. Fast: 2^(-1/3) = 0.793701 stays of each; 0.206299 · (0.793701 · 1 +
    // 4) / (1 - 0.629961) = 2.672541. Slow: 0.917004 stays; (0.082996 · (0.917004 + 4)) /
    // (1 - 0.840896) = 2.564922. The smaller is the slow one.
    estimate.add(500_000, Span::ZERO, second);
    let usable = estimate.usable_bps(Span::from_secs(2)).unwrap();
    assert!((usable / 0.9e6 - 2.564_922).abs() < 1e-3, "{usable}");
    // A second until the first byte takes half of every two.
    let mut late = Estimate::default();
    late.add(125_000, second, second);
    assert!((late.usable_bps(Span::from_secs(2)).unwrap() - 0.45e6).abs() < 1.0);
}

#[test]
fn the_highest_rate_that_fits_is_chosen() {
    let clip = big_clip();
    for (bps, kbps) in [(0.0, 46), (89_000.0, 89), (1_350_000.0, 1200), (1e9, 4200)] {
        assert_eq!(clip.rates()[clip.fitting(bps)], Rate::from_bps(kbps * 1000));
    }
}

#[test]
fn bola_changes_rates_where_its_formula_says() {
    // Two rates, 1 and 2 Mbit/s: utilities 1 and 1.693147. Target 30 s: gp = 0.693147 / 2 =
    // 0.346574, Vp = 10 / gp = 28.8539. The higher one is preferred from
    // Vp · (gp + (2 · 1 - 1 · 1.693147) / (2 - 1)) = 10 + 8.8539 = 18.8539 s on.
    let target = Span::from_secs(30);
    let at = |buffer: f64| {
        let mut bola = Bola::new(&video(&[1000, 2000]), target).unwrap();
        // Out of the start, at the lowest rate, without an imagined buffer.
        bola.choose(Span::from_secs(2), Span::from_secs(2), 0);
        bola.choose(Span::from_secs_f64(buffer), Span::from_secs(2), 1)
    };
    assert_eq!(at(18.85).0, 0);
    assert_eq!(at(18.86), (1, Span::ZERO));
    // BOLA-O: it does not go up beyond what the throughput carries ...
    let mut bola = Bola::new(&video(&[1000, 2000]), target).unwrap();
    bola.choose(Span::from_secs(2), Span::from_secs(2), 0);
    assert_eq!(bola.choose(Span::from_secs(25), Span::from_secs(2), 0).0, 0);
    // ... and waits until the buffer is not too full for the lower one:
    // Vp · (1 + gp) = 38.8539 s.
    let (choice, wait) = bola.choose(Span::from_secs(40), Span::from_secs(2), 0);
    assert_eq!(choice, 0);
    assert!(
        (wait.as_secs_f64() - (40.0 - 38.8539)).abs() < 1e-3,
        "{wait:?}"
    );
}

#[test]
fn bola_starts_by_throughput_and_imagines_the_buffer_for_it() {
    let mut bola = Bola::new(&video(&[1000, 2000, 4000]), Span::from_secs(30)).unwrap();
    let chunk = Span::from_secs(2);
    assert_eq!(bola.choose(Span::ZERO, chunk, 2).0, 2);
    assert_eq!(bola.choose(chunk, chunk, 2).0, 2);
    // Steady now, two seconds in the buffer: the choice stays.
    assert_eq!(bola.choose(chunk * 2, chunk, 2).0, 2);
}

#[test]
fn nothing_to_choose_needs_no_rule() {
    assert!(Bola::new(&video(&[1000]), Span::from_secs(30)).is_none());
    assert!(Bola::new(&video(&[1000, 2000]), Span::from_secs(10)).is_none());
}
