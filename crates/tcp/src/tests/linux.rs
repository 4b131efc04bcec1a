//! Rules that Linux's packetdrill scripts ask for, at one end whose peer is played by hand.

use crate::{
    AccEcnOption, AccEcnRule, Codepoint, Config, Connection, DelayedAck, Ecn, Flags, SackBlock,
    Segment, Span, State, Time, Transmit,
};
use std::vec;
use std::vec::Vec;

const MSS: u16 = 1000;
const OPEN: Time = Time::from_nanos(1_100_000_000);

fn config() -> Config {
    Config {
        mss: MSS,
        timestamps: false,
        ..Config::default()
    }
}

fn later(millis: u64) -> Time {
    OPEN + Span::from_millis(millis)
}

fn drain(end: &mut Connection, now: Time) -> Vec<Transmit> {
    core::iter::from_fn(|| end.poll_transmit(now)).collect()
}

/// An ACK of the peer with this much payload.
fn segment(seq: u32, payload: u16, ack: u32) -> Segment {
    Segment {
        seq,
        ack,
        payload,
        window: 60_000,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

fn give(end: &mut Connection, segment: &Segment, now: Time) -> Vec<Transmit> {
    end.receive(segment, Codepoint::NotEct, now);
    drain(end, now)
}

fn syn(flags: Flags) -> Segment {
    Segment {
        flags,
        window: 60_000,
        ..Segment::default()
    }
}

/// An end that listened, in the handshake: its SYN-ACK is out.
fn answering(config: &Config, flags: Flags) -> (Connection, Transmit) {
    let mut end = Connection::new(config);
    end.listen();
    let sent = give(&mut end, &syn(flags), Time::from_nanos(1_000_000_000));
    (end, sent[0])
}

fn opened(config: &Config) -> Connection {
    let (mut end, _) = answering(config, Flags::SYN);
    assert!(give(&mut end, &segment(1, 0, 1), OPEN).is_empty());
    end
}

/// What was sent, as sequence number, length and flags.
fn shape(sent: &[Transmit]) -> Vec<(u32, u16, Flags)> {
    sent.iter()
        .map(|sent| (sent.segment.seq, sent.segment.payload, sent.segment.flags))
        .collect()
}

#[test]
fn an_ack_that_cannot_be_is_answered_and_its_data_is_not_used() {
    let mut end = opened(&config());
    // Of what was never sent, and of what the peer's window cannot have held.
    for ack in [2, 2_794_967_397] {
        let sent = give(&mut end, &segment(1, 500, ack), OPEN);
        assert_eq!(shape(&sent), [(1, 0, Flags::ACK)], "{ack}");
        assert_eq!((sent[0].segment.ack, end.info().delivered_bytes), (1, 0));
    }
    // An old one that may have come late is taken.
    end.write(2000);
    drain(&mut end, OPEN);
    give(&mut end, &segment(1, 0, 2001), later(10));
    let sent = give(&mut end, &segment(1, 500, 1001), later(10));
    assert_eq!(sent[0].segment.ack, 501);
}

#[test]
fn a_reset_that_is_not_at_the_edge_is_answered() {
    let reset = |seq| Segment {
        seq,
        flags: Flags::RST,
        ..Segment::default()
    };
    let mut end = opened(&config());
    let sent = give(&mut end, &reset(2), OPEN);
    assert_eq!(shape(&sent), [(1, 0, Flags::ACK)]);
    assert!(give(&mut end, &reset(1 << 20), OPEN).is_empty());
    assert_eq!(end.state(), State::Established);
    give(&mut end, &reset(1), OPEN);
    assert_eq!(end.state(), State::Closed);

    let (mut end, _) = answering(&config(), Flags::SYN);
    let sent = give(&mut end, &reset(2), OPEN);
    assert_eq!(shape(&sent), [(1, 0, Flags::ACK)]);
    assert_eq!(sent[0].segment.ack, 1);
    assert!(drain(&mut end, OPEN).is_empty());
    assert_eq!(end.state(), State::SynReceived);
    give(&mut end, &reset(1), OPEN);
    assert_eq!(end.state(), State::Closed);
}

#[test]
fn a_fin_alone_is_not_pushed_and_a_reset_of_ones_own_acknowledges() {
    let fin = Flags::ACK.with(Flags::FIN);
    let mut end = opened(&config());
    end.close();
    assert_eq!(shape(&drain(&mut end, OPEN)), [(1, 0, fin)]);
    let mut end = opened(&config());
    give(&mut end, &segment(1, 300, 1), OPEN);
    end.abort();
    let sent = drain(&mut end, OPEN);
    assert_eq!(shape(&sent), [(1, 0, Flags::RST.with(Flags::ACK))]);
    assert_eq!(sent[0].segment.ack, 301);
    // What still comes is answered without one.
    let sent = give(&mut end, &segment(301, 300, 7), OPEN);
    assert_eq!(shape(&sent), [(7, 0, Flags::RST)]);
}

#[test]
fn what_was_there_beyond_the_gap_is_reported() {
    let mut end = opened(&config());
    for (seq, len) in [(1001, 2000), (4001, 1000), (7001, 1000)] {
        give(&mut end, &segment(seq, len, 1), OPEN);
    }
    let blocks = |sent: &[Transmit]| sent[0].segment.sack_blocks().to_vec();
    let sent = give(&mut end, &segment(1, 6000, 1), OPEN);
    assert_eq!(sent[0].segment.ack, 6001);
    let block = |start, end| SackBlock { start, end };
    assert_eq!(blocks(&sent), [block(1001, 3001), block(7001, 8001)]);
    // Only as far as it has come again.
    let sent = give(&mut end, &segment(6001, 1500, 1), OPEN);
    assert_eq!(sent[0].segment.ack, 8001);
    assert_eq!(blocks(&sent), [block(7001, 7501)]);
}

#[test]
fn a_peer_may_take_its_window_back_with_an_ack_of_something_new() {
    let mut end = opened(&config());
    end.write(1000);
    drain(&mut end, OPEN);
    let small = Segment {
        window: 10,
        ..segment(1, 0, 1001)
    };
    give(&mut end, &small, later(10));
    end.write(1000);
    assert!(drain(&mut end, later(10)).is_empty());
    // One that is not of something new does not: it may be older.
    let sent = give(&mut end, &segment(1, 0, 1001), later(20));
    assert_eq!(sent.len(), 1);
}

#[test]
fn nagle_holds_a_short_segment_behind_a_short_one_only() {
    let mut end = opened(&Config {
        nagle: true,
        ..config()
    });
    end.write(1100);
    let lens =
        |sent: &[Transmit]| -> Vec<u16> { sent.iter().map(|sent| sent.segment.payload).collect() };
    assert_eq!(lens(&drain(&mut end, OPEN)), [1000, 100]);
    end.write(1200);
    assert_eq!(lens(&drain(&mut end, OPEN)), [1000]);
    let sent = give(&mut end, &segment(1, 0, 1101), later(10));
    assert_eq!(lens(&sent), [200]);
    end.write(10);
    assert!(drain(&mut end, later(10)).is_empty());
    end.set_nagle(false);
    assert_eq!(lens(&drain(&mut end, later(10))), [10]);
}

#[test]
fn an_idle_time_need_not_reset_the_window() {
    for (forgets, window) in [(true, 10), (false, 20)] {
        let mut end = opened(&Config {
            slow_start_after_idle: forgets,
            ..config()
        });
        end.write(10_000);
        drain(&mut end, OPEN);
        give(&mut end, &segment(1, 0, 10_001), later(50));
        assert_eq!(end.info().window_segments, 20);
        end.write(1000);
        drain(&mut end, later(3000));
        assert_eq!(end.info().window_segments, window);
    }
}

/// Linux 6.1 waits 1, 2, 4, 8 s; 7.3 waits 1 s five times first.
#[test]
fn syns_may_be_sent_again_without_backoff() {
    for (linear_syns, waits) in [(0, [1, 2, 4, 8, 16, 32]), (4, [1, 1, 1, 1, 1, 2])] {
        let mut end = Connection::new(&Config {
            linear_syns,
            ..config()
        });
        let mut now = OPEN;
        end.open(now);
        for wait in waits {
            assert_eq!(drain(&mut end, now).len(), 1);
            let next = end.next_timer().unwrap();
            assert_eq!(next - now, Span::from_secs(wait));
            now = next;
            end.on_timer(now);
        }
    }
}

/// By hand from the levels of Linux's timer wheel (`calc_wheel_index`): 1000 ticks come in steps of
/// 64, and 221 in steps of 8. The round trip is 20.4 ms, so that the timeout and the tail loss
/// probe before it come 200 + 20.4 ms after the segment.
#[test]
fn timers_come_with_the_ticks_of_a_kernel() {
    let mut end = Connection::new(&Config {
        timer_tick: Span::from_millis(1),
        ..config()
    });
    let micros = |micros: u64| Time::ZERO + Span::from_micros(micros);
    let expires = |end: &mut Connection| {
        let exact = end.next_timer().unwrap();
        end.on_timer(exact);
        assert!(drain(end, exact).is_empty(), "not before the tick");
        let tick = end.next_timer().unwrap();
        end.on_timer(tick);
        (tick, drain(end, tick).len())
    };
    end.open(micros(300));
    assert_eq!(drain(&mut end, micros(300)).len(), 1);
    let syn = end.next_timer().unwrap();
    assert_eq!(syn, micros(1_024_000));
    end.on_timer(syn);
    assert_eq!(drain(&mut end, syn).len(), 1);
    let now = syn + Span::from_micros(20_400);
    let answer = Segment {
        seq: 0,
        ack: 1,
        window: 60_000,
        flags: Flags::SYN.with(Flags::ACK),
        ..Segment::default()
    };
    give(&mut end, &answer, now);
    end.write(100);
    assert_eq!(drain(&mut end, now).len(), 1);
    // An ACK of it is a first sample: the SYN, which was sent twice, is none.
    give(
        &mut end,
        &segment(1, 0, 101),
        now + Span::from_micros(20_400),
    );
    let sent = micros(1_100_500);
    end.write(100);
    assert_eq!(drain(&mut end, sent).len(), 1);
    // 1100 + 221 ticks, and on to the next multiple of 8.
    assert_eq!(expires(&mut end), (micros(1_328_000), 1));
}

#[test]
fn an_app_may_read_a_part_and_the_peer_hears_of_a_doubled_window() {
    let mut end = Connection::new(&Config {
        receive_window: 10_000,
        receive_window_max: 10_000,
        ..config()
    });
    end.pause_reading();
    end.listen();
    give(&mut end, &syn(Flags::SYN), Time::from_nanos(1));
    give(&mut end, &segment(1, 0, 1), OPEN);
    let mut offered = 0;
    for seq in (1..9001).step_by(1000) {
        for sent in give(&mut end, &segment(seq, 1000, 1), OPEN) {
            offered = sent.segment.window;
        }
    }
    assert_eq!((end.unread(), offered), (9000, 1000));
    assert_eq!(end.read(400, OPEN), 400);
    assert_eq!((end.unread(), drain(&mut end, OPEN)), (8600, vec![]));
    assert_eq!(end.read(1 << 20, OPEN), 8600);
    let sent = drain(&mut end, OPEN);
    assert_eq!((sent.len(), sent[0].segment.window), (1, 10_000));
    assert_eq!((end.read(1, OPEN), drain(&mut end, OPEN)), (0, vec![]));
}

#[test]
fn a_send_buffer_of_its_own_holds_so_much() {
    let mut end = opened(&config());
    end.set_send_buffer(4000, 4000);
    assert_eq!(end.write(10_000), 4000);
    assert!(!end.waits_for_room());
}

#[test]
fn the_distance_of_reordering_is_remembered() {
    let mut end = opened(&config());
    end.write(10_000);
    drain(&mut end, OPEN);
    let report = |start, end| {
        let mut ack = segment(1, 0, 1);
        ack.sack[0] = SackBlock { start, end };
        ack.sack_count = 1;
        ack
    };
    give(&mut end, &report(8001, 9001), later(10));
    assert_eq!(end.info().counters.reorder_distance, 0);
    give(&mut end, &report(3001, 4001), later(10));
    // Segments 3 to 8, both counted.
    assert_eq!(end.info().counters.reorder_distance, 6);
    assert_eq!((end.info().outstanding, end.info().sacked), (10, 2));
}

fn accurate(rule: AccEcnRule) -> Config {
    Config {
        ecn: Ecn::Accurate,
        accecn: rule,
        delayed_ack: DelayedAck::Off,
        ..config()
    }
}

fn with_option(mut segment: Segment, fields: [u32; 3]) -> Segment {
    assert!(segment.with_accecn(&AccEcnOption {
        ect1_first: false,
        count: 3,
        fields,
    }));
    segment
}

/// The fields of the option, and the ECN field of the IP header.
fn told(sent: &Transmit) -> (Option<Vec<u32>>, Codepoint) {
    let option = sent.segment.accecn();
    (option.map(|option| option.fields().to_vec()), sent.ecn)
}

#[test]
fn accecn_as_linux_has_an_option_in_each_segment_once_the_peer_sends_one() {
    let setup = Flags::SYN.with_ace(7);
    let (mut end, answer) = answering(&accurate(AccEcnRule::Linux), setup);
    let option = answer.segment.accecn().unwrap();
    assert!(option.ect1_first && option.fields() == [1, 0, 1]);
    let last = |ace| Segment {
        flags: Flags::ACK.with_ace(ace),
        ..segment(1, 0, 1)
    };
    give(&mut end, &last(0b010), OPEN);
    end.write(100);
    // The peer has sent none.
    let sent = drain(&mut end, OPEN);
    assert_eq!(told(&sent[0]), (None, Codepoint::Ect0));
    let ack = with_option(last(0b101), [101, 0, 1]);
    give(&mut end, &Segment { ack: 101, ..ack }, later(10));
    end.write(2000);
    let sent = drain(&mut end, later(10));
    let start = Some(vec![1, 0, 1]);
    // The option takes 12 bytes of a segment.
    assert_eq!(sent[0].segment.payload, 988);
    assert_eq!(told(&sent[0]), (start, Codepoint::Ect0));
    // Pure ACKs too, ECT(1) first, and capable.
    let data = Segment {
        flags: Flags::ACK.with_ace(0b101),
        ..segment(1, 1000, 101)
    };
    end.receive(&data, Codepoint::Ce, later(20));
    let sent = drain(&mut end, later(20));
    assert_eq!(told(&sent[0]), (Some(vec![1, 1000, 1]), Codepoint::Ect0));
}

/// What has changed must fit beside timestamps, or a SACK block goes; with three blocks nothing else
/// fits.
#[test]
fn accecn_as_linux_gives_up_a_block_for_what_has_changed() {
    let expected = [
        (1, Some(vec![1001, 0, 1])),
        (2, Some(vec![2001, 0])),
        (2, Some(vec![2001, 1000])),
        (3, None),
    ];
    assert_eq!(blocks_and_fields(true), expected);
}

/// Without timestamps there is room for three of each.
#[test]
fn accecn_as_linux_has_three_blocks_and_three_fields_without_timestamps() {
    let expected = [
        (1, Some(vec![1001, 0, 1])),
        (2, Some(vec![2001, 0, 1])),
        (3, Some(vec![2001, 1000, 1])),
        (3, Some(vec![2001, 1000, 1001])),
    ];
    assert_eq!(blocks_and_fields(false), expected);
}

/// SACK blocks and fields of the option in the answers to four segments out of order.
fn blocks_and_fields(timestamps: bool) -> Vec<(usize, Option<Vec<u32>>)> {
    let config = Config {
        timestamps,
        ..accurate(AccEcnRule::Linux)
    };
    let (mut end, _) = answering(&config, Flags::SYN.with_ace(7));
    let last = Segment {
        flags: Flags::ACK.with_ace(0b010),
        ..segment(1, 0, 1)
    };
    give(&mut end, &with_option(last, [1, 0, 1]), OPEN);
    let mut seen = Vec::new();
    for (seq, ecn) in [
        (1001, Codepoint::Ect1),
        (3001, Codepoint::Ect1),
        (5001, Codepoint::Ce),
        (6001, Codepoint::Ect0),
    ] {
        let data = Segment {
            flags: Flags::ACK.with_ace(0b101),
            ..segment(seq, 1000, 1)
        };
        end.receive(&data, ecn, OPEN);
        let sent = drain(&mut end, OPEN);
        let (fields, _) = told(&sent[0]);
        seen.push((sent[0].segment.sack_blocks().len(), fields));
    }
    seen
}

#[test]
fn accecn_as_linux_stops_options_that_are_lost() {
    let (mut end, _) = answering(&accurate(AccEcnRule::Linux), Flags::SYN.with_ace(7));
    let last = Segment {
        flags: Flags::ACK.with_ace(0b010),
        ..segment(1, 0, 1)
    };
    give(&mut end, &with_option(last, [1, 0, 1]), OPEN);
    let data = Segment {
        flags: Flags::ACK.with_ace(0b101),
        ..segment(1, 1000, 1)
    };
    let mut options = Vec::new();
    for _ in 0..3 {
        end.receive(&data, Codepoint::Ect0, OPEN);
        options.push(told(&drain(&mut end, OPEN)[0]).0);
    }
    // The data comes a second and a third time: two ACKs with an option were lost.
    assert_eq!(
        options,
        [Some(vec![1, 0, 1001]), Some(vec![1, 0, 2001]), None]
    );
}

#[test]
fn accecn_as_linux_without_its_option_sends_none() {
    let rule = AccEcnRule::LinuxWithoutOption;
    let (mut end, answer) = answering(&accurate(rule), Flags::SYN.with_ace(7));
    assert_eq!(answer.segment.accecn(), None);
    let last = Segment {
        flags: Flags::ACK.with_ace(0b010),
        ..segment(1, 0, 1)
    };
    give(&mut end, &with_option(last, [1, 0, 1]), OPEN);
    end.write(1000);
    let sent = drain(&mut end, OPEN);
    assert_eq!((sent[0].segment.payload, told(&sent[0]).0), (1000, None));
}

/// Ten segments by one ACK whose counter stands still: eight marks, or none if ACKs are few.
#[test]
fn accecn_as_linux_takes_few_acks_for_thinned_out_and_not_for_marks() {
    let rule = AccEcnRule::LinuxWithoutOption;
    for (acks, marks) in [(&[1001, 10_001][..], 8), (&[10_001][..], 0)] {
        let (mut end, _) = answering(&accurate(rule), Flags::SYN.with_ace(7));
        let last = Segment {
            flags: Flags::ACK.with_ace(0b010),
            ..segment(1, 0, 1)
        };
        give(&mut end, &last, OPEN);
        end.write(10_000);
        drain(&mut end, OPEN);
        for &ack in acks {
            let ack = Segment {
                flags: Flags::ACK.with_ace(0b101),
                ..segment(1, 0, ack)
            };
            give(&mut end, &ack, later(10));
        }
        assert_eq!(end.info().ce.unwrap().told, marks);
    }
}
