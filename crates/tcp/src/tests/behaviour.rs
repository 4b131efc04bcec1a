//! ACK timing, Nagle, windows, ECN, pacing, idle connections.

use super::pair::{A, B, Fate, Pair};
use crate::{
    Algorithm, Codepoint, Config, DelayedAck, Ecn, Flags, Recovery, SlowStart, Span, Time,
};
use sojourn_units::Rate;
use std::boxed::Box;
use std::vec::Vec;

const MSS: u16 = 1000;

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

fn reno() -> Config {
    Config {
        algorithm: Algorithm::Reno,
        slow_start: SlowStart::Standard,
        mss: MSS,
        send_buffer: 1 << 30,
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        ..Config::default()
    }
}

/// A reset ends the peer's sending; each segment that still comes is answered by another one.
#[test]
fn an_end_that_breaks_off_resets_its_peer() {
    let mut lost = 0;
    let script = Box::new(move |side, _, sent: &crate::Transmit, _| {
        // The first reset is lost.
        lost += u32::from(side == A && sent.segment.flags.has(Flags::RST));
        if lost == 1 && sent.segment.flags.has(Flags::RST) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let mut pair = Pair::with_script(&reno(), millis(10), script);
    pair.run_until(Time::ZERO + millis(35));
    pair.ends[B].write(100 * u64::from(MSS));
    // Ten segments arrive at 45 ms, of which the acknowledgements ask for more.
    pair.run_until(Time::ZERO + millis(46));
    let (before, got) = (pair.sent[B], pair.delivered[A]);
    assert_eq!(got, 10 * u64::from(MSS));
    pair.ends[A].abort();
    pair.run_until(Time::ZERO + millis(2000));
    assert_eq!(pair.ends[A].state(), crate::State::Closed);
    assert_eq!(pair.ends[B].state(), crate::State::Closed);
    // One flight was under way; its first segment brought the reset that arrived.
    assert!(pair.sent[B] - before <= 20, "{}", pair.sent[B] - before);
    assert_eq!(pair.delivered[A], got);
}

/// When `side` sent a segment without data, in milliseconds.
fn pure_acks(pair: &Pair, side: usize) -> Vec<u64> {
    pair.log
        .iter()
        .flatten()
        .filter(|(_, from, sent, _)| *from == side && sent.segment.payload == 0)
        .map(|(at, ..)| at.as_nanos() / 1_000_000)
        .collect()
}

/// The first 16 segments are acknowledged at once, then every second one, and the end of a write.
#[test]
fn quick_acks_come_first_then_delayed_ones() {
    let mut pair = Pair::new(&reno(), millis(10));
    pair.ends[A].write(30 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(31));
    pair.record();
    // Arrivals: 10 segments at 30 ms, 20 more at 50 ms. The SYN-ACK took one quick ACK of none.
    pair.run_until(Time::ZERO + millis(51));
    // 6 quick ones are left; then pairs, but for the 27th, which fills the send buffer, and the
    // last.
    assert_eq!(pure_acks(&pair, B).len(), 6 + 4 + 1 + 2 + 1);
    pair.record();
    pair.run_until(Time::ZERO + millis(100));
    pair.ends[A].write(u64::from(MSS));
    pair.run_until(Time::ZERO + millis(300));
    // A full segment that ends a write: 110 ms, not 150.
    assert_eq!(pure_acks(&pair, B), [110]);
}

/// Which of A's data segments were pushed, counted from 1.
fn pushed(pair: &Pair) -> Vec<usize> {
    let data = pair
        .log
        .iter()
        .flatten()
        .filter(|(_, from, ..)| *from == A)
        .filter(|(.., sent, _)| sent.segment.payload > 0);
    data.enumerate()
        .filter(|(_, (.., sent, _))| sent.segment.flags.has(Flags::PSH))
        .map(|(number, _)| number + 1)
        .collect()
}

/// The last segment of each write is pushed: of one that fits into the send buffer its end only,
/// of a longer one also where it had filled the buffer.
#[test]
fn ends_of_writes_are_pushed() {
    let config = Config {
        initial_ssthresh: Some(5), // One segment more each ten.
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(10));
    pair.record();
    pair.ends[A].write(10 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(100));
    pair.ends[A].write(30 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(300));
    // The window is 11 when the second begins: 22 segments of 2304 bytes are memory for 28.7 of
    // 1768.
    assert_eq!(pushed(&pair), [10, 10 + 29, 40]);
}

/// Writes without end through 10 Mbit/s, 50 ms and a FIFO that holds all. The ends are those of a
/// capture of Linux 6.1 in a guest (`--world kernel`, Reno), up to slow start's end.
#[test]
fn writes_end_where_those_of_linux_do() {
    let config = Config {
        algorithm: Algorithm::Reno,
        ..Config::default()
    };
    let mut pair = Pair::new(&config, millis(25));
    pair.limit(Rate::from_bps(10_000_000), 10_000);
    pair.record();
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + millis(3000));
    let linux = [
        21, 31, 46, 64, 87, 92, 117, 123, 161, 163, 215, 283, 369, 480, 625, 813, 1053, 1364, 1764,
        2282,
    ];
    assert_eq!(pushed(&pair)[..linux.len()], linux);
}

/// 100 bytes every 8 ms to an app that reads and does not answer: each message is acknowledged
/// at once, not every 1000 bytes or 40 ms (Linux `tcp_cleanup_rbuf`, `ICSK_ACK_PUSHED`).
#[test]
fn the_end_of_a_write_is_acknowledged_when_it_is_read() {
    let mut pair = Pair::new(&reno(), millis(10));
    pair.run_until(Time::ZERO + millis(40));
    pair.ends[A].write(30 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(200));
    pair.record();
    for message in 0..20 {
        pair.run_until(Time::ZERO + millis(200 + 8 * message));
        pair.ends[A].write(100);
    }
    pair.run_until(Time::ZERO + millis(500));
    let expected: Vec<u64> = (0..20).map(|message| 210 + 8 * message).collect();
    assert_eq!(pure_acks(&pair, B), expected);
}

/// An app that answers: the ACK of a question waits for the answer and rides on it.
#[test]
fn an_interactive_connection_delays_its_acks() {
    let mut pair = Pair::new(&reno(), millis(10));
    pair.run_until(Time::ZERO + millis(40));
    for question in 0..5 {
        if question == 1 {
            pair.record(); // The first answer shows that the connection is interactive.
        }
        let start = 100 + 100 * question;
        pair.run_until(Time::ZERO + millis(start));
        pair.ends[A].write(100);
        pair.run_until(Time::ZERO + millis(start + 15));
        pair.ends[B].write(100);
    }
    pair.run_until(Time::ZERO + millis(700));
    assert!(
        pure_acks(&pair, B).is_empty(),
        "every ACK of B rides on an answer"
    );
    pair.record();
    pair.ends[A].write(100);
    pair.run_until(Time::ZERO + millis(900));
    // No answer this time: the timer, 40 ms after the arrival, ends the interactive mode.
    assert_eq!(pure_acks(&pair, B), [750]);
    pair.record();
    pair.ends[A].write(100);
    pair.run_until(Time::ZERO + millis(1100));
    assert_eq!(pure_acks(&pair, B), [910]);
}

/// While the receive window grows, every segment is acknowledged, and 16 more; then every second
/// one, until the window grows again (Linux `tcp_grow_window`, `icsk_ack.quick |= 1`).
#[test]
fn a_growing_window_is_told_with_every_segment() {
    let acknowledged = |most: u32| {
        let config = Config {
            receive_window: 64 << 10,
            receive_window_max: most,
            ..reno()
        };
        let mut pair = Pair::new(&config, millis(25));
        pair.limit(Rate::from_bps(10_000_000), 200);
        pair.ends[A].write_forever();
        pair.run_until(Time::ZERO + millis(300));
        let before = pair.sent[B];
        pair.run_for(millis(50));
        // 1066 bytes take 853 us: 58 or 59 segments arrive.
        (pair.sent[B] - before) as f64 / 58.6
    };
    let grows = acknowledged(6 << 20);
    assert!((0.95..1.05).contains(&grows), "{grows}");
    let stays = acknowledged(64 << 10);
    assert!((0.45..0.55).contains(&stays), "{stays}");
}

/// Full segments 45 ms apart, by Linux's rule: the first ACK waits 40 ms in vain, which doubles
/// the delay; from then on it is half of itself and the distance, 85 ms and more.
#[test]
fn a_delayed_ack_waits_for_the_next_segment_of_a_slow_path() {
    let distances = |longest: u64, timer_tick: Span| {
        let config = Config {
            timer_tick,
            initial_window: 100, // So large a send buffer that no write ends among these.
            delayed_ack: DelayedAck::On {
                timeout: millis(longest),
            },
            ..reno()
        };
        let mut pair = Pair::new(&config, millis(50));
        let wire = u64::from(MSS) + 66; // Ethernet, IPv4, TCP with timestamps.
        pair.limit(Rate::from_bps(wire * 8 * 1000 / 45), 200);
        pair.record();
        pair.ends[A].write_forever();
        pair.run_until(Time::ZERO + millis(2500));
        let acks = pure_acks(&pair, B);
        let mut distances: Vec<u64> = acks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        distances.drain(..16); // The SYN-ACK, and quick ACKs.
        distances
    };
    // After the last quick ACK 45 and 40 ms; the next segment comes 5 ms later, its partner 45.
    let pairs = distances(200, Span::ZERO);
    assert_eq!(pairs[..2], [85, 50]);
    assert!(pairs[2..].iter().all(|&distance| distance == 90));
    // As long as it may be, 40 ms, no second segment comes in time.
    let singles = distances(40, Span::ZERO);
    assert_eq!(singles[0], 85);
    assert!(singles[1..].iter().all(|&distance| distance == 45));
    // Segments come with a tick of a millisecond, and the ACKs 41 later.
    let ticking = distances(40, millis(1));
    assert_eq!(ticking[0], 86);
    assert!(ticking[1..].iter().all(|&distance| distance == 45));
}

#[test]
fn without_delayed_acks_each_segment_is_acknowledged() {
    let config = Config {
        delayed_ack: DelayedAck::Off,
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(10));
    pair.record();
    pair.ends[A].write(100 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(500));
    // And the SYN-ACK.
    assert_eq!(pure_acks(&pair, B).len(), 101);
}

/// 100 bytes every 5 ms, 40 ms round trips: with Nagle one segment waits for each ACK.
#[test]
fn nagle_collects_small_writes() {
    let segments = |nagle: bool| {
        let config = Config {
            nagle,
            delayed_ack: DelayedAck::Off,
            ..reno()
        };
        let mut pair = Pair::new(&config, millis(20));
        pair.run_until(Time::ZERO + millis(60));
        for _ in 0..100 {
            assert!(pair.ends[A].write_message(100));
            pair.run_for(millis(5));
        }
        pair.run_for(millis(500));
        assert_eq!(pair.delivered[B], 10_000);
        pair.ends[A].info().counters.data_segments
    };
    assert_eq!(segments(false), 100);
    // 500 ms of writes, one segment in 40 ms.
    assert!((12..=15).contains(&segments(true)), "{}", segments(true));
}

/// The reader stops: 10 kB arrive, the window closes, probes keep asking; one probe's answer
/// carries the news although the window update was lost. Whatever the congestion control and the
/// recovery.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    for algorithm in Algorithm::ALL {
        for (sack, rack) in [(false, false), (true, false), (true, true)] {
            let config = Config {
                algorithm,
                sack,
                rack,
                receive_window: 10_000,
                receive_window_max: 10_000,
                ..reno()
            };
            probed_until_it_opens(&config);
        }
    }
}

