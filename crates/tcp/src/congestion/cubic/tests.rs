//! CUBIC's window against RFC 9438's formulas.

use super::*;
use crate::INFINITE;
use crate::congestion::events::ack;
use sojourn_units::Rate;

const RTT: Span = Span::from_millis(100);

fn cubic(window: u32, slow_start: SlowStart) -> Cubic {
    Cubic::new(&Config {
        initial_window: window,
        slow_start,
        ..Config::default()
    })
}

/// Acknowledges a window each round trip, evenly spaced, until `end`.
fn run(control: &mut Cubic, now: &mut Time, rtt: Span, end: Time) {
    while *now < end {
        let window = control.window();
        for _ in 0..window {
            *now += rtt / u64::from(window);
            control.on_ack(&ack(*now, rtt));
        }
    }
}

/// W(t) = 0.4·(t − K)³ + 1000 with K = cbrt((1000 − 700)/0.4) = 9.0856 s and the loss at t = 0.
///
/// Python: `K=(300/.4)**(1/3); [round(.4*(t-K)**3+1000) for t in (0,2,5,9,12,15)]` gives
/// 700, 858, 973, 1000, 1010, 1083. The window is set one RTT ahead, W(t + RTT), and reaches it
/// within that RTT.
#[test]
fn follows_the_cubic_function() {
    let mut control = cubic(1000, SlowStart::Standard);
    let mut now = Time::ZERO;
    control.on_congestion(Congestion::Loss, 1000, now);
    assert_eq!((control.window(), control.ssthresh()), (700, 700));
    for (second, expected) in [(2, 858), (5, 973), (9, 1000), (12, 1010), (15, 1083)] {
        run(
            &mut control,
            &mut now,
            RTT,
            Time::ZERO + Span::from_secs(second),
        );
        let error = f64::from(control.window()) / f64::from(expected) - 1.0;
        assert!(error.abs() < 0.012, "{second} s: {}", control.window());
    }
}

/// Small windows and short round trips: the window is Reno's with beta 0.7, section 4.3:
/// alpha = 8/15 = 0.533 segments a round trip, and as in Linux no more later: from 14, 11 round
/// trips make 5.9 and 31 make 16.5.
#[test]
fn is_friendly_to_reno_where_the_cubic_is_slow() {
    let mut control = cubic(20, SlowStart::Standard);
    let rtt = Span::from_millis(10);
    let mut now = Time::ZERO;
    control.on_congestion(Congestion::Loss, 20, now);
    assert_eq!(control.window(), 14);
    run(&mut control, &mut now, rtt, Time::ZERO + rtt * 11);
    assert!(
        (19..=20).contains(&control.window()),
        "{}",
        control.window()
    );
    run(&mut control, &mut now, rtt, Time::ZERO + rtt * 31);
    assert!(
        (29..=31).contains(&control.window()),
        "{}",
        control.window()
    );
}

/// Of whole segments, as Linux `bictcp_update`: at a window of two 15/8 of it are three, so that the
/// fourth acknowledged one lets Reno's grow; at ten 18, so that the 19th does. The window then grows
/// by one for as many as it is, over what Reno's is ahead, but not for less than two.
#[test]
fn renos_window_is_whole_segments() {
    for (window, each) in [(2, 3), (3, 5), (10, 18), (100, 187)] {
        let mut control = cubic(window, SlowStart::Standard);
        control.begin_epoch(Time::ZERO);
        let epoch = control.epoch.as_mut().expect("has begun");
        epoch.acked = each;
        assert!(epoch.reno_count(window).is_infinite(), "{window}");
        epoch.acked += 1;
        assert_eq!(epoch.reno_count(window) as u32, window);
        assert_eq!((epoch.reno, epoch.acked), (window + 1, 1));
        epoch.acked += 2 * each;
        assert_eq!(epoch.reno_count(window) as u32, window / 3);
        assert_eq!((epoch.reno, epoch.acked), (window + 3, 1));
    }
}

/// With ticks of 4 ms (Linux `HZ` 250): one answer in each tick, whatever the window is, and for the
/// same window it holds for `HZ / 32`, which are seven ticks, and the rest of the last one.
#[test]
fn counts_once_a_tick() {
    let mut control = Cubic::new(&Config {
        initial_window: 1000,
        timer_tick: Span::from_millis(4),
        ..Config::default()
    });
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    control.on_congestion(Congestion::Loss, 1000, at(0));
    let count = |control: &mut Cubic, millis| control.count(1, at(millis)) as u32;
    // The target is 1000 - floor(0.4 * 9.0856^3) = 701, and 700 acknowledged ones add one.
    assert_eq!(count(&mut control, 5), 700);
    control.window.segments = 701;
    assert_eq!(count(&mut control, 7), 700);
    // In the next tick the target is reached.
    assert_eq!(count(&mut control, 8), 70_100);
    let mut held = |millis| {
        count(&mut control, millis);
        control.epoch.expect("runs").counted_at
    };
    assert_eq!((held(39), held(40)), (at(8), at(40)));
}

