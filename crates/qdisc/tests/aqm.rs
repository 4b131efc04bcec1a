//! Rules of the AQMs one by one, against numbers worked out by hand.

// Exact results are expected exactly: powers of two, and values that must not change.
#![allow(clippy::float_cmp)]

use crate::common::view::{CAPABLE, PLAIN, at, held, mean};
use sojourn_qdisc::{
    Aqm, CeSelector, Codel, CodelLaw, CodelParams, CodelState, Ecn, Facts, QueueView, Red, RedLaw,
    RedParams, RedState, RedUnit, RedWeight, Verdict, red_plog, red_wlog,
};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};

#[test]
fn codel_spares_the_last_packet_and_short_delays() {
    let mut codel = Codel::new(CodelParams::default(), 1514);
    let mut state = CodelState::default();
    for ms in 0..2000 {
        let late = Span::from_secs(1);
        assert_eq!(
            codel.leave(&mut state, held(1), PLAIN, late, at(ms)),
            Verdict::Pass,
            "one packet of no more than the MTU is left"
        );
    }
    for ms in 2000..4000 {
        // Less than 4882 units of 1024 ns.
        let short = Span::from_nanos(4_998_000);
        let verdict = codel.leave(&mut state, held(100), PLAIN, short, at(ms));
        assert_eq!(verdict, Verdict::Pass);
    }
    assert_eq!(codel.counters().dropped, 0);
    assert_eq!(codel.counters().maxpacket, 1500);
}

#[test]
fn codel_marks_where_it_would_drop_and_above_ce_threshold() {
    let params = CodelParams {
        ecn: true,
        ce_threshold: Some(Span::from_millis(2)),
        law: CodelLaw::Rfc8289,
        ..CodelParams::default()
    };
    let mut codel = Codel::new(params, 1514);
    let mut state = CodelState::default();
    let mut leave = |packet, delay, ms| {
        let delay = Span::from_millis(delay);
        let verdict = codel.leave(&mut state, held(100), packet, delay, at(ms));
        (verdict, codel.counters().ecn_mark, codel.counters().ce_mark)
    };
    // Exactly the threshold is not above it.
    assert_eq!(leave(CAPABLE, 2, 1), (Verdict::Pass, 0, 0));
    assert_eq!(leave(CAPABLE, 3, 1), (Verdict::Mark, 0, 1));
    assert_eq!(leave(PLAIN, 3, 1), (Verdict::Pass, 0, 1));
    // 10 ms of delay from 10 ms on: the first signal is due at 110 ms.
    assert_eq!(leave(PLAIN, 10, 10), (Verdict::Pass, 0, 1));
    assert_eq!(leave(PLAIN, 10, 109), (Verdict::Pass, 0, 1));
    assert_eq!(leave(CAPABLE, 10, 110), (Verdict::Mark, 1, 2));
    // The next one 100 ms later, then 70.7 ms: a mark counts like a drop.
    assert_eq!(leave(PLAIN, 10, 209), (Verdict::Pass, 1, 2));
    assert_eq!(leave(CAPABLE, 10, 210), (Verdict::Mark, 2, 3));
    assert_eq!(leave(PLAIN, 10, 280), (Verdict::Pass, 2, 3));
    assert_eq!(leave(PLAIN, 10, 281), (Verdict::Drop, 2, 3));
}

/// `codel_impl.h`: the step marks what the selector names, by the field that the packet has then. A
/// packet that came with CE, or that CoDel has marked, is no longer ECT(1).
#[test]
fn a_step_for_ect1_leaves_classic_ecn_alone() {
    let marks = |ce_selector, ecn, delay| {
        let params = CodelParams {
            ecn: true,
            ce_threshold: Some(Span::from_millis(1)),
            ce_selector,
            ..CodelParams::default()
        };
        let mut codel = Codel::new(params, 1514);
        let mut state = CodelState::default();
        let packet = Facts::new(1500, &ecn);
        // The second one leaves 101 ms after the first: its delay stands if it is above 5 ms.
        for ms in [10, 111] {
            codel.leave(
                &mut state,
                held(100),
                packet,
                Span::from_millis(delay),
                at(ms),
            );
        }
        (codel.counters().ecn_mark, codel.counters().ce_mark)
    };
    for (ecn, all, ect1, ect0) in [
        (Ecn::Ect1, 2, 2, 0),
        (Ecn::Ect0, 2, 0, 2),
        (Ecn::Ce, 2, 0, 0),
        (Ecn::NotEct, 0, 0, 0),
    ] {
        assert_eq!(marks(CeSelector::All, ecn, 2), (0, all), "{ecn:?}");
        assert_eq!(marks(CeSelector::Ect1, ecn, 2), (0, ect1), "{ecn:?}");
        assert_eq!(marks(CeSelector::Ect0, ecn, 2), (0, ect0), "{ecn:?}");
    }
    assert_eq!(marks(CeSelector::All, Ecn::Ect1, 10), (1, 2));
    assert_eq!(marks(CeSelector::Ect1, Ecn::Ect1, 10), (1, 1));
}

