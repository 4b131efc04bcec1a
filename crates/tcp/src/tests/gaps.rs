//! When a receiver acknowledges segments behind a gap.

use super::pair::{A, B, Fate, Pair};
use crate::config::DelayedAck;
use crate::segment::Flags;
use crate::{Config, Rate, Span, Time};
use std::boxed::Box;
use std::vec::Vec;

/// Segments of 1000 bytes arrive 83 µs apart (12 000 per second) until `until`; those after
/// `lost` others are lost. When the `gap`th gap's SACKs were sent, in µs.
fn sacks(config: &Config, lost: &'static [u64], gap: usize, until: Time) -> Vec<u64> {
    let script = Box::new(move |side: usize, count: u64, _: &_, _: Time| {
        if side == A && lost.contains(&count) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let mut pair = Pair::with_script(config, Span::from_millis(10), script);
    pair.limit(Rate::from_bps(1066 * 8 * 12_000), 1000);
    pair.record();
    pair.ends[A].write_forever();
    pair.run_until(until);
    let log = pair.log.take().expect("recording");
    let sacks = log
        .iter()
        .filter(|(_, side, sent, _)| *side == B && sent.segment.sack_count > 0);
    let mut gaps: Vec<u32> = sacks.clone().map(|sack| sack.2.segment.ack).collect();
    gaps.dedup();
    let missing = *gaps.get(gap).expect("a gap was seen");
    sacks
        .filter(|(_, _, sent, _)| sent.segment.ack == missing)
        .map(|(at, ..)| at.as_nanos() / 1000)
        .collect()
}

fn distances(sacks: &[u64]) -> Vec<u64> {
    sacks.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn config() -> Config {
    Config {
        mss: 1000,
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        send_buffer: 1 << 30,
        ..Config::default()
    }
}

/// Three segments behind a gap are acknowledged at once, then the ACKs of a millisecond are one
/// (Linux `tcp_comp_sack_delay_ns`, 1 ms and 0.1 ms of slack). Without delayed ACKs each has its
/// own.
#[test]
fn acks_of_segments_behind_a_gap_are_collected() {
    let duplicates = |delayed_ack: DelayedAck| {
        let config = Config {
            delayed_ack,
            ..config()
        };
        let until = Time::ZERO + Span::from_millis(150);
        distances(&sacks(&config, &[100], 0, until))
    };
    let each = duplicates(DelayedAck::Off);
    let collected = duplicates(Config::default().delayed_ack);
    assert!(each.len() > 30, "{each:?}");
    assert!(each[..29].iter().all(|&gap| gap < 100), "{each:?}");
    assert!(collected[..2].iter().all(|&gap| gap < 100), "{collected:?}");
    assert!(
        collected[2..].iter().all(|&gap| gap >= 1100),
        "{collected:?}"
    );
    assert!(collected.len() > 4, "{collected:?}");
}

/// An ACK is held, and two blocks are there, when a third gap begins: the ACK goes at once, without
/// the new block, which the next one tells of a millisecond later.
#[test]
fn a_held_ack_goes_as_it_was_before_a_third_gap() {
    let lost = |count: u64| [100, 120, 145].contains(&count);
    let script = Box::new(move |side: usize, count: u64, _: &_, _: Time| {
        if side == A && lost(count) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let mut pair = Pair::with_script(&config(), Span::from_millis(10), script);
    pair.limit(Rate::from_bps(1066 * 8 * 12_000), 1000);
    pair.record();
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + Span::from_millis(150));
    let log = pair.log.take().expect("recording");
    let acks: Vec<_> = log
        .iter()
        .filter(|(_, side, sent, _)| *side == B && sent.segment.sack_count > 0)
        .map(|(at, _, sent, _)| {
            (
                at.as_nanos() / 1000,
                sent.segment.sack_count,
                sent.segment.sack,
            )
        })
        .collect();
    let found = acks.iter().position(|(_, count, _)| *count == 3);
    let third = found.expect("three gaps were seen");
    let ((before, two, old), (after, _, new)) = (acks[third - 1], acks[third]);
    assert_eq!(two, 2);
    // It goes when the segment behind the gap arrives, which is a segment further.
    assert_eq!(old[0].end.wrapping_add(1000), new[0].start);
    assert!(after - before >= 1100, "{before} {after}");
    assert!(new[0].end.wrapping_sub(new[0].start) > 10_000);
}

/// A segment in order takes memory before the window grows by it, one behind a gap afterwards: a
/// window that has grown as far as it can has half a segment's memory to go, which the first gap
/// gives it. That segment is acknowledged because the window grew, and does not count among the
/// three; the second gap has no more to give.
#[test]
fn the_first_gap_makes_a_full_window_grow_by_the_last_bit() {
    let config = Config {
        receive_window: 64 << 10,
        receive_window_max: 512 << 10,
        ..config()
    };
    let until = Time::ZERO + Span::from_millis(2000);
    let prompt = |gap: usize| {
        distances(&sacks(&config, &[6000, 12_000], gap, until))
            .iter()
            .take_while(|&&distance| distance < 100)
            .count()
    };
    assert_eq!((prompt(0), prompt(1)), (3, 2));
}

/// Six segments of 1448 bytes or less, 7426 bytes in all, then a close; the fifth is lost. Linux
/// has sent the last one before the close, so that the FIN goes by itself, and its SACK block
/// reaches over it. Three segments behind the gap do not come: RACK's timer of a quarter of a
/// round trip, not the timeout of 200 ms, repairs it.
#[test]
fn a_fin_behind_a_gap_is_sacked() {
    for (lost, bytes) in [(5, 7426), (6, 7426), (3, 3000), (1, 1448)] {
        let script = Box::new(move |side: usize, count: u64, _: &_, _: Time| {
            // The first two of A's segments open the connection.
            if side == A && count == lost + 1 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        let mut pair = Pair::with_script(&Config::default(), Span::from_millis(20), script);
        pair.record();
        pair.run_until(Time::ZERO + Span::from_millis(40));
        pair.ends[A].write(bytes);
        pair.ends[A].close();
        pair.run_until(Time::ZERO + Span::from_secs(2));
        assert!(pair.peer_closed[B], "{bytes} bytes without {lost}");
        let log = pair.log.take().expect("recording");
        let fins: Vec<_> = log
            .iter()
            .filter(|(_, side, sent, _)| *side == A && sent.segment.flags.has(Flags::FIN))
            .collect();
        assert_eq!(fins[0].2.segment.payload, 0, "the FIN goes by itself");
        let end = fins[0].2.segment.seq.wrapping_add(1);
        let sacked = log.iter().any(|(_, side, sent, _)| {
            *side == B
                && sent.segment.sack[..usize::from(sent.segment.sack_count)]
                    .iter()
                    .any(|block| block.end == end)
        });
        assert!(sacked, "{bytes} bytes without {lost}");
        let repaired = log
            .iter()
            .find(|(_, side, sent, _)| *side == A && sent.retransmission)
            .expect("repaired");
        let after = repaired.0 - Time::ZERO;
        assert!(
            after < Span::from_millis(140),
            "{bytes} bytes without {lost}: {after:?}"
        );
    }
}
