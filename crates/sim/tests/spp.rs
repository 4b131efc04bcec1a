//! Round-trip times by synthetic packet pairs, against arithmetic and against TCP's own.

mod common;
use common::*;
use sojourn_apps::{Bulk, Cbr, Gaps, Voip};
use sojourn_tcp::{Config, DelayedAck};
use sojourn_world::{Cell, Flow};

/// 1250 bytes there every 20 ms, nothing back.
fn one_way() -> Cell {
    let flows = vec![cbr("load", 1250, ms(20), ms(40))];
    dumbbell(
        hop("up", mbit(1.0)),
        hop("down", mbit(1.0)),
        ms(2000),
        flows,
    )
}

#[test]
fn off_unless_asked_for() {
    let mut cell = one_way();
    cell.flows = vec![ping("probe", ms(20), ms(40))];
    let result = run(&cell);
    assert_eq!(flow_of(&result, "probe").spp_rtt.count, 0);
    cell.spp = true;
    let with = run(&cell);
    assert_eq!(with.digest, result.digest, "measuring changes nothing");
    // 100 bytes at 1 Mbit/s are 0.8 ms, both ways. A pair counts at its middle: that of the last
    // request, sent at 1.98 s, is past the end.
    let probe = flow_of(&with, "probe");
    assert_eq!(probe.spp_rtt.count, 99);
    assert!((probe.spp_rtt.mean - 41.6).abs() < 1e-6);
    assert!((probe.spp_induced_rtt.max - 1.6).abs() < 1e-6);
}

#[test]
fn without_packets_back_there_are_no_pairs() {
    let mut cell = one_way();
    cell.spp = true;
    assert_eq!(flow_of(&run(&cell), "load").spp_rtt.count, 0);
}

/// The two directions of a call are two flows, and each answers the other's packets.
#[test]
fn the_two_directions_of_a_call_are_pairs() {
    let speech = Voip {
        size: 172,
        interval: ms(20),
    };
    let way = |name: &str, from, to| Flow {
        from,
        to,
        app: speech.into(),
        ..ping(name, ms(20), ms(40))
    };
    let mut cell = one_way();
    cell.spp = true;
    cell.flows = vec![way("up", 0, 1), way("down", 1, 0), way("alone", 0, 1)];
    assert_eq!(cell.other_ways(), [Some(1), Some(0), None]);
    // A call in the same packets that takes another way is another call.
    cell.flows[2].base_rtt = ms(50);
    cell.flows.push(way("other", 1, 0));
    assert_eq!(cell.other_ways(), [Some(1), Some(0), None, None]);
    cell.flows.truncate(2);
    let result = run(&cell);
    for name in ["up", "down"] {
        // 200 bytes at 1 Mbit/s are 1.6 ms, both ways.
        let rtt = &flow_of(&result, name).spp_rtt;
        assert!((98..=100).contains(&rtt.count), "{name}: {rtt:?}");
        assert!((rtt.min - 43.2).abs() < 1e-6, "{name}: {rtt:?}");
        assert!((rtt.max - 43.2).abs() < 1e-6, "{name}: {rtt:?}");
    }
}

/// Small messages over TCP: a message and its ACK make a pair, whether the segments carry their
/// time or must be matched at the other end.
#[test]
fn a_message_and_its_ack_are_a_pair() {
    for timestamps in [true, false] {
        let config = Config {
            timestamps,
            ..Config::default()
        };
        let app = Cbr {
            size: 100,
            interval: ms(100),
            gaps: Gaps::Even,
        };
        let flows = vec![tcp("telemetry", app, ms(30), config)];
        let (up, down) = (hop("up", mbit(8.0)), hop("down", mbit(8.0)));
        let mut cell = dumbbell(up, down, ms(20_000), flows);
        cell.spp = true;
        cell.warmup = ms(10_000);
        let result = run(&cell);
        let rtt = &flow_of(&result, "telemetry").spp_rtt;
        // One byte at 8 Mbit/s is a microsecond.
        let header = if timestamps { 52.0 } else { 40.0 };
        let expected = 30.0 + (100.0 + header + header) / 1000.0;
        assert_eq!(rtt.count, 100, "timestamps: {timestamps}");
        assert!((rtt.max - expected).abs() < 1e-6, "{rtt:?}");
        assert!((rtt.min - expected).abs() < 1e-6, "{rtt:?}");
    }
}

#[test]
fn under_load_the_pairs_see_what_tcp_sees() {
    let run_with = |timestamps| {
        let config = Config {
            timestamps,
            delayed_ack: DelayedAck::Off,
            ..Config::default()
        };
        let flows = vec![tcp("bulk", Bulk, ms(30), config)];
        let mut up = hop("up", mbit(10.0));
        up.qdisc = "codel".parse().expect("a spec");
        let mut cell = dumbbell(up, hop("down", mbit(10.0)), ms(20_000), flows);
        cell.spp = true;
        cell.warmup = ms(5_000);
        flow_of(&run(&cell), "bulk").clone()
    };
    for flow in [run_with(true), run_with(false)] {
        let (pairs, own) = (&flow.spp_rtt, &flow.rtt);
        assert!(pairs.count > 10_000, "{}", pairs.count);
        assert!(near(pairs.p50, own.p50, 0.02), "{} {}", pairs.p50, own.p50);
        assert!(near(pairs.p95, own.p95, 0.05), "{} {}", pairs.p95, own.p95);
    }
}