fn probed_until_it_opens(config: &Config) {
    let opened = Time::ZERO + Span::from_secs(10);
    let mut pair = Pair::with_script(
        config,
        millis(10),
        Box::new(move |side, _, _, now| {
            if side == B && now == opened {
                Fate::Drop
            } else {
                Fate::Pass
            }
        }),
    );
    pair.ends[B].pause_reading();
    pair.ends[A].write(100_000);
    pair.run_until(opened);
    assert_eq!(pair.delivered[B], 0);
    let info = pair.ends[A].info();
    // AccECN's first data shares its room with an option of 12 bytes; so short a rest waits.
    let room = if info.ce.is_some() {
        10_000 - 12
    } else {
        10_000
    };
    assert_eq!(info.acked_bytes, room, "{config:?}");
    assert_eq!(info.counters.retransmitted, 0, "{config:?}");
    // RTO about 220 ms, doubled each time: 0.2, 0.7, 1.6, 3.4, 7 s.
    let probes = info.counters.window_probes;
    assert!((4..=7).contains(&probes), "{config:?} {info:?}");
    assert!(pair.ends[A].next_timer().is_some());
    let read = pair.ends[B].resume_reading();
    assert_eq!(read, room);
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.delivered[B] + read, 100_000, "{config:?}");
}

