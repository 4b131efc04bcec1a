use super::*;
use crate::tests::harness::{Wire, ms};
use alloc::boxed::Box;
use sojourn_units::Rate;

fn call(delay: u64) -> Wire {
    let interval = Span::from_millis(20);
    let ends = (
        Box::new(Paced::new(172, interval)) as Box<dyn App>,
        Box::new(Listener::new(interval)) as Box<dyn App>,
    );
    Wire::new(ends, 1, Rate::from_bps(1), Span::from_millis(delay))
}

#[test]
fn an_even_stream_without_loss_is_rated_by_its_delay_alone() {
    let mut wire = call(160);
    wire.run(ms(10_500));
    // Filled in 20 ms, 160 ms under way, held for one more packet: 200 ms from mouth to ear,
    // for which the E-model's tests have 93.2 - 3.0444.
    let ratings = wire.values(Metric::RFactor);
    assert_eq!(ratings.len(), 10);
    assert!(
        ratings.iter().all(|r| (r - 90.1556).abs() < 0.001),
        "{ratings:?}"
    );
    assert!(
        wire.values(Metric::MissingRatio)
            .iter()
            .all(|&missing| missing == 0.0)
    );
    assert!(
        wire.values(Metric::JitterMs)
            .iter()
            .all(|&jitter| jitter < 1e-9)
    );
}

#[test]
fn lost_packets_are_missed() {
    let mut wire = call(20);
    wire.lose = |number| number % 5 == 4;
    wire.run(ms(20_500));
    let missing = wire.values(Metric::MissingRatio);
    let mean = missing.iter().sum::<f64>() / missing.len() as f64;
    assert!((mean - 0.2).abs() < 0.01, "{missing:?}");
    // 95 · 20 / (20 + 25.1) less than 93.2.
    let rating = *wire.values(Metric::RFactor).last().unwrap();
    assert!((rating - (93.2 - 42.129)).abs() < 0.01, "{rating}");
}

#[test]
fn silence_is_missed_whole_and_before_the_first_packet_not_at_all() {
    let mut wire = call(15);
    wire.lose = |number| number < 100 || (200..400).contains(&number);
    wire.run(ms(8_500));
    let missing = wire.values(Metric::MissingRatio);
    // Two seconds of nothing; two good ones; four of silence.
    assert_eq!(missing, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(wire.values(Metric::Mos)[2..], [1.0; 4]);
}

#[test]
fn jitter_follows_the_recipe_of_rfc_3550() {
    // Arrivals 20 ms apart but for one that is 16 ms late: |D| is 16 twice, and J gains a
    // sixteenth of what it lacks each time.
    let mut jitter = Jitter::default();
    for (number, at) in [(0, 0), (1, 20), (2, 56), (3, 60)] {
        jitter.arrived(number, Span::from_millis(20), ms(at));
    }
    assert!(
        (jitter.ms - (1.0 + (16.0 - 1.0) / 16.0)).abs() < 1e-9,
        "{}",
        jitter.ms
    );
    // A gap in the numbers is no jitter.
    let before = jitter.ms;
    jitter.arrived(13, Span::from_millis(20), ms(260));
    assert!((jitter.ms - before * 15.0 / 16.0).abs() < 1e-9);
}

#[test]
fn a_packet_beyond_the_playout_delay_comes_too_late() {
    let mut listener = Listener::new(Span::from_millis(20));
    let datagram = |number: u32| Datagram {
        number,
        len: 172,
        sent: ms(u64::from(number) * 20),
        ..Datagram::default()
    };
    listener.arrived(datagram(0), ms(50));
    // Played at 50 + 20 ms at the latest.
    listener.arrived(datagram(1), ms(20 + 70));
    listener.arrived(datagram(2), ms(40 + 71));
    assert_eq!((listener.played, listener.next), (2, 3));
}
