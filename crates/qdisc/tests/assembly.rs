//! CAKE's parts under other flow queues, and its own choice of a tin: each assembly is a string.

use crate::common::frame::{Drops, Frame, build, compete, frame, ms, near};
use proptest::prelude::*;
use sojourn_qdisc::{AckFacts, Dequeue, DropReason, Place, Qdisc};
use sojourn_units::Span;
use std::collections::BTreeMap;

/// An AQM that never acts here, so that only the scheduler decides.
const PATIENT: [&str; 3] = [
    "fq_codel target 100s interval 100s",
    "fq_pie target 100s",
    "fq_gsp threshold 100s",
];

/// A link of 10 Mbit/s above the assembly.
fn shaped(spec: &str) -> Box<dyn Qdisc<Frame>> {
    build(&format!("tbf rate 10mbit burst 2000 over {spec}"))
}

/// Host 1 has three flows to 11, host 2 one to 12. By hand: equal flows get a quarter each;
/// between sources 1/6 and 1/2; between destinations the same.
#[test]
fn hosts_share_under_any_aqm() {
    let flows = [
        frame(1, 11, 1),
        frame(1, 11, 2),
        frame(1, 11, 3),
        frame(2, 12, 4),
    ];
    let (equal, fair) = ([0.25; 4], [1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5]);
    for aqm in PATIENT {
        for ways in ["", "set-associative"] {
            for (mode, wanted) in [
                ("", equal),
                ("dual-srchost", fair),
                ("dual-dsthost", fair),
                ("triple-isolate", fair),
            ] {
                let spec = format!("{aqm} {mode} {ways}");
                near(&compete(shaped(&spec), &flows, 5), &wanted, 0.01);
            }
        }
    }
}

/// A translation hides both hosts behind one address; looked up, they share again.
#[test]
fn a_translation_is_looked_up() {
    let hidden = |src, port| Frame {
        inside: Some(src),
        ..frame(99, 11, port)
    };
    let flows = [hidden(1, 1), hidden(1, 2), hidden(1, 3), hidden(2, 4)];
    for spec in [
        "fq_pie target 100s dual-srchost",
        "cake besteffort dual-srchost rtt 10s",
    ] {
        near(&compete(shaped(spec), &flows, 5), &[0.25; 4], 0.01);
        let shares = compete(shaped(&format!("{spec} nat")), &flows, 5);
        near(&shares, &[1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5], 0.01);
    }
}

/// Of ten acknowledgements behind a data packet, those that are left; and the report.
#[test]
fn acknowledgements_are_filtered_under_any_aqm() {
    for aqm in PATIENT {
        for (filter, wanted) in [
            ("", 10),
            ("ack-filter", 2),
            ("ack-filter-aggressive set-associative", 1),
        ] {
            let mut queue = build(&format!("{aqm} {filter}"));
            let mut out = Drops::default();
            for id in 0..10 {
                let ack = AckFacts {
                    ack: id as u32 * 1000,
                    flags: 0x10,
                    ..AckFacts::default()
                };
                let packet = Frame {
                    id,
                    len: 66,
                    ack: Some(ack),
                    ..frame(1, 2, 3)
                };
                queue.enqueue(packet, ms(1), &mut out);
            }
            assert_eq!(queue.backlog().packets, wanted, "{aqm} {filter}");
            let place = Place {
                dev: None,
                handle: 1,
            };
            let text = queue.report(ms(1)).tc_text(place);
            let told = text.contains(&format!("ack_drops {}", 10 - wanted));
            assert_eq!(told, !filter.is_empty(), "{text}");
        }
    }
}

/// As many flows as eight ways can hold stand alone; the plain hash has them share.
#[test]
fn few_flows_share_a_queue_in_a_set() {
    let collisions = |ways: &str| {
        let mut queue = build(&format!("fq_gsp flows 64 threshold 100s {ways}"));
        for port in 0..16 {
            queue.enqueue(frame(1, 2, port), ms(1), &mut Drops::default());
            queue.enqueue(frame(1, 2, port), ms(1), &mut Drops::default());
        }
        // Each queue sends its first packet before any sends its second.
        let mut seen = BTreeMap::new();
        for _ in 0..16 {
            if let Dequeue::Packet { packet, .. } = queue.dequeue(ms(1), &mut Drops::default()) {
                *seen.entry(packet.port).or_insert(0) += 1;
            }
        }
        16 - seen.len()
    };
    assert!(collisions("") > 0);
    assert_eq!(collisions("set-associative"), 0);
}