/// Marks of one round trip cost one reduction; new data carries CWR, and ECE stops with it.
#[test]
fn marks_reduce_the_window_once_a_round_trip() {
    let config = Config {
        ecn: Ecn::Classic,
        delayed_ack: DelayedAck::Off,
        ..reno()
    };
    // The third round, at 300 ms, has 40 segments: every second one is marked.
    let mut pair = Pair::with_script(
        &config,
        millis(50),
        Box::new(|side, index, sent, now| {
            let capable = side == A && sent.segment.payload > 0;
            assert_eq!(sent.ecn == Codepoint::Ect0, capable);
            if side == A && now == Time::ZERO + millis(300) && index % 2 == 0 {
                Fate::Mark
            } else {
                Fate::Pass
            }
        }),
    );
    pair.record();
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + millis(399));
    assert_eq!(pair.ends[A].info().window_segments, 40);
    pair.run_until(Time::ZERO + millis(490));
    let info = pair.ends[A].info();
    assert_eq!((info.recovery, info.counters.marks), (Recovery::Reduced, 1));
    // 40 and perhaps one ACK before the first echo.
    assert!(
        (20..=21).contains(&info.ssthresh_segments.unwrap()),
        "{info:?}"
    );
    pair.run_until(Time::ZERO + millis(640));
    let info = pair.ends[A].info();
    assert_eq!((info.recovery, info.counters.marks), (Recovery::Open, 1));
    assert_eq!(info.counters.retransmitted, 0);
    let log = pair.log.as_ref().expect("recording");
    let cwr: Vec<_> = log
        .iter()
        .filter(|(_, side, sent, _)| *side == A && sent.segment.flags.has(Flags::CWR))
        .filter(|(_, _, sent, _)| !sent.segment.flags.has(Flags::SYN))
        .map(|(at, ..)| at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(cwr, [400]);
    let echo = |from: u64, to: u64| {
        log.iter()
            .filter(|(at, side, sent, _)| {
                *side == B
                    && (from..to).contains(&(at.as_nanos() / 1_000_000))
                    && sent.segment.flags.has(Flags::ECE)
            })
            .count()
    };
    assert!(echo(350, 351) >= 39);
    assert_eq!(echo(500, 700), 0, "CWR was heard");
}

