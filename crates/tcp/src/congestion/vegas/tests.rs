//! Vegas against the paper's equilibrium on a path that the test computes itself.

use super::*;
use crate::congestion::events::round;

const BASE: Span = Span::from_millis(100);
/// Segments that fill the path without a queue.
const PIPE: u64 = 50;

fn vegas(window: u32, ssthresh: u64, thresholds: VegasConfig) -> Vegas {
    Vegas::new(&Config {
        initial_window: window,
        initial_ssthresh: Some(ssthresh * 1448),
        vegas: thresholds,
        ..Config::default()
    })
}

/// The round trip when `window` segments circulate: what does not fit into the pipe queues.
fn rtt_at(window: u32) -> Span {
    BASE * u64::from(window).max(PIPE) / PIPE
}

fn run(control: &mut Vegas, rounds: u32) {
    let mut now = Time::ZERO;
    // The base is known: the path was empty at first.
    control.base_rtt = Some(BASE);
    for _ in 0..rounds {
        let rtt = rtt_at(control.window());
        round(control, &mut now, rtt, |_, _| {});
    }
}

/// diff = w·(1 − base/rtt) = w − 50: the window comes to rest between 50 + alpha and 50 + beta,
/// from either side.
#[test]
fn the_queue_stays_between_alpha_and_beta() {
    for (thresholds, low, high) in [(VegasConfig::default(), 52, 54), (VegasConfig::NS2, 51, 53)] {
        let mut below = vegas(20, 2, thresholds);
        run(&mut below, 200);
        assert!((low..=high).contains(&below.window()), "{}", below.window());
        let mut above = vegas(80, 2, thresholds);
        run(&mut above, 200);
        assert!((low..=high).contains(&above.window()), "{}", above.window());
        let settled = (below.window(), above.window());
        run(&mut below, 50);
        run(&mut above, 50);
        assert_eq!(
            (below.window(), above.window()),
            settled,
            "and there it stays"
        );
    }
}

/// 64 segments on a pipe of 50: 14 are queued, more than gamma: on to 50 + 1.
#[test]
fn slow_start_ends_at_what_fills_the_pipe() {
    let mut control = vegas(32, 1000, VegasConfig::default());
    let mut now = Time::ZERO;
    round(&mut control, &mut now, BASE, |_, _| {});
    assert_eq!(control.window(), 64);
    round(&mut control, &mut now, rtt_at(64), |_, _| {});
    round(&mut control, &mut now, rtt_at(64), |_, _| {});
    assert!(control.ssthresh() <= control.window());
    // Doubled once more while the first full round was measured, 128·50/64 = 100, and one.
    assert_eq!(control.window(), 101);
}

/// The paper doubles in every second round trip.
#[test]
fn slow_start_may_pause_every_other_round() {
    let mut control = vegas(4, 1000, VegasConfig::NS2);
    let mut now = Time::ZERO;
    let mut windows = std::vec::Vec::new();
    for _ in 0..6 {
        round(&mut control, &mut now, BASE, |_, _| {});
        windows.push(control.window());
    }
    assert_eq!(windows, [4, 8, 8, 16, 16, 32]);
}

#[test]
fn a_loss_halves_and_the_delay_does_not_count_until_it_is_repaired() {
    let mut control = vegas(60, 2, VegasConfig::default());
    run(&mut control, 3);
    let before = control.window();
    control.on_congestion(Congestion::Loss, before, Time::ZERO);
    assert_eq!(control.window(), before / 2);
    let mut now = Time::ZERO;
    for _ in 0..4 {
        // Ten times the base: Vegas would shrink.
        round(&mut control, &mut now, BASE * 10, |_, _| {});
    }
    assert_eq!(control.window(), before / 2 + 4);
    control.on_recovery_end(now);
    for _ in 0..4 {
        round(&mut control, &mut now, BASE * 10, |_, _| {});
    }
    assert_eq!(
        control.window(),
        before / 2 + 1,
        "one round to measure, three judged"
    );
}

#[test]
fn delay_alone_never_takes_the_last_two_segments() {
    let mut control = vegas(
        10,
        2,
        VegasConfig {
            beta: 0.5,
            alpha: 0.1,
            ..VegasConfig::default()
        },
    );
    control.measure(BASE);
    let mut now = Time::ZERO;
    for _ in 0..100 {
        // As if delayed by others: eleven twelfths of the window count as queued.
        let rtt = BASE * 12;
        round(&mut control, &mut now, rtt, |_, _| {});
    }
    // Two segments give too few samples to judge: then it creeps as Reno does.
    assert!((2..=3).contains(&control.window()));
}

/// 60 segments at 150 ms over a base of 100: 20 wait by the paper, 30 by Linux, in whole segments
/// (7 at 139 ms: 2.73 are 2).
#[test]
fn linux_reckons_by_the_shortest_round_trip() {
    let millis = Span::from_millis;
    let queued = |window, rtt, thresholds| vegas(window, 2, thresholds).queued(rtt, BASE);
    let paper = queued(60, millis(150), VegasConfig::NS2);
    assert!((paper - 20.0).abs() < 1e-9, "{paper}");
    for (window, rtt, expected) in [(60, 150, 29), (7, 139, 2)] {
        let linux = queued(window, millis(rtt), VegasConfig::default());
        // A microsecond more in both: 60·50000/100001 is just below 30.
        assert!(
            (linux - f64::from(expected)).abs() < 1e-9,
            "{linux} at {rtt} ms"
        );
    }
}

/// After a recovery the round begins with the ACK that ended it: judged when what was sent after it
/// is acknowledged, not when the running round ends.
#[test]
fn a_recovery_begins_a_round() {
    let mut control = vegas(60, 2, VegasConfig::default());
    control.measure(BASE);
    let event = |at: u64, total: u64, prior: u64| {
        let mut event =
            crate::congestion::events::ack(Time::ZERO + Span::from_millis(at), BASE * 2);
        event.delivered_total = total;
        event.rate = Some(crate::RateSample {
            delivered: total - prior,
            interval: BASE,
            prior_delivered: prior,
            app_limited: false,
            retransmitted: false,
        });
        event.round_start = true;
        event
    };
    control.on_recovery_end(Time::ZERO);
    for at in 0..10 {
        control.on_ack(&event(at, 1000 + at, 900 + at));
        assert_eq!(control.window(), 60, "{at}");
    }
    control.on_ack(&event(100, 1100, 1000));
    assert_eq!(control.window(), 59);
}
