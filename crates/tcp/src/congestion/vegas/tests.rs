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
        round(&mut control, &mut now, BASE * 10, |_, ack| ack.calm = false);
    }
    assert_eq!(control.window(), before / 2 + 4);
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
    let queued = |window, rtt, thresholds| vegas(window, 2, thresholds).queued(rtt, 100);
    let paper = queued(60, 150, VegasConfig::NS2);
    assert!((paper - 20.0).abs() < 1e-9, "{paper}");
    for (window, rtt, expected) in [(60, 150, 30), (7, 139, 2)] {
        let linux = queued(window, rtt, VegasConfig::default());
        assert!(
            (linux - f64::from(expected)).abs() < 1e-9,
            "{linux} at {rtt} ms"
        );
    }
}

/// An ACK at `at` ms of all below `una`, when all below `next` has been sent.
fn ack(at: u64, rtt: Span, [una, next]: [u64; 2]) -> AckEvent {
    let mut event = crate::congestion::events::ack(Time::ZERO + Span::from_millis(at), rtt);
    (event.una, event.next) = (una, next);
    event
}

/// After a recovery, or when segments are in order again, the round begins with the ACK that says
/// so: judged when what is sent after it is acknowledged, not when the running round ends.
#[test]
fn calm_begins_a_round() {
    let mut control = vegas(60, 2, VegasConfig::default());
    control.measure(BASE);
    let mut disorder = ack(0, BASE * 2, [900, 1000]);
    (disorder.calm, disorder.may_grow) = (false, false);
    control.on_ack(&disorder);
    for at in 1..10 {
        control.on_ack(&ack(at, BASE * 2, [900 + at, 1000 + at]));
        assert_eq!(control.window(), 60, "{at}");
    }
    control.on_ack(&ack(100, BASE * 2, [1001, 1100]));
    assert_eq!(
        control.window(),
        60,
        "what was sent before it does not end the round"
    );
    control.on_ack(&ack(101, BASE * 2, [1002, 1100]));
    assert_eq!(control.window(), 59);
}

/// Two segments and one ACK of both: nothing is in flight when the next two go, so each time the
/// base is forgotten, one sample is too few to judge, and the window grows as Reno's, by one a round
/// trip, however long that is.
#[test]
fn windows_that_empty_the_path_grow_as_reno() {
    let mut control = vegas(2, 2, VegasConfig::default());
    for round in 0..8 {
        let sent = 2 * round;
        control.on_transmit_start(Span::ZERO, sent, Time::ZERO);
        let mut event = ack(100 * round, BASE * (1 + round), [sent + 2, sent + 2]);
        (event.acked, event.delivered) = (2, 2);
        control.on_ack(&event);
    }
    // It takes 2, 3, 4 and 5 acknowledged segments, which are there after 1, 3, 5 and 7 rounds.
    assert_eq!(control.window(), 6);
}

/// After a timeout nothing is in flight when the first segment is sent again: the delay counts again,
/// by a new base, though the loss is not repaired.
#[test]
fn a_retransmission_into_an_empty_path_turns_it_on() {
    let mut control = vegas(20, 2, VegasConfig::default());
    control.measure(BASE);
    control.on_congestion(Congestion::Timeout, 0, Time::ZERO);
    assert_eq!(
        (control.window(), control.ssthresh(), control.is_on),
        (1, 10, false)
    );
    control.on_transmit_start(BASE, 20, Time::ZERO);
    let mut repairs = ack(300, BASE * 3, [1, 20]);
    repairs.calm = false;
    control.on_ack(&repairs);
    assert!(control.is_on && control.base_rtt == Some(BASE * 3));
    assert_eq!(
        control.window(),
        2,
        "slow start, as the round has not ended"
    );
}
