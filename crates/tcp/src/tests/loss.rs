//! Loss recovery, segment by segment. The traces are worked out by hand in the comments.

use super::pair::{A, B, Fate, Pair, Script};
use crate::{
    AckEvent, Algorithm, Codepoint, Config, Congestion, CongestionControl, DelayedAck, Recovery,
    RtoRule, SlowStart, Span, Time,
};
use std::boxed::Box;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

const MSS: u16 = 1000;

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

/// Reno over 100 ms round trips, an ACK for each segment, so that windows can be counted.
fn reno() -> Config {
    Config {
        algorithm: Algorithm::Reno,
        slow_start: SlowStart::Standard,
        mss: MSS,
        send_buffer: 1 << 30,
        delayed_ack: DelayedAck::Off,
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        rto_rule: RtoRule::Rfc6298,
        rack: false,
        ..Config::default()
    }
}

/// Loses the n-th transmission (from 0) of a data segment of A: pairs of segment and n.
fn lose(list: &'static [(u64, u32)]) -> Script {
    let mut seen: Vec<(u64, u32)> = Vec::new();
    Box::new(move |side, _, sent, _| {
        if side == B || sent.segment.payload == 0 {
            return Fate::Pass;
        }
        let offset = sent.segment.seq.wrapping_sub(u32::MAX - 5000) - 1;
        let number = u64::from(offset) / u64::from(MSS);
        let count = if let Some((_, count)) = seen.iter_mut().find(|(n, _)| *n == number) {
            *count += 1;
            *count
        } else {
            seen.push((number, 0));
            0
        };
        if list.contains(&(number, count)) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

fn run(config: &Config, list: &'static [(u64, u32)], segments: u64, until: u64) -> Pair {
    let mut pair = Pair::with_script(config, millis(50), lose(list));
    pair.record();
    pair.ends[A].write(segments * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(until));
    pair
}

/// What A sent at `at` milliseconds; retransmissions as negative numbers.
fn sent_at(pair: &Pair, at: u64) -> Vec<i64> {
    pair.trace(MSS)
        .into_iter()
        .filter(|(time, ..)| *time == at)
        .map(|(_, number, again)| number.cast_signed() * if again { -1 } else { 1 })
        .collect()
}

fn range(from: i64, to: i64) -> Vec<i64> {
    (from..=to).collect()
}

/// 0..9 at 100 ms, 10..29 at 200 ms; 12 is lost. At 300 ms: the ACKs of 10 and 11 raise the
/// window to 22 and release 30..33. SACKs of 13 and 14 release one segment each (limited
/// transmit). The SACK of 15 is the third: 12 is lost, ssthresh = 11, 12 is sent again. From
/// then on PRR lets one segment go for two SACKed: 17, 19, ..., 29 release 36..42. At 400 ms
/// 31, 33 and 35 release 43..45. The ACK for 12 covers 35 = the recovery point: the window is
/// 11, in flight are 36..45: one more goes.
#[test]
fn one_loss_with_sack() {
    let pair = run(&reno(), &[(12, 0)], 100, 400);
    assert_eq!(sent_at(&pair, 200), range(10, 29));
    let mut at_300 = range(30, 35);
    at_300.push(-12);
    at_300.extend(range(36, 42));
    assert_eq!(sent_at(&pair, 300), at_300);
    // The ACKs after that of 12 belong to 36..42: 7 more segments, and an eighth as the window
    // grows in congestion avoidance? 8 ACKs of 11: not yet.
    assert_eq!(sent_at(&pair, 400), range(43, 53));
    let info = pair.ends[A].info();
    assert_eq!(info.recovery, Recovery::Open);
    assert_eq!(
        (info.window_segments, info.ssthresh_segments),
        (11, Some(11))
    );
    let counters = info.counters;
    assert_eq!(
        (
            counters.retransmitted,
            counters.fast_recoveries,
            counters.timeouts
        ),
        (1, 1, 0)
    );
}

/// Without SACK every duplicate ACK stands for a segment that has left, so the trace is the
/// same; the state is left with the first ACK above the recovery point.
#[test]
fn one_loss_with_newreno() {
    let config = Config {
        sack: false,
        ..reno()
    };
    let pair = run(&config, &[(12, 0)], 100, 400);
    let mut at_300 = range(30, 35);
    at_300.push(-12);
    at_300.extend(range(36, 42));
    assert_eq!(sent_at(&pair, 300), at_300);
    assert_eq!(sent_at(&pair, 400), range(43, 53));
    let info = pair.ends[A].info();
    assert_eq!(info.recovery, Recovery::Open);
    assert_eq!(
        (info.window_segments, info.ssthresh_segments),
        (11, Some(11))
    );
    assert_eq!(info.counters.retransmitted, 1);
}

/// 12 and 14 are lost. SACKs of 13 and 15 release 34 and 35; that of 16 makes 12 lost (three
/// above it), that of 17 makes 14 lost. PRR lets a segment go at every second SACK from 16 on:
/// 12 (16), 14 (18), 36 (20), ... 40 (28). At 400 ms the SACK of 30 releases 41; that of 31 and
/// 32 none, because the pipe meets ssthresh = 11; 33, 34, 35 keep it there: 42, 43, 44. The ACK
/// of 12 (partial) releases 45, that of 14 ends recovery with 10 in flight: 46; 36..40 release
/// 47..51.
#[test]
fn two_losses_in_a_window_with_sack() {
    let pair = run(&reno(), &[(12, 0), (14, 0)], 100, 400);
    let mut at_300 = range(30, 35);
    at_300.extend([-12, -14]);
    at_300.extend(range(36, 40));
    assert_eq!(sent_at(&pair, 300), at_300);
    assert_eq!(sent_at(&pair, 400), range(41, 51));
    let info = pair.ends[A].info();
    assert_eq!((info.recovery, info.window_segments), (Recovery::Open, 11));
    assert_eq!(
        (info.counters.retransmitted, info.counters.fast_recoveries),
        (2, 1)
    );
}

/// NewReno mends one hole a round trip: 12 at 300 ms, 14 with the partial ACK at 400 ms.
#[test]
fn two_losses_in_a_window_with_newreno() {
    let config = Config {
        sack: false,
        ..reno()
    };
    let pair = run(&config, &[(12, 0), (14, 0)], 60, 3000);
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again, [(300, 12, true), (400, 14, true)]);
    assert_eq!(pair.delivered[B], 60_000);
    assert_eq!(pair.ends[A].info().counters.timeouts, 0);
}

/// 12 is lost twice. RFC 6675 cannot see that: the timer, armed with the last SACK of a segment
/// sent before the retransmission (300 ms), expires after the least RTO of 200 ms.
#[test]
fn a_lost_retransmission_waits_for_the_timer_without_rack() {
    let pair = run(&reno(), &[(12, 0), (12, 1)], 400, 5000);
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again[..2], [(300, 12, true), (500, 12, true)]);
    assert_eq!(pair.ends[A].info().counters.timeouts, 1);
    assert_eq!(pair.delivered[B], 400_000);
}

/// RACK sees it when a segment sent after the retransmission is SACKed, a round trip later.
#[test]
fn a_lost_retransmission_is_sent_again_after_a_round_trip_with_rack() {
    let config = Config {
        rack: true,
        ..reno()
    };
    let pair = run(&config, &[(12, 0), (12, 1)], 60, 5000);
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again, [(300, 12, true), (400, 12, true)]);
    assert_eq!(pair.ends[A].info().counters.timeouts, 0);
    assert_eq!(pair.delivered[B], 60_000);
}

