//! What limits a sender, where it is known beforehand.

use super::pair::{A, Pair};
use crate::{Algorithm, Config, LimitedBy, Limits};
use sojourn_units::{Rate, Span};

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

/// Shares from 2 s to 4 s, in the order of [`LimitedBy::ALL`], in whole per cent.
fn shares(config: &Config, feed: impl Fn(&mut Pair)) -> [u64; 5] {
    let mut pair = Pair::new(config, millis(25));
    pair.limit(Rate::from_bps(100_000_000), 2000);
    feed(&mut pair);
    pair.run_for(Span::from_secs(2));
    let at = |pair: &Pair| pair.ends[A].limits(pair.now);
    let (before, after) = {
        let before = at(&pair);
        pair.run_for(Span::from_secs(2));
        (before, at(&pair))
    };
    let part = |limits: &Limits, what| limits.by(what).as_nanos();
    let total = after.total().as_nanos() - before.total().as_nanos();
    assert_eq!(total, 2_000_000_000, "it was open all the time");
    LimitedBy::ALL.map(|what| (part(&after, what) - part(&before, what)) * 100 / total)
}

fn ample() -> Config {
    Config {
        algorithm: Algorithm::Reno,
        send_buffer: 1 << 30,
        receive_window: 1 << 28,
        receive_window_max: 1 << 28,
        ..Config::default()
    }
}

fn forever(pair: &mut Pair) {
    pair.ends[A].write_forever();
}

/// Twice ten segments of 2304 bytes are 46 080 bytes of memory, of which 1448 in each 2216 are data.
/// The last of 21 segments, of 30 408 bytes, is taken whole; the message that begins in it waits for
/// room, and the next one is refused, until a third of the buffer is free.
#[test]
fn a_message_is_refused_while_another_waits_for_room_in_a_small_buffer() {
    let mut pair = Pair::new(&ample(), millis(25));
    let end = &mut pair.ends[A];
    let taken = (0..1000).take_while(|_| end.write_message(100)).count();
    assert_eq!(taken, 305);
    assert!(end.waits_for_room());
    pair.run_for(Span::from_secs(1));
    let end = &mut pair.ends[A];
    assert!(!end.waits_for_room() && end.write_message(100));
}

#[test]
fn a_long_flow_is_at_its_congestion_window() {
    let [window, ..] = shares(&ample(), forever);
    assert!(window >= 99, "{window}");
}

/// 300 segments each 50 ms are 69 Mbit/s of 100.
#[test]
fn a_small_send_buffer_holds_a_flow() {
    let config = Config {
        send_buffer: 300 * 1448,
        ..ample()
    };
    let [window, buffer, ..] = shares(&config, forever);
    assert!(buffer >= 95, "{buffer}, window {window}");
}

#[test]
fn a_small_receive_window_holds_a_flow() {
    let config = Config {
        receive_window: 1 << 18,
        receive_window_max: 1 << 18,
        ..ample()
    };
    let [window, buffer, receiver, ..] = shares(&config, forever);
    assert!(
        receiver >= 95,
        "{receiver}, window {window}, buffer {buffer}"
    );
}

#[test]
fn who_has_written_all_is_limited_by_the_application() {
    let [.., application, _] = shares(&ample(), |pair| {
        pair.ends[A].write(10_000);
    });
    assert_eq!(application, 100);
}

/// BBR holds the next segment back for its time at most times.
#[test]
fn a_paced_flow_waits_for_its_times() {
    let config = Config {
        algorithm: Algorithm::Bbr,
        ..ample()
    };
    let [window, buffer, receiver, application, pacing] = shares(&config, forever);
    assert!(pacing >= 60, "{pacing}, window {window}");
    assert_eq!([buffer, receiver, application], [0; 3]);
}
