//! CAKE as a whole: what the shaper, tins, hosts and the ACK filter do together.

use crate::common::frame::{Drops, Frame, SETTING, frame, ms, near};
use proptest::prelude::*;
use sojourn_qdisc::{AckFacts, Dequeue, DropReason, Ecn, Place, Qdisc, Setting, Spec};
use sojourn_units::{Span, Time};
use std::collections::BTreeMap;

fn cake(options: &str) -> Box<dyn Qdisc<Frame>> {
    crate::common::frame::build(&format!("cake {options}"))
}

fn compete(options: &str, flows: &[Frame], seconds: u64) -> Vec<f64> {
    crate::common::frame::compete(cake(options), flows, seconds)
}

/// R2 of the study: A→A, A→B, A→C twice, B→C, B→D.
fn matrix() -> [Frame; 6] {
    [(1, 1), (1, 2), (1, 3), (1, 3), (2, 3), (2, 4)]
        .map(|(src, dst)| (src, dst + 10))
        .map({
            let mut port = 0;
            move |(src, dst)| {
                port += 1;
                frame(src, dst, port)
            }
        })
}

#[test]
fn hosts_share_as_the_study_says() {
    let run = |mode: &str| {
        compete(
            &format!("bandwidth 10mbit besteffort {mode}"),
            &matrix(),
            20,
        )
    };
    // C3: all equal.
    near(&run("flows"), &[1.0 / 6.0; 6], 0.005);
    // C4: destinations equal; three flows to C share one quarter.
    let third = 0.25 / 3.0;
    near(
        &run("dual-dsthost"),
        &[0.25, 0.25, third, third, third, 0.25],
        0.01,
    );
    // C5: sources equal: four flows of A share half, two of B the other.
    near(
        &run("dual-srchost"),
        &[0.125, 0.125, 0.125, 0.125, 0.25, 0.25],
        0.01,
    );
    // C6: quanta 1/4 four times, 1/3, 1/2.
    near(
        &run("triple-isolate"),
        &[0.136, 0.136, 0.136, 0.136, 0.182, 0.273],
        0.015,
    );
    // One queue for each source, or each destination.
    let by_source = run("srchost");
    near(
        &[by_source[..4].iter().sum(), by_source[4] + by_source[5]],
        &[0.5, 0.5],
        0.01,
    );
    let by_destination = run("dsthost");
    near(&[by_destination[2..5].iter().sum()], &[0.25], 0.01);
    // Everything in one queue leaves in the order of arrival.
    near(&run("flowblind"), &[1.0 / 6.0; 6], 0.05);
}

/// C7 with the kernel's table: EF keeps a quarter, CS1 a sixteenth, best effort has the rest.
#[test]
fn thresholds_limit_priority() {
    let class = |dscp, port| Frame {
        dscp,
        ..frame(port, port, port)
    };
    let flows = [class(0, 1), class(40, 2), class(8, 3), class(46, 4)];
    let shares = compete("bandwidth 10mbit diffserv3", &flows, 20);
    near(&shares, &[0.344, 0.344, 0.0625, 0.25], 0.01);
    // Besteffort does not look at the DSCP.
    near(
        &compete("bandwidth 10mbit besteffort", &flows, 20),
        &[0.25; 4],
        0.005,
    );
    // Alone, even the background tin has the whole link: a threshold is no cap.
    near(
        &compete("bandwidth 10mbit diffserv8", &flows[2..3], 5),
        &[1.0],
        0.001,
    );
}

/// Without a shaper tins share by weight: 1024, 64 and 256.
#[test]
fn tins_share_by_weight_without_a_shaper() {
    let mut queue = cake("diffserv3");
    let mut sent = BTreeMap::new();
    for i in 0..3000_u32 {
        for dscp in [0, 8, 46] {
            let packet = Frame {
                dscp,
                ..frame(1, 1, u32::from(dscp))
            };
            queue.enqueue(
                Frame {
                    id: u64::from(i),
                    ..packet
                },
                ms(1),
                &mut Drops::default(),
            );
        }
    }
    for _ in 0..2000 {
        match queue.dequeue(ms(1), &mut Drops::default()) {
            Dequeue::Packet { packet, .. } => *sent.entry(packet.dscp).or_insert(0_u32) += 1,
            other => panic!("{other:?}"),
        }
    }
    // 2000 packets by 1344 parts.
    assert!(sent[&0].abs_diff(1524) < 10, "{sent:?}");
    assert!(sent[&8].abs_diff(95) < 5, "{sent:?}");
    assert!(sent[&46].abs_diff(381) < 10, "{sent:?}");
}

