//! Live instances take new parameters, or make way for another discipline, and lose nothing.

use crate::common::frame::{Drops, Frame, frame, ms};
use crate::common::{Log, TestPacket};
use sojourn_qdisc::{
    ChangeError, Dequeue, DropReason, Qdisc, Reconfigured, Setting, Spec, catalogue,
};
use sojourn_units::{Span, Time};
use std::collections::BTreeMap;

const FLOWS: u32 = 1024;
const SETTING: Setting<'static> = Setting {
    seed: 5,
    name: "link.up",
    mtu: 1514,
    link_header: 14,
};

fn spec(text: &str) -> Spec {
    text.parse().expect("valid")
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// 30 packets of three flows, one a millisecond.
fn loaded(spec: &Spec, log: &mut Log) -> Box<dyn Qdisc<TestPacket>> {
    let mut qdisc = spec.build::<TestPacket>(SETTING);
    for id in 0..30 {
        let packet = TestPacket::of_flow(id, 1000, id as u32 % 3, FLOWS);
        qdisc.enqueue(packet, at(id), log);
    }
    qdisc
}

/// Takes all that is held: number and sojourn time of each.
fn empty(qdisc: &mut dyn Qdisc<TestPacket>, mut now: Time, log: &mut Log) -> Vec<(u64, Time)> {
    let mut left = Vec::new();
    loop {
        match qdisc.dequeue(now, log) {
            Dequeue::Packet { packet, sojourn } => left.push((packet.id, now - sojourn)),
            Dequeue::NotBefore(time) => now = time,
            Dequeue::Empty => return left,
        }
    }
}

#[test]
fn every_discipline_can_make_way_for_every_other() {
    for old in catalogue() {
        for new in catalogue() {
            let pair = format!("{} to {}", old.name, new.name);
            let mut log = Log::default();
            let mut qdisc = loaded(&spec(old.example), &mut log);
            let (before, held) = (*qdisc.counters(), qdisc.backlog());
            let wanted = spec(new.example);
            let how = wanted.reconfigure(&mut qdisc, SETTING, at(30));
            assert_eq!(how == Reconfigured::InPlace, old.name == new.name, "{pair}");
            assert_eq!(qdisc.spec(), Some(wanted), "{pair}");
            assert_eq!(
                (*qdisc.counters(), qdisc.backlog()),
                (before, held),
                "{pair}"
            );

            let left = empty(qdisc.as_mut(), at(30), &mut log);
            let counters = qdisc.counters();
            assert_eq!(left.len() + log.dropped.len(), 30, "{pair}");
            assert_eq!(counters.offered.packets, 30, "{pair}");
            assert_eq!(counters.dequeued.packets, left.len() as u64, "{pair}");
            assert_eq!(counters.dropped.packets, log.dropped.len() as u64, "{pair}");
            let mut last = BTreeMap::new();
            for (id, arrived) in left {
                // Its sojourn goes on from when it came, and its flow is in order.
                assert_eq!(arrived, at(id), "{pair}");
                assert!(
                    last.insert(id % 3, id).is_none_or(|before| before < id),
                    "{pair}"
                );
            }
        }
    }
}

#[test]
fn a_lower_limit_lets_the_excess_drain() {
    for (old, new) in [
        ("pfifo limit 100", "pfifo limit 5"),
        ("bfifo limit 100000", "bfifo limit 5000"),
        ("pfifo_head_drop limit 100", "pfifo_head_drop limit 5"),
        ("codel limit 100", "codel limit 5"),
        ("pie limit 100", "pie limit 5"),
        ("gsp limit 100 threshold 1s", "gsp limit 5 threshold 1s"),
        (
            "red limit 100000 avpkt 1000",
            "red limit 7000 min 2000 max 6000 avpkt 1000 burst 9",
        ),
        (
            "tbf rate 1mbit burst 5kb limit 100000",
            "tbf rate 1mbit burst 5kb limit 5000",
        ),
    ] {
        let mut log = Log::default();
        let mut qdisc = loaded(&spec(old), &mut log);
        let held = qdisc.backlog();
        assert_eq!(held.packets, 30, "{old}");
        assert_eq!(qdisc.change(&spec(new), at(30)), Ok(()), "{new}");
        assert_eq!(qdisc.spec(), Some(spec(new)));
        assert_eq!(qdisc.backlog(), held, "{new}");
        // The next arrival does not get in, or takes the place of one.
        qdisc.enqueue(TestPacket::new(30, 1000), at(30), &mut log);
        assert_eq!(qdisc.backlog(), held, "{new}");
        assert_eq!(log.dropped.len(), 1, "{new}");
    }
}

#[test]
fn new_parameters_take_effect_at_once() {
    let mut log = Log::default();
    let mut qdisc = loaded(&spec("fq_codel target 1s interval 2s"), &mut log);
    let tight = spec("fq_codel target 1ms interval 10ms ce_threshold 2ms");
    assert_eq!(qdisc.change(&tight, at(30)), Ok(()));
    let mut qdisc_left = 0;
    for millis in 30..200 {
        if let Dequeue::Packet { .. } = qdisc.dequeue(at(millis), &mut log) {
            qdisc_left += 1;
        }
    }
    assert!(!log.dropped.is_empty() && qdisc_left + log.dropped.len() == 30);
}

#[test]
fn what_cannot_change_is_refused_and_changes_nothing() {
    let mut log = Log::default();
    for (old, new, why) in [
        ("codel", "pie", "a live codel cannot become pie; replace it"),
        (
            "fq_codel flows 8",
            "fq_codel flows 16 target 9ms",
            "`flows` cannot change on a live instance; replace it",
        ),
        (
            "fq_pie quantum 300",
            "fq_pie",
            "`quantum` cannot change on a live instance; replace it",
        ),
        (
            "red limit 100p min 5p max 15p",
            "red limit 100000 avpkt 1000",
            "`limit` cannot change on a live instance; replace it",
        ),
    ] {
        let mut qdisc = loaded(&spec(old), &mut log);
        let before = qdisc.backlog();
        let error: ChangeError = qdisc.change(&spec(new), at(30)).expect_err(new);
        assert_eq!(error.to_string(), why);
        assert_eq!(qdisc.spec(), Some(spec(old)));
        assert_eq!(
            spec(new).reconfigure(&mut qdisc, SETTING, at(30)),
            Reconfigured::Replaced
        );
        assert_eq!((qdisc.spec(), qdisc.backlog()), (Some(spec(new)), before));
    }
}

/// Every option of CAKE in at least one row, most in several values.
const CAKES: [&str; 24] = [
    "",
    "bandwidth 20mbit",
    "bandwidth 1mbit autorate-ingress",
    "bandwidth 20mbit besteffort",
    "precedence",
    "bandwidth 20mbit diffserv4 wash",
    "diffserv8",
    "flowblind",
    "srchost",
    "dsthost wash",
    "hosts",
    "bandwidth 20mbit flows",
    "dual-srchost",
    "bandwidth 20mbit dual-dsthost nat",
    "nat wash",
    "bandwidth 20mbit ingress",
    "bandwidth 20mbit ack-filter diffserv4",
    "ack-filter-aggressive",
    "no-split-gso",
    "rtt 1ms",
    "satellite",
    "bandwidth 20mbit pppoe-llcsnap mpu 64",
    "bandwidth 20mbit docsis besteffort memlimit 9000",
    "bandwidth 1gbit fwmark 0xf",
];

/// What each option can become of each other, on one queue and on several.
#[test]
fn cake_changes_under_load_from_every_option_to_every_other() {
    for old in CAKES {
        for new in CAKES {
            changes_under_load(["cake", "cake"], [old, new]);
            // No queue of several sees all that arrives.
            if !format!("{old}{new}").contains("autorate-ingress") {
                changes_under_load(["cake_mq queues 3", "cake_mq queues 3"], [old, new]);
                changes_under_load(["cake_mq queues 3", "cake"], [old, new]);
            }
        }
    }
}

/// 60 packets of six flows in three classes, some acknowledgements among them, with two changes
/// while they come and go: no packet is lost without a drop that the options or COBALT explain, none
/// comes twice, and each flow keeps its order.
fn changes_under_load(kinds: [&str; 2], options: [&str; 2]) {
    let [old, new] = [0, 1].map(|at| format!("{} {}", kinds[at], options[at]));
    let pair = format!("{old} to {new}");
    let specs = [&old, &new, &old].map(|text| spec(text));
    let mut queue = specs[0].build::<Frame>(SETTING);
    let (mut out, mut left) = (Drops::default(), Vec::new());
    for id in 0..60_u32 {
        let now = ms(u64::from(id));
        let flow = id % 6;
        let packet = Frame {
            id: u64::from(id),
            len: 400 + 100 * flow,
            dscp: [0, 46, 8][flow as usize % 3],
            mark: flow,
            inside: (flow < 3).then_some(flow),
            ..frame(1 + flow % 2, 3, flow)
        };
        queue.enqueue(packet, now, &mut out);
        if id % 20 == 19 {
            let before = (*queue.counters(), queue.backlog());
            let wanted = &specs[(1 + id as usize / 20) % 3];
            wanted.reconfigure(&mut queue, SETTING, now);
            assert_eq!((*queue.counters(), queue.backlog()), before, "{pair}");
            assert_eq!(queue.spec().as_ref(), Some(wanted), "{pair}");
        }
        if id % 3 == 0
            && let Dequeue::Packet { packet, .. } = queue.dequeue(now, &mut out)
        {
            left.push(packet);
        }
    }
    let mut now = ms(60);
    loop {
        match queue.dequeue(now, &mut out) {
            Dequeue::Packet { packet, .. } => left.push(packet),
            Dequeue::NotBefore(time) => now = time,
            Dequeue::Empty => break,
        }
    }
    assert_eq!(left.len() + out.0.len(), 60, "{pair}");
    // COBALT drops the second late packet of each of the six queues, of new ones as well,
    // and has no time for more.
    let explained = pair.contains("memlimit") || pair.contains("1m");
    let by_cobalt = out.0.iter().all(|(_, why)| *why == DropReason::Aqm);
    let few = by_cobalt && out.0.len() <= 3 * 6;
    assert!(explained || few, "{pair}: {:?}", out.0);
    for flow in 0..6 {
        let ids: Vec<u64> = { left.iter() }
            .filter(|packet| packet.port == flow)
            .map(|packet| packet.id)
            .collect();
        assert!(ids.is_sorted(), "{pair}: {ids:?}");
    }
}