/// By hand from `codel_impl.h`: an arrival at 0 ms waits above the target, so that the delay will
/// stand from 100 ms on. The queue runs empty; the next packet comes at 1 s and waits 6 ms. Before
/// the fix 1 s is later than 100 ms; with it, and in RFC 8289, the interval begins anew.
#[test]
fn codel_before_march_2026_remembers_when_it_runs_empty() {
    let outcomes = |law, emptied_by_a_drop: bool| {
        let params = CodelParams {
            law,
            ..CodelParams::default()
        };
        let mut codel = Codel::new(params, 1514);
        let mut state = CodelState::default();
        let delay = Span::from_millis(6);
        let first = codel.leave(&mut state, held(100), PLAIN, delay, at(10));
        assert_eq!(first, Verdict::Pass);
        if emptied_by_a_drop {
            let second = codel.leave(&mut state, held(100), PLAIN, delay, at(200));
            assert_eq!(second, Verdict::Drop);
        }
        codel.found_empty(&mut state, at(200));
        codel.leave(&mut state, held(100), PLAIN, delay, at(1000))
    };
    assert_eq!(outcomes(CodelLaw::Linux3Dot5, false), Verdict::Drop);
    assert_eq!(outcomes(CodelLaw::Linux3Dot5, true), Verdict::Pass);
    for law in [CodelLaw::Linux, CodelLaw::Rfc8289, CodelLaw::Ns2] {
        assert_eq!(outcomes(law, false), Verdict::Pass, "{law:?}");
        assert_eq!(outcomes(law, true), Verdict::Pass, "{law:?}");
    }
}

/// RFC 8289's `bytes()` are those of the queue that CoDel manages: in a flow queue the flow's.
#[test]
fn codel_of_the_rfc_looks_at_the_flows_own_backlog() {
    let verdict = |law| {
        let params = CodelParams {
            law,
            ..CodelParams::default()
        };
        let mut codel = Codel::new(params, 1514);
        let mut state = CodelState::default();
        let one_of_many = QueueView {
            packets: 1,
            bytes: 1514,
            ..held(100)
        };
        let delay = Span::from_millis(6);
        codel.leave(&mut state, one_of_many, PLAIN, delay, at(10));
        codel.leave(&mut state, one_of_many, PLAIN, delay, at(200))
    };
    assert_eq!(verdict(CodelLaw::Rfc8289), Verdict::Pass);
    assert_eq!(verdict(CodelLaw::Linux), Verdict::Drop);
    assert_eq!(verdict(CodelLaw::Ns2), Verdict::Drop);
}

#[test]
fn codel_keeps_its_schedule_when_a_drop_ends_the_dropping() {
    let params = CodelParams {
        law: CodelLaw::Rfc8289,
        ..CodelParams::default()
    };
    let mut codel = Codel::new(params, 1514);
    let mut state = CodelState::default();
    let mut leave = |delay, ms| {
        let delay = Span::from_millis(delay);
        let verdict = codel.leave(&mut state, held(100), PLAIN, delay, at(ms));
        (verdict, state.dropping, state.drop_next)
    };
    leave(10, 10);
    assert_eq!(leave(10, 110), (Verdict::Drop, true, at(210)));
    assert_eq!(leave(10, 110), (Verdict::Pass, true, at(210)));
    // The drop that was due at 210 ms uncovers a packet that has not waited long: the loop of
    // the RFC ends before the control law, so 16 intervals count from 210 ms.
    assert_eq!(leave(10, 215).0, Verdict::Drop);
    assert_eq!(leave(1, 215), (Verdict::Pass, false, at(210)));
}