/// C10: no burst after silence.
#[test]
fn the_first_packets_after_silence_leave_one_time_apart() {
    let mut queue = cake("bandwidth 8mbit besteffort raw");
    let (mut now, mut out) = (ms(1), Drops::default());
    for round in 0..2 {
        let start = now;
        // Each in a flow of its own: COBALT never drops the last packet of a queue.
        for port in 0..10 {
            let packet = Frame {
                len: 1000,
                ..frame(1, 1, port)
            };
            queue.enqueue(packet, now, &mut out);
        }
        let mut times = Vec::new();
        loop {
            match queue.dequeue(now, &mut out) {
                Dequeue::Packet { .. } => times.push(now),
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Empty => break,
            }
        }
        let wanted: Vec<Time> = (0..10).map(|i| start + Span::from_millis(i)).collect();
        assert_eq!(times, wanted, "round {round}");
        now += Span::from_secs(1);
    }
}

/// Overhead counts: 1000 + 40 − 14 bytes are 22 ATM cells, 1166 bytes, 1.166 ms at 8 Mbit/s.
#[test]
fn the_shaper_counts_bytes_on_the_wire() {
    let mut queue = cake("bandwidth 8mbit besteffort pppoe-llcsnap");
    let mut out = Drops::default();
    for id in 0..3 {
        queue.enqueue(
            Frame {
                id,
                len: 1000,
                ..frame(1, 1, 1)
            },
            ms(1),
            &mut out,
        );
    }
    assert!(matches!(
        queue.dequeue(ms(1), &mut out),
        Dequeue::Packet { .. }
    ));
    assert_eq!(
        queue.dequeue(ms(1), &mut out),
        Dequeue::NotBefore(Time::from_nanos(1_000_000 + 1_166_000))
    );
}

/// A link that counts bare IP: 1030 + 40 bytes are 23 cells, 1219 bytes; with an Ethernet header
/// in the 1030 they would be 22.
#[test]
fn bare_packets_have_no_header_to_take_off() {
    let spec: Spec = "cake bandwidth 8mbit besteffort pppoe-llcsnap"
        .parse()
        .expect("valid");
    let bare = Setting {
        link_header: 0,
        ..SETTING
    };
    for (setting, micros) in [(bare, 1219), (SETTING, 1166)] {
        let mut queue = spec.build::<Frame>(setting);
        let mut out = Drops::default();
        for id in 0..2 {
            let packet = Frame {
                id,
                len: 1030,
                ..frame(1, 1, 1)
            };
            queue.enqueue(packet, ms(1), &mut out);
        }
        queue.dequeue(ms(1), &mut out);
        let due = ms(1) + Span::from_micros(micros);
        assert_eq!(queue.dequeue(ms(1), &mut out), Dequeue::NotBefore(due));
    }
}

/// Eight hundred flows of one host against one of another: half each, and the eight hundred
/// equal among themselves, although they wait for their rounds outside the list. The first
/// round, in which every new flow sends, is in the figures.
#[test]
fn a_thousandth_of_a_quantum_is_still_a_fair_share() {
    // The lone flow comes first, or its set might be full and it would share a queue.
    let mut flows = vec![frame(2, 6, 9000)];
    flows.extend((0..800).map(|port| frame(1, 5, port)));
    let options = "bandwidth 100mbit besteffort dual-srchost rtt 1s memlimit 64mb";
    let mut shares = compete(options, &flows, 10);
    assert!((shares[0] - 0.5).abs() < 0.01, "{}", shares[0]);
    // Some of 800 flows share a queue; all others have the same, give or take a packet of fifty.
    shares.sort_by(f64::total_cmp);
    let median = shares[400];
    let equal = |share: &&f64| (**share / median - 1.0).abs() < 0.025;
    let fair = shares.iter().filter(equal).count();
    assert!(fair > 650, "{fair}");
}

#[test]
fn wash_clears_the_class_after_using_it() {
    let mut queue = cake("wash");
    let packet = Frame {
        dscp: 46,
        ecn: Ecn::Ect0,
        ..frame(1, 1, 1)
    };
    queue.enqueue(packet, ms(1), &mut Drops::default());
    let voice = queue.report(ms(1)).tc_text(Place {
        dev: None,
        handle: 1,
    });
    let packets = voice.lines().find(|line| line.starts_with("  pkts"));
    assert_eq!(
        packets,
        Some("  pkts                0            0            1")
    );
    match queue.dequeue(ms(1), &mut Drops::default()) {
        Dequeue::Packet { packet, .. } => assert_eq!((packet.dscp, packet.ecn), (0, Ecn::Ect0)),
        other => panic!("{other:?}"),
    }
}