#[test]
fn ecn_needs_both_ends() {
    let config = Config {
        ecn: Ecn::Classic,
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(5));
    pair.ends[B] = crate::Connection::new(&reno());
    pair.ends[B].listen();
    pair.record();
    pair.ends[A].write(5000);
    pair.run_for(millis(100));
    let mut log = pair.log.iter().flatten();
    assert!(log.all(|(_, _, sent, _)| sent.ecn == Codepoint::NotEct));
}

/// A SYN that is lost may have been lost for its ECN bits: the next has none (Linux
/// `tcp_ecn_fallback`). A lost SYN-ACK is no such sign: both ends have seen the bits.
#[test]
fn a_syn_that_is_sent_again_gives_up_ecn() {
    for (lost, capable) in [(A, false), (B, true)] {
        let config = Config {
            ecn: Ecn::Classic,
            ..reno()
        };
        let script = Box::new(move |side, index, _: &_, _| {
            if side == lost && index == 0 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        let mut pair = Pair::with_script(&config, millis(5), script);
        pair.record();
        pair.ends[A].write(5000);
        pair.run_for(Span::from_secs(3));
        assert_eq!(pair.delivered[B], 5000);
        let log = pair.log.take().expect("recording");
        let of_a = log.iter().filter(|(_, side, ..)| *side == A);
        let bits = Flags::ECE.with(Flags::CWR);
        let syns: Vec<bool> = of_a
            .clone()
            .filter(|(_, _, sent, _)| sent.segment.flags.has(Flags::SYN))
            .map(|(_, _, sent, _)| sent.segment.flags.has(bits))
            .collect();
        assert!(syns[0] && !syns[1], "{syns:?}");
        let mut data = of_a.filter(|(_, _, sent, _)| sent.segment.payload > 0);
        assert!(data.all(|(_, _, sent, _)| (sent.ecn == Codepoint::Ect0) == capable));
    }
}

/// Two segments a round trip do not make the window grow, and a long pause brings it back to
/// the initial window.
#[test]
fn an_idle_or_slow_application_keeps_no_large_window() {
    let mut pair = Pair::new(&reno(), millis(50));
    pair.run_until(Time::ZERO + millis(100));
    for _ in 0..50 {
        pair.ends[A].write(2 * u64::from(MSS));
        pair.run_for(millis(100));
    }
    assert_eq!(pair.ends[A].info().window_segments, 10);
    pair.ends[A].write(300 * u64::from(MSS));
    pair.run_for(Span::from_secs(2));
    assert!(pair.ends[A].info().window_segments > 100);
    pair.run_for(Span::from_secs(60));
    pair.ends[A].write(100 * u64::from(MSS));
    pair.record();
    pair.run_for(millis(1));
    assert_eq!(pair.trace(MSS).len(), 10);
}

/// With pacing a window is spread over the round trip: no two segments leave together, and a late
/// one makes up for half of the next gap at most.
#[test]
fn paced_segments_are_spaced() {
    let config = Config {
        pacing: true,
        initial_ssthresh: Some(20_000),
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(50));
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + Span::from_secs(2));
    pair.record();
    pair.run_for(millis(200));
    let log = pair.log.take().expect("recording");
    let times: Vec<Time> = log
        .iter()
        .filter(|(_, side, ..)| *side == A)
        .map(|(at, ..)| *at)
        .collect();
    let window = f64::from(pair.ends[A].info().window_segments);
    let gap = Span::from_secs_f64(0.1 / window / 1.2);
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= gap.mul_f64(0.45), "{pair:?} {gap:?}");
    }
    assert!(times.len() as f64 > 1.5 * window);
}