/// Linux's distances of signals, by hand: x' = x(3 - count·x²)/2 from x = 1 makes 1/2 for a count
/// of two (0.71 would be right), then 9/16 (0.58), 0.4878 (0.5) and 0.4415 (0.4472) of 100 ms.
#[test]
fn linux_moves_codels_root_by_one_step() {
    let params = CodelParams {
        ecn: true,
        ..CodelParams::default()
    };
    let mut codel = Codel::new(params, 1514);
    let mut state = CodelState::default();
    let mut signals = Vec::new();
    for ms in 100..700 {
        let late = Span::from_millis(20);
        if codel.leave(&mut state, held(100), CAPABLE, late, at(ms)) == Verdict::Mark {
            signals.push((ms, state.drop_next));
        }
    }
    // Above the target since 100 ms: at 200 ms it is an interval, and must be later.
    assert_eq!(signals[0].0, 201);
    let due: Vec<Time> = signals.iter().map(|(_, due)| *due).collect();
    let mut distances = due
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis_f64());
    for expected in [50.0, 56.25, 48.78, 44.15] {
        let distance = distances.next().expect("five signals");
        assert!((distance - expected).abs() < 0.02, "{distance} {expected}");
    }
}

fn red_params() -> RedParams {
    RedParams {
        unit: RedUnit::Bytes,
        min: 30_000,
        max: 90_000,
        avpkt: 1000,
        weight: RedWeight::Exact(1.0),
        probability: 0.02,
        bandwidth: Rate::from_bps(10_000_000),
        adaptive: false,
        ecn: false,
        harddrop: false,
        nodrop: false,
        gentle: false,
        wait: false,
        spare: false,
        bytemode: false,
        law: RedLaw::Paper,
    }
}

fn bytes(bytes: u64) -> QueueView {
    QueueView {
        bulk_flows: 0,
        packets: (bytes / 1000) as u32,
        bytes,
        total_bytes: bytes,
        ..QueueView::default()
    }
}

#[test]
fn red_spreads_its_drops_evenly() {
    let mut red = Red::new(red_params(), Stream::named(1, "red"));
    let mut state = RedState::default();
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        // Half way between the thresholds: 1 %.
        if red.arrive(&mut state, bytes(60_000), PLAIN, at(1)) == Verdict::Drop {
            gaps.push(gap);
            gap = 0;
        }
    }
    // Uniform over 1..=100, as the number drawn in a hundred: mean 50.5, standard deviation 28.9
    // (geometric would have 99.5).
    assert_eq!(gaps[1..].iter().max(), Some(&100));
    assert!((mean(&gaps) - 50.5).abs() < 1.0, "{}", mean(&gaps));
    let squares: f64 = gaps
        .iter()
        .map(|g| f64::from(*g) - 50.5)
        .map(|off| off * off)
        .sum();
    let deviation = (squares / gaps.len() as f64).sqrt();
    assert!((deviation - 28.9).abs() < 0.5, "{deviation}");
}

/// The first packet above the threshold draws and is not hit; fifty more at 0.1 % pass 0.05 of the
/// way. At 1 % the next one is at 51 times that, 0.51: of the numbers beyond 0.05 that is 0.46 in
/// 0.95, or 920 of 1900. By a lot for each packet it would be one in 49, or 39.
#[test]
fn red_draws_once_for_a_distance() {
    let mut early = 0;
    for seed in 0..2000 {
        let mut red = Red::new(red_params(), Stream::named(seed, "red"));
        let mut state = RedState::default();
        let mut hits = |length, times: usize| {
            let mut arrive = || red.arrive(&mut state, bytes(length), PLAIN, at(1));
            (0..times).filter(|_| arrive() == Verdict::Drop).count()
        };
        if hits(33_000, 51) == 0 {
            early += hits(60_000, 1);
        }
    }
    assert!((830..1010).contains(&early), "{early}");
}

#[test]
fn red_waits_if_told() {
    let params = RedParams {
        wait: true,
        ..red_params()
    };
    let mut red = Red::new(params, Stream::named(1, "red"));
    let mut state = RedState::default();
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        if red.arrive(&mut state, bytes(60_000), PLAIN, at(1)) == Verdict::Drop {
            gaps.push(gap);
            gap = 0;
        }
    }
    // 1 % again: uniform over 100..=199 packets, as ns-2's `wait_` has it.
    assert_eq!(gaps[1..].iter().min(), Some(&100));
    assert_eq!(gaps[1..].iter().max(), Some(&199));
    assert!((mean(&gaps) - 149.5).abs() < 1.0, "{}", mean(&gaps));
}

