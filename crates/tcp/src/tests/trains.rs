//! Which segments go in one train.

use crate::{Algorithm, Codepoint, Config, Connection, Flags, Segment, Span, Time};
use alloc::vec;
use alloc::vec::Vec;

/// A connection that has just been established over a path with this round trip, and its time.
fn established(config: &Config, rtt: Span) -> (Connection, Time) {
    let (mut here, mut there) = (Connection::new(config), Connection::new(config));
    there.listen();
    here.open(Time::ZERO);
    let mut now = Time::ZERO;
    for _ in 0..2 {
        while let Some(sent) = here.poll_transmit(now) {
            there.receive(&sent.segment, sent.ecn, now + rtt / 2);
        }
        while let Some(sent) = there.poll_transmit(now + rtt / 2) {
            here.receive(&sent.segment, sent.ecn, now + rtt);
        }
        now += rtt;
    }
    here.poll_transmit(now);
    here.receive(&acks(0, now, Time::ZERO), Codepoint::NotEct, now);
    (here, now)
}

/// The peer has got so many segments, and has a window of 16 MiB.
fn acks(segments: u32, now: Time, echo: Time) -> Segment {
    Segment {
        seq: 1,
        ack: 1 + segments * 1448,
        window: 16 << 20,
        flags: Flags::ACK,
        ts: now,
        ts_echo: echo,
        ..Segment::default()
    }
}

/// The segments of each train that goes now.
fn trains(connection: &mut Connection, now: Time) -> Vec<u32> {
    let mut trains = Vec::new();
    loop {
        let goes_on = connection.train_goes_on();
        let Some(sent) = connection.poll_transmit(now) else {
            return trains;
        };
        assert_eq!(sent.segment.payload, 1448);
        match trains.last_mut() {
            Some(last) if goes_on => *last += 1,
            _ => trains.push(1),
        }
    }
}

fn config(initial_window: u32) -> Config {
    Config {
        train: 43,
        initial_window,
        receive_window: 16 << 20,
        receive_window_max: 16 << 20,
        send_buffer: 16 << 20,
        algorithm: Algorithm::Reno,
        ..Config::default()
    }
}

/// By hand: in slow start the rate is two windows a round trip, and a train has what that sends in
/// 1/1024 s. Over 40 ms a window of 10 makes 707 bytes, so the least, two segments; one of 100 makes
/// 7070, four segments; one of 1000 makes 70 703, which is more than 65 343 bytes or 45 segments,
/// and more than the 43 that a packet has a length for.
#[test]
fn a_train_has_what_the_rate_sends_in_a_millisecond() {
    let rtt = Span::from_millis(40);
    for (window, wanted) in [
        (1, vec![1]),
        (3, vec![1, 1, 1]),
        (10, vec![2; 5]),
        (100, vec![4; 25]),
        (1000, [vec![43; 23], vec![11]].concat()),
    ] {
        let (mut sender, now) = established(&config(window), rtt);
        sender.write_forever();
        assert_eq!(trains(&mut sender, now), wanted, "window {window}");
    }
}

/// A write ends where the send buffer is full. Segment by segment Linux pushes it; in trains the
/// next write goes on in the same buffer, and the network pushes each train.
#[test]
fn no_write_ends_within_a_train() {
    let pushed = |train: u16| {
        let small = Config {
            train,
            send_buffer: 30_000,
            ..config(100)
        };
        let (mut sender, now) = established(&small, Span::from_millis(40));
        sender.write_forever();
        let sent: Vec<_> = core::iter::from_fn(|| sender.poll_transmit(now)).collect();
        assert!(sent.len() > 20, "{}", sent.len());
        let pushes = sent.iter().filter(|it| it.segment.flags.has(Flags::PSH));
        pushes.count()
    };
    assert_eq!((pushed(1), pushed(43)), (1, 0));
}

/// By hand: over 1 ms a window of 10 sends 28 281 bytes in 1/1024 s. The round trip is one time
/// 512 µs, for which 65 343 / 2 bytes are added: 42 segments, of which half a window may go.
#[test]
fn a_short_path_has_longer_trains() {
    let (mut sender, now) = established(&config(10), Span::from_millis(1));
    sender.write_forever();
    assert_eq!(trains(&mut sender, now), [5, 5]);
    let (mut sender, now) = established(&config(100), Span::from_millis(1));
    sender.write_forever();
    assert_eq!(trains(&mut sender, now), [43, 43, 14]);
}

/// A train that the window cuts short waits for an ACK that is due.
#[test]
fn a_short_train_waits_for_an_ack_that_is_due() {
    let rtt = Span::from_millis(40);
    let (mut sender, start) = established(&config(200), rtt);
    sender.write_forever();
    // Two windows of 200 in 40 ms: 14 140 bytes in 1/1024 s.
    assert_eq!(trains(&mut sender, start), [vec![9; 22], vec![2]].concat());
    let mut ack = |segments: u32, at: Time| {
        let segment = acks(segments, at, start);
        sender.receive(&segment, Codepoint::NotEct, at);
        trains(&mut sender, at)
    };
    let now = start + rtt;
    // More than a millisecond after the last train nothing waits. Slow start lets twice as many go.
    assert_eq!(ack(1, now), [2]);
    // Now it does, until as many can go as a train has at the rate of a window of 206.
    assert_eq!(ack(2, now), []);
    assert_eq!(ack(4, now), []);
    assert_eq!(ack(6, now), [10]);
}

#[test]
fn without_trains_every_segment_goes_alone() {
    let single = Config {
        train: 1,
        ..config(10)
    };
    let (mut sender, now) = established(&single, Span::from_millis(40));
    sender.write_forever();
    assert_eq!(trains(&mut sender, now), [1; 10]);
}
