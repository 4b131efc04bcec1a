//! TCP over simulated links against closed forms and capacity.

mod common;
use common::*;
use proptest::prelude::*;
use sojourn_apps::{Bulk, Cbr, File, Gaps};
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn, SlowStart};
use sojourn_units::Time;
use sojourn_world::{Cell, LineRate, Reorder};

fn reno() -> Config {
    Config {
        algorithm: Algorithm::Reno,
        slow_start: SlowStart::Standard,
        delayed_ack: DelayedAck::Off,
        ..Config::default()
    }
}

fn qdisc(spec: &str) -> sojourn_qdisc::Spec {
    spec.parse().expect("a test's own spec")
}

/// Series are extra: without them a run takes the same course and has the same figures.
#[test]
fn figures_do_not_depend_on_series() {
    let flows = vec![tcp("bulk", Bulk, ms(40), Config::default())];
    let mut cell = dumbbell(
        hop("up", mbit(10.0)),
        hop("down", mbit(10.0)),
        ms(3000),
        flows,
    );
    let mut with = run(&cell);
    cell.flow_series = false;
    let without = run(&cell);
    assert_eq!(flow_of(&with, "bulk").series.len(), 6);
    assert_eq!(link(&with, "up").series, link(&without, "up").series);
    with.flows[0].1.series.clear();
    assert_eq!(with, without);
}

#[test]
fn a_bulk_flow_fills_the_link_with_payload() {
    let flows = vec![tcp("bulk", Bulk, ms(40), Config::default())];
    let mut cell = dumbbell(
        hop("up", mbit(10.0)),
        hop("down", mbit(10.0)),
        ms(20_000),
        flows,
    );
    cell.warmup = ms(5000);
    let result = run(&cell);
    // 1448 bytes of payload in 1500.
    let goodput = flow_of(&result, "bulk").goodput.as_bps() as f64;
    assert!(near(goodput, 10e6 * 1448.0 / 1500.0, 0.005), "{goodput}");
    assert!(link(&result, "up").utilisation.unwrap() > 0.995);
}

#[test]
fn slow_start_doubles_every_round_trip() {
    // 10 + 20 + 40 + 80 segments in four round trips of 100 ms, and one for the handshake; the
    // link sends a segment in 12 us, and a file of 150 segments ends with the fourth flight.
    let app = File { size: 150 * 1448 };
    let flows = vec![tcp("file", app, ms(100), reno())];
    let cell = dumbbell(
        hop("up", mbit(1000.0)),
        hop("down", mbit(1000.0)),
        ms(3000),
        flows,
    );
    let result = run(&cell);
    let done = flow_of(&result, "file")
        .completed
        .expect("3 s are enough")
        .as_millis_f64();
    // The handshake takes one round trip; data of the fourth flight arrives half a trip later.
    assert!((done - 450.0).abs() < 3.0, "{done}");
}

#[test]
fn throughput_at_fixed_loss_follows_mathis() {
    // Mathis, Semke, Mahdavi, Ott 1997: MSS/RTT · sqrt(3/2)/sqrt(p), an ACK per packet.
    for p in [0.001, 0.004] {
        let mut up = hop("up", LineRate::Infinite);
        up.line.loss = p.into();
        let flows = vec![tcp("bulk", Bulk, ms(50), reno())];
        let mut cell = dumbbell(up, hop("down", LineRate::Infinite), ms(400_000), flows);
        cell.warmup = ms(10_000);
        let goodput = flow_of(&run(&cell), "bulk").goodput.as_bps() as f64;
        let mathis = 1448.0 * 8.0 / 0.05 * (1.5 / p).sqrt();
        assert!(
            near(goodput, mathis, 0.15),
            "p {p}: {goodput} against {mathis}"
        );
    }
}

#[test]
fn equal_flows_share_equally() {
    let flows = (0..4).map(|i| {
        let mut flow = tcp(&format!("bulk-{i}"), Bulk, ms(40), Config::default());
        flow.start = Time::ZERO + ms(37 * i);
        flow
    });
    let mut up = hop("up", mbit(20.0));
    up.qdisc = qdisc("fq_codel");
    let mut cell = dumbbell(up, hop("down", mbit(20.0)), ms(30_000), flows.collect());
    cell.warmup = ms(10_000);
    let result = run(&cell);
    assert!(
        result.aggregate.jain.unwrap() > 0.995,
        "{:?}",
        result.aggregate
    );
}

