//! Against the distributions' own means and variances.

use super::*;
use crate::{Datagram, Metric, Wishes};
use alloc::vec::Vec;

#[derive(Default)]
struct Log {
    sent: Vec<Time>,
    wishes: Wishes,
    now: Time,
}

impl Port for Log {
    fn write(&mut self, _: u64) -> u64 {
        0
    }
    fn write_forever(&mut self) {}
    fn send(&mut self, _: Datagram) {
        self.sent.push(self.now);
    }
    fn wishes(&mut self) -> &mut Wishes {
        &mut self.wishes
    }
    fn close(&mut self) {}
    fn round_trip(&mut self, _: Span) {}
    fn observe(&mut self, _: Metric, _: f64) {}
}

/// Times of the messages of 1000 s, one every 10 ms, in ms, when every wake-up comes late by this.
fn times_late(gaps: Gaps, late: Span) -> Vec<f64> {
    let interval = Span::from_millis(10);
    let cbr = Cbr {
        size: 100,
        interval,
        gaps,
    };
    let (mut source, _) = cbr.build(Stream::named(1, "cbr"));
    let mut log = Log::default();
    source.handle(Input::Start, log.now, &mut log);
    while let Some(wake) = log.wishes.wake.take()
        && wake < Time::ZERO + Span::from_secs(1000)
    {
        log.now = log.now.max(wake + late);
        source.handle(Input::Timer, log.now, &mut log);
    }
    let times = log.sent.iter();
    times.map(|at| (*at - Time::ZERO).as_millis_f64()).collect()
}

fn times(gaps: Gaps) -> Vec<f64> {
    times_late(gaps, Span::ZERO)
}

/// Mean of the gaps, and their standard deviation.
fn spread(times: &[f64]) -> (f64, f64) {
    let gaps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let squares = gaps.iter().map(|gap| (gap - mean) * (gap - mean));
    (mean, libm::sqrt(squares.sum::<f64>() / count))
}

#[test]
fn gaps_of_a_poisson_process_are_exponential() {
    let times = times(Gaps::Poisson);
    // 100 000 on average, with a standard deviation of 316.
    assert!((times.len() as f64 - 1e5).abs() < 1300.0, "{}", times.len());
    let (mean, deviation) = spread(&times);
    assert!((deviation / mean - 1.0).abs() < 0.02, "{mean} {deviation}");
}

/// As on a machine that wakes late: a gap that has passed meanwhile is made up for at once.
#[test]
fn late_wake_ups_do_not_lower_the_rate() {
    for late in [1, 5].map(Span::from_millis) {
        let times = times_late(Gaps::Poisson, late);
        assert!((times.len() as f64 - 1e5).abs() < 1300.0, "{}", times.len());
        let times = times_late(Gaps::Jittered(Span::from_millis(8)), late);
        assert_eq!(times.len(), 100_000);
    }
}

#[test]
fn jitter_moves_each_message_and_keeps_rate_and_order() {
    let times = times(Gaps::Jittered(Span::from_millis(8)));
    assert_eq!(times.len(), 100_000);
    for (number, at) in times.iter().enumerate() {
        let late = at - 10.0 * number as f64;
        assert!((0.0..8.0).contains(&late), "{number}: {late}");
    }
    // A difference of two uniform ones: 8 / sqrt(6).
    let (mean, deviation) = spread(&times);
    assert!(
        (mean - 10.0).abs() < 1e-3 && (deviation - 3.266).abs() < 0.03,
        "{deviation}"
    );
}
