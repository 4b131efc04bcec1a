//! Westwood+ against its filter and `ssthresh = BWE·RTTmin`, by hand.

use super::*;
use crate::congestion::events::ack;

const MSS: u64 = 1448;

/// One segment acknowledged a millisecond for `millis`, with this RTT.
fn deliver(control: &mut Westwood, from: u64, millis: u64, rtt: u64) -> Time {
    let mut now = Time::ZERO;
    for i in from..from + millis {
        now = Time::ZERO + Span::from_millis(i);
        let mut event = ack(now, Span::from_millis(rtt));
        event.delivered_total = (i + 1) * MSS;
        event.may_grow = false;
        control.on_ack(&event);
    }
    now
}

/// 8, then 16 twice: 7/8·8 + 16/8 = 9, 7/8·8 + 9/8 = 8.125; then 9.875 and 8.34375.
#[test]
fn the_filter_has_two_stages_of_seven_eighths() {
    let mut bandwidth = Bandwidth::first(8.0);
    bandwidth.filter(16.0);
    assert_eq!((bandwidth.once, bandwidth.twice), (9.0, 8.125));
    bandwidth.filter(16.0);
    assert_eq!((bandwidth.once, bandwidth.twice), (9.875, 8.34375));
}

/// 1000 segments/s and a shortest RTT of 60 ms make 60 segments, whatever the window and the
/// queueing delay are.
#[test]
fn a_loss_leaves_bandwidth_times_shortest_rtt() {
    let mut control = Westwood::new(&Config {
        initial_window: 200,
        ..Config::default()
    });
    deliver(&mut control, 0, 100, 60);
    let now = deliver(&mut control, 100, 1000, 150);
    control.on_congestion(Congestion::Loss, 200, now);
    assert!(
        (59..=60).contains(&control.ssthresh()),
        "{}",
        control.ssthresh()
    );
    assert_eq!(control.window(), control.ssthresh());
    control.on_undo();
    assert_eq!(control.window(), 200);
    // A timeout: one segment, but the same threshold; then the shortest RTT is the last one.
    control.on_congestion(Congestion::Timeout, 0, now);
    assert_eq!(control.window(), 1);
    assert_eq!(control.rtt_min, Some(Span::from_millis(150)));
}

/// A window below the estimate is not raised by a loss.
#[test]
fn a_loss_never_raises_the_window() {
    let mut control = Westwood::new(&Config {
        initial_window: 10,
        ..Config::default()
    });
    let now = deliver(&mut control, 0, 500, 60);
    control.on_congestion(Congestion::Loss, 10, now);
    assert_eq!((control.window(), control.ssthresh()), (10, 10));
}

/// Round trips of 5 ms: measured over more than 50 ms all the same, once in 51 ms here.
#[test]
fn short_round_trips_are_pooled() {
    let mut control = Westwood::new(&Config::default());
    deliver(&mut control, 0, 51, 5);
    assert!(control.bandwidth.is_none(), "50 ms have passed, not more");
    deliver(&mut control, 51, 1, 5);
    let bandwidth = control.bandwidth.expect("51 ms have passed");
    assert!((bandwidth.twice / (1000.0 * MSS as f64) - 1.0).abs() < 1e-9);
}

#[test]
fn without_an_estimate_it_halves() {
    let mut control = Westwood::new(&Config {
        initial_window: 20,
        ..Config::default()
    });
    control.on_congestion(Congestion::Loss, 20, Time::ZERO);
    assert_eq!(control.window(), 10);
}
