//! What two ends put on the wire, and what middleboxes can do to it.

use crate::tests::pair::{A, B, Fate, Pair, Script};
use crate::{
    Algorithm, CeCounts, Codepoint, Config, DelayedAck, Ecn, Flags, Recovery, SlowStart, Span,
    State, Time, Transmit,
};
use std::boxed::Box;
use std::vec::Vec;

const MSS: u16 = 1000;

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

fn config(ecn: Ecn) -> Config {
    Config {
        algorithm: Algorithm::Reno,
        slow_start: SlowStart::Standard,
        mss: MSS,
        send_buffer: 1 << 30,
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        ecn,
        ..Config::default()
    }
}

fn accurate() -> Config {
    config(Ecn::Accurate)
}

/// A pair of which each side wants this.
fn pair_of(ends: [Ecn; 2]) -> Pair {
    let mut pair = Pair::new(&config(ends[0]), millis(10));
    pair.ends[B] = crate::Connection::with_isn(&config(ends[1]), 77);
    pair.ends[B].listen();
    pair
}

/// ACE of what a side has sent, with whether it was a SYN, data, and had an option.
fn sent(pair: &Pair, side: usize) -> Vec<(u8, bool, bool, bool)> {
    let log = pair.log.iter().flatten();
    log.filter(|(_, from, ..)| *from == side)
        .map(|(_, _, sent, _)| {
            let segment = &sent.segment;
            let syn = segment.flags.has(Flags::SYN);
            (
                segment.flags.ace(),
                syn,
                segment.payload > 0,
                segment.accecn().is_some(),
            )
        })
        .collect()
}

fn counts(pair: &Pair, side: usize) -> CeCounts {
    pair.ends[side].info().ce.expect("AccECN is agreed on")
}

/// The handshake segment by segment, and the first data: SYN 111; SYN-ACK 010 (the SYN came without
/// ECN) with the option; ACK 010 with the option; data with the first counter, 5, and the option.
#[test]
fn the_handshake_agrees() {
    let mut pair = Pair::new(&accurate(), millis(10));
    pair.record();
    pair.ends[A].write(3 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(300));
    let of_a = sent(&pair, A);
    assert_eq!(of_a[0], (0b111, true, false, false));
    assert_eq!(of_a[1], (0b010, false, false, true));
    assert_eq!(of_a[2], (5, false, true, true));
    assert_eq!(of_a[3], (5, false, true, false));
    let of_b = sent(&pair, B);
    assert_eq!(of_b[0], (0b010, true, false, true));
    assert_eq!(of_b[1], (5, false, false, true));
    let log = pair.log.as_ref().expect("recording");
    for (_, side, sent, _) in log {
        let data = *side == A && sent.segment.payload > 0;
        let expected = if data {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        };
        assert_eq!(sent.ecn, expected, "neither SYN nor ACK is capable");
        // The first data shares its room with the option of twelve bytes.
        let most = if sent.segment.accecn().is_some() {
            MSS - 12
        } else {
            MSS
        };
        assert!(sent.segment.payload <= most);
    }
    assert_eq!(pair.delivered[B], 3 * u64::from(MSS));
    assert_eq!(counts(&pair, B).received_bytes, [3000, 0, 0]);
    assert_eq!(counts(&pair, A).told_bytes, [3000, 0, 0]);
}