fn ack(id: u64, number: u32) -> Frame {
    let facts = AckFacts {
        ack: number,
        flags: 0x10,
        ..AckFacts::default()
    };
    Frame {
        id,
        len: 66,
        ack: Some(facts),
        ..frame(1, 1, 1)
    }
}

/// Ids that are left of ten acknowledgements between two data packets.
fn filtered(options: &str) -> (Vec<u64>, u64) {
    let mut queue = cake(options);
    let mut out = Drops::default();
    queue.enqueue(
        Frame {
            id: 100,
            ..frame(1, 1, 1)
        },
        ms(1),
        &mut out,
    );
    for id in 0..10 {
        queue.enqueue(ack(id, 1000 * id as u32), ms(1), &mut out);
    }
    let mut left = Vec::new();
    while let Dequeue::Packet { packet, .. } = queue.dequeue(ms(1), &mut out) {
        left.push(packet.id);
    }
    (left, queue.counters().dropped_for(DropReason::AckFilter))
}

#[test]
fn the_ack_filter_keeps_what_it_should() {
    let all: Vec<u64> = std::iter::once(100).chain(0..10).collect();
    assert_eq!(filtered("no-ack-filter"), (all, 0));
    // Always two left: the newest, and the one before it.
    assert_eq!(filtered("ack-filter"), (vec![100, 8, 9], 8));
    assert_eq!(filtered("ack-filter-aggressive"), (vec![100, 9], 9));
}

/// AccECN's counter in ECE and CWR, as the flags stand without AE: the last acknowledgement of each
/// count stays, so that no mark is missed. With AE set, or AccECN's option, a frame's reader and the
/// simulator call them `other_options`: none of those goes.
#[test]
fn acknowledgements_with_new_counts_of_marks_stay() {
    for (filter, left) in [
        ("ack-filter", vec![2, 3, 5, 7, 8]),
        ("ack-filter-aggressive", vec![2, 3, 5, 8]),
    ] {
        let mut queue = cake(filter);
        let mut out = Drops::default();
        let counts = [0x10, 0x10, 0x10, 0x50, 0x90, 0x90, 0xd0, 0xd0, 0xd0];
        for (id, flags) in (0..).zip(counts) {
            let mut frame = ack(id, 1000 * id as u32);
            frame.ack = frame.ack.map(|facts| AckFacts { flags, ..facts });
            queue.enqueue(frame, ms(1), &mut out);
        }
        let mut found = Vec::new();
        while let Dequeue::Packet { packet, .. } = queue.dequeue(ms(1), &mut out) {
            found.push(packet.id);
        }
        assert_eq!(found, left, "{filter}");
    }
    let mut queue = cake("ack-filter-aggressive");
    let mut out = Drops::default();
    for id in 0..10 {
        let mut frame = ack(id, 1000 * id as u32);
        let accurate = |facts| AckFacts {
            other_options: true,
            ..facts
        };
        frame.ack = frame.ack.map(accurate);
        queue.enqueue(frame, ms(1), &mut out);
    }
    assert!(out.0.is_empty(), "{:?}", out.0);
}

#[test]
fn other_flows_and_ecn_are_left_alone() {
    let mut queue = cake("flowblind ack-filter-aggressive");
    let mut out = Drops::default();
    let mut echo = ack(2, 2000);
    echo.ack = echo.ack.map(|facts| AckFacts {
        flags: 0x50,
        ..facts
    });
    queue.enqueue(ack(0, 1000), ms(1), &mut out);
    queue.enqueue(
        Frame {
            port: 2,
            ..ack(1, 5000)
        },
        ms(1),
        &mut out,
    );
    queue.enqueue(Frame { port: 3, ..echo }, ms(1), &mut out);
    queue.enqueue(
        Frame {
            port: 3,
            ..ack(3, 3000)
        },
        ms(1),
        &mut out,
    );
    assert!(out.0.is_empty(), "{:?}", out.0);
}

