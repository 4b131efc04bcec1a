//! AccECN against RFC 9768's tables, and against itself over paths that lose and mark.

mod properties;
mod wire;

use super::count::Marked;
use super::*;
use crate::config::AccEcnRule;
use crate::segment::Segment;
use crate::{Span, Time};

const MSS: u16 = 1000;

/// Table 2 and section 3.1.3, by AE, CWR and ECE.
#[test]
fn a_server_agrees_as_the_table_says() {
    use Ecn::{Accurate, Classic, Off};
    let flags = |ace| Flags::SYN.with_ace(ace);
    // 000 asks for nothing, 011 for RFC 3168; all others are AccECN, of today or to come.
    let accurate = [
        Off, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate,
    ];
    // RFC 3168 section 6.1.1 knows CWR and ECE only.
    let classic = [Off, Off, Off, Classic, Off, Off, Off, Classic];
    for (ace, (accurate, classic)) in (0..8).zip(accurate.into_iter().zip(classic)) {
        assert_eq!(
            agreed_by_server(Accurate, flags(ace)),
            accurate,
            "{ace:03b}"
        );
        assert_eq!(agreed_by_server(Classic, flags(ace)), classic, "{ace:03b}");
        assert_eq!(agreed_by_server(Off, flags(ace)), Off, "{ace:03b}");
    }
}

/// Table 2, the client's column: 111 comes from servers that reflect what they see.
#[test]
fn a_client_reads_answers_as_the_table_says() {
    use Ecn::{Accurate, Classic, Off};
    let flags = |ace| Flags::SYN.with(Flags::ACK).with_ace(ace);
    let accurate = [
        Off, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, Off,
    ];
    let classic = [Off, Classic, Off, Off, Off, Classic, Off, Off];
    for (ace, (accurate, classic)) in (0..8).zip(accurate.into_iter().zip(classic)) {
        assert_eq!(
            agreed_by_client(Accurate, flags(ace)),
            accurate,
            "{ace:03b}"
        );
        assert_eq!(agreed_by_client(Classic, flags(ace)), classic, "{ace:03b}");
        assert_eq!(agreed_by_client(Off, flags(ace)), Off, "{ace:03b}");
    }
}

/// The first block of table 2, and table 3.
#[test]
fn the_handshake_reflects_the_ip_header() {
    let values = [
        (Codepoint::NotEct, 0b010),
        (Codepoint::Ect1, 0b011),
        (Codepoint::Ect0, 0b100),
        (Codepoint::Ce, 0b110),
    ];
    for (codepoint, ace) in values {
        assert_eq!(answer(Ecn::Accurate, codepoint).ace(), ace);
        assert_eq!(unreflected(ace), Some(codepoint));
    }
    for ace in [0b000, 0b001, 0b101, 0b111] {
        assert_eq!(unreflected(ace), None);
    }
    assert_eq!(answer(Ecn::Classic, Codepoint::Ce).ace(), 0b001);
    assert_eq!(answer(Ecn::Off, Codepoint::Ce).ace(), 0);
}

/// Table 4: s.cep after the ACK of the SYN-ACK, and whether the SYN-ACK, which was sent without
/// ECN, has come without.
#[test]
fn a_server_reads_the_last_ack_as_the_table_says() {
    let rows = [
        (0b000, 0, false),
        (0b001, 0, true),
        (0b010, 0, true),
        (0b011, 0, false),
        (0b100, 0, false),
        (0b101, 0, true),
        (0b110, 1, false),
        (0b111, 0, true),
    ];
    for (ace, marked, capable) in rows {
        let ack = Segment {
            ts: Time::ZERO + Span::from_millis(1),
            flags: Flags::ACK.with_ace(ace),
            ..Segment::default()
        };
        let mut counter = Counter::new(AccEcnRule::Rfc9768);
        assert_eq!(counter.read_last_ack(&ack), marked == 1, "{ace:03b}");
        assert_eq!(counter.read(&ack, false, 0, MSS), Marked::default());
        assert_eq!(
            (counter.marked(), counter.is_capable()),
            (marked, capable),
            "{ace:03b}"
        );
    }
}

/// An ACK a millisecond later than the last, of so many packets.
fn read(counter: &mut Counter, at: u64, ace: u8, delivered: u32, bytes: Option<u32>) -> u32 {
    let mut ack = Segment {
        ts: Time::ZERO + Span::from_millis(at),
        flags: Flags::ACK,
        ..Segment::default()
    };
    if let Some(bytes) = bytes {
        ack.set_accecn(&AccEcnOption {
            ect1_first: false,
            count: 3,
            fields: [1, bytes, 1],
        });
    }
    counter.note_ace(ace);
    counter.read(&ack, delivered > 0, delivered, MSS).packets
}

use crate::segment::AccEcnOption;