/// The last two of 20 are lost. The last ACK comes at 300 ms; SRTT is 100 ms, so the probe goes
/// 2·SRTT + 2 ms later and carries segment 19; its SACK shows that 18 is lost.
#[test]
fn a_lost_tail_is_probed() {
    let config = Config {
        rack: true,
        rto_rule: RtoRule::Linux,
        ..reno()
    };
    let pair = run(&config, &[(18, 0), (19, 0)], 20, 5000);
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again, [(502, 19, true), (602, 18, true)]);
    let counters = pair.ends[A].info().counters;
    assert_eq!((counters.tail_probes, counters.timeouts), (1, 0));
    assert_eq!(pair.delivered[B], 20_000);
}

/// The last one is lost: the probe itself repairs it, after the RTO of SRTT + 200 ms at the
/// latest, since a delayed ACK of a single segment must be waited for.
#[test]
fn a_lost_last_segment_is_repaired_by_the_probe() {
    let config = Config {
        rack: true,
        rto_rule: RtoRule::Linux,
        ..reno()
    };
    let pair = run(&config, &[(19, 0)], 20, 5000);
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again, [(600, 19, true)]);
    assert_eq!(pair.ends[A].info().counters.timeouts, 0);
}

/// A window of ten is lost, and the probe after it, which is new data: 2·SRTT + 2 ms after the
/// window. The timeout counts from the probe, RTO = SRTT + 200 ms later.
#[test]
fn the_timeout_after_a_probe_counts_from_it() {
    let config = Config {
        rack: true,
        rto_rule: RtoRule::Linux,
        ..reno()
    };
    let pair = run(&config, first_ten_and(&[(10, 0)]), 20, 5000);
    assert_eq!(sent_at(&pair, 100), range(0, 9));
    assert_eq!(pair.trace(MSS)[10..12], [(302, 10, false), (602, 0, true)]);
    let counters = pair.ends[A].info().counters;
    assert_eq!((counters.tail_probes, counters.timeouts), (1, 1));
    assert_eq!(pair.delivered[B], 20_000);
}