#[test]
fn ecn_replaces_drops() {
    let config = Config {
        ecn: Ecn::Classic,
        ..Config::default()
    };
    let flows = vec![tcp("bulk", Bulk, ms(20), config)];
    let mut up = hop("up", mbit(10.0));
    up.qdisc = qdisc("codel ecn");
    let mut cell = dumbbell(up, hop("down", mbit(10.0)), ms(20_000), flows);
    cell.warmup = ms(5000);
    let result = run(&cell);
    let up = link(&result, "up");
    assert!(up.marked_packets > 0 && up.dropped_packets == 0, "{up:?}");
    assert_eq!(flow_of(&result, "bulk").retransmitted_packets, 0);
    assert!(up.utilisation.unwrap() > 0.9);
}

#[test]
fn a_stopped_flow_makes_room() {
    let mut first = tcp("first", Bulk, ms(20), Config::default());
    first.stop = Some(Time::ZERO + ms(5000));
    let mut second = tcp("second", Bulk, ms(20), Config::default());
    second.start = Time::ZERO + ms(6000);
    let mut up = hop("up", mbit(10.0));
    up.qdisc = qdisc("pfifo limit 100");
    let mut cell = dumbbell(up, hop("down", mbit(10.0)), ms(12_000), vec![first, second]);
    cell.warmup = ms(7000);
    let result = run(&cell);
    assert_eq!(flow_of(&result, "first").goodput.as_bps(), 0);
    assert!(link(&result, "up").utilisation.unwrap() > 0.95);
}

/// A cell that throws everything at two flows.
fn storm(seed: u64, loss: f64, jitter: u64, limit: u32, sack: bool) -> Cell {
    let config = Config {
        sack,
        rack: sack,
        ..Config::default()
    };
    let mut up = hop("up", mbit(5.0));
    (up.line.loss, up.line.jitter, up.line.reorder) = (loss.into(), ms(jitter), Reorder::Allowed);
    up.qdisc = qdisc(&format!("pfifo limit {limit}"));
    let mut down = hop("down", mbit(5.0));
    down.line.loss = loss.into();
    let file = File { size: 200_000 };
    let flows = vec![
        tcp("bulk", Bulk, ms(30), config),
        tcp("file", file, ms(30), config),
        tcp(
            "messages",
            Cbr {
                size: 100,
                interval: ms(8),
                gaps: Gaps::Even,
            },
            ms(30),
            config,
        ),
    ];
    let mut cell = dumbbell(up, down, ms(60_000), flows);
    cell.seed = seed;
    cell
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Loss, reordering, ACK loss and queues down to one packet: nothing stalls for ever,
    /// nothing is faster than the link, and the accounts add up.
    #[test]
    fn nothing_stalls_and_nothing_is_faster_than_the_link(
        seed in 0..1000_u64,
        loss in 0.0..0.08_f64,
        jitter in 0..20_u64,
        limit in 1..60_u32,
        sack: bool,
    ) {
        let result = run(&storm(seed, loss, jitter, limit, sack));
        let capacity = 5e6 * 1448.0 / 1500.0;
        prop_assert!(result.aggregate.goodput_bps <= capacity * 1.001);
        prop_assert!(flow_of(&result, "file").completed.is_some(), "the file never arrived");
        let bulk = flow_of(&result, "bulk");
        prop_assert!(bulk.goodput.as_bps() > 0 && bulk.retransmitted_packets <= bulk.sent_packets);
        let up = link(&result, "up");
        prop_assert!(up.dequeued_packets + up.dropped_packets <= up.offered_packets);
        let held = up.offered_packets - up.dequeued_packets - up.dropped_packets;
        prop_assert!(held <= u64::from(limit));
    }
}

#[test]
fn a_seed_gives_one_result_with_streams_too() {
    let (one, again) = (
        run(&storm(7, 0.02, 9, 20, true)),
        run(&storm(7, 0.02, 9, 20, true)),
    );
    assert_eq!(format!("{one:?}"), format!("{again:?}"));
}
