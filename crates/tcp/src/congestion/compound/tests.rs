//! Compound's delay window against the paper's law.

use super::*;
use crate::congestion::events::{ack, round};

const BASE: Span = Span::from_millis(100);

fn compound(window: u32) -> Compound {
    Compound::new(&Config {
        initial_window: window,
        initial_ssthresh: Some(2 * 1448),
        ..Config::default()
    })
}

/// One ACK a round, so that cwnd stays where it is.
fn adapt(control: &mut Compound, rtt: Span) {
    let mut event = ack(Time::ZERO, rtt);
    event.delivered = 0;
    control.on_ack(&event);
    event.round_start = true;
    event.rtt = None;
    control.on_ack(&event);
}

/// Python, cwnd 100: `d += .125*(100+d)**.75 - 1` four times from 0.
#[test]
fn the_delay_window_grows_by_the_power_law() {
    let mut control = compound(100);
    for expected in SEQUENCE {
        adapt(&mut control, BASE);
        assert!(
            (control.delay - expected).abs() < 1e-3,
            "{} {expected}",
            control.delay
        );
    }
    assert_eq!(control.window(), 100 + SEQUENCE[3] as u32);
}

const SEQUENCE: [f64; 4] = [2.9528, 5.9929, 9.1221, 12.3424];

/// Below 41 segments there is no delay window, and one that was there is given up. At 41 it is
/// 0.125·41^0.75 − 1 = 1.0254.
#[test]
fn small_windows_are_renos() {
    let mut control = compound(39);
    adapt(&mut control, BASE);
    assert!(control.delay.abs() < 1e-12);
    let mut now = Time::ZERO;
    round(&mut control, &mut now, BASE, |_, _| {});
    assert_eq!(control.window(), 40);
    control.window.segments = 41;
    adapt(&mut control, BASE);
    assert!((control.delay - 1.0254).abs() < 1e-3, "{}", control.delay);
    control.window.segments = 30;
    adapt(&mut control, BASE);
    assert!(control.delay.abs() < 1e-12);
}

/// win = 200, RTT 125 ms of which 100 are base: diff = 200·0.2 = 40 ≥ 30, dwnd = 60 − 40 = 20.
/// At 115 ms diff is 180·0.13 = 23.5 < 30 (win = cwnd 140 + dwnd 20 = 160: 20.9): it grows.
#[test]
fn the_delay_window_gives_way_to_a_queue() {
    let mut control = compound(140);
    control.base_rtt = Some(BASE);
    control.delay = 60.0;
    adapt(&mut control, Span::from_millis(125));
    assert!((control.delay - 20.0).abs() < 1e-9, "{}", control.delay);
    adapt(&mut control, Span::from_millis(115));
    // 0.125·160^0.75 − 1 = 4.6234.
    assert!((control.delay - 24.6234).abs() < 1e-3, "{}", control.delay);
}

/// cwnd 100, dwnd 60: win 160 → 80; cwnd → 50, dwnd = 160·0.5 − 100/2 = 30.
#[test]
fn a_loss_halves_the_whole_window() {
    let mut control = compound(100);
    control.delay = 60.0;
    control.on_congestion(Congestion::Loss, 160, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (80, 80));
    assert_eq!((control.window.segments, control.delay), (50, 30.0));
    control.on_undo();
    assert_eq!(control.window(), 160);
    control.on_congestion(Congestion::Timeout, 0, Time::ZERO);
    assert_eq!(
        (control.window(), control.ssthresh(), control.delay),
        (1, 80, 0.0)
    );
}

/// A whole window of ACKs adds one segment to cwnd, however large dwnd is.
#[test]
fn the_loss_window_grows_by_one_segment_a_round() {
    let mut control = compound(100);
    control.delay = 60.0;
    let mut now = Time::ZERO;
    round(&mut control, &mut now, BASE, |_, event| {
        event.round_start = false;
    });
    assert_eq!(control.window.segments, 101);
}