/// The tins that packets with these marks go to, by their order of leaving a link that is given
/// first to the highest.
fn tins(options: &str, packets: &[Frame]) -> Vec<usize> {
    let place = Place {
        dev: None,
        handle: 1,
    };
    let one = |packet: &Frame| {
        let mut queue = build(&format!("cake bandwidth 10mbit {options}"));
        queue.enqueue(*packet, ms(1), &mut Drops::default());
        let json = queue.report(ms(1)).tc_json(place);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let tins = json[0]["tins"].as_array().expect("an array");
        let busy = |tin: &serde_json::Value| tin["sent_packets"] == 1;
        1 + tins.iter().position(busy).expect("it is in a tin")
    };
    packets.iter().map(one).collect()
}

/// `tc-cake(8)`: the mark under the mask, shifted to the mask's lowest bit, is the number of the
/// tin, from 1, in the order of the table; other marks leave the choice to the DSCP.
#[test]
fn marks_and_classes_choose_tins() {
    let marked = |mark| Frame {
        mark,
        dscp: 46,
        ..frame(1, 2, 3)
    };
    let marks = [0, 1, 2, 3, 4, 5, 0x10].map(marked);
    // Bulk, Best Effort, Voice; EF is Voice.
    assert_eq!(tins("diffserv3", &marks), [3; 7]);
    assert_eq!(tins("diffserv3 fwmark 0xf", &marks), [3, 1, 2, 3, 3, 3, 3]);
    assert_eq!(tins("diffserv4 fwmark 0xf", &marks), [4, 1, 2, 3, 4, 4, 4]);
    assert_eq!(tins("besteffort fwmark 0xf", &marks), [1; 7]);
    let shifted = [0x30, 0x1f, 0x20, 0x80, 0xff].map(marked);
    assert_eq!(tins("diffserv8 fwmark 0xf0", &shifted), [3, 1, 2, 8, 7]);
    let class = |class, mark| Frame {
        class,
        ..marked(mark)
    };
    let classes = [class(1, 0), class(2, 0), class(4, 0), class(1, 2)];
    assert_eq!(tins("diffserv3", &classes), [1, 2, 3, 1]);
    assert_eq!(tins("diffserv3 fwmark 3", &classes), [1, 2, 3, 2]);
}

/// One in, n out: a super-packet of 9 segments and a bit between packets of another flow.
#[test]
fn super_packets_are_cut_and_counted() {
    let whole = Frame {
        id: 100,
        len: 9 * 1514 + 200,
        segment: 1514,
        ..frame(1, 2, 3)
    };
    for (options, packets) in [("", 10), ("split-gso", 10), ("no-split-gso", 1)] {
        for above in ["", "tbf rate 1gbit burst 20000 over "] {
            let mut queue = build(&format!("{above}cake besteffort {options}"));
            let mut out = Drops::default();
            queue.enqueue(whole, ms(1), &mut out);
            let held = queue.backlog();
            assert_eq!((held.packets, held.bytes), (packets, u64::from(whole.len)));
            let mut ids = Vec::new();
            let mut now = ms(1);
            loop {
                match queue.dequeue(now, &mut out) {
                    Dequeue::Packet { packet, .. } => ids.push(packet.id),
                    Dequeue::NotBefore(time) => now = time,
                    Dequeue::Empty => break,
                }
            }
            assert_eq!(ids, (100..100 + packets).collect::<Vec<_>>());
            let counters = queue.counters();
            assert_eq!(counters.offered, counters.dequeued, "{above}{options}");
            assert_eq!(counters.offered.packets, packets);
        }
    }
}

