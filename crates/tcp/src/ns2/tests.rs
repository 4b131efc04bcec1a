//! ns-2's senders against what its sources do, by hand, and against any sequence of ACKs.

use super::clock::Clock;
use super::{Ns2, WINDOW};
use crate::config::{Algorithm, Ns2Agent};
use crate::{Config, Span, Time};
use proptest::prelude::*;
use std::vec::Vec;

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        timestamps: algorithm == Algorithm::Vegas,
        initial_rto: Span::from_secs(3),
        min_rto: Span::from_millis(200),
        max_rto: Span::from_secs(60),
        ..Config::default()
    }
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn agent(agent: Ns2Agent, algorithm: Algorithm) -> Ns2 {
    Ns2::new(agent, &config(algorithm))
}

/// Everything that may go now.
fn burst(ns2: &mut Ns2, now: Time) -> Vec<u64> {
    core::iter::from_fn(|| ns2.poll(1000, now).map(|sent| sent.packet)).collect()
}

#[test]
fn the_timeout_counts_in_whole_ticks() {
    // Sent at 3 ms, back at 66 ms: (63 + 3) / 10 is 6 ticks. Mean 6, deviation 3, and four
    // deviations on top: 18 ticks.
    let settings = Config {
        min_rto: Span::ZERO,
        ..config(Algorithm::Reno)
    };
    let mut clock = Clock::new(Ns2Agent::NewReno, &settings);
    assert_eq!(clock.timeout(), Span::from_secs(3));
    clock.sample(Span::from_millis(63), at(66));
    assert_eq!(clock.timeout(), Span::from_millis(180));
    // 10 ticks: the mean is 52/8, the deviation (12 + 4 - 3)/4, so (13·8 + 52)/8 = 19.
    clock.sample(Span::from_millis(100), at(200));
    assert_eq!(clock.timeout(), Span::from_millis(190));
    // Backed off to 16 times, what was measured is forgotten: the next one starts anew.
    for times in [2, 4, 8, 16] {
        clock.back_off();
        assert_eq!(clock.timeout(), Span::from_millis(190 * times));
    }
    clock.reset_backoff();
    clock.sample(Span::from_millis(60), at(300));
    assert_eq!(clock.timeout(), Span::from_millis(180));
}

#[test]
fn linux_agents_believe_fast_answers_slowly() {
    let settings = Config {
        min_rto: Span::ZERO,
        ..config(Algorithm::Cubic)
    };
    let mut clock = Clock::new(Ns2Agent::Linux, &settings);
    // Milliseconds: mean 80, deviation 40, timeout 240.
    clock.sample(Span::from_millis(80), at(80));
    assert_eq!(clock.timeout(), Span::from_millis(240));
    // 20 below the mean: the deviation falls by a quarter of itself less the error, 160 + 20 - 40.
    clock.sample(Span::from_millis(60), at(200));
    assert_eq!(clock.timeout(), Span::from_millis((140 * 8 + 620) / 8));
}

#[test]
fn newreno_resends_at_the_third_duplicate_and_halves_whole_packets() {
    let mut ns2 = agent(Ns2Agent::NewReno, Algorithm::Reno);
    assert_eq!(burst(&mut ns2, at(0)), [0, 1]);
    for packet in 0..6 {
        ns2.on_ack(packet + 1, Time::ZERO, at(60));
        burst(&mut ns2, at(60));
    }
    assert_eq!((ns2.window(), ns2.in_flight()), (8, 8));
    // Packet 6 is lost: two new ones by limited transmit, then the lost one, and the window is 4 + 3.
    for new in [14, 15] {
        ns2.on_ack(6, Time::ZERO, at(120));
        assert_eq!(burst(&mut ns2, at(120)), [new]);
    }
    ns2.on_ack(6, Time::ZERO, at(120));
    assert_eq!(burst(&mut ns2, at(120)), [6]);
    assert_eq!((ns2.window(), ns2.threshold()), (7, 4));
    assert_eq!((ns2.retransmitted, ns2.recoveries), (1, 1));
    // A partial ACK sends the next hole; the ACK of everything ends it at half the window.
    ns2.on_ack(9, Time::ZERO, at(180));
    assert_eq!(burst(&mut ns2, at(180))[0], 9);
    ns2.on_ack(16, Time::ZERO, at(240));
    assert!((4..=5).contains(&ns2.window()), "{}", ns2.window());
}