/// Appendix A.2.1 by hand. The counter stands at 5: an ACE of 5 is none or eight, 0 is three or
/// eleven. Without the option as many as the ACK can have covered.
#[test]
fn a_counter_of_three_bits_may_have_wrapped() {
    let cases = [
        (5, 2, 0),
        (6, 2, 1),
        (7, 7, 2),
        (1, 7, 4),
        (4, 7, 7),
        (5, 7, 0),
        // 8 − ((8 − 0) mod 8) = 8: all of them may have been marked.
        (5, 8, 8),
        (6, 8, 1),
        (6, 9, 9),
        (6, 16, 9),
        (0, 10, 3),
        (0, 11, 11),
        (0, 40, 35),
    ];
    for (ace, delivered, marked) in cases {
        let mut counter = Counter::new(AccEcnRule::Rfc9768);
        read(&mut counter, 1, 5, 1, None);
        assert_eq!(
            read(&mut counter, 2, ace, delivered, None),
            marked,
            "{ace} {delivered}"
        );
    }
}

/// The option's bytes say how often. 20 packets of 1000 bytes are acknowledged at once: with an ACE
/// of 5, none, 8 or 16 are marked.
#[test]
fn the_option_resolves_what_the_counter_cannot() {
    for marked in [0, 8, 16] {
        let mut counter = Counter::new(AccEcnRule::Rfc9768);
        let bytes = Some(marked * u32::from(MSS));
        assert_eq!(read(&mut counter, 1, 5, 20, bytes), marked);
    }
    // Short segments: 1200 bytes cannot be fewer than two packets, and ten are possible.
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    assert_eq!(read(&mut counter, 1, 7, 20, Some(1200)), 2);
    // The bytes of packets that are counted do not count again: an ACK with the option was lost.
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    read(&mut counter, 1, 5, 1, Some(0));
    assert_eq!(read(&mut counter, 2, 7, 2, None), 2);
    assert_eq!(read(&mut counter, 3, 0, 1, Some(3000)), 1);
    // Nor is it guessed what the next option will tell.
    assert_eq!(read(&mut counter, 4, 0, 20, None), 0);
    assert_eq!(read(&mut counter, 5, 0, 1, Some(11_000)), 8);
    // 24 bits wrap, too: from 16 000 000 on by a million, over 16 777 216.
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    assert_eq!(read(&mut counter, 1, 5, 16_000, Some(16_000_000)), 16_000);
    assert_eq!(
        read(&mut counter, 2, 5, 1000, Some(17_000_000 - (1 << 24))),
        1000
    );
}

#[test]
fn an_older_ack_says_nothing() {
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    assert_eq!(read(&mut counter, 5, 7, 2, None), 2);
    // Sent before that one, when one packet was marked: not seven more.
    assert_eq!(read(&mut counter, 4, 6, 0, None), 0);
    // Of the same time, and nothing new acknowledged: it may be either.
    assert_eq!(read(&mut counter, 5, 0, 0, None), 0);
    assert_eq!(read(&mut counter, 6, 0, 0, None), 1);
}

/// Section 3.2.2.4: the first counter after the handshake is never zero.
#[test]
fn a_zeroed_counter_ends_ecn() {
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    assert_eq!(read(&mut counter, 1, 0, 2, None), 0);
    assert!(!counter.is_capable());
    assert_eq!(
        read(&mut counter, 2, 3, 2, None),
        0,
        "no answer to what nobody counts"
    );
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    read(&mut counter, 1, 5, 1, None);
    assert_eq!(
        read(&mut counter, 2, 0, 3, None),
        3,
        "later it is a count as any other"
    );
    assert!(counter.is_capable());
}

/// Section 3.2.3.2.4: fields of the first option that are zero have been zeroed.
#[test]
fn a_zeroed_option_is_ignored() {
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    let mut ack = Segment {
        flags: Flags::ACK,
        ..Segment::default()
    };
    ack.set_accecn(&AccEcnOption {
        ect1_first: false,
        count: 1,
        fields: [0; 3],
    });
    counter.note_ace(5);
    counter.read(&ack, true, 1, MSS);
    // So the safe number of marks counts.
    assert_eq!(read(&mut counter, 2, 5, 8, Some(0)), 8);
}

/// Section 3.2.3.2.5: more marked bytes without more marked packets.
#[test]
fn counters_that_contradict_each_other_end_ecn() {
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    assert_eq!(read(&mut counter, 1, 6, 2, Some(1000)), 1);
    assert!(counter.is_capable());
    assert_eq!(read(&mut counter, 2, 6, 2, Some(2000)), 0);
    assert!(!counter.is_capable());
    // News of the packets may come before that of their bytes.
    let mut counter = Counter::new(AccEcnRule::Rfc9768);
    read(&mut counter, 1, 5, 2, Some(0));
    read(&mut counter, 2, 6, 2, None);
    read(&mut counter, 3, 6, 2, Some(1000));
    assert!(counter.is_capable());
}