/// Who knows no AccECN gets RFC 3168's ECN, or none.
#[test]
fn less_is_agreed_with_who_knows_less() {
    use Ecn::{Accurate, Classic, Off};
    for (ends, capable, ce) in [
        ([Accurate, Classic], true, false),
        ([Classic, Accurate], true, false),
        ([Accurate, Off], false, false),
        ([Off, Accurate], false, false),
        ([Accurate, Accurate], true, true),
    ] {
        let mut pair = pair_of(ends);
        pair.record();
        pair.script = Box::new(|side, index, _, _| {
            if side == A && index == 4 {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        pair.ends[A].write(40 * u64::from(MSS));
        pair.run_until(Time::ZERO + millis(300));
        assert_eq!(pair.delivered[B], 40 * u64::from(MSS));
        let log = pair.log.as_ref().expect("recording");
        let mut data = log
            .iter()
            .filter(|(_, side, sent, _)| *side == A && sent.segment.payload > 0);
        assert!(
            data.all(|(_, _, sent, _)| (sent.ecn == Codepoint::Ect0) == capable),
            "{ends:?}"
        );
        let info = pair.ends[A].info();
        assert_eq!(info.ce.is_some(), ce, "{ends:?}");
        assert_eq!(info.counters.marks, u64::from(capable), "{ends:?}");
    }
}

/// A server that reflects the flags of a SYN knows no ECN at all.
#[test]
fn a_server_that_reflects_has_no_ecn() {
    let mut pair = pair_of([Ecn::Accurate, Ecn::Off]);
    pair.mangle = Some(Box::new(|side, sent: &mut Transmit| {
        if side == B && sent.segment.flags.has(Flags::SYN) {
            sent.segment.flags = sent.segment.flags.with_ace(0b111);
        }
    }));
    pair.ends[A].write(5000);
    pair.run_until(Time::ZERO + millis(300));
    assert_eq!(pair.delivered[B], 5000);
    assert_eq!(pair.ends[A].info().ce, None);
}

fn lose(lost: [&'static [u64]; 2]) -> Script {
    Box::new(move |side, index, _, _| {
        if lost[side].contains(&index) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

/// Section 3.1.4.1: the SYN asks twice, then no more. The server answers the first that it sees.
#[test]
fn a_syn_asks_twice() {
    for (lost, asked, agreed) in [(&[0][..], &[7, 7][..], true), (&[0, 1], &[7, 7, 0], false)] {
        let mut pair = Pair::with_script(&accurate(), millis(10), lose([lost, &[]]));
        pair.record();
        pair.ends[A].write(5000);
        pair.run_until(Time::ZERO + millis(8000));
        let syns: Vec<u8> = sent(&pair, A)
            .iter()
            .filter(|it| it.1)
            .map(|it| it.0)
            .collect();
        assert_eq!(syns, asked);
        assert_eq!(pair.ends[A].info().ce.is_some(), agreed);
        assert_eq!(pair.ends[B].info().ce.is_some(), agreed);
        assert_eq!(pair.delivered[B], 5000);
    }
}

/// Section 3.2.3.2.2: the second SYN-ACK has no option, the third no flags. The server stays in
/// AccECN, but sends nothing that is capable; the client is told no and does without.
#[test]
fn a_syn_ack_gives_up_step_by_step() {
    for (lost, answers, capable) in [
        (&[0][..], &[(2, true), (2, false)][..], true),
        (
            &[0, 1, 2, 3, 4],
            &[(2, true), (2, false), (0, false)],
            false,
        ),
    ] {
        let mut pair = Pair::with_script(&accurate(), millis(10), lose([&[], lost]));
        pair.record();
        pair.ends[A].write(5000);
        pair.run_until(Time::ZERO + millis(40_000));
        let of_b = sent(&pair, B);
        let mut answered: Vec<_> = of_b
            .iter()
            .filter(|it| it.1)
            .map(|it| (it.0, it.3))
            .collect();
        answered.dedup();
        assert_eq!(answered, answers);
        assert_eq!(counts(&pair, B).capable, capable);
        assert_eq!(pair.ends[A].info().ce.is_some(), capable);
        assert_eq!(pair.delivered[B], 5000);
        // Data of the server.
        pair.record();
        pair.ends[B].write(5000);
        pair.run_for(millis(2000));
        let log = pair.log.as_ref().expect("recording");
        let mut data = log
            .iter()
            .filter(|(_, side, sent, _)| *side == B && sent.segment.payload > 0);
        assert!(data.all(|(_, _, sent, _)| (sent.ecn == Codepoint::Ect0) == capable));
    }
}

/// Section 3.1.5: a SYN of RFC 3168 after one of AccECN resets the connection.
#[test]
fn two_kinds_of_syn_reset_the_connection() {
    let mut pair = Pair::with_script(&accurate(), millis(10), lose([&[], &[0]]));
    let mut syns = 0;
    pair.mangle = Some(Box::new(move |side, sent: &mut Transmit| {
        if side == A && sent.segment.flags.has(Flags::SYN) {
            syns += 1;
            if syns == 2 {
                sent.segment.flags = sent.segment.flags.with_ace(0b011);
            }
        }
    }));
    pair.run_until(Time::ZERO + millis(1015));
    assert_eq!(pair.ends[B].state(), State::Closed);
}

/// Marks on the handshake itself: the server's SYN-ACK counts as the first (5 to 6), its SYN does
/// not. Neither was sent as capable, so that the path is not trusted; but each costs a reduction.
#[test]
fn marks_on_the_handshake_are_told() {
    for side in [A, B] {
        let mut pair = Pair::new(&accurate(), millis(10));
        pair.mangle = Some(Box::new(move |from, sent: &mut Transmit| {
            if from == side && sent.segment.flags.has(Flags::SYN) {
                sent.ecn = Codepoint::Ce;
            }
        }));
        pair.record();
        pair.run_until(Time::ZERO + millis(35));
        let info = pair.ends[side].info();
        assert_eq!((info.counters.marks, info.recovery), (1, Recovery::Reduced));
        assert!(!counts(&pair, side).capable && counts(&pair, 1 - side).capable);
        let first = u64::from(side == B);
        assert_eq!(counts(&pair, A).received, first);
        assert_eq!(counts(&pair, B).told, first);
        let (of_a, of_b) = (sent(&pair, A), sent(&pair, B));
        let told = if side == A { of_b[0].0 } else { of_a[1].0 };
        assert_eq!(told, 0b110);
        pair.ends[A].write(2000);
        pair.run_for(millis(100));
        let data = sent(&pair, A).into_iter().find(|it| it.2);
        assert_eq!(data.expect("it was sent").0, if side == B { 6 } else { 5 });
        assert_eq!(counts(&pair, B).told, first);
    }
}

/// A path that makes ECT(0) of a SYN without ECN is not trusted (RFC 3168 section 18).
#[test]
fn a_path_that_changes_the_field_is_not_trusted() {
    let mut pair = Pair::new(&accurate(), millis(10));
    pair.mangle = Some(Box::new(|side, sent: &mut Transmit| {
        if side == A && sent.ecn == Codepoint::NotEct {
            sent.ecn = Codepoint::Ect0;
        }
    }));
    pair.record();
    pair.ends[A].write(20 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(300));
    assert!(!counts(&pair, A).capable && counts(&pair, B).capable);
    let log = pair.log.as_ref().expect("recording");
    assert!(
        log.iter()
            .all(|(_, _, sent, _)| sent.ecn == Codepoint::NotEct)
    );
    // The receiver tells what has arrived all the same.
    assert_eq!(counts(&pair, A).told_bytes, [20_000, 0, 0]);
}

/// A middlebox that zeroes the three flags after the handshake: nothing is sent as capable, and no
/// mark means anything, at the end that hears of none.
#[test]
fn a_path_that_zeroes_the_counter_is_not_trusted() {
    let mut pair = Pair::new(&accurate(), millis(10));
    pair.mangle = Some(Box::new(|side, sent: &mut Transmit| {
        if side == B && !sent.segment.flags.has(Flags::SYN) {
            sent.segment.flags = sent.segment.flags.with_ace(0);
        }
    }));
    pair.record();
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + millis(300));
    assert!(!counts(&pair, A).capable);
    assert_eq!(pair.ends[A].info().counters.marks, 0);
    let log = pair.log.as_ref().expect("recording");
    // The first flight was under way.
    let late = log
        .iter()
        .filter(|(at, side, ..)| *side == A && *at > Time::ZERO + millis(40));
    assert!(late.clone().count() > 100);
    assert!(
        late.clone()
            .all(|(_, _, sent, _)| sent.ecn == Codepoint::NotEct)
    );
}

/// A mark is told at once, although the ACK would wait: the 21st segment, of which the ACK with the
/// 20th has gone before it.
#[test]
fn a_mark_is_told_at_once() {
    let run = |marked: bool| {
        let script: Script = Box::new(move |side, _, sent, _| {
            let offset = sent.segment.seq.wrapping_sub(u32::MAX - 5000 + 1) / u32::from(MSS);
            if marked && side == A && sent.segment.payload > 0 && offset == 24 {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        let mut pair = Pair::with_script(&accurate(), millis(10), script);
        pair.run_until(Time::ZERO + millis(35));
        pair.ends[A].write(24 * u64::from(MSS));
        pair.run_until(Time::ZERO + millis(200));
        pair.record();
        // Without PSH's hurry, as the app writes on.
        pair.ends[A].write(u64::from(MSS));
        pair.run_until(Time::ZERO + millis(600));
        let acks: Vec<_> = pair
            .log
            .iter()
            .flatten()
            .filter(|(_, side, ..)| *side == B)
            .map(|(at, _, sent, _)| (at.as_nanos() / 1_000_000, sent.segment.flags.ace()))
            .collect();
        acks
    };
    assert_eq!(run(true), [(210, 6)]);
    assert_eq!(run(false), [(210, 5)]);
}

/// RFC 3168's echo lasts until the window is reduced; AccECN tells each mark once: ten marks in one
/// round trip are ten, and cost Reno one reduction.
#[test]
fn every_mark_counts() {
    let config = Config {
        delayed_ack: DelayedAck::Off,
        ..accurate()
    };
    let script = Box::new(|side, index, _: &_, now| {
        if side == A && now == Time::ZERO + millis(300) && index % 2 == 0 {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    let mut pair = Pair::with_script(&config, millis(50), script);
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + millis(650));
    let (told, heard) = (counts(&pair, B), counts(&pair, A));
    assert!(told.received >= 19, "{told:?}");
    assert_eq!(heard.told, told.received);
    assert_eq!(heard.told_bytes[1], told.received_bytes[1]);
    let counters = pair.ends[A].info().counters;
    assert_eq!((counters.marks, counters.retransmitted), (1, 0));
}

/// Prague asks for AccECN by itself, sends ECT(1) and counts marks; with a peer that counts none it
/// is Reno, and never sends ECT(1).
#[test]
fn prague_sends_for_l4s_or_as_reno() {
    for (peer, codepoint) in [
        (Ecn::Accurate, Codepoint::Ect1),
        (Ecn::Classic, Codepoint::Ect0),
        (Ecn::Off, Codepoint::NotEct),
    ] {
        let prague = Config {
            algorithm: Algorithm::Prague,
            receive_window: 100_000,
            receive_window_max: 100_000,
            ..config(Ecn::Off)
        };
        let mut pair = Pair::new(&prague, millis(10));
        let other = Config {
            algorithm: Algorithm::Reno,
            ecn: peer,
            ..prague
        };
        pair.ends[B] = crate::Connection::with_isn(&other, 77);
        pair.ends[B].listen();
        pair.script = Box::new(|side, index, _, now| {
            let late = now > Time::ZERO + millis(100);
            if side == A && late && index % 16 == 0 {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        pair.record();
        pair.ends[A].write_forever();
        pair.run_until(Time::ZERO + millis(3000));
        let log = pair.log.as_ref().expect("recording");
        let mut data = log
            .iter()
            .filter(|(_, side, sent, _)| *side == A && sent.segment.payload > 0);
        assert!(
            data.all(|(_, _, sent, _)| sent.ecn == codepoint),
            "{peer:?}"
        );
        let info = pair.ends[A].info();
        assert_eq!(info.pacing_rate.is_some(), peer == Ecn::Accurate);
        // One of 16 is marked, and each round trip has one: the window is about 2/alpha.
        if let Some(alpha) = info.marked_share {
            assert!((0.05..0.08).contains(&alpha), "{alpha}");
            assert!(
                (24..40).contains(&info.window_segments),
                "{}",
                info.window_segments
            );
        } else {
            assert_ne!(peer, Ecn::Accurate);
        }
    }
}
