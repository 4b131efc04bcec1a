//! Rules of PIE one by one, Linux's and dummynet's, against numbers worked out by hand.

// Exact results are expected exactly: powers of two, and values that must not change.
#![allow(clippy::float_cmp)]

use crate::common::view::{CAPABLE, PLAIN, at, held, mean};
use sojourn_qdisc::{Aqm, Ecn, Facts, Pie, PieLaw, PieParams, PieState, QueueView, Verdict};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A PIE whose probability stands still, past its burst allowance.
fn pie_at(prob: f64, params: PieParams) -> (Pie, PieState) {
    let params = PieParams {
        tupdate: Span::ZERO,
        ..params
    };
    let pie = Pie::new(params, 1514, Stream::named(11, "pie"));
    let mut state = PieState::default();
    state.prob = prob;
    state.delay = Span::from_millis(50);
    state.burst_allowance = Span::ZERO;
    (pie, state)
}

/// Arrivals between two drops, for 20 000 drops.
fn pie_gaps(prob: f64, params: PieParams, packet: Facts<'_>) -> Vec<u32> {
    let (mut pie, mut state) = pie_at(prob, params);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        if pie.arrive(&mut state, held(50), packet, at(1)) == Verdict::Drop {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

#[test]
fn pie_derandomises_between_0_85_and_8_5() {
    let gaps = pie_gaps(0.05, PieParams::default(), PLAIN);
    // The sum reaches 0.85 with the 17th arrival (0.05 · 17), at the earliest; 8.5 with the
    // 170th, at the latest; one more for what adding 0.05 in binary loses.
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!((17..=18).contains(least), "{least}");
    assert!(*most <= 171, "{most}");
    // After 16 safe arrivals the distance is geometric with mean 20: 36 in all (the cut at 170
    // takes 20 · 0.95^154 = 0.007 away).
    assert!((mean(&gaps) - 36.0).abs() < 1.0, "{}", mean(&gaps));
}

#[test]
fn pie_bytemode_scales_with_the_packet() {
    let params = PieParams {
        bytemode: true,
        ..PieParams::default()
    };
    let small = Facts::new(757, &Ecn::NotEct);
    // Half the MTU: 0.1 becomes 0.05, and jumbo packets count as one MTU.
    let gaps = pie_gaps(0.1, params, small);
    assert!((mean(&gaps) - 36.0).abs() < 1.0, "{}", mean(&gaps));
    let jumbo = Facts::new(9000, &Ecn::NotEct);
    // 0.1: 8 safe arrivals, then a mean of 10.
    let gaps = pie_gaps(0.1, params, jumbo);
    assert!((mean(&gaps) - 18.0).abs() < 1.0, "{}", mean(&gaps));
}

#[test]
fn pie_marks_up_to_the_ecn_limit_only() {
    let params = PieParams {
        ecn: true,
        ..PieParams::default()
    };
    for (prob, signal) in [(0.1, Verdict::Mark), (0.11, Verdict::Drop)] {
        let (mut pie, mut state) = pie_at(prob, params);
        let hit = (0..1000)
            .map(|_| pie.arrive(&mut state, held(50), CAPABLE, at(1)))
            .find(|verdict| *verdict != Verdict::Pass);
        assert_eq!(hit, Some(signal));
        let plain =
            (0..1000).any(|_| pie.arrive(&mut state, held(50), PLAIN, at(1)) == Verdict::Drop);
        assert!(plain, "packets without ECN are dropped all along");
    }
}

#[test]
fn pie_spares_short_queues_short_delays_and_bursts() {
    let spared = |pie: &mut Pie, state: &mut PieState, view| {
        (0..1000).all(|_| pie.arrive(state, view, PLAIN, at(1)) == Verdict::Pass)
    };
    let (mut pie, mut state) = pie_at(0.5, PieParams::default());
    // 2 MTU are 3028 bytes.
    assert!(spared(&mut pie, &mut state, held(2)));
    assert!(!spared(&mut pie, &mut state, held(3)));
    // Half the target are 7.5 ms; only below 20 %.
    state.delay = Span::from_micros(7499);
    assert!(!spared(&mut pie, &mut state, held(50)));
    state.prob = 0.19;
    assert!(spared(&mut pie, &mut state, held(50)));
    state.delay = Span::from_micros(7500);
    assert!(!spared(&mut pie, &mut state, held(50)));
    state.burst_allowance = Span::from_nanos(1);
    assert!(spared(&mut pie, &mut state, held(50)));
}

#[test]
fn pie_lets_bursts_of_150_ms_pass_and_restores_the_allowance_when_quiet() {
    let mut pie = Pie::new(PieParams::default(), 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    let leave = |pie: &mut Pie, state: &mut PieState, packets, delay, ms| {
        pie.arrive(state, held(packets), PLAIN, at(ms));
        let delay = Span::from_millis(delay);
        pie.leave(state, held(packets), PLAIN, delay, at(ms));
    };
    // The first departure starts the clock, the one 149 ms later leaves 1 ms of 150. Nothing moves the
    // probability before 500 ms.
    for ms in 401..=550 {
        leave(&mut pie, &mut state, 50, 100, ms);
    }
    assert_eq!(state.burst_allowance, Span::from_millis(1));
    leave(&mut pie, &mut state, 50, 100, 551);
    assert_eq!(state.burst_allowance, Span::ZERO);
    assert!(state.prob > 0.0);
    // Idle: after enough updates probability and delay are zero, and the allowance is back.
    leave(&mut pie, &mut state, 0, 1, 552);
    // Statistics see it without a packet; they change nothing.
    assert_eq!(pie.state_at(&state, 0, at(60_000)).prob, 0.0);
    assert!(state.prob > 0.0);
    pie.arrive(&mut state, held(0), PLAIN, at(60_000));
    assert_eq!(state.prob, 0.0);
    assert_eq!(state.burst_allowance, Span::from_millis(150));
}

/// Linux's timer is set 500 ms ahead when the queue is made, then for each `tupdate`.
#[test]
fn pie_first_updates_after_half_a_second() {
    let mut pie = Pie::new(PieParams::default(), 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    let mut changes = Vec::new();
    for ms in 1..=530 {
        let before = state.prob;
        pie.arrive(&mut state, held(50), PLAIN, at(ms));
        pie.leave(&mut state, held(50), PLAIN, Span::from_millis(300), at(ms));
        if state.prob > before {
            changes.push(ms);
        }
    }
    assert_eq!(changes, [500, 515, 530]);
}

/// The 8.5th accumulated probability forces a signal. A mark leaves it there, so that every packet is
/// marked until a drop or a probability of zero.
#[test]
fn pie_forces_signals_until_a_drop() {
    let params = PieParams {
        ecn: true,
        ..PieParams::default()
    };
    let (mut pie, mut state) = pie_at(1e-9, params);
    state.accumulated = 9.0;
    for _ in 0..3 {
        assert_eq!(
            pie.arrive(&mut state, held(50), CAPABLE, at(1)),
            Verdict::Mark
        );
    }
    assert_eq!(
        pie.arrive(&mut state, held(50), PLAIN, at(1)),
        Verdict::Drop
    );
    assert_eq!(
        pie.arrive(&mut state, held(50), CAPABLE, at(1)),
        Verdict::Pass
    );
}

#[test]
fn pie_estimates_the_rate_of_departures() {
    let params = PieParams {
        dq_rate_estimator: true,
        ..PieParams::default()
    };
    let mut pie = Pie::new(params, 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    // 1500 bytes each millisecond: 1.5 MB/s, and 100 packets waiting are 100 ms.
    for ms in 501..1000 {
        pie.arrive(&mut state, held(100), PLAIN, at(ms));
        pie.leave(&mut state, held(100), PLAIN, Span::ZERO, at(ms));
    }
    // The first packet of a cycle counts although its time does not: 11 packets in 10 ms.
    let rate = state.avg_dq_rate();
    assert!((1.5e6..=1.65e6).contains(&rate), "{rate}");
    let delay = state.delay.as_secs_f64();
    assert!((delay - 150_000.0 / rate).abs() < 2e-3, "{delay}");
}

fn dummynet() -> PieParams {
    PieParams {
        law: PieLaw::Dummynet,
        dq_rate_estimator: true,
        ..PieParams::default()
    }
}

/// 16 KiB are eleven packets of 1500 bytes. The first one leaves at zero and the next a second later:
/// dummynet's first measurement takes 1009 ms, and once more, with 1/4, the 1010 ms that the
/// packet after has taken. The one that begins then takes 11 ms.
#[test]
fn dummynets_pie_measures_idle_times_first() {
    let mut pie = Pie::new(dummynet(), 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    let mut rates = Vec::new();
    for ms in core::iter::once(0).chain(1000..=1021) {
        pie.arrive(&mut state, held(100), PLAIN, at(ms));
        pie.leave(&mut state, held(100), PLAIN, Span::ZERO, at(ms));
        if rates.last() != Some(&state.avg_dq_rate()) {
            rates.push(state.avg_dq_rate());
        }
    }
    let times: Vec<f64> = rates[1..].iter().map(|rate| 16_384e3 / rate).collect();
    let by_hand = [1009.0, 1009.25, 759.6875];
    assert_eq!(times.len(), by_hand.len(), "{times:?}");
    for (time, wanted) in times.iter().zip(by_hand) {
        assert!((time - wanted).abs() < 1e-6, "{time} and not {wanted} ms");
    }
    // 150 000 bytes at that rate.
    pie.arrive(&mut state, held(100), PLAIN, at(1040));
    assert_eq!(state.delay.as_micros(), 6_955_146);
}

/// A measurement that begins later needs 16 KiB waiting.
#[test]
fn dummynets_pie_keeps_its_rate_while_the_queue_is_short() {
    let mut pie = Pie::new(dummynet(), 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    for ms in 0..2000 {
        pie.arrive(&mut state, held(10), PLAIN, at(ms));
        pie.leave(&mut state, held(10), PLAIN, Span::ZERO, at(ms));
    }
    // 10 and 11 ms from the first packet, by hand: 0.75 · 10 + 0.25 · 11 ms.
    let time = 16_384e3 / state.avg_dq_rate();
    assert!((time - 10.25).abs() < 1e-9, "{time}");
}

/// Ten updates of 15 ms use the allowance up; it comes back at an arrival, and only while the
/// probability is zero.
#[test]
fn dummynets_pie_counts_bursts_in_updates() {
    let params = PieParams {
        dq_rate_estimator: false,
        ..dummynet()
    };
    let mut pie = Pie::new(params, 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    let step = |pie: &mut Pie, state: &mut PieState, packets, delay, ms| {
        pie.arrive(state, held(packets), PLAIN, at(ms));
        pie.leave(
            state,
            held(packets),
            PLAIN,
            Span::from_millis(delay),
            at(ms),
        );
    };
    step(&mut pie, &mut state, 50, 100, 0);
    step(&mut pie, &mut state, 50, 100, 149);
    assert_eq!(state.burst_allowance, Span::from_millis(15));
    step(&mut pie, &mut state, 50, 100, 150);
    assert_eq!(state.burst_allowance, Span::ZERO);
    // A short delay alone restores nothing.
    step(&mut pie, &mut state, 50, 1, 1500);
    step(&mut pie, &mut state, 50, 1, 1516);
    assert!(state.prob > 0.0);
    assert_eq!(state.burst_allowance, Span::ZERO);
    step(&mut pie, &mut state, 1, 1, 60_000);
    assert_eq!(state.prob, 0.0);
    assert_eq!(state.burst_allowance, Span::from_millis(150));
}

#[test]
fn dummynets_pie_spares_1600_bytes_and_looks_at_the_delay_of_the_last_update() {
    let params = PieParams {
        dq_rate_estimator: false,
        ..dummynet()
    };
    let spared = |delay, bytes| {
        let mut pie = Pie::new(params, 1514, Stream::named(11, "pie"));
        let mut state = PieState::default();
        pie.arrive(&mut state, held(50), PLAIN, at(0));
        pie.leave(&mut state, held(50), PLAIN, Span::from_millis(delay), at(0));
        pie.arrive(&mut state, held(50), PLAIN, at(150));
        state.prob = 0.19;
        state.burst_allowance = Span::ZERO;
        // What left since the update is not known yet.
        pie.leave(&mut state, held(50), PLAIN, Span::from_millis(50), at(151));
        let view = QueueView { bytes, ..held(2) };
        (0..1000).all(|_| pie.arrive(&mut state, view, PLAIN, at(151)) == Verdict::Pass)
    };
    assert!(spared(7, 100_000));
    assert!(!spared(8, 100_000));
    assert!(spared(8, 1600));
    assert!(!spared(8, 1601));
}

/// What a flow queue takes up again begins anew, at the arrival that follows.
#[test]
fn dummynets_pie_forgets_a_flow_that_was_away() {
    let params = PieParams {
        dq_rate_estimator: false,
        ..dummynet()
    };
    let mut pie = Pie::new(params, 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    for ms in 0..500 {
        pie.arrive(&mut state, held(100), PLAIN, at(ms));
        pie.leave(&mut state, held(100), PLAIN, Span::from_millis(100), at(ms));
    }
    assert!(state.prob > 0.0);
    assert_eq!(state.burst_allowance, Span::ZERO);
    pie.rejoined(&mut state);
    pie.arrive(&mut state, held(100), PLAIN, at(500));
    assert_eq!(state.prob, 0.0);
    assert_eq!(state.burst_allowance, Span::from_millis(150));
    pie.arrive(&mut state, held(100), PLAIN, at(515));
    assert_eq!(state.burst_allowance, Span::from_millis(135));
}

#[test]
fn pie_survives_an_endless_gap() {
    let mut pie = Pie::new(PieParams::default(), 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    for now in [0, 1, u64::MAX / 2, 5, u64::MAX - 1, u64::MAX, u64::MAX, 0] {
        let now = Time::from_nanos(now);
        pie.arrive(&mut state, held(50), PLAIN, now);
        // A nanosecond over the target: the probability creeps, and no fixpoint ends the loop.
        let delay = Span::from_nanos(15_000_001);
        pie.leave(&mut state, held(50), PLAIN, delay, now);
        assert!((0.0..256.0).contains(&state.prob));
    }
}
