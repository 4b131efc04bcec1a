//! Times by hand, and the long-run rate.

use super::*;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn an_idle_link_gives_no_credit() {
    // 1000 bytes at 8 Mbit/s take 1 ms.
    let mut clock = VirtualClock::new(Rate::from_bps(8_000_000));
    clock.wake(at(5_000_000_000));
    assert_eq!(clock.due(), at(5_000_000_000));
    clock.sent(1000);
    assert_eq!(clock.due(), at(5_001_000_000));
    // A link that is busy keeps its clock although the host is late.
    clock.wake(at(5_000_500_000));
    assert_eq!(clock.due(), at(5_001_000_000));
    clock.sent(1000);
    assert_eq!(clock.due(), at(5_002_000_000));
    clock.wake(at(9_000_000_000));
    clock.sent(500);
    assert_eq!(clock.due(), at(9_000_500_000));
}

#[test]
fn the_failsafe_clock_ends_a_stall() {
    let mut clock = VirtualClock::new(Rate::from_bps(8_000_000));
    clock.wake(at(1_000_000_000));
    // Ten packets dropped, one sent: the main clock is at 11 ms, the failsafe at 1.5 ms.
    for _ in 0..10 {
        clock.dropped(1000);
    }
    clock.sent(1000);
    assert_eq!(clock.due(), at(1_001_500_000));
}

#[test]
fn unlimited_never_waits() {
    let mut clock = VirtualClock::new(Rate::ZERO);
    clock.wake(at(7));
    assert_eq!(clock.sent(1_000_000), Span::ZERO);
    assert_eq!(clock.due(), at(7));
}

/// C10 of the study: within 0.1 % from 64 kbit/s to 10 Gbit/s.
#[test]
fn the_long_run_rate_is_right() {
    for bps in [64_000_u64, 1_000_000, 999_999_937, 10_000_000_000] {
        let mut clock = VirtualClock::new(Rate::from_bps(bps));
        clock.wake(at(1));
        let mut bytes = 0_u64;
        for i in 0..100_000_u32 {
            let len = 40 + i * 7 % 1475;
            clock.dropped(len);
            bytes += u64::from(len);
        }
        clock.failsafe = Time::from_nanos(u64::MAX);
        let took = (clock.due() - at(1)).as_secs_f64();
        let rate = bytes as f64 * 8.0 / took;
        assert!((rate / bps as f64 - 1.0).abs() < 1e-6, "{bps}: {rate}");
    }
}

#[test]
fn a_tin_is_at_most_one_packet_ahead() {
    let mut tin = TinClock::new(Rate::from_bps(8_000_000));
    tin.wake(at(1_000_000));
    for _ in 0..10 {
        tin.sent(1000, at(1_000_000));
    }
    assert_eq!(tin.due(), at(2_000_000));
    // 8 ms late, it catches up packet by packet.
    tin.sent(1000, at(10_000_000));
    assert_eq!(tin.due(), at(3_000_000));
    tin.wake(at(10_000_000));
    assert_eq!(tin.due(), at(10_000_000));
}
