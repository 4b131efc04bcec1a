//! BBR against its published behaviour: gains, the end of startup, the cycle, the window.

use super::*;
use crate::RateSample;
use crate::congestion::events::ack;

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

fn bbr() -> Bbr {
    let mut control = Bbr::new(&Config {
        mss: MSS as u16,
        ..Config::default()
    });
    control.on_established(Some(RTT), Time::ZERO);
    control
}

/// A path that the test feeds ACKs from, `per_rtt` segments in each round trip.
struct Path {
    now: Time,
    delivered: u64,
    /// Delivered before the last round, and segments in it.
    start: u64,
    last: u64,
    in_flight: u32,
    rtt: Span,
}

impl Path {
    fn new() -> Self {
        Self {
            now: Time::ZERO,
            delivered: 0,
            start: 0,
            last: 0,
            in_flight: 0,
            rtt: RTT,
        }
    }

    /// One round trip that delivers `segments`, spread evenly.
    fn round(&mut self, control: &mut Bbr, segments: u64) {
        let (start, last) = (self.start, self.last);
        (self.start, self.last) = (self.delivered, segments);
        for i in 1..=segments {
            self.now += RTT / segments;
            self.delivered += MSS;
            let mut event = ack(self.now, self.rtt);
            event.delivered_total = self.delivered;
            event.prior_in_flight = self.in_flight + 1;
            event.in_flight = self.in_flight;
            event.rate = Some(RateSample {
                delivered: segments * MSS,
                interval: RTT,
                // Sent when its share of the round before had been delivered.
                prior_delivered: start + (i * last).div_ceil(segments) * MSS,
                app_limited: false,
                retransmitted: false,
            });
            control.on_ack(&event);
        }
    }
}

/// 10 segments of 1000 bytes in 100 ms, times 2/ln 2 in units of 1/256, less one per cent: 800
/// kbit/s by 739/256 by 0.99.
#[test]
fn startup_begins_with_the_initial_window_in_a_round_trip() {
    let control = bbr();
    assert_eq!(control.pacing_rate().unwrap().as_bps(), 2_286_281);
    assert_eq!(control.window(), 10);
    // exp(ln 2): the gain doubles the delivery rate each round trip.
    assert!((HIGH_GAIN - 2.0 / core::f64::consts::LN_2).abs() < 1.0 / 256.0);
    assert!((DRAIN_GAIN - 1.0 / HIGH_GAIN).abs() < 1.0 / 256.0);
}

/// 10, 20, 40, 80, 100, 100, 100: the fourth round at less than 1.25 times the last counted
/// growth ends startup (100 = 1.25·80 still counts).
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut control = bbr();
    let mut path = Path::new();
    path.in_flight = 300;
    for segments in [10, 20, 40, 80, 100] {
        path.round(&mut control, segments);
        assert_eq!(control.mode, Mode::Startup);
    }
    // What a round measured is judged at the first ACK of the next.
    path.round(&mut control, 100);
    path.round(&mut control, 100);
    assert_eq!(control.mode, Mode::Startup);
    path.round(&mut control, 100);
    assert_eq!(control.mode, Mode::Drain);
    let rate = control.pacing_rate().unwrap().as_bps() as f64;
    // 100 segments in 100 ms are 8 Mbit/s; of them 0.99 by 88/256.
    assert!((rate / 2_722_500.0 - 1.0).abs() < 0.001, "{rate}");
    path.in_flight = 90;
    path.round(&mut control, 100);
    assert_eq!(control.mode, Mode::ProbeBandwidth);
}

/// Linux reckons with the time of the next departure (`bbr_packets_in_net_at_edt`): 100 segments
/// in 100 ms are one in a millisecond, so 104 in flight are 100 after 4 ms. While probing, the
/// unit that goes then, 2 segments at 8 Mbit/s, counts as in flight.
#[test]
fn the_flight_is_that_of_the_next_departure() {
    let (mut control, path) = steady();
    let mut event = ack(path.now, RTT);
    event.pacing_wait = Span::from_millis(4);
    for (phase, flight) in [(0, 102), (1, 100), (2, 100)] {
        control.phase = phase;
        assert_eq!(control.at_departure(104, &event), flight);
    }
    assert_eq!(control.at_departure(3, &event), 0);
}

fn steady() -> (Bbr, Path) {
    let mut control = bbr();
    let mut path = Path::new();
    path.in_flight = 90;
    for _ in 0..10 {
        path.round(&mut control, 100);
    }
    assert_eq!(control.mode, Mode::ProbeBandwidth);
    (control, path)
}

/// Once the pipe is known: 2·BDP = 200 segments, and the allowance for offload: 3 units of 2
/// (8 Mbit/s send less than 2 segments in a millisecond), 2 more in the probing phase.
#[test]
fn the_window_is_two_bandwidth_delay_products() {
    let (mut control, mut path) = steady();
    for _ in 0..8 {
        path.round(&mut control, 100);
        let extra = control.base.extra(control.bandwidth.max());
        assert!(extra <= 2, "evenly spaced ACKs are not aggregated: {extra}");
        let window = control.window() - extra;
        assert!((204..=210).contains(&window), "{window}");
    }
}

