//! DCTCP against RFC 8257's equations.

use super::*;
use crate::congestion::events::round;
use sojourn_units::Span;

const RTT: Span = Span::from_millis(1);
const MSS: u64 = 1000;

fn dctcp(window: u32) -> Dctcp {
    Dctcp::new(&Config {
        initial_window: window,
        initial_ssthresh: Some(2 * 1448),
        ..Config::default()
    })
}

/// Rounds in which `marked` of each 4 segments carry an echo; the window is held.
fn run(control: &mut Dctcp, rounds: u32, marked: u32) {
    let mut now = Time::ZERO;
    for _ in 0..rounds {
        let delivered = control.delivered;
        round(control, &mut now, RTT, |index, event| {
            event.delivered_total = delivered + u64::from(index + 1) * MSS;
            // The ACK that starts a round closes the one before.
            event.ecn_echo = (index + 3) % 4 < marked;
            event.marked_bytes = if event.ecn_echo { MSS } else { 0 };
            event.may_grow = false;
        });
    }
}

/// alpha(n) = F + (1 − F)·(15/16)^n. Each ACK that starts a round ends an observation, so the
/// first covers one ACK only; with F = 1 that does not matter, nor with F = 0 from the second.
#[test]
fn alpha_follows_the_share_of_marked_bytes() {
    let mut control = dctcp(40);
    run(&mut control, 5, 4);
    assert!((control.alpha - 1.0).abs() < 1e-12);
    run(&mut control, 11, 0);
    // The first of these closes the last marked round but for its one ACK, 39 of 40.
    let mut expected = 15.0 / 16.0 + 39.0 / 40.0 / 16.0;
    for _ in 0..10 {
        expected *= 15.0 / 16.0;
    }
    assert!(
        (control.alpha - expected).abs() < 1e-12,
        "{}",
        control.alpha
    );
    run(&mut control, 200, 1);
    assert!((control.alpha - 0.25).abs() < 1e-4, "{}", control.alpha);
}

/// Section 3.3: cwnd·(1 − alpha/2); 100 segments at alpha 0.25 lose 12.
#[test]
fn a_mark_cuts_in_proportion_and_a_loss_by_half() {
    let mut control = dctcp(100);
    control.on_congestion(Congestion::Mark, 100, Time::ZERO);
    assert_eq!(
        (control.window(), control.ssthresh()),
        (50, 50),
        "alpha begins at 1"
    );
    let mut control = dctcp(100);
    control.alpha = 0.25;
    control.on_congestion(Congestion::Mark, 100, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (88, 88));
    control.on_congestion(Congestion::Loss, 88, Time::ZERO);
    assert_eq!(control.window(), 44);
    control.on_congestion(Congestion::Timeout, 0, Time::ZERO);
    assert_eq!((control.window(), control.ssthresh()), (1, 22));
}
