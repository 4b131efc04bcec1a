//! A bridge with several workers: one rate over all, each flow in order, and whoever asks gets one
//! answer. Needs root.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::flood::{FIRST, flood, jain};
use common::{Link, Raw, frame, measured, plain, stay_on_a_processor};
use sojourn_bridge::{
    Bridge, BridgeConfig, CapturePoint, FlowTable, NoObserver, PortChoice, RemoteError, Side,
    Snapshot, probe,
};
use sojourn_qdisc::Value;
use sojourn_units::Rate;
use sojourn_world::LineRate;
use std::time::Duration;

const RATE: u64 = 50_000_000;

fn two(qdisc: &str) -> BridgeConfig {
    let mut config = plain();
    config.workers = 2;
    config.up.qdisc = qdisc.parse().expect("a qdisc");
    config
}

fn shaped() -> BridgeConfig {
    two("cake bandwidth 50mbit besteffort")
}

/// Packets that each worker's queue upwards has sent.
fn by_worker(snapshot: &Snapshot) -> Vec<i64> {
    let mut stats = snapshot.reports[0].stats.iter();
    let queues = stats.find_map(|field| match &field.value {
        Value::Groups(queues) if field.name == "queues" => Some(queues),
        _ => None,
    });
    let packets = |queue: &Vec<sojourn_qdisc::Field>| {
        let field = queue.iter().find(|field| field.name == "packets");
        match field.map(|field| &field.value) {
            Some(Value::Int(packets)) => *packets,
            _ => panic!("a queue counts its packets"),
        }
    };
    let queues = queues.expect("there are several");
    queues.iter().map(packets).collect()
}

/// One flow is on one worker and has the whole rate; sixteen are on both, have it together, share
/// it alike, and stay in order.
#[test]
fn the_rate_is_one_and_flows_share_it() {
    let run = || {
        [1, 16].map(|flows| {
            let link = Link::new();
            let ((came, rate, workers), stats, _) = link.asked(shaped(), NoObserver, |remote| {
                let (came, rate) = flood(&link, flows, RATE, Duration::from_secs(4));
                let snapshot = remote.snapshot().expect("it answers");
                (came, rate, by_worker(&snapshot))
            });
            let queue = stats.up.queue;
            let left = queue.dequeued.packets + queue.dropped.packets;
            assert_eq!(queue.offered.packets, left + stats.up.backlog.packets);
            // Beside the flows there are a few packets of the hosts' own.
            let busy = workers.iter().filter(|&&packets| packets > 1000).count();
            assert!(busy <= usize::from(flows.min(2)), "{workers:?}");
            assert!(
                came.keys()
                    .all(|port| (FIRST..FIRST + flows).contains(port))
            );
            (flows, came, rate, workers)
        })
    };
    measured(run, |found| {
        for (flows, came, rate, workers) in found {
            assert_eq!(came.len(), usize::from(*flows));
            assert!(
                (rate / RATE as f64 - 1.0).abs() < 0.01,
                "{flows}: {rate} bit/s"
            );
            let jain = jain(came);
            assert!(jain > 0.98, "{jain}");
            let busy = workers.iter().filter(|&&packets| packets > 1000).count();
            assert_eq!(busy, usize::from(*flows.min(&2)), "{workers:?}");
        }
    });
}

/// Frames that are no IP, and those of a flow in both directions, are one worker's: nothing is
/// doubled, lost or out of order.
#[test]
fn what_has_no_ports_stays_in_order() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ours = |got: &[u8]| got[12..14] == [0x88, 0xb5];
    link.bridged(two("pfifo"), || {
        stay_on_a_processor();
        for number in 0..500_u32 {
            left.send(&frame(
                0x88b5,
                &[&number.to_be_bytes()[..], &[0; 60]].concat(),
            ));
        }
        for number in 0..500_u32 {
            let got = right.receive(ours).expect("it arrives");
            assert_eq!(got[14..18], number.to_be_bytes());
        }
        assert_eq!(right.count(0, ours), 0);
    });
}

/// A new rate holds for all workers, captures and the table of flows have the frames of all.
#[test]
fn whoever_asks_gets_one_answer_of_all() {
    let run = || {
        let link = Link::new();
        let asked = link.asked(shaped(), NoObserver, |remote| {
            let (probe, view) = probe(&[CapturePoint::Beyond(Side::Up)], 64);
            let mut view = view.of_threads(2);
            let _showing = remote.show(probe).expect("there is room");
            let empty = || Side::BOTH.map(|_| FlowTable::new(1));
            remote.flows(empty()).expect("it answers");
            flood(&link, 16, RATE, Duration::from_millis(1200));
            let [up, _] = remote.flows(empty()).expect("it answers");
            let up = up.expect("it has counted");
            let seen = up
                .flows()
                .map(|(key, _)| key.src_port)
                .filter(|port| (FIRST..FIRST + 16).contains(port))
                .count();
            let shown: Vec<_> = std::iter::from_fn(|| view.next(Duration::from_millis(1)))
                .map(|shown| shown.at)
                .collect();
            assert!(shown.is_sorted(), "by when they passed");
            let slower = "cake bandwidth 10mbit besteffort".parse().expect("valid");
            remote.change(Side::Up, slower).expect("it can");
            let (_, rate) = flood(&link, 16, RATE, Duration::from_secs(4));
            let text = remote.snapshot().expect("it answers").text();
            assert!(text.contains("cake_mq 8001: dev b1 root refcnt 2 bandwidth 10Mbit queues 2"));
            let refused = remote.set_rate(Side::Up, LineRate::Fixed(Rate::from_bps(1_000_000)));
            assert!(
                matches!(refused, Err(RemoteError::Workers(_))),
                "{refused:?}"
            );
            assert_eq!(seen, 16, "each flow has sent");
            (shown.len(), rate)
        });
        asked.0
    };
    measured(run, |&(shown, rate)| {
        assert!(shown > 1000, "{shown}");
        assert!((rate / 10e6 - 1.0).abs() < 0.02, "{rate}");
    });
}

/// What several workers cannot do is refused by its name.
#[test]
fn what_cannot_be_shared_is_refused() {
    let link = Link::new();
    let with = |change: &dyn Fn(&mut BridgeConfig)| {
        let mut config = shaped();
        change(&mut config);
        let open = || Bridge::open(config).err().expect("it refuses").to_string();
        link.middle.run(open)
    };
    let rate = LineRate::Fixed(Rate::from_bps(1_000_000));
    let refused = with(&|config| config.down.line.rate = rate.clone());
    assert!(refused.contains("`bandwidth`"), "{refused}");
    let refused = with(&|config| config.port = PortChoice::Xdp);
    assert!(refused.contains("AF_PACKET"), "{refused}");
    for spec in [
        "htb rate 5mbit over fq_codel",
        "cake bandwidth 5mbit autorate-ingress",
        "cake_mq bandwidth 5mbit",
    ] {
        let refused = with(&|config| config.up.qdisc = spec.parse().expect("valid"));
        assert!(refused.starts_with("with several workers "), "{refused}");
    }
}