/// By hand: the window of ten is late by 250 ms, the probe after it (302 ms) is lost. The first ACK
/// makes SRTT 131.25 and RTTVAR 100 ms, so RTO is 531.25. What the ACKs at 450 ms let out is lost
/// too. The next probe is due at 450 + 2·131.25 + 2 = 714.5; while the first one is unanswered
/// there is none, and what is left of the time of segment 10 runs: 302 + 531.25 (Linux
/// `tcp_send_loss_probe`).
#[test]
fn instead_of_a_second_probe_the_timeout_of_the_oldest_segment_comes() {
    let config = Config {
        rack: true,
        timestamps: false,
        timed_segment: true,
        delayed_ack: DelayedAck::Off,
        ..reno()
    };
    let mut pair = Pair::with_script(
        &config,
        millis(50),
        Box::new(move |side, _, _, now| match now.as_nanos() / 1_000_000 {
            100..150 if side == A => Fate::Late(millis(250)),
            150..800 if side == A => Fate::Drop,
            _ => Fate::Pass,
        }),
    );
    pair.record();
    pair.ends[A].write(20_000);
    pair.run_for(Span::from_secs(5));
    let again: Vec<_> = pair.trace(MSS).into_iter().filter(|sent| sent.2).collect();
    assert_eq!(again[0], (833, 10, true));
    assert_eq!(pair.delivered[B], 20_000);
}

/// A whole window of ten that is lost, and these segments by the number of their transmission.
fn first_ten_and(more: &[(u64, u32)]) -> &'static [(u64, u32)] {
    let window = (0..10).map(|segment| (segment, 0));
    let lost: Vec<_> = window.chain(more.iter().copied()).collect();
    lost.leak()
}

/// A whole window and the first retransmission are lost. After the handshake RTO = 300 ms
/// (RFC 6298): timeouts at 400 and, doubled, 1000 ms; then slow start from one segment.
#[test]
fn timeouts_back_off_and_slow_start_begins_at_one() {
    let lost = first_ten_and(&[(0, 1)]);
    let pair = run(&reno(), lost, 10, 5000);
    assert_eq!(sent_at(&pair, 100), range(0, 9));
    assert_eq!(pair.trace(MSS)[10..12], [(400, 0, true), (1000, 0, true)]);
    assert_eq!(sent_at(&pair, 1100), [-1, -2]);
    assert_eq!(sent_at(&pair, 1200), [-3, -4, -5, -6]);
    assert_eq!(sent_at(&pair, 1300), [-7, -8, -9]);
    let info = pair.ends[A].info();
    assert_eq!(
        (info.counters.timeouts, info.ssthresh_segments),
        (2, Some(5))
    );
    assert_eq!(pair.delivered[B], 10_000);
}

