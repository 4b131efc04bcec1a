//! DCTCP against RFC 8257's equations, and against Linux's in whole numbers.

use super::*;
use crate::congestion::events::{ack, arrival};
use alloc::vec::Vec;
use sojourn_units::Span;

const MSS: u64 = 1000;

fn dctcp(window: u32, rule: DctcpRule) -> Dctcp {
    Dctcp::new(&Config {
        initial_window: window,
        initial_ssthresh: Some(2 * 1448),
        dctcp: rule,
        ..Config::default()
    })
}

/// Observation windows of so many segments, each with so many marked; an ACK for each segment.
fn run(control: &mut Dctcp, windows: u32, marked: u32, segments: u32) {
    for _ in 0..windows {
        let end = control.end;
        for index in 1..=segments {
            let mut event = ack(Time::ZERO, Span::from_millis(1));
            event.marked = u32::from(index <= marked);
            event.marked_bytes = u64::from(event.marked) * MSS;
            // Only the last one acknowledges what the window ends with.
            event.una = if index == segments {
                end
            } else {
                end.saturating_sub(1)
            };
            event.next = end + u64::from(segments) * MSS;
            control.on_ack_arrival(&AckArrival {
                delivered_bytes: MSS,
                ..arrival(&event)
            });
        }
    }
}

/// One whose first observation window, which has but the first ACK, is over.
fn begun(rule: DctcpRule) -> Dctcp {
    let mut control = dctcp(40, rule);
    run(&mut control, 1, 1, 1);
    control
}

/// alpha(n) = F + (1 − F)·(15/16)^n.
#[test]
fn alpha_follows_the_share_of_marked_bytes() {
    let mut control = begun(DctcpRule::Rfc8257);
    run(&mut control, 5, 40, 40);
    assert!((control.alpha.share() - 1.0).abs() < 1e-12);
    run(&mut control, 11, 0, 40);
    let expected = libm::pow(15.0 / 16.0, 11.0);
    assert!((control.alpha.share() - expected).abs() < 1e-12);
    run(&mut control, 200, 10, 40);
    assert!((control.alpha.share() - 0.25).abs() < 1e-4);
}

/// `alpha -= min_not_zero(alpha, alpha >> 4); alpha += (marked << 6) / delivered`, from 1024, by a
/// few lines of Python: 74 windows without a mark take it to 15, and the next one to nothing. A
/// quarter of marks adds 16 each time and stays where a sixteenth is cut to 16: at 256. Three of
/// 200 add 192/200, which is cut to nothing.
#[test]
fn linux_keeps_alpha_in_whole_numbers() {
    let mut control = begun(DctcpRule::Linux);
    let mut seen = Vec::new();
    for _ in 0..75 {
        run(&mut control, 1, 0, 40);
        seen.push((control.alpha.share() * 1024.0) as u32);
    }
    assert_eq!(seen[..4], [960, 900, 844, 792]);
    assert_eq!(seen[72..], [16, 15, 0]);
    run(&mut control, 60, 10, 40);
    assert!((control.alpha.share() - 0.25).abs() < 1e-12);
    let mut control = begun(DctcpRule::Linux);
    run(&mut control, 75, 0, 40);
    run(&mut control, 50, 3, 200);
    assert!(control.alpha.share() <= 0.0);
    control.on_congestion(Congestion::Mark, 40, Time::ZERO);
    assert_eq!(control.window(), 40, "a mark costs nothing then");
}

/// Section 3.3: cwnd·(1 − alpha/2); 100 segments at alpha 0.25 lose 12.
#[test]
fn a_mark_cuts_in_proportion_and_a_loss_by_half() {
    for (rule, quarter) in [
        (DctcpRule::Rfc8257, Alpha::Real(0.25)),
        (DctcpRule::Linux, Alpha::Linux(256)),
    ] {
        let mut control = dctcp(100, rule);
        control.on_congestion(Congestion::Mark, 100, Time::ZERO);
        let expected = (50, 50);
        assert_eq!(
            (control.window(), control.ssthresh()),
            expected,
            "alpha begins at 1"
        );
        let mut control = dctcp(100, rule);
        control.alpha = quarter;
        control.on_congestion(Congestion::Mark, 100, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (88, 88));
        control.on_congestion(Congestion::Loss, 88, Time::ZERO);
        assert_eq!(control.window(), 44);
        control.on_congestion(Congestion::Timeout, 0, Time::ZERO);
        assert_eq!((control.window(), control.ssthresh()), (1, 22));
    }
}