#[test]
fn the_others_wait_for_the_timeout_and_go_back() {
    for (kind, algorithm) in [
        (Ns2Agent::Sack, Algorithm::Reno),
        (Ns2Agent::Linux, Algorithm::Westwood),
        (Ns2Agent::Linux, Algorithm::Compound),
        (Ns2Agent::Linux, Algorithm::Cubic),
    ] {
        let mut ns2 = agent(kind, algorithm);
        assert_eq!(burst(&mut ns2, at(0)), [0, 1]);
        ns2.on_ack(1, Time::ZERO, at(60));
        assert_eq!(burst(&mut ns2, at(60)), [2, 3]);
        ns2.on_ack(2, Time::ZERO, at(60));
        assert_eq!(burst(&mut ns2, at(60)), [4, 5]);
        for _ in 0..9 {
            ns2.on_ack(2, Time::ZERO, at(120));
            assert!(burst(&mut ns2, at(120)).is_empty(), "{kind:?}");
        }
        ns2.on_timeout(at(400));
        assert_eq!((ns2.window(), ns2.retransmitted), (1, 0));
        assert_eq!(burst(&mut ns2, at(400)), [2]);
        // 3 to 5 had arrived: the ACK jumps over them, and new packets follow.
        ns2.on_ack(6, Time::ZERO, at(460));
        assert_eq!(burst(&mut ns2, at(460))[0], 6);
        assert_eq!((ns2.retransmitted, ns2.timeouts), (1, 1));
    }
}

#[test]
fn duplicates_restart_the_timer_of_linux_agents_alone() {
    for (kind, restarts) in [(Ns2Agent::Sack, false), (Ns2Agent::Linux, true)] {
        let mut ns2 = agent(kind, Algorithm::Westwood);
        burst(&mut ns2, at(0));
        ns2.on_ack(1, Time::ZERO, at(60));
        burst(&mut ns2, at(60));
        let before = ns2.timer;
        ns2.on_ack(1, Time::ZERO, at(90));
        assert_eq!(ns2.timer > before, restarts, "{kind:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(u64),
    Timeout,
    Wait(u64),
}

proptest! {
    #[test]
    fn what_is_sent_is_a_prefix_within_the_window(
        which in 0_usize..6,
        steps in proptest::collection::vec(
            prop_oneof![
                8 => (0_u64..8).prop_map(Step::Ack),
                1 => Just(Step::Timeout),
                3 => (1_u64..300).prop_map(Step::Wait),
            ],
            1..300,
        ),
    ) {
        let (kind, algorithm) = [
            (Ns2Agent::NewReno, Algorithm::Reno),
            (Ns2Agent::Sack, Algorithm::Reno),
            (Ns2Agent::Linux, Algorithm::Vegas),
            (Ns2Agent::Linux, Algorithm::Westwood),
            (Ns2Agent::Linux, Algorithm::Compound),
            (Ns2Agent::Linux, Algorithm::Cubic),
        ][which];
        let mut ns2 = agent(kind, algorithm);
        let (mut acked, mut sent, mut now) = (0_u64, 0_u64, at(1));
        for step in steps {
            match step {
                // Of what has been sent, or a duplicate.
                Step::Ack(more) => {
                    acked = (acked + more).min(sent);
                    let echo = if algorithm == Algorithm::Vegas { at(1) } else { Time::ZERO };
                    ns2.on_ack(acked, echo, now);
                }
                Step::Timeout if ns2.timer != Time::MAX => ns2.on_timeout(now),
                Step::Timeout => {}
                Step::Wait(millis) => now += Span::from_millis(millis),
            }
            while let Some(out) = ns2.poll(10_000, now) {
                prop_assert!(out.packet <= sent, "a gap before {}", out.packet);
                prop_assert_eq!(out.again, out.packet < sent);
                prop_assert!(out.packet < acked + u64::from(WINDOW));
                sent = sent.max(out.packet + 1);
            }
            prop_assert!(ns2.window() <= WINDOW);
            prop_assert!(acked == sent || ns2.timer != Time::MAX, "nothing would repair a loss");
        }
    }
}