/// The path stalls: what is sent from 200 ms on (10..29) arrives at 650 ms, in order; nothing is
/// lost. The timer expires at 400 ms. The first ACK at 700 ms makes F-RTO send two new segments
/// instead of retransmissions, the next one covers data that was sent once: the reduction is
/// undone. With timestamps the first ACK alone tells (Eifel).
#[test]
fn a_spurious_timeout_is_undone() {
    for timestamps in [false, true] {
        let config = Config {
            timestamps,
            ..reno()
        };
        let stalled = Time::ZERO + millis(200)..Time::ZERO + millis(600);
        let mut pair = Pair::with_script(
            &config,
            millis(50),
            Box::new(move |side, _, _, now| {
                if side == A && stalled.contains(&now) {
                    Fate::Late(stalled.end - now)
                } else {
                    Fate::Pass
                }
            }),
        );
        pair.record();
        pair.ends[A].write(200_000);
        pair.run_until(Time::ZERO + millis(720));
        assert_eq!(sent_at(&pair, 400), [-10]);
        assert_eq!(sent_at(&pair, 700)[..2], [30, 31]);
        let info = pair.ends[A].info();
        assert_eq!(
            (info.counters.timeouts, info.counters.retransmitted),
            (1, 1)
        );
        assert_eq!(info.counters.spurious, 1, "timestamps {timestamps}");
        assert!(info.window_segments >= 20, "{info:?}");
        assert_eq!(info.ssthresh_segments, None);
        pair.run_for(Span::from_secs(5));
        assert_eq!(pair.delivered[B], 200_000);
        assert_eq!(pair.ends[A].info().counters.retransmitted, 1);
    }
}

/// A path of 60 ms becomes one of 1.5 s. With one segment timed at a time and no timestamps, each
/// timeout spoils the measurement, and F-RTO finds all of them spurious: the timeout stays doubled
/// until a round trip has been measured (RFC 6298 rule 5.7), or it would expire for ever.
#[test]
fn an_undone_timeout_stays_backed_off_until_a_measurement() {
    let config = Config {
        timestamps: false,
        timed_segment: true,
        rack: false,
        delayed_ack: DelayedAck::Off,
        ..reno()
    };
    let slow = Time::ZERO + millis(300);
    let mut pair = Pair::with_script(
        &config,
        millis(30),
        Box::new(move |side, _, _, now| {
            if side == A && now >= slow {
                Fate::Late(millis(1440))
            } else {
                Fate::Pass
            }
        }),
    );
    pair.ends[A].write_forever();
    pair.run_until(Time::ZERO + Span::from_secs(20));
    let info = pair.ends[A].info();
    assert!(info.counters.spurious > 0, "{info:?}");
    // 0.2, 0.4, 0.8, 1.6 s, and a few more until it is measured.
    assert!(info.counters.timeouts <= 8, "{info:?}");
    assert!(info.srtt > millis(1000), "{info:?}");
}

/// Every 20th segment comes 5 ms late, after segments sent up to 5 ms later (1 ms apart).
/// Three SACKs above a hole are no proof then: with RACK a few retransmissions at the start,
/// without it one for nearly every late segment.
#[test]
fn reordering_is_tolerated_with_rack() {
    let resent = |rack: bool| {
        let config = Config {
            rack,
            initial_ssthresh: Some(60_000),
            ..reno()
        };
        let mut pair = Pair::with_script(
            &config,
            millis(20),
            Box::new(|side, index, sent, _| {
                let late = side == A && index % 20 == 19 && sent.segment.payload > 0;
                if late {
                    Fate::Late(millis(5))
                } else {
                    Fate::Pass
                }
            }),
        );
        pair.limit(sojourn_units::Rate::from_bps(8_000_000), 1000);
        pair.ends[A].write(3_000_000);
        pair.run_to(3_000_000, Span::from_secs(60))
            .expect("it arrives");
        let counters = pair.ends[A].info().counters;
        assert_eq!((counters.timeouts, pair.overflowed), (0, 0));
        counters.retransmitted
    };
    let (with, without) = (resent(true), resent(false));
    assert!(with <= 5, "{with}");
    assert!(without > 100, "{without}");
}

/// Half of the ACKs are lost: nothing needs to be sent again but perhaps the tail.
#[test]
fn lost_acks_do_not_matter() {
    for rack in [false, true] {
        let config = Config { rack, ..reno() };
        let mut flip = 1_u64;
        let mut pair = Pair::with_script(
            &config,
            millis(20),
            Box::new(move |side, index, _, _| {
                flip = flip.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if side == B && index > 0 && flip >> 63 == 1 {
                    Fate::Drop
                } else {
                    Fate::Pass
                }
            }),
        );
        pair.ends[A].write(3_000_000);
        pair.run_to(3_000_000, Span::from_secs(60))
            .expect("it arrives");
        pair.run_for(Span::from_secs(10));
        let counters = pair.ends[A].info().counters;
        assert!(counters.retransmitted <= 2, "{counters:?}");
        assert_eq!(counters.fast_recoveries, 0);
    }
}

