//! GSP's rules, against numbers worked out by hand and a table computed from the paper.

use sojourn_qdisc::{Aqm, Ecn, Facts, Gsp, GspParams, GspState, QueueView, Verdict};
use sojourn_units::{Span, Time};
use std::fmt::Write;

const PLAIN: Facts<'static> = Facts::new(1500, &Ecn::NotEct);

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn waited(head_wait: Span) -> QueueView {
    let packets = if head_wait.is_zero() { 0 } else { 10 };
    QueueView {
        bulk_flows: 0,
        packets,
        bytes: u64::from(packets) * 1500,
        total_bytes: u64::from(packets) * 1500,
        head_wait,
    }
}

fn ms(millis: u64) -> QueueView {
    waited(Span::from_millis(millis))
}

#[test]
fn the_interval_is_halved_by_tau_of_surplus() {
    let mut gsp = Gsp::new(GspParams::default());
    let mut state = GspState::default();
    let mut arrive = |wait, time| gsp.arrive(&mut state, ms(wait), PLAIN, at(time));
    // From 1000 ms on above. 200 ms pause, then cumul is 2 · 201 ms: 200/1.402 = 142.65 ms.
    assert_eq!(arrive(6, 1000), Verdict::Drop);
    assert_eq!(arrive(6, 1001), Verdict::Pass);
    assert_eq!(arrive(6, 1200), Verdict::Pass, "the pause includes its end");
    assert_eq!(arrive(6, 1201), Verdict::Drop);
    assert_eq!(state.cumul, Span::from_millis(402));
    assert_eq!(state.expiry - at(1201), Span::from_nanos(142_653_352));
    // 500 ms above are 1 s of surplus: half the interval.
    gsp.arrive(&mut state, ms(6), PLAIN, at(1500));
    assert_eq!(gsp.interval(&state), Span::from_millis(100));
    // At the threshold exactly: a second of it changes nothing.
    gsp.arrive(&mut state, ms(5), PLAIN, at(1500));
    gsp.arrive(&mut state, ms(4), PLAIN, at(2500));
    assert_eq!(gsp.interval(&state), Span::from_millis(100));
    // 750 ms below: 0.25 s are left, 200/1.25 = 160 ms. An idle queue counts as below.
    gsp.found_empty(&mut state, at(2600));
    assert_eq!(
        gsp.interval(&gsp.state_at(&state, at(3250))),
        Span::from_millis(160)
    );
    gsp.arrive(&mut state, ms(0), PLAIN, at(60_000));
    assert_eq!(gsp.interval(&state), Span::from_millis(200));
}

#[test]
fn the_interval_does_not_fall_under_its_least() {
    let params = GspParams {
        min_interval: Span::from_millis(10),
        ..GspParams::default()
    };
    // 1 s · (200/10 − 1).
    assert_eq!(params.max_time(), Span::from_secs(19));
    let mut gsp = Gsp::new(params);
    let mut state = GspState::default();
    gsp.arrive(&mut state, ms(6), PLAIN, at(0));
    gsp.arrive(&mut state, ms(6), PLAIN, at(3_600_000));
    assert_eq!(gsp.interval(&state), Span::from_millis(10));
    // The way back takes 19 s of time below.
    gsp.arrive(&mut state, ms(0), PLAIN, at(3_600_000));
    gsp.arrive(&mut state, ms(0), PLAIN, at(3_618_999));
    assert!(gsp.interval(&state) < Span::from_millis(200));
    gsp.arrive(&mut state, ms(0), PLAIN, at(3_619_000));
    assert_eq!(gsp.interval(&state), Span::from_millis(200));
}

#[test]
fn capable_packets_are_marked_and_pause_like_drops() {
    let params = GspParams {
        ecn: true,
        ..GspParams::default()
    };
    let mut gsp = Gsp::new(params);
    let mut state = GspState::default();
    let capable = Facts::new(PLAIN.len, &Ecn::Ect0);
    assert_eq!(gsp.arrive(&mut state, ms(6), capable, at(1)), Verdict::Mark);
    assert_eq!(gsp.arrive(&mut state, ms(6), PLAIN, at(2)), Verdict::Pass);
    assert_eq!(gsp.arrive(&mut state, ms(6), PLAIN, at(202)), Verdict::Drop);
    assert_eq!((gsp.counters().ecn_mark, gsp.counters().dropped), (1, 1));
}

#[test]
fn the_paper_s_formulas_drop_by_drop() {
    let mut gsp = Gsp::new(GspParams::default());
    let mut state = GspState::default();
    let mut drops = String::from("ms,cumul,pause\n");
    for time in 0..14_000 {
        let wait = match time {
            0..100 | 10_000..11_000 => Span::ZERO,
            100..3100 => Span::from_millis(6),
            3100..4100 => Span::from_millis(4),
            4100..5100 => Span::from_millis(5),
            5100..9000 => Span::from_nanos(5_000_001),
            9000..10_000 => Span::from_millis(1),
            12_000..13_000 => Span::from_millis(3),
            _ => Span::from_millis(7),
        };
        if time == 9000 {
            // The queue is full, and what is at its head is found by the next departure.
            gsp.tail_dropped(&mut state, at(time));
            let behind = ms(1);
            gsp.leave(&mut state, behind, PLAIN, wait, at(time));
            continue;
        }
        if wait.is_zero() {
            gsp.found_empty(&mut state, at(time));
        }
        if gsp.arrive(&mut state, waited(wait), PLAIN, at(time)) == Verdict::Drop {
            let pause = state.expiry - at(time);
            let (cumul, pause) = (state.cumul.as_nanos(), pause.as_nanos());
            writeln!(drops, "{time},{cumul},{pause}").expect("a string takes all");
        }
    }
    assert_eq!(drops, include_str!("golden/gsp.csv"));
    assert_eq!(gsp.counters().overflows, 1);
}