/// `bytemode` at 1 % for mean packets of 1000 bytes: whatever the size, hits are a mean of 50,
/// at most 99 mean packets apart, so the larger packets meet more of them.
#[test]
fn red_weighs_packets_by_size_if_told() {
    let params = RedParams {
        bytemode: true,
        ..red_params()
    };
    for (len, gap_mean) in [(500, 100.0), (1000, 50.0), (2000, 25.0)] {
        let mut red = Red::new(params, Stream::named(1, "red"));
        let mut state = RedState::default();
        let packet = Facts::new(len, &Ecn::NotEct);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() < 20_000 {
            gap += 1;
            if red.arrive(&mut state, bytes(60_000), packet, at(1)) == Verdict::Drop {
                gaps.push(gap);
                gap = 0;
            }
        }
        let most = gaps[1..].iter().max().expect("many gaps");
        assert!(most * len <= 101_000, "{len}: {most}");
        assert!(
            (mean(&gaps) - gap_mean).abs() < 1.5,
            "{len}: {}",
            mean(&gaps)
        );
    }
}

/// ns-2's and ns-3's RED signals only packets that find more than one waiting, however large the
/// average is: with a slow average of 45 (above 2·15: everything is dropped) and one packet
/// waiting nothing is, with two everything.
#[test]
fn red_spares_packets_of_a_nearly_empty_queue_if_told() {
    for spare in [false, true] {
        let params = RedParams {
            unit: RedUnit::Packets,
            min: 5,
            max: 15,
            weight: RedWeight::Exact(0.001),
            gentle: true,
            spare,
            ..red_params()
        };
        let mut red = Red::new(params, Stream::named(1, "red"));
        let mut state = RedState::default();
        state.average = 45.0;
        let mut drops = |waiting: u64| {
            (0..10)
                .filter(|_| {
                    let verdict = red.arrive(&mut state, bytes(waiting * 1000), PLAIN, at(1));
                    verdict == Verdict::Drop
                })
                .count()
        };
        assert_eq!(drops(2), 10);
        assert_eq!(drops(1), if spare { 0 } else { 10 });
        assert_eq!(drops(2), 10);
    }
}

#[test]
fn red_stays_idle_when_it_drops_into_an_empty_queue() {
    let params = RedParams {
        weight: RedWeight::Exact(0.5),
        bandwidth: Rate::from_bps(8_000_000),
        ..red_params()
    };
    let mut red = Red::new(params, Stream::named(1, "red"));
    let mut state = RedState::default();
    red.arrive(&mut state, bytes(3_000_000), PLAIN, at(0));
    red.leave(&mut state, bytes(0), PLAIN, Span::ZERO, at(0));
    red.found_empty(&mut state, at(0));
    // 1.5 MB, of which one packet's time at 8 Mbit/s leaves half: far above the threshold.
    assert_eq!(
        red.arrive(&mut state, bytes(0), PLAIN, at(1)),
        Verdict::Drop
    );
    assert_eq!(state.average, 750_000.0);
    // Two more packets' times, although nothing was queued in between.
    red.arrive(&mut state, bytes(0), PLAIN, at(3));
    assert_eq!(state.average, 187_500.0);
}

#[test]
fn red_signals_as_its_flags_say() {
    use Verdict::{Drop, Mark, Pass};
    // ecn, harddrop, nodrop: verdicts for a capable and a plain packet, hit between the
    // thresholds and above the upper one.
    let table = [
        ([false, false, false], [Drop, Drop, Drop, Drop]),
        ([true, false, false], [Mark, Drop, Mark, Drop]),
        ([true, true, false], [Mark, Drop, Drop, Drop]),
        ([true, false, true], [Mark, Pass, Mark, Pass]),
        ([true, true, true], [Mark, Pass, Drop, Drop]),
    ];
    for ([ecn, harddrop, nodrop], wanted) in table {
        let params = RedParams {
            probability: 1.0,
            ecn,
            harddrop,
            nodrop,
            ..red_params()
        };
        let mut red = Red::new(params, Stream::named(1, "red"));
        let mut state = RedState::default();
        // A byte below the upper threshold the second arrival is hit for certain.
        let mut verdict = |waiting, packet| {
            red.arrive(&mut state, bytes(waiting), packet, at(1));
            red.arrive(&mut state, bytes(waiting), packet, at(1))
        };
        let ours = [
            verdict(89_999, CAPABLE),
            verdict(89_999, PLAIN),
            verdict(90_000, CAPABLE),
            verdict(90_000, PLAIN),
        ];
        assert_eq!(
            ours, wanted,
            "ecn {ecn}, harddrop {harddrop}, nodrop {nodrop}"
        );
    }
}