/// Section 4.7: a loss below the last maximum lowers the remembered one to 0.85 of the window.
#[test]
fn fast_convergence_gives_way() {
    let mut control = cubic(1000, SlowStart::Standard);
    control.on_congestion(Congestion::Loss, 1000, Time::ZERO);
    control.on_congestion(Congestion::Loss, 700, Time::ZERO);
    let maximum = control.maximum.expect("set by the loss");
    assert!((maximum - 700.0 * 0.85).abs() < 0.2, "{maximum}");
    assert_eq!(control.window(), 490);
}

#[test]
fn an_undo_restores_everything() {
    let mut control = cubic(1000, SlowStart::Standard);
    let mut now = Time::ZERO;
    control.on_congestion(Congestion::Loss, 1000, now);
    run(&mut control, &mut now, RTT, Time::ZERO + Span::from_secs(3));
    let (window, maximum) = (control.window(), control.maximum);
    control.on_congestion(Congestion::Timeout, 0, now);
    assert_eq!((control.window(), control.maximum), (1, None));
    control.on_undo();
    assert_eq!((control.window(), control.maximum), (window, maximum));
    assert_eq!(control.ssthresh(), 700);
}

/// HyStart by delay: with a base of 100 ms the threshold is 12.5 ms; the round in which at
/// least nine samples are all above 112.5 ms ends slow start.
#[test]
fn hystart_leaves_slow_start_when_the_delay_rises() {
    let mut control = cubic(20, SlowStart::HyStart);
    let mut now = Time::ZERO;
    for round in 0..5_u64 {
        let rtt = RTT + Span::from_millis(5) * round;
        for index in 0..20 {
            now += Span::from_millis(5);
            let mut event = ack(now, rtt);
            event.round_start = index == 0;
            control.on_ack(&event);
        }
        // 100, 105, 110, 115 ms.
        assert_eq!(control.ssthresh() == INFINITE, round < 3, "round {round}");
    }
}

/// HyStart by ACK train: ACKs less than 2 ms apart for more than half the shortest RTT.
#[test]
fn hystart_leaves_slow_start_when_the_train_is_long() {
    let mut control = cubic(20, SlowStart::HyStart);
    let mut now = Time::ZERO;
    for index in 0..60 {
        now += Span::from_millis(1);
        let mut event = ack(now, RTT);
        event.round_start = index == 0;
        event.pacing_rate = Rate::from_bps(1 << 40);
        control.on_ack(&event);
        assert_eq!(control.ssthresh() == INFINITE, index <= 50, "{index}");
    }
}

/// RFC 9406: a rise of 12.5 ms over the last round starts conservative slow start (a quarter of
/// the growth), and five rounds later congestion avoidance.
#[test]
fn hystart_plus_plus_grows_slower_before_it_stops() {
    let mut control = cubic(40, SlowStart::HyStartPlusPlus);
    let mut now = Time::ZERO;
    let mut windows = std::vec::Vec::new();
    for round in 0..8 {
        let rtt = RTT + Span::from_millis(if round >= 1 { 15 } else { 0 });
        for index in 0..40 {
            now += Span::from_millis(2);
            let mut event = ack(now, rtt);
            event.round_start = index == 0;
            control.on_ack(&event);
        }
        windows.push(control.window());
    }
    // Round 0 adds 40; round 1 adds 7 and then 33 quarters (8); rounds 2 to 5 add 10 each.
    assert_eq!(windows[0], 80);
    assert!((94..=96).contains(&windows[1]), "{windows:?}");
    assert!((133..=137).contains(&windows[5]), "{windows:?}");
    assert!(control.ssthresh() < INFINITE, "the fifth round ends it");
}

/// Linux looks at its last answer before it begins an epoch. A window of 2 that is lost again at 2
/// grows as before, for 1/32 s. A new count would hold it: fast convergence puts the plateau at 1.
#[test]
fn a_count_holds_over_a_reduction_to_the_same_window() {
    let rtt = Span::from_millis(10);
    let grown = |pause: u64| {
        let mut control = cubic(4, SlowStart::Standard);
        control.on_congestion(Congestion::Loss, 4, Time::ZERO);
        control.on_ack(&ack(Time::ZERO, rtt));
        assert_eq!(control.window(), 2);
        let now = Time::ZERO + Span::from_millis(pause);
        control.on_congestion(Congestion::Loss, 2, now);
        for _ in 0..2 {
            control.on_ack(&ack(now, rtt));
        }
        control.window()
    };
    assert_eq!((grown(10), grown(40)), (3, 2));
}
