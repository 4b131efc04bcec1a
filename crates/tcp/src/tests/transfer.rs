//! Handshake, growth, closing: what happens when nothing goes wrong, or only the SYN.

use super::pair::{A, B, Fate, Pair};
use crate::{Algorithm, Config, DelayedAck, SlowStart, Span, State, Time};
use std::boxed::Box;
use std::vec::Vec;

const MSS: u64 = 1448;

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

fn reno() -> Config {
    Config {
        algorithm: Algorithm::Reno,
        slow_start: SlowStart::Standard,
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        ..Config::default()
    }
}

#[test]
fn handshake_takes_one_round_trip_and_a_half() {
    let mut pair = Pair::new(&Config::default(), millis(25));
    pair.run_until(Time::ZERO + millis(49));
    assert_eq!(pair.ends[A].state(), State::SynSent);
    assert_eq!(pair.ends[B].state(), State::SynReceived);
    pair.run_until(Time::ZERO + millis(75));
    assert_eq!(pair.ends[A].state(), State::Established);
    assert_eq!(pair.ends[B].state(), State::Established);
    assert_eq!(pair.ends[A].info().srtt, millis(50));
    assert_eq!(pair.ends[B].info().srtt, millis(50));
    assert_eq!(pair.ends[A].next_timer(), None);
}

/// SYNs at 0, 1 and 3 s (RFC 6298: 1 s, doubled).
#[test]
fn a_lost_syn_is_sent_again_after_a_second_and_then_two() {
    let mut pair = Pair::with_script(
        &Config::default(),
        millis(25),
        Box::new(|side, index, _, _| {
            if side == A && index < 2 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        }),
    );
    pair.record();
    pair.ends[A].write(100_000);
    pair.run_until(Time::ZERO + millis(3060));
    let log = pair.log.clone().expect("recording");
    let syns: Vec<u64> = log
        .iter()
        .filter(|(_, side, sent, _)| *side == A && sent.segment.flags.has(crate::Flags::SYN))
        .map(|(at, ..)| at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(syns, [0, 1000, 3000]);
    assert_eq!(
        pair.trace(1448).len(),
        1,
        "the initial window is one segment"
    );
    assert_eq!(pair.ends[A].state(), State::Established);
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut pair = Pair::with_script(
        &Config::default(),
        millis(25),
        Box::new(|side, index, _, _| {
            if side == B && index == 0 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        }),
    );
    pair.run_until(Time::ZERO + millis(1200));
    assert_eq!(pair.ends[A].state(), State::Established);
    assert_eq!(pair.ends[B].state(), State::Established);
}

/// 100 ms round trips from 100 ms on: 10, 20, 40, ... with an ACK for every segment or every
/// second one, since ACKs count segments.
#[test]
fn slow_start_doubles_each_round_trip() {
    for delayed_ack in [
        DelayedAck::Off,
        DelayedAck::On {
            timeout: millis(40),
        },
    ] {
        let config = Config {
            delayed_ack,
            ..reno()
        };
        let mut pair = Pair::new(&config, millis(50));
        pair.record();
        pair.ends[A].write_forever();
        pair.run_until(Time::ZERO + millis(650));
        let trace = pair.trace(1448);
        for (round, expected) in [10, 20, 40, 80, 160].into_iter().enumerate() {
            let start = 100 + 100 * round as u64;
            // A delayed ACK at the end of a train comes up to 40 ms later.
            let sent = trace
                .iter()
                .filter(|(at, ..)| (start..start + 100).contains(at))
                .count();
            assert_eq!(sent, expected, "round {round} with {delayed_ack:?}");
        }
    }
}

#[test]
fn everything_written_arrives_and_both_ends_close() {
    let mut pair = Pair::new(&Config::default(), millis(10));
    assert_eq!(pair.ends[A].write(1_000_001), 1_000_001);
    pair.ends[A].close();
    pair.run_to(1_000_001, Span::from_secs(10))
        .expect("it arrives");
    pair.run_for(millis(30));
    assert!(pair.peer_closed[B]);
    assert_eq!(pair.ends[A].state(), State::FinWait2);
    assert_eq!(pair.ends[B].state(), State::CloseWait);
    pair.ends[B].write(10);
    pair.ends[B].close();
    pair.run_for(millis(50));
    assert_eq!(pair.delivered, [10, 1_000_001]);
    assert_eq!(pair.ends[A].state(), State::TimeWait);
    assert_eq!(pair.ends[B].state(), State::Closed);
    assert_eq!(pair.ends[A].info().acked_bytes, 1_000_001);
    assert_eq!(pair.ends[A].next_timer(), None);
    assert_eq!(pair.ends[B].next_timer(), None);
    assert!(!pair.in_flight());
}

#[test]
fn the_send_buffer_limits_writes() {
    let config = Config {
        send_buffer: 10 * MSS,
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(10));
    assert_eq!(pair.ends[A].write(20 * MSS), 10 * MSS);
    assert!(!pair.ends[A].write_message(1));
    pair.run_for(millis(100));
    assert_eq!(pair.delivered[B], 10 * MSS);
    assert!(pair.ends[A].write_message(10 * MSS));
    assert!(!pair.ends[A].write_message(1));
}
