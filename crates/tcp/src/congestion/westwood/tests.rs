//! Westwood+ against its filter and `ssthresh = BWE·RTTmin`, by hand.

use super::*;
use crate::congestion::events::{self, ack};
use sojourn_units::Span;

const MSS: u64 = 1448;

/// An ACK of so many segments that says nothing of the round trip.
fn arrival(acked: u32, now: Time) -> AckArrival {
    AckArrival {
        acked,
        rtt: None,
        ..events::arrival(&ack(now, Span::ZERO))
    }
}

/// One segment acknowledged a millisecond for `millis`, with this RTT.
fn deliver(control: &mut Westwood, from: u64, millis: u64, rtt: u64) -> Time {
    let mut now = Time::ZERO;
    for i in from..from + millis {
        now = Time::ZERO + Span::from_millis(i);
        let mut event = ack(now, Span::from_millis(rtt));
        event.may_grow = false;
        control.on_ack_arrival(&AckArrival {
            rtt: event.rtt,
            ..arrival(1, now)
        });
        control.on_ack(&event);
    }
    now
}

/// 80, then 160 twice: (7·80 + 160)/8 = 90 and (7·80 + 90)/8 = 81; then 98 and 83, each rounded
/// down.
#[test]
fn the_filter_has_two_stages_of_seven_eighths() {
    let mut bandwidth = Bandwidth::default();
    bandwidth.filter(80);
    for expected in [(90, 81), (98, 83)] {
        bandwidth.filter(160);
        assert_eq!((bandwidth.once, bandwidth.twice), expected);
    }
}

/// A loss halves the window; 1000 segments/s and a shortest RTT of 60 ms make 60 segments when
/// recovery ends, whatever the window and the queueing delay are.
#[test]
fn recovery_leaves_bandwidth_times_shortest_rtt() {
    let mut control = Westwood::new(&Config {
        initial_window: 200,
        ..Config::default()
    });
    deliver(&mut control, 0, 100, 60);
    let now = deliver(&mut control, 100, 1000, 150);
    control.on_congestion(Congestion::Loss, 200, now);
    assert_eq!((control.window(), control.ssthresh()), (100, 100));
    control.on_recovery_end(now);
    assert_eq!((control.window(), control.ssthresh()), (60, 60));
    // A timeout: one segment, but the same threshold; then the shortest RTT is the last one, and
    // the end of this episode changes nothing.
    control.on_congestion(Congestion::Timeout, 0, now);
    control.on_recovery_end(now);
    assert_eq!((control.window(), control.ssthresh()), (1, 60));
    control.on_ack_arrival(&arrival(1, now));
    assert_eq!(control.rtt_min, 150);
}

/// The estimate may be above the window.
#[test]
fn the_end_of_recovery_may_raise_the_window() {
    let mut control = Westwood::new(&Config {
        initial_window: 10,
        ..Config::default()
    });
    let now = deliver(&mut control, 0, 500, 60);
    control.on_congestion(Congestion::Mark, 10, now);
    assert_eq!((control.window(), control.ssthresh()), (5, 5));
    control.on_recovery_end(now);
    assert_eq!((control.window(), control.ssthresh()), (60, 60));
}

/// Round trips of 5 ms: measured over more than 50 ms all the same, once in 51 ms here. A part of
/// a tick counts as one.
#[test]
fn short_round_trips_are_pooled() {
    let mut control = Westwood::new(&Config::default());
    deliver(&mut control, 0, 51, 5);
    assert_eq!(control.bandwidth.twice, 0, "50 ms have passed, not more");
    deliver(&mut control, 51, 1, 5);
    assert_eq!(control.bandwidth.twice, MSS);
    let now = Time::ZERO + Span::from_millis(52);
    control.on_ack_arrival(&AckArrival {
        rtt: Some(Span::from_micros(5001)),
        ..arrival(1, now)
    });
    assert_eq!((control.rtt, control.rtt_min), (6, 5));
}

/// By hand for 250 Hz: 5 ms are two ticks, 1/20 s is 12, and in 13 come 52 segments, 4 a tick.
#[test]
fn a_longer_tick_measures_more_coarsely() {
    let mut control = Westwood::new(&Config {
        timer_tick: Span::from_millis(4),
        ..Config::default()
    });
    deliver(&mut control, 0, 52, 5);
    assert_eq!((control.bandwidth.twice, control.rtt), (0, 2));
    deliver(&mut control, 52, 1, 5);
    assert_eq!(control.bandwidth.twice, 4 * MSS);
}

/// The first measurement begins with the handshake: the ten segments of the initial window are
/// acknowledged within 10 ms at 100 ms, each a round trip after the handshake, so that none ends
/// it. The next window's first ACK does: ten segments in 200 ms.
#[test]
fn the_first_measurement_is_the_initial_window() {
    let mut control = Westwood::new(&Config::default());
    control.on_established(None, Time::ZERO);
    for millis in 100..110 {
        deliver(&mut control, millis, 1, millis);
    }
    assert_eq!(control.bandwidth.twice, 0);
    deliver(&mut control, 200, 1, 100);
    assert_eq!(control.bandwidth.twice, 10 * MSS / 200);
    assert_eq!(control.counted, MSS);
}

/// Five duplicate ACKs count five segments. The ACK of three, of which one was the hole, counts
/// one and leaves two of them; the last one covers four, of which two are new.
#[test]
fn duplicates_are_counted_once() {
    let mut control = Westwood::new(&Config::default());
    control.on_established(None, Time::ZERO);
    for _ in 0..5 {
        control.on_ack_arrival(&arrival(0, Time::ZERO));
    }
    assert_eq!((control.counted, control.ahead), (5 * MSS, 5 * MSS));
    for (acked, counted, ahead) in [(3, 6, 2), (1, 7, 2), (4, 9, 0)] {
        control.on_ack_arrival(&arrival(acked, Time::ZERO));
        assert_eq!(
            (control.counted, control.ahead),
            (counted * MSS, ahead * MSS)
        );
    }
}

#[test]
fn without_an_estimate_two_segments_are_left() {
    let mut control = Westwood::new(&Config {
        initial_window: 20,
        ..Config::default()
    });
    control.on_congestion(Congestion::Loss, 20, Time::ZERO);
    assert_eq!(control.window(), 10);
    control.on_recovery_end(Time::ZERO);
    assert_eq!(control.window(), 2);
}