#[test]
fn memory_is_taken_from_the_longest_queue_of_all_tins() {
    let mut queue = cake("bandwidth 1mbit memlimit 20000 diffserv3");
    let mut out = Drops::default();
    for id in 0..30 {
        let flood = Frame {
            id,
            dscp: 46,
            ..frame(1, 1, 1)
        };
        queue.enqueue(flood, ms(1), &mut out);
        if id % 10 == 0 {
            let modest = Frame {
                id: 100 + id,
                len: 100,
                ..frame(2, 2, 2)
            };
            queue.enqueue(modest, ms(1), &mut out);
        }
    }
    // 2304 bytes of each full packet, 768 of each small one.
    let held = queue.backlog();
    assert_eq!((held.packets, held.bytes), (10, 3 * 100 + 7 * 1514));
    // At the most beside two small ones, with the packet that was one too many, as the kernel counts:
    // nine full ones and two small.
    let told = queue.report(ms(1)).tc_text(Place {
        dev: None,
        handle: 1,
    });
    assert!(told.contains("memory used: 22272b of 20000b"), "{told}");
    assert!(out.0.iter().all(|(packet, _)| packet.dscp == 46));
    let order: Vec<u64> = out.0.iter().map(|(packet, _)| packet.id).collect();
    assert_eq!(
        order,
        (0..order.len() as u64).collect::<Vec<_>>(),
        "heads first"
    );
    assert!(
        out.0
            .iter()
            .all(|(_, reason)| *reason == DropReason::OverMemory)
    );
}

/// An EF flood starves nobody: beyond a quarter of the link it has no priority.
#[test]
fn a_flood_of_ef_does_not_starve_best_effort() {
    let mut flows = vec![frame(9, 9, 9)];
    for port in 0..20 {
        flows.push(Frame {
            dscp: 46,
            ..frame(1, 1, port)
        });
    }
    let shares = compete("bandwidth 10mbit diffserv4", &flows, 10);
    assert!((shares[0] - 0.75).abs() < 0.02, "{shares:?}");
}

/// The estimate follows what arrives: 1000 bytes each millisecond in bursts of four.
#[test]
fn autorate_follows_the_arrivals() {
    let mut queue = cake("bandwidth 1mbit autorate-ingress besteffort");
    let mut out = Drops::default();
    for tick in 1..20_000_u64 {
        let now = ms(4 * tick);
        for id in 0..4 {
            queue.enqueue(
                Frame {
                    id,
                    len: 1000,
                    ..frame(1, 1, 1)
                },
                now,
                &mut out,
            );
        }
        while let Dequeue::Packet { .. } = queue.dequeue(now, &mut out) {}
    }
    let json = queue.report(ms(80_000)).tc_json(Place {
        dev: None,
        handle: 1,
    });
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let estimate = json[0]["capacity_estimate"].as_f64().expect("a number");
    assert!((estimate / 1e6 - 1.0).abs() < 0.3, "{estimate}");
}

/// The shape of the kernel's JSON: `tc -s -j` of sch_cake in Linux 6.1.192, results R1 and R4 of
/// the kernel's reference runs: names, order and types.
#[test]
fn json_has_the_kernels_shape() {
    let kernel: serde_json::Value =
        serde_json::from_str(include_str!("data/cake-diffserv3.json")).expect("JSON");
    let mut queue = cake("bandwidth 10mbit");
    queue.enqueue(frame(1, 1, 1), ms(1), &mut Drops::default());
    let ours = queue.report(ms(1)).tc_json(Place {
        dev: None,
        handle: 0x10,
    });
    let ours: serde_json::Value = serde_json::from_str(&ours).expect("JSON");
    assert_eq!(shape(&ours[0]), shape(&kernel[0]));
    assert_eq!(ours[0]["options"], kernel[0]["options"]);
    // What follows from the parameters alone is the same number.
    assert_eq!(ours[0]["memory_limit"], kernel[0]["memory_limit"]);
    for tin in 0..3 {
        for name in ["threshold_rate", "target_us", "interval_us", "flow_quantum"] {
            assert_eq!(
                ours[0]["tins"][tin][name], kernel[0]["tins"][tin][name],
                "{tin} {name}"
            );
        }
    }
}

fn shape(value: &serde_json::Value) -> Vec<(String, String)> {
    let object = value.as_object().expect("an object");
    object
        .iter()
        .map(|(name, value)| {
            let kind = match value {
                serde_json::Value::Array(tins) => format!("{:?}", shape(&tins[0])),
                serde_json::Value::Object(_) => format!("{:?}", shape(value)),
                serde_json::Value::Number(_) => "number".to_string(),
                serde_json::Value::Bool(_) => "bool".to_string(),
                _ => "text".to_string(),
            };
            (name.clone(), kind)
        })
        .collect()
}