/// Section 3.2.2.5.1: at the first mark, then at each second one while data is unacknowledged, and
/// at each third of ACKs.
#[test]
fn marks_make_a_receiver_acknowledge_at_once() {
    let mut reflector = Reflector::new(Codepoint::NotEct, false, AccEcnRule::Rfc9768);
    let mut data = |codepoint, sent: bool| {
        let due = reflector.note(codepoint, MSS, true);
        if sent {
            reflector.encode(&mut Segment::default(), true, true);
        }
        due
    };
    assert!(!data(Codepoint::Ect0, true));
    assert!(data(Codepoint::Ce, true));
    assert!(!data(Codepoint::Ce, false));
    assert!(data(Codepoint::Ce, true));
    assert!(!data(Codepoint::Ect0, true));
    assert!(data(Codepoint::Ce, true));
    let mut reflector = Reflector::new(Codepoint::NotEct, false, AccEcnRule::Rfc9768);
    let due: std::vec::Vec<bool> = (0..3)
        .map(|_| reflector.note(Codepoint::Ce, 0, false))
        .collect();
    assert_eq!(due, [false, false, true]);
}

/// The kind, its fields, and SACK blocks beside it, of the next ACK.
fn option(reflector: &mut Reflector, blocks: u8) -> (Option<(u8, std::vec::Vec<u32>)>, usize) {
    let mut segment = Segment {
        flags: Flags::ACK,
        sack_count: blocks,
        ..Segment::default()
    };
    reflector.encode(&mut segment, true, true);
    let found = segment.accecn();
    (
        found.map(|option| (option.kind(), option.fields().to_vec())),
        segment.sack_blocks().len(),
    )
}

/// Section 3.2.3.3 with its examples: a field for each counter that has ever changed, with each ACK
/// that has news.
#[test]
fn the_option_has_what_has_changed() {
    let mut it = Reflector::new(Codepoint::NotEct, false, AccEcnRule::Rfc9768);
    assert_eq!(option(&mut it, 0), (None, 0));
    it.note(Codepoint::Ect0, 1000, true);
    assert_eq!(option(&mut it, 0), (Some((172, std::vec![1001])), 0));
    assert_eq!(option(&mut it, 0), (None, 0), "no news");
    it.note(Codepoint::Ce, 500, true);
    assert_eq!(option(&mut it, 0), (Some((172, std::vec![1001, 500])), 0));
    it.note(Codepoint::Ect0, 1000, true);
    assert_eq!(option(&mut it, 1), (Some((172, std::vec![2001, 500])), 1));
    // A path that makes ECT(1) of some: the other order begins with it, and has all three.
    it.note(Codepoint::Ect1, 10, true);
    let all = std::vec![11, 500, 2001];
    assert_eq!(option(&mut it, 1), (Some((174, all)), 1));
    let mut it = Reflector::new(Codepoint::NotEct, false, AccEcnRule::Rfc9768);
    it.note(Codepoint::Ect1, 1000, true);
    assert_eq!(option(&mut it, 0), (Some((174, std::vec![1001])), 0));
}

/// Two SACK blocks go before the option, a third does not. What does not fit makes all of it wait.
#[test]
fn the_option_shares_its_room_with_sack() {
    let mut it = Reflector::new(Codepoint::NotEct, false, AccEcnRule::Rfc9768);
    it.note(Codepoint::Ect0, 1000, true);
    assert_eq!(option(&mut it, 3), (Some((172, std::vec![1001])), 2));
    assert_eq!(option(&mut it, 3), (None, 3), "nothing new");
    it.note(Codepoint::Ect1, 100, true);
    it.note(Codepoint::Ce, 100, true);
    assert_eq!(option(&mut it, 2), (Some((174, std::vec![101, 100])), 2));
    it.note(Codepoint::Ect1, 100, true);
    it.note(Codepoint::Ect0, 100, true);
    assert_eq!(
        option(&mut it, 2),
        (None, 2),
        "two that have changed are too far apart"
    );
    assert_eq!(option(&mut it, 3), (None, 3));
    let all = std::vec![1101, 100, 201];
    assert_eq!(option(&mut it, 1), (Some((172, all)), 1));
}

/// One field takes eight bytes with padding, two take eight, three take twelve; with the SACK
/// blocks beside it and timestamps never more than the 40 that a header has.
#[test]
fn options_fit_into_the_header() {
    for (blocks, count, len) in [(0, 1, 8), (0, 2, 8), (0, 3, 12), (1, 3, 24), (2, 2, 28)] {
        let mut segment = Segment {
            sack_count: blocks,
            ..Segment::default()
        };
        segment.set_accecn(&AccEcnOption {
            count,
            ..AccEcnOption::default()
        });
        assert_eq!(segment.varying_len(), len);
        assert!(12 + len <= 40);
    }
}