/// Mathis, Semke, Mahdavi, Ott 1997: with one loss in 1/p segments and an ACK for each, the
/// mean window is sqrt(3/2)/sqrt(p): 38.7 at p = 1/1000, 77.5 at 1/4000. (At 1/100 the round trip of
/// recovery itself, which the formula leaves out, costs 15 %.)
#[test]
fn throughput_at_periodic_loss_is_that_of_mathis() {
    for (period, expected) in [(1000_u64, 38.73), (4000, 77.46)] {
        for sack in [true, false] {
            let config = Config { sack, ..reno() };
            let mut data = 0_u64;
            let mut pair = Pair::with_script(
                &config,
                millis(50),
                Box::new(move |side, _, sent, _| {
                    if side == B || sent.segment.payload == 0 {
                        return Fate::Pass;
                    }
                    data += 1;
                    if data.is_multiple_of(period) {
                        Fate::Drop
                    } else {
                        Fate::Pass
                    }
                }),
            );
            pair.ends[A].write_forever();
            pair.run_for(Span::from_secs(30));
            let before = pair.delivered[B];
            pair.run_for(Span::from_secs(200));
            let segments = (pair.delivered[B] - before) as f64 / f64::from(MSS);
            let window = segments / 2000.0;
            let ratio = window / expected;
            assert!((0.9..1.1).contains(&ratio), "{period} {sack}: {window}");
            assert_eq!(pair.ends[A].info().counters.timeouts, 0);
        }
    }
}

/// 20 segments that leave together meet a queue: their ACKs come at 1 ms distance. By every ACK,
/// SRTT follows within the round; by one timed segment, the sample is that of the first of them.
#[test]
fn one_timed_segment_a_round_trip_is_measured() {
    let measured = |timed_segment: bool| {
        let config = Config {
            timed_segment,
            timestamps: false,
            initial_window: 20,
            ..reno()
        };
        let mut pair = Pair::with_script(&config, millis(50), Box::new(|_, _, _, _| Fate::Pass));
        pair.limit(sojourn_units::Rate::from_bps(8_320_000), 1000);
        pair.ends[A].write(20_000);
        pair.run_until(Time::ZERO + millis(250));
        assert_eq!(pair.delivered[B], 20_000);
        pair.ends[A].info().srtt
    };
    let handshake = millis(100);
    // The first segment waits for nothing: 1 ms of serialisation in one sample of eight.
    let once = measured(true) - handshake;
    assert!(once < Span::from_micros(250), "{once:?}");
    // The last of twenty has waited for 20 ms.
    let every = measured(false) - handshake;
    assert!(every > millis(5), "{every:?}");
}

/// What is sent for the first time takes 10.3 ms longer than 2 * 10 ms; a lost segment is sent again
/// when nothing is in the way. Its round trip is known by its timestamp only, which counts
/// milliseconds, and is the shortest.
#[test]
fn the_round_trip_of_a_retransmission_counts_for_the_shortest() {
    let script: Script = Box::new(|side, number, sent, _| match (side, sent.retransmission) {
        (B, _) | (A, true) => Fate::Pass,
        _ if number == 3 => Fate::Drop, // After SYN, ACK and one segment that arrives.
        _ => Fate::Late(Span::from_micros(10_300)),
    });
    let mut pair = Pair::with_script(&reno(), millis(10), script);
    pair.run_until(Time::ZERO + millis(100));
    assert!(pair.ends[A].write_message(1000));
    pair.run_until(Time::ZERO + millis(200));
    let shortest = pair.ends[A].info().min_rtt;
    assert_eq!(shortest, Some(Span::from_micros(30_300)));
    assert!(pair.ends[A].write_message(1000));
    pair.run_until(Time::ZERO + Span::from_secs(3));
    assert_eq!(pair.ends[A].info().counters.retransmitted, 1);
    assert_eq!(pair.ends[A].info().min_rtt, Some(millis(20)));
}

/// Slow start over a short buffer: every second segment is lost, and the receiver's held ACKs
/// report several blocks, the newest first. Nothing comes out of order on this path, and nothing
/// seems to.
#[test]
fn blocks_that_come_together_are_no_reordering() {
    let config = Config {
        receive_window: 1 << 30,
        receive_window_max: 1 << 30,
        ..Config::default()
    };
    let mut pair = Pair::new(&config, millis(25));
    pair.limit(sojourn_units::Rate::from_bps(40_000_000), 50);
    pair.ends[A].write(2_000_000);
    pair.run_to(2_000_000, Span::from_secs(60))
        .expect("it arrives");
    let counters = pair.ends[A].info().counters;
    assert!(pair.overflowed > 20, "{counters:?}");
    assert_eq!(counters.reordered, 0, "{counters:?}");
}

