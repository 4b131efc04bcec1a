//! Prague against the draft's equations.

use super::*;
use crate::congestion::events::{ack, round};

fn prague(window: u32) -> Prague {
    let mut control = Prague::new(&Config {
        initial_window: window,
        initial_ssthresh: Some(2 * 1448),
        mss: 1000,
        ..Config::default()
    });
    control.on_established(Some(Span::from_millis(50)), Time::ZERO);
    control
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// The first mark sets alpha to one, so that it halves the window as Reno would; then alpha follows
/// the share: with 10 of 40 marked, alpha(n) = 1/4 + 3/4·(15/16)^n.
#[test]
fn alpha_follows_the_share_of_marks() {
    let mut control = prague(40);
    let mut now = Time::ZERO;
    let rtt = Span::from_millis(50);
    round(&mut control, &mut now, rtt, |_, event| {
        event.window_limited = false;
    });
    assert_eq!(control.marked_share(), None);
    control.on_congestion(Congestion::Mark, 0, now);
    assert_eq!((control.window(), control.marked_share()), (20, Some(1.0)));
    control.window = 40.0;
    control.ssthresh = 40;
    // The ACK that starts a round closes the one before it and is marked in each.
    for _ in 0..3 {
        round(&mut control, &mut now, rtt, |index, event| {
            event.window_limited = false;
            event.marked = u32::from(index % 4 == 0);
        });
    }
    // The first of these closes a round of 39 unmarked and one marked segment.
    let mut alpha = 1.0_f64;
    for share in [1.0 / 40.0, 0.25, 0.25] {
        alpha = alpha * 15.0 / 16.0 + share / 16.0;
    }
    near(control.marked_share().expect("marked"), alpha);
    control.on_congestion(Congestion::Mark, 0, now);
    near(control.window, 40.0 * (1.0 - alpha / 2.0));
}

/// One segment a round trip, less what is marked, also right after a reduction. Fractions stay.
#[test]
fn unmarked_segments_make_the_window_grow() {
    let mut control = prague(10);
    let mut now = Time::ZERO;
    let rtt = Span::from_millis(50);
    let mut window = 10.0_f64;
    for index in 0..10 {
        now += Span::from_millis(5);
        let mut event = ack(now, rtt);
        event.marked = u32::from(index < 3);
        control.on_ack(&event);
        if index >= 3 {
            window += 1.0 / window;
        }
    }
    near(control.window, window);
    assert_eq!(control.window(), 11, "a fraction counts as a whole segment");
    let mut event = ack(now, rtt);
    event.window_limited = false;
    control.on_ack(&event);
    near(control.window, window);
}

/// After 500 round trips, one of 5 ms counts as 25 ms: growth by 1/25 of a segment a round trip,
/// which is a segment in 25² / 5 = 125 ms; marks reduce at most once in 25 ms.
#[test]
fn short_round_trips_count_as_longer_ones() {
    let rtt = Span::from_millis(5);
    let mut control = prague(10);
    control.rounds = PATIENCE - 1;
    let mut now = Time::ZERO;
    let before = control.window;
    // The first ACK of the round begins the 500th.
    round(&mut control, &mut now, rtt, |_, _| {});
    let grown = control.window - before;
    assert!((0.039..0.041).contains(&grown), "{grown}");
    control.on_congestion(Congestion::Mark, 0, now);
    near(control.window, f64::midpoint(before, grown));
    let once = control.window;
    control.on_congestion(Congestion::Mark, 0, now + Span::from_millis(24));
    near(control.window, once);
    control.on_congestion(Congestion::Mark, 0, now + Span::from_millis(25));
    near(control.window, once / 2.0);
    // Of long ones nothing changes, nor before.
    for (rounds, rtt) in [(PATIENCE, 25), (PATIENCE - 2, 5)] {
        let mut control = prague(10);
        control.rounds = rounds;
        round(&mut control, &mut now, Span::from_millis(rtt), |_, _| {});
        assert!(
            (0.9..1.0).contains(&(control.window - 10.0)),
            "{}",
            control.window
        );
    }
}

/// A mark that comes too early reduces nothing, and the sender tells of the next one only when a
/// real round trip has passed. The first marked ACK after 25 ms reduces nevertheless, once.
#[test]
fn a_mark_after_an_early_one_is_not_missed() {
    let rtt = Span::from_millis(10);
    let mut control = prague(40);
    control.rounds = PATIENCE;
    control.srtt = rtt;
    control.alpha = Some(0.5);
    let at = |millis: u64| Time::ZERO + Span::from_millis(1000 + millis);
    let marked = |control: &mut Prague, millis| {
        let mut event = ack(at(millis), rtt);
        event.marked = 1;
        control.on_ack(&event);
        control.window
    };
    control.on_congestion(Congestion::Mark, 0, at(0));
    near(control.window, 30.0);
    // No early mark is known of: the sender will tell.
    near(marked(&mut control, 9), 30.0);
    control.on_congestion(Congestion::Mark, 0, at(11));
    near(marked(&mut control, 24), 30.0);
    near(marked(&mut control, 25), 22.5);
    near(marked(&mut control, 26), 22.5);
    control.on_congestion(Congestion::Mark, 0, at(50));
    near(control.window, 22.5 * 0.75);
}

/// A loss halves the window; with a mark in the same round trip both together do. A loss that was
/// none is taken back.
#[test]
fn a_loss_halves_the_window_once() {
    let mut control = prague(40);
    let now = Time::ZERO + Span::from_secs(1);
    control.alpha = Some(0.25);
    control.on_congestion(Congestion::Mark, 0, now);
    near(control.window, 35.0);
    control.on_congestion(Congestion::Loss, 0, now + Span::from_millis(20));
    near(control.window, 20.0);
    let mut event = ack(now, Span::from_millis(50));
    event.delivered = 5;
    control.on_ack(&event);
    near(control.window, 20.0);
    control.on_recovery_end(now);
    control.on_congestion(Congestion::Loss, 0, now + Span::from_millis(80));
    near(control.window, 10.0);
    control.on_undo();
    near(control.window, 20.0);
    control.on_congestion(Congestion::Timeout, 0, now + Span::from_millis(900));
    assert_eq!((control.window, control.ssthresh), (1.0, 10));
    control.on_congestion(Congestion::TimeoutAgain, 0, now + Span::from_millis(2000));
    assert_eq!((control.window, control.ssthresh), (1.0, 10));
}

/// At 50 ms and segments of 1000 bytes: 10 of them are 1.6 Mbit/s. Half a segment is paced at half
/// a segment a round trip, though two may be in flight.
#[test]
fn small_windows_hold_by_pacing() {
    let mut control = prague(10);
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(1_600_000)));
    control.window = 0.5;
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(80_000)));
    assert_eq!(control.window(), 2);
    control.alpha = Some(1.0);
    for second in 1..20 {
        let now = Time::ZERO + Span::from_secs(second);
        control.on_congestion(Congestion::Mark, 0, now);
    }
    near(control.window, LEAST);
    let mut event = ack(Time::ZERO, Span::from_millis(50));
    // Pacing is the limit, not the window.
    event.window_limited = false;
    control.on_ack(&event);
    near(control.window, LEAST + 1.0);
    // Early slow start is twice as fast.
    control.window = 10.0;
    control.ssthresh = 100;
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(3_200_000)));
}

/// The sender of the L4S team's Linux: twenty marks with alpha at 1 leave two segments, and two
/// segments in 50 ms are 0.32 Mbit/s.
#[test]
fn without_fractions_two_segments_are_the_least() {
    let mut control = Prague::new(&Config {
        mss: 1000,
        fractional_window: false,
        ..Config::default()
    });
    control.on_established(Some(Span::from_millis(50)), Time::ZERO);
    control.alpha = Some(1.0);
    for second in 1..20 {
        control.on_congestion(Congestion::Mark, 0, Time::ZERO + Span::from_secs(second));
    }
    near(control.window, 2.0);
    assert_eq!(control.pacing_rate(), Some(Rate::from_bps(320_000)));
}