/// 100 Mbit/s and 100 ms need 1.25 MB: the window grows there from 64 KiB, and not above its
/// limit.
#[test]
fn the_receive_window_follows_the_rate() {
    let config = Config {
        receive_window: 64 << 10,
        receive_window_max: 6 << 20,
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(50));
    pair.limit(Rate::from_bps(100_000_000), 1000);
    pair.ends[A].write_forever();
    pair.run_for(Span::from_secs(3));
    let window = pair.ends[B].info().receive_window;
    assert!((1_250_000..=6 << 20).contains(&window), "{window}");
    let before = pair.delivered[B];
    pair.run_for(Span::from_secs(2));
    // 1000 of 1066 bytes are payload.
    let rate = (pair.delivered[B] - before) as f64 * 4.0;
    assert!(rate > 0.93 * 100e6 * 1000.0 / 1066.0, "{rate}");
}

/// An app with more to send than the buffer holds fills it again when a third is free: 300 segments
/// fit, and 100 Mbit/s with 50 ms would take 590.
#[test]
fn the_send_buffer_limits_what_is_in_flight() {
    let config = Config {
        send_buffer: 300 * u64::from(MSS),
        ..reno()
    };
    let mut pair = Pair::new(&config, millis(25));
    pair.limit(Rate::from_bps(100_000_000), 1000);
    pair.ends[A].write_forever();
    pair.run_for(Span::from_secs(2));
    let mut most = 0;
    let before = pair.delivered[B];
    for _ in 0..1000 {
        pair.run_for(millis(1));
        most = most.max(pair.ends[A].info().in_flight);
    }
    assert_eq!(most, 300);
    // Between two thirds of it and all of it a round trip.
    let share = (pair.delivered[B] - before) as f64 / (20.0 * 300.0 * f64::from(MSS));
    assert!((0.65..=1.0).contains(&share), "{share}");
}