/// Whole or cut, the link is charged the same: by segments, each with its overhead.
#[test]
fn a_super_packet_costs_what_its_segments_cost() {
    // Each of 2 segments of 1000 bytes and one of 500, less 14, plus 40: 22, 22 and 11 cells of
    // 53 bytes at 8 Mbit/s.
    let whole = Frame {
        len: 2500,
        segment: 1000,
        ..frame(1, 2, 3)
    };
    for split in ["split-gso", "no-split-gso"] {
        let mut queue = build(&format!("cake bandwidth 8mbit pppoe-llcsnap {split}"));
        let mut out = Drops::default();
        queue.enqueue(whole, ms(1), &mut out);
        queue.enqueue(frame(1, 2, 3), ms(1), &mut out);
        let mut now = ms(1);
        let last = loop {
            match queue.dequeue(now, &mut out) {
                Dequeue::Packet { packet, .. } if packet.segment == 0 => break now,
                Dequeue::Packet { .. } => {}
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Empty => panic!("the last packet is gone"),
            }
        };
        let cells = 22 + 22 + 11;
        assert_eq!(last, ms(1) + Span::from_micros(cells * 53), "{split}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32, u32, u16),
    Take(u8),
    Wait(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offer = (0_u32..12, 0_u32..4000, any::<u16>());
    proptest::collection::vec(
        prop_oneof![
            6 => offer.prop_map(|(flow, len, number)| Step::Offer(flow, len, number)),
            3 => (1_u8..5).prop_map(Step::Take),
            2 => (0_u32..20_000_000).prop_map(Step::Wait),
        ],
        1..300,
    )
}

fn assembly() -> impl Strategy<Value = String> {
    let one_of = |words: &'static [&'static str]| proptest::sample::select(words);
    (
        one_of(&[
            "fq_codel target 2ms interval 10ms",
            "fq_pie target 2ms tupdate 2ms",
            "fq_gsp threshold 2ms interval 10ms",
        ]),
        one_of(&[
            "",
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ]),
        one_of(&["", "set-associative"]),
        one_of(&["", "nat"]),
        one_of(&["", "ack-filter", "ack-filter-aggressive"]),
        one_of(&["flows 1", "flows 8", "flows 1024"]),
        1_u32..40,
        one_of(&["", "memory_limit 9000"]),
    )
        .prop_map(|(aqm, mode, ways, nat, acks, flows, limit, memory)| {
            format!("{aqm} {mode} {ways} {nat} {acks} {flows} limit {limit} {memory}")
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every packet comes out once, each flow in order, and the limits and books hold.
    #[test]
    fn every_assembly_keeps_the_laws(spec in assembly(), steps in steps()) {
        let mut queue = build(&spec);
        let shown = queue.spec().expect("of words").to_string();
        prop_assert_eq!(build(&shown).spec(), queue.spec());
        // Flows that share a bucket of a set may be reordered when a way becomes free.
        let shares = spec.contains("set-associative") && !spec.contains("1024");
        let limit: u64 = spec.split("limit ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|limit| limit.parse().ok()).expect("a limit");
        let (mut now, mut out, mut next, mut taken) = (ms(1), Drops::default(), 0, 0);
        let mut last = BTreeMap::new();
        for step in steps.iter().copied().chain([Step::Take(u8::MAX)]) {
            match step {
                Step::Offer(flow, len, number) => {
                    let facts = AckFacts {
                        ack: u32::from(number),
                        flags: 0x10,
                        ..AckFacts::default()
                    };
                    let packet = Frame {
                        id: next,
                        len,
                        ack: (len < 1000).then_some(facts),
                        inside: (flow % 3 == 0).then_some(flow),
                        ..frame(flow % 4, flow / 4, flow)
                    };
                    next += 1;
                    queue.enqueue(packet, now, &mut out);
                    prop_assert!(queue.backlog().packets <= limit);
                }
                Step::Take(times) => for _ in 0..times {
                    if let Dequeue::Packet { packet, .. } = queue.dequeue(now, &mut out) {
                        taken += 1;
                        let before = last.insert(packet.port, packet.id);
                        prop_assert!(shares || before.is_none_or(|id| id < packet.id), "reordered");
                    } else {
                        prop_assert_eq!(queue.backlog().packets, 0);
                    }
                },
                Step::Wait(nanos) => now += Span::from_nanos(u64::from(nanos)),
            }
            let counters = queue.counters();
            let held = queue.backlog();
            prop_assert_eq!(counters.offered.packets, next);
            prop_assert_eq!(counters.dropped.packets, out.0.len() as u64);
            prop_assert_eq!(next, taken + out.0.len() as u64 + held.packets);
            let gone = counters.dequeued.bytes + counters.dropped.bytes;
            prop_assert_eq!(counters.offered.bytes, gone + held.bytes);
        }
        let is_filter = |reason: &DropReason| *reason == DropReason::AckFilter;
        let filtered = out.0.iter().filter(|(_, reason)| is_filter(reason)).count();
        prop_assert!(spec.contains("ack-filter") || filtered == 0);
    }
}

/// Linux `tbf_segment`: a super-packet that is larger than the bucket is cut, another one is not.
#[test]
fn a_bucket_cuts_what_is_larger() {
    let whole = Frame {
        id: 100,
        len: 2 * 1514 + 200,
        segment: 1514,
        ..frame(1, 2, 3)
    };
    for (burst, packets) in [(3227, 3), (3228, 1)] {
        let mut queue = build(&format!("tbf rate 1mbit burst {burst} over pfifo limit 10"));
        let mut out = Drops::default();
        queue.enqueue(whole, ms(1), &mut out);
        let held = queue.backlog();
        assert_eq!((held.packets, held.bytes), (packets, 3228), "{burst}");
        assert_eq!(queue.counters().offered.packets, packets);
    }
    // Its segments are too large as well.
    let mut queue = build("tbf rate 1mbit burst 1513 over pfifo limit 10");
    queue.enqueue(whole, ms(1), &mut Drops::default());
    assert_eq!(queue.counters().dropped.packets, 2);
    assert_eq!(queue.backlog().bytes, 200);
}