/// Linux with today's tc: the word is taken and does nothing.
#[test]
fn red_of_linux_does_not_adapt() {
    let params = RedParams {
        adaptive: true,
        law: RedLaw::Linux,
        ..red_params()
    };
    let mut red = Red::new(params, Stream::named(1, "red"));
    let mut state = RedState::default();
    red.arrive(&mut state, bytes(80_000), PLAIN, at(0));
    red.arrive(&mut state, bytes(80_000), PLAIN, at(5000));
    assert_eq!(red.max_probability(&state), params.probability);
}

#[test]
fn red_adapts_as_with_a_timer() {
    let params = RedParams {
        adaptive: true,
        probability: 0.1,
        ..red_params()
    };
    // Above min + 0.6 · (max − min) = 66 000: plus a quarter, at most 0.01. From 0.1 at 500 ms
    // to 5 s: ten steps of 0.01.
    let mut red = Red::new(params, Stream::named(1, "red"));
    let mut state = RedState::default();
    red.arrive(&mut state, bytes(80_000), PLAIN, at(0));
    red.arrive(&mut state, bytes(80_000), PLAIN, at(5000));
    let now = red.max_probability(&state);
    assert!((now - 0.2).abs() < 1e-12, "{now}");
    // Below min + 0.4 · (max − min) = 54 000: a tenth less; ten times 0.9.
    red.arrive(&mut state, bytes(40_000), PLAIN, at(5001));
    red.arrive(&mut state, bytes(40_000), PLAIN, at(10_000));
    let now = red.max_probability(&state);
    assert!((now - 0.2 * libm::pow(0.9, 10.0)).abs() < 1e-12, "{now}");
    // In between nothing changes.
    red.arrive(&mut state, bytes(60_000), PLAIN, at(10_001));
    red.arrive(&mut state, bytes(60_000), PLAIN, at(100_000));
    assert_eq!(red.max_probability(&state), now);
    // It stays within 1 and 50 %, give or take the last step.
    red.arrive(&mut state, bytes(1_000), PLAIN, at(100_001));
    red.arrive(&mut state, bytes(1_000), PLAIN, Time::MAX);
    let least = red.max_probability(&state);
    assert!((0.009..0.01).contains(&least), "{least}");
}

#[test]
fn red_derives_tcs_constants() {
    // The example of tc-red(8): limit 400000 min 30000 max 90000 avpkt 1000 burst 55.
    // 55 + 1 − 30 = 26; with n = 5: 32 · (1 − (31/32)^55) = 26.4; with n = 4 only 15.5.
    assert_eq!(red_wlog(30.0, 55), Some(5));
    // 0.02 / 60000 · 2^21 = 0.7, and 1.4 with 22.
    assert_eq!(red_plog(30_000, 90_000, 0.02), Some(22));
    // Too small: 29 + 1 − 30 < 1. The least that is not: 30 + 1 − 30 = 1 ≤ (1 − 0.5^30) / 0.5.
    assert_eq!(red_wlog(30.0, 29), None);
    assert_eq!(red_wlog(30.0, 30), Some(1));
    assert_eq!(red_plog(0, u64::MAX, 1e-9), None);
}

#[test]
fn red_average_decays_while_idle() {
    let params = RedParams {
        weight: RedWeight::Exact(0.5),
        bandwidth: Rate::from_bps(8_000_000),
        ..red_params()
    };
    let mut red = Red::new(params, Stream::named(1, "red"));
    let mut state = RedState::default();
    red.arrive(&mut state, bytes(16_000), PLAIN, at(0));
    assert_eq!(state.average, 8000.0);
    // One packet of 1000 bytes lasts 1 ms at 8 Mbit/s. Emptied at 1 ms, asked again at 2 ms.
    red.leave(&mut state, bytes(0), PLAIN, Span::ZERO, at(1));
    red.found_empty(&mut state, at(2));
    red.found_empty(&mut state, at(4));
    red.arrive(&mut state, bytes(0), PLAIN, at(5));
    assert_eq!(
        state.average,
        8000.0 / 8.0,
        "three packets' time since 2 ms"
    );
    red.leave(&mut state, bytes(0), PLAIN, Span::ZERO, at(6));
    red.arrive(&mut state, bytes(0), PLAIN, at(6));
    assert_eq!(
        state.average, 500.0,
        "at least one sample of an empty queue"
    );
}