/// 0..9 are lost, and so is the probe of 9. The timeout sends 0 again, its ACK releases 1 and 2, and
/// 1 is lost once more: the SACK of 2 proves it, and what was a timeout goes on as a fast recovery
/// (Linux `tcp_fastretrans_alert`, `FLAG_LOST_RETRANS`), not with another timeout.
#[test]
fn a_retransmission_lost_after_a_timeout_starts_a_recovery() {
    let config = Config {
        rack: true,
        frto: false,
        ..reno()
    };
    let lost = first_ten_and(&[(9, 1), (1, 1)]);
    let pair = run(&config, lost, 10, 3000);
    let counters = pair.ends[A].info().counters;
    assert_eq!(pair.delivered[B], 10_000);
    assert_eq!((counters.timeouts, counters.fast_recoveries), (1, 1));
}

/// 4 to 11 leave in pairs at 200, 203, 205 and 206 ms. At 300 ms one ACK covers 4 and 5 and
/// reports 8 to 10. The round trip that RACK waits is that of 5, 100 ms and not the 94 ms of 10:
/// 6 and 7 have 3 ms left.
#[test]
fn what_is_acknowledged_in_order_says_how_long_rack_waits() {
    let config = Config {
        rack: true,
        initial_window: 4,
        ..reno()
    };
    let mut answer = None;
    let mut pair = Pair::with_script(&config, millis(50), Box::new(|_, _, _, _| Fate::Pass));
    pair.record();
    pair.ends[A].write(100_000);
    pair.run_until(Time::ZERO + millis(150));
    let log = pair.log.take().expect("it is kept");
    for (_, side, sent, _) in log {
        if side == B && sent.segment.payload == 0 {
            answer = Some(sent.segment);
        }
    }
    let answer = answer.expect("the ACK of the fourth segment");
    let first = answer.ack.wrapping_sub(4 * u32::from(MSS));
    let number = |segment: u32| first.wrapping_add(segment * u32::from(MSS));
    let a = &mut pair.ends[A];
    let drain = |a: &mut crate::Connection, now| while a.poll_transmit(now).is_some() {};
    for (segment, at) in [(1, 200), (2, 203), (3, 205), (4, 206)] {
        let now = Time::ZERO + millis(at);
        let mut ack = answer;
        ack.ack = number(segment);
        a.receive(&ack, Codepoint::NotEct, now);
        drain(a, now);
    }
    let mut ack = answer;
    ack.ack = number(6);
    ack.sack_count = 1;
    ack.sack[0] = crate::SackBlock {
        start: number(8),
        end: number(11),
    };
    a.receive(&ack, Codepoint::NotEct, Time::ZERO + millis(300));
    let info = a.info();
    assert_eq!((info.sacked, info.lost), (3, 0), "{info:?}");
}

/// A window of one that notes when it hears that something is sent with nothing in flight.
#[derive(Debug, Default)]
struct Noting(Arc<Mutex<Vec<u64>>>);

impl CongestionControl for Noting {
    fn window(&self) -> u32 {
        1
    }

    fn ssthresh(&self) -> u32 {
        1
    }

    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _why: Congestion, _in_flight: u32, _now: Time) {}

    fn on_undo(&mut self) {}

    fn on_transmit_start(&mut self, _idle: Span, next: u64, _now: Time) {
        self.0.lock().expect("one thread").push(next);
    }

    fn on_idle_restart(&mut self, _timeouts: u32, _restart: u32) {}

    fn on_application_limited(&mut self, _used: u32) {}
}

/// The second of three segments, one at a time, is lost: each but the first is sent into an empty
/// path, and so is the second again, with what has been sent before it, the SYN's byte included.
#[test]
fn a_control_hears_of_each_transmission_into_an_empty_path() {
    let heard = Arc::default();
    let mut pair = Pair::with_script(&reno(), millis(50), lose(&[(1, 0)]));
    pair.ends[A].set_control(Box::new(Noting(Arc::clone(&heard))));
    pair.ends[A].write(3 * u64::from(MSS));
    pair.run_until(Time::ZERO + millis(5000));
    assert_eq!(*heard.lock().expect("one thread"), [1001, 2001, 2001]);
    assert_eq!(pair.delivered[B], 3000);
}