/// CUBIC alone fills a bottleneck with half a bandwidth-delay product of buffer or more, also
/// after slow start overshot by thousands of segments. Each lost segment is sent again once, no
/// other is, and the timer is not needed.
#[test]
fn cubic_fills_a_bottleneck() {
    for (mbit, buffer) in [(10, 20), (10, 1000), (1000, 2500), (1000, 10_000)] {
        for slow_start in [SlowStart::HyStart, SlowStart::Standard] {
            let config = Config {
                slow_start,
                send_buffer: 1 << 28,
                receive_window_max: 1 << 28,
                ..Config::default()
            };
            let mut pair = Pair::new(&config, millis(25));
            pair.limit(Rate::from_bps(mbit * 1_000_000), buffer);
            pair.ends[A].write_forever();
            pair.run_for(Span::from_secs(5));
            let before = pair.delivered[B];
            pair.run_for(Span::from_secs(3));
            let goodput = (pair.delivered[B] - before) as f64 * 8.0 / 3.0;
            let share = goodput / (mbit as f64 * 1e6 * 1448.0 / 1514.0);
            let counters = pair.ends[A].info().counters;
            assert!(share > 0.97, "{mbit} {buffer} {slow_start:?}: {share}");
            assert!(counters.retransmitted <= pair.overflowed, "{counters:?}");
            assert_eq!((counters.timeouts, counters.dsacks), (0, 0));
        }
    }
}

/// DCTCP's receiver (RFC 8257 section 3.2): with delayed ACKs on, the bytes that ACKs with
/// ECN-echo newly acknowledge are exactly the marked ones.
#[test]
fn dctcp_echoes_exactly_what_was_marked() {
    let config = Config {
        algorithm: Algorithm::Dctcp,
        initial_window: 40,
        ..reno()
    };
    let script = |side, _, sent: &crate::Transmit, _| {
        let offset = sent.segment.seq.wrapping_sub(u32::MAX - 5000) / u32::from(MSS);
        let marked = matches!(offset, 20 | 25..=27 | 30 | 31 | 33);
        if side == A && sent.segment.payload > 0 && marked {
            let capable = sent.ecn == Codepoint::Ect0;
            assert!(capable, "DCTCP negotiates ECN by itself");
            Fate::Mark
        } else {
            Fate::Pass
        }
    };
    let mut pair = Pair::with_script(&config, millis(10), Box::new(script));
    pair.record();
    pair.ends[A].write(40 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(500));
    assert_eq!(pair.delivered[B], 40 * u64::from(MSS));
    let (mut last, mut echoed) = (None, Vec::new());
    for (_, side, sent, _) in pair.log.iter().flatten() {
        let segment = &sent.segment;
        if *side != B || segment.flags.has(Flags::SYN) {
            continue;
        }
        let ack = segment.ack.wrapping_sub(u32::MAX - 5000).saturating_sub(1) / u32::from(MSS);
        if segment.flags.has(Flags::ECE) {
            echoed.extend(last.unwrap_or(0)..ack);
        }
        last = Some(ack);
    }
    assert_eq!(echoed, [20, 25, 26, 27, 30, 31, 33]);
    assert_eq!(
        pair.ends[A].info().counters.marks,
        1,
        "one reduction a window"
    );
}