/// The cycle in order, each phase more than one shortest RTT long; 1.25 lasts until the flight
/// shows it, 0.75 until the queue is gone.
#[test]
fn the_cycle_probes_drains_and_cruises() {
    let (mut control, mut path) = steady();
    let mut seen = std::vec::Vec::new();
    for _ in 0..40 {
        let gain = control.pacing_gain();
        path.in_flight = if gain > 1.0 { 135 } else { 101 };
        if seen.last() != Some(&gain) {
            seen.push(gain);
        }
        path.round(&mut control, 100);
    }
    let start = seen.iter().position(|gain| *gain > 1.0).expect("it probes");
    for (index, gain) in seen[start..].iter().enumerate() {
        let expected = [1.25, 0.75, 1.0][index % 3];
        assert!((gain - expected).abs() < 1e-9, "{seen:?}");
    }
    assert!(seen.len() >= start + 6, "{seen:?}");
    let mean: f64 = CYCLE.iter().sum::<f64>() / 8.0;
    assert!((mean - 1.0).abs() < 1e-12);
}

/// Any phase but 0.75 may be the first, and the seed decides.
#[test]
fn the_first_phase_is_drawn_by_lot() {
    let mut phases = [0_u32; 8];
    for seed in 0..700_u64 {
        let mut control = bbr();
        control.seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        control.start_probing(Time::ZERO);
        phases[control.phase] += 1;
    }
    assert_eq!(phases[1], 0);
    for (phase, count) in phases.iter().enumerate().filter(|(phase, _)| *phase != 1) {
        assert!((60..=140).contains(count), "{phase}: {phases:?}");
    }
}

/// 10 s without a shorter RTT: 4 segments for 200 ms and a round, then the window of before.
#[test]
fn the_shortest_rtt_is_measured_afresh() {
    let (mut control, mut path) = steady();
    path.rtt = RTT + Span::from_millis(20);
    let mut rounds = 0;
    while control.mode != Mode::ProbeRtt {
        path.round(&mut control, 100);
        rounds += 1;
        assert!(rounds < 110);
    }
    assert!(control.limits_itself());
    assert_eq!(control.window(), 4);
    let before = control.base.repair.saved();
    path.in_flight = 3;
    let since = path.now;
    while control.mode == Mode::ProbeRtt {
        path.round(&mut control, 4);
        assert!(path.now - since < Span::from_millis(600));
    }
    assert!(path.now - since > Span::from_millis(200));
    assert!(
        control.window() >= before.min(200),
        "{} {before}",
        control.window()
    );
    assert_eq!(control.base.min_rtt, Some(RTT + Span::from_millis(20)));
}

/// A recovery begins, and an ACK tells of three lost packets.
fn lose(control: &mut Bbr, path: &mut Path) {
    control.on_congestion(Congestion::Loss, 90, path.now);
    path.now += Span::from_millis(1);
    path.delivered += MSS;
    let mut event = ack(path.now, RTT);
    event.delivered_total = path.delivered;
    (event.lost, event.lost_by_ack) = (3, 3);
    event.in_flight = 87;
    control.on_ack(&event);
}

/// What a timer found lost takes nothing from the window with the next ACK: Linux counts what that
/// ACK shows (`rs->losses`). 210 segments stay at their target; 205 grow by what is delivered.
#[test]
fn what_a_timer_finds_lost_does_not_shrink_the_window() {
    let window = |lost_by_ack| {
        let (mut control, mut path) = steady();
        path.now += Span::from_millis(1);
        path.delivered += MSS;
        let mut event = ack(path.now, RTT);
        event.delivered_total = path.delivered;
        (event.lost, event.lost_by_ack) = (5, lost_by_ack);
        event.in_flight = 90;
        control.on_ack(&event);
        control.window()
    };
    assert_eq!((window(0), window(5)), (210, 206));
}

/// Packet conservation for a round, then the window of before the loss.
#[test]
fn a_loss_does_not_shrink_the_window_for_long() {
    let (mut control, mut path) = steady();
    let before = control.window();
    lose(&mut control, &mut path);
    assert_eq!(control.window(), 88);
    control.on_recovery_end(path.now);
    path.round(&mut control, 100);
    assert!(
        control.window() + 2 >= before,
        "{} {before}",
        control.window()
    );
    control.on_congestion(Congestion::Mark, 90, path.now);
    assert!(control.window() + 2 >= before);
    control.on_congestion(Congestion::Timeout, 0, path.now);
    assert_eq!(control.window(), 1);
}

/// Linux compares with the state at the ACK before: a recovery that begins with the ACK that ends
/// another one is no new one, and conserves no packets.
#[test]
fn a_recovery_right_after_another_goes_on_as_one() {
    let (mut control, mut path) = steady();
    lose(&mut control, &mut path);
    assert_eq!(control.window(), 88);
    for _ in 0..4 {
        path.round(&mut control, 100);
    }
    let grown = control.window();
    assert!(grown > 180, "{grown}");
    control.on_recovery_end(path.now);
    lose(&mut control, &mut path);
    // Three lost, one delivered.
    assert_eq!(control.window(), grown - 2);
    // With an ACK between them it is a new one.
    control.on_recovery_end(path.now);
    path.round(&mut control, 1);
    lose(&mut control, &mut path);
    assert_eq!(control.window(), 88);
}

#[test]
fn the_filter_forgets_after_its_window() {
    let mut filter = MaxFilter::default();
    for (round, value, expected) in [
        (0, 10.0, 10.0),
        (3, 8.0, 10.0),
        (6, 5.0, 10.0),
        (10, 4.0, 10.0),
        (11, 4.0, 8.0),
        (14, 4.0, 5.0),
        (15, 20.0, 20.0),
    ] {
        filter.update(10, round, value);
        assert!(
            (filter.max() - expected).abs() < 1e-12,
            "round {round}: {}",
            filter.max()
        );
    }
}