/// Column widths from outputs that users have posted.
#[test]
fn the_table_of_tins_is_tcs() {
    let queue = cake("bandwidth 20mbit besteffort dual-srchost docsis ack-filter");
    let text = queue.report(ms(1)).tc_text(Place {
        dev: Some("eth0"),
        handle: 0x8011,
    });
    assert_eq!(text, include_str!("data/cake-besteffort.txt"));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32, u8, u32, u16),
    Take(u8),
    Wait(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offer = (0_u32..12, 0_u8..64, 0_u32..2000, any::<u16>());
    proptest::collection::vec(
        prop_oneof![
            6 => offer.prop_map(|(flow, dscp, len, number)| Step::Offer(flow, dscp, len, number)),
            3 => (1_u8..5).prop_map(Step::Take),
            2 => (0_u32..20_000_000).prop_map(Step::Wait),
        ],
        1..300,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every packet comes out once, in order within its flow and class, and the books balance.
    #[test]
    fn nothing_is_lost_or_reordered(
        steps in steps(),
        options in proptest::sample::select(vec![
            "", "diffserv8 ack-filter memlimit 30000", "bandwidth 5mbit ack-filter-aggressive",
            "bandwidth 5mbit ingress precedence dual-srchost memlimit 9000 rtt 1ms",
            "bandwidth 900kbit srchost diffserv4 pppoe-vcmux rtt 2ms", "flowblind wash rtt 100us",
        ]),
        kind in proptest::sample::select(vec!["cake", "cake_mq queues 3"]),
    ) {
        let mut queue = crate::common::frame::build(&format!("{kind} {options}"));
        let (mut now, mut out, mut next, mut taken) = (ms(1), Drops::default(), 0_u64, 0_u64);
        let mut last = BTreeMap::new();
        let mut take = |queue: &mut Box<dyn Qdisc<Frame>>, now, out: &mut Drops| {
            let answer = queue.dequeue(now, out);
            if let Dequeue::Packet { packet, .. } = answer {
                taken += 1;
                let before = last.insert((packet.src, packet.port), packet.id);
                assert!(before.is_none_or(|id| id < packet.id), "reordered");
            }
            let counters = queue.counters();
            assert_eq!(counters.dropped.packets, out.0.len() as u64);
            assert_eq!(counters.dequeued.packets, taken);
            answer
        };
        for step in &steps {
            match *step {
                Step::Offer(flow, dscp, len, number) => {
                    let facts = AckFacts { ack: u32::from(number), flags: 0x10, ..AckFacts::default() };
                    // A flow keeps its class, or tins would reorder it.
                    let packet = Frame {
                        id: next, len, dscp: dscp / 16 * 8, ecn: Ecn::from_bits(dscp & 2),
                        ack: (len < 200).then_some(facts),
                        ..frame(flow % 4, flow / 4, flow << 8 | u32::from(dscp / 16))
                    };
                    next += 1;
                    queue.enqueue(packet, now, &mut out);
                }
                Step::Take(times) => for _ in 0..times { take(&mut queue, now, &mut out); },
                Step::Wait(nanos) => now += Span::from_nanos(u64::from(nanos)),
            }
        }
        loop {
            match take(&mut queue, now, &mut out) {
                Dequeue::Packet { .. } => {}
                Dequeue::NotBefore(time) => { assert!(time > now); now = time; }
                Dequeue::Empty => break,
            }
        }
        let counters = queue.counters();
        prop_assert_eq!(counters.offered.packets, next);
        prop_assert_eq!(next, taken + out.0.len() as u64);
    }
}

/// One hundred thousand flows against 1024 queues: nothing breaks, and memory holds.
#[test]
fn hash_flooding_is_survived() {
    let mut queue = cake("bandwidth 1gbit besteffort memlimit 4mb");
    let mut out = Drops::default();
    for port in 0..100_000_u32 {
        queue.enqueue(frame(port, port / 3, port), ms(1), &mut out);
    }
    let held = queue.backlog();
    assert!(held.bytes + 256 * held.packets <= 4 << 20);
    let mut now = ms(1);
    loop {
        match queue.dequeue(now, &mut out) {
            Dequeue::NotBefore(time) => now = time,
            Dequeue::Packet { .. } => {}
            Dequeue::Empty => break,
        }
    }
    assert_eq!(queue.backlog().packets, 0);
}
