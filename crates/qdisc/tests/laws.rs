//! Laws that hold for every discipline and every sequence of calls.

use crate::common::{Log, TestPacket};
use proptest::collection::vec;
use proptest::prelude::*;
use sojourn_qdisc::{
    AdthParams, Aimed, Aqm, Capacity, CeSelector, Codel, CodelLaw, CodelParams, Dequeue,
    DropReason, DualDrop, DualLaw, DualOverload, DualPi2Params, Ecn, End, FlowParams, FlowParts,
    GspParams, Limit, Pie, PieLaw, PieParams, PieState, Policy, Qdisc, RedLaw, RedParams, RedUnit,
    RedWeight, Setting, SingleQueue, Spec, SteerParams,
};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Offer a packet of this length and flow, ECN-capable or not.
    Offer(u32, u32, bool),
    /// Take packets.
    Take(u8),
    /// Let time pass.
    Wait(u64),
    /// The clock jumps back.
    Back(u64),
    /// The limit changes on the live instance.
    Limit(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![
        4 => 40_u32..1515,
        1 => Just(0_u32),
        1 => 1515_u32..70_000,
        1 => Just(u32::MAX),
    ];
    let gap = prop_oneof![
        6 => 0_u64..5_000_000,
        3 => 0_u64..200_000_000,
        1 => Just(u64::MAX),
        1 => 0_u64..100_000_000_000,
    ];
    let step = prop_oneof![
        10 => (len, 0_u32..40, any::<bool>()).prop_map(|(l, f, e)| Step::Offer(l, f, e)),
        5 => (1_u8..4).prop_map(Step::Take),
        4 => gap.prop_map(Step::Wait),
        1 => (0_u64..1_000_000_000).prop_map(Step::Back),
        1 => (0_u32..60).prop_map(Step::Limit),
    ];
    vec(step, 1..400)
}

fn codel() -> impl Strategy<Value = CodelParams> {
    let switches = (any::<bool>(), proptest::sample::select(&CodelLaw::ALL[..]));
    (0_u64..20, 0_u64..200, switches, any::<Option<u8>>()).prop_map(|(t, i, (ecn, law), ce)| {
        CodelParams {
            target: Span::from_millis(t),
            interval: Span::from_millis(i),
            ecn,
            ce_threshold: ce.map(|ms| Span::from_millis(u64::from(ms))),
            ce_selector: CeSelector::All,
            law,
        }
    })
}

fn pie() -> impl Strategy<Value = PieParams> {
    (
        0_u64..50,
        0_u64..40,
        0_u32..33,
        0_u32..33,
        any::<[bool; 3]>(),
        proptest::sample::select(&PieLaw::ALL[..]),
    )
        .prop_map(
            |(target, tupdate, alpha, beta, [ecn, bytemode, dq_rate_estimator], law)| PieParams {
                target: Span::from_millis(target),
                tupdate: Span::from_millis(tupdate),
                alpha,
                beta,
                ecn,
                bytemode,
                dq_rate_estimator,
                law,
                ..PieParams::default()
            },
        )
}

fn gsp() -> impl Strategy<Value = GspParams> {
    let times = (0_u64..20, 0_u64..300, 0_u64..2000, 0_u64..400);
    (times, 0_u32..5, any::<bool>()).prop_map(|((threshold, interval, tau, least), alpha, ecn)| {
        GspParams {
            threshold: Span::from_millis(threshold),
            interval: Span::from_millis(interval),
            alpha,
            tau: Span::from_millis(tau),
            min_interval: Span::from_millis(least),
            ecn,
        }
    })
}

fn adth() -> impl Strategy<Value = AdthParams> {
    let end = || prop_oneof![Just(End::Head), Just(End::Tail)];
    let times = (0_u64..300, 0_u64..200);
    let limits = (0_u32..5, 0_u32..50, 0_f64..1.0, 0_f64..4.0);
    (times, limits, end(), end(), any::<bool>()).prop_map(
        |((target, sampling), (min, max, fmin, fmax), drop, full, purge)| AdthParams {
            target: Span::from_millis(target),
            sampling: Span::from_millis(sampling),
            min,
            max,
            fmin,
            fmax,
            drop,
            full,
            purge,
        },
    )
}

fn policy() -> impl Strategy<Value = SteerParams> {
    let rate = proptest::option::of((0_u64..1_000_000_000).prop_map(Rate::from_bps));
    (rate, 0_u32..101, 0_u64..50, 0_u32..101).prop_map(|(rate, util, delay, ceiling)| SteerParams {
        rate,
        util,
        delay: Span::from_millis(delay),
        ceiling,
    })
}

fn red() -> impl Strategy<Value = RedParams> {
    (any::<[bool; 9]>(), 0_u32..60, 0_f64..=1.0, 0_u64..20).prop_map(
        |(on, burst, probability, min)| {
            let (unit, scale) = if on[0] {
                (RedUnit::Packets, 1)
            } else {
                (RedUnit::Bytes, 1000)
            };
            RedParams {
                unit,
                min: min * scale,
                max: 20 * scale,
                avpkt: 1000,
                weight: RedWeight::Burst(burst),
                probability,
                bandwidth: Rate::from_bps(10_000_000),
                adaptive: on[1],
                ecn: on[2],
                harddrop: on[3],
                nodrop: on[4],
                gentle: on[5],
                wait: on[6],
                spare: on[7],
                bytemode: on[8],
                law: RedLaw::Paper,
            }
        },
    )
}

fn flows() -> impl Strategy<Value = FlowParams> {
    let flows = prop_oneof![Just(1_u32), Just(8), Just(1024), Just(65_536)];
    let memory = prop_oneof![Just(0_u64), 1_u64..100_000, Just(u64::MAX)];
    let quantum = prop_oneof![Just(256_u32), Just(1514), 1_u32..100_000];
    (0_u32..60, flows, memory, quantum, 0_u32..100).prop_map(
        |(limit, flows, memory_limit, quantum, drop_batch)| FlowParams {
            limit,
            flows,
            quantum: Some(quantum),
            memory_limit,
            drop_batch,
            parts: FlowParts::NONE,
        },
    )
}

/// Runs the steps and checks every law after each of them; `most` may be held after any call.
fn check(queue: &mut dyn Qdisc<TestPacket>, steps: &[Step], mut most: Capacity) {
    let mut log = Log::default();
    let mut now = 0_u64;
    let mut next_id = 0;
    let mut held = BTreeMap::new();
    let mut last_of_flow = BTreeMap::new();
    for step in steps {
        match *step {
            Step::Offer(len, flow, capable) => {
                let mut packet = TestPacket::of_flow(next_id, len, flow, 1024);
                // Other flows may share a bucket; the hash alone tells flows apart here.
                packet.hash = packet.hash.wrapping_add(flow.wrapping_mul(0x9e37_79b9));
                packet.ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                next_id += 1;
                held.insert(packet.id, (packet, now));
                queue.enqueue(packet, Time::from_nanos(now), &mut log);
            }
            Step::Take(times) => {
                for _ in 0..times {
                    take(queue, now, &mut log, &mut held, &mut last_of_flow);
                    account(queue, &mut log, &mut held);
                }
            }
            Step::Wait(span) => now = now.saturating_add(span),
            Step::Back(span) => now = now.saturating_sub(span),
            Step::Limit(limit) => {
                change_limit(queue, limit, now);
                most.packets = most.packets.max(limit.into());
            }
        }
        account(queue, &mut log, &mut held);
        shows_numbers(queue, now);
        let backlog = queue.backlog();
        assert!(backlog.packets <= most.packets && backlog.bytes <= most.bytes);
    }
    // Drain: nothing is left behind, and everything has come out once.
    while queue.backlog().packets > 0 {
        take(queue, now, &mut log, &mut held, &mut last_of_flow);
        account(queue, &mut log, &mut held);
        now = now.saturating_add(1_000_000);
    }
    assert!(held.is_empty());
    assert_eq!(
        queue.dequeue(Time::from_nanos(now), &mut log),
        Dequeue::Empty
    );
}

/// Changes the packet limit, which must not touch what is held.
fn change_limit(queue: &mut dyn Qdisc<TestPacket>, new: u32, now: u64) {
    let mut spec = queue.spec().expect("of words");
    match &mut spec {
        Spec::Single {
            limit: Limit::Packets(limit),
            ..
        } => *limit = u64::from(new),
        Spec::Flows { flows, .. } => flows.limit = new,
        _ => return,
    }
    let before = (*queue.counters(), queue.backlog());
    queue
        .change(&spec, Time::from_nanos(now))
        .expect("it is of the same kind");
    assert_eq!((*queue.counters(), queue.backlog()), before);
    assert_eq!(queue.spec(), Some(spec));
}

fn take(
    queue: &mut dyn Qdisc<TestPacket>,
    now: u64,
    log: &mut Log,
    held: &mut BTreeMap<u64, (TestPacket, u64)>,
    last_of_flow: &mut BTreeMap<u32, u64>,
) {
    let before = queue.backlog().packets;
    match queue.dequeue(Time::from_nanos(now), log) {
        Dequeue::Packet { packet, sojourn } => {
            let (offered, at) = held.remove(&packet.id).expect("it was held");
            assert_eq!((packet.len, packet.hash), (offered.len, offered.hash));
            assert_eq!(sojourn.as_nanos(), now.saturating_sub(at));
            if packet.ecn == Ecn::Ce {
                assert_eq!(offered.ecn, Ecn::Ect0, "only capable packets are marked");
            }
            if let Some(last) = last_of_flow.insert(packet.hash, packet.id) {
                assert!(last < packet.id, "a flow was reordered");
            }
        }
        Dequeue::Empty => {
            assert_eq!(queue.backlog().packets, 0, "packets behind an empty answer");
            assert_eq!(before, log.dropped.len() as u64);
        }
        Dequeue::NotBefore(_) => panic!("no shaper here"),
    }
}

/// offered = dequeued + dropped + held, in packets and bytes, and marks are told.
fn account(
    queue: &dyn Qdisc<TestPacket>,
    log: &mut Log,
    held: &mut BTreeMap<u64, (TestPacket, u64)>,
) {
    for (packet, _) in log.dropped.drain(..) {
        assert!(held.remove(&packet.id).is_some(), "dropped twice");
    }
    let (c, backlog) = (queue.counters(), queue.backlog());
    assert_eq!(
        c.offered.packets,
        c.dequeued.packets + c.dropped.packets + backlog.packets
    );
    assert_eq!(
        c.offered.bytes,
        c.dequeued.bytes + c.dropped.bytes + backlog.bytes
    );
    assert_eq!(c.drops.iter().sum::<u64>(), c.dropped.packets);
    assert_eq!(c.marked.packets, log.marked.len() as u64);
    assert_eq!(backlog.packets, held.len() as u64);
    let bytes: u64 = held.values().map(|(p, _)| u64::from(p.len)).sum();
    assert_eq!(backlog.bytes, bytes);
}

/// What a discipline shows of itself is a number, at any time.
fn shows_numbers(queue: &dyn Qdisc<TestPacket>, now: u64) {
    queue.gauges(Time::from_nanos(now), &mut |gauge| {
        assert!(gauge.value.is_finite(), "{}: {}", gauge.name, gauge.value);
    });
}

/// Runs the steps on what is built from a spec.
fn built(spec: &Spec, steps: &[Step]) {
    let most = match spec {
        Spec::Single { limit, .. } => limit.most(),
        Spec::Flows { flows, .. } => Capacity {
            packets: flows.limit.into(),
            bytes: flows.memory_limit,
        },
        Spec::DualPi2(dual) => Capacity::of_packets(dual.limit.into()),
        _ => Capacity::of_packets(u64::MAX),
    };
    let setting = Setting {
        seed: 9,
        name: "laws",
        mtu: 1514,
        link_header: 14,
    };
    check(spec.build(setting).as_mut(), steps, most);
}

fn single(limit: u32, policy: impl Into<Policy>, steps: &[Step]) {
    built(&Spec::single(limit, policy), steps);
}

fn flow(flows: FlowParams, policy: impl Into<Aimed>, steps: &[Step]) {
    built(&Spec::flows(flows, policy), steps);
}

/// The same discipline, steered.
fn steered(spec: Spec, policy: SteerParams, steps: &[Step]) {
    built(&spec.steered(policy).expect("it has a target"), steps);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn codel_keeps_the_laws(aqm in codel(), limit in 0_u32..50, steps in steps()) {
        single(limit, aqm, &steps);
    }

    #[test]
    fn dualpi2_keeps_the_laws(
        limit in 1_u32..50,
        millis in 1_u64..20,
        at in proptest::sample::select(&DualDrop::ALL[..]),
        overload in proptest::sample::select(&DualOverload::ALL[..]),
        law in proptest::sample::select(&DualLaw::ALL[..]),
        steps in steps(),
    ) {
        let params = DualPi2Params {
            limit,
            target: Span::from_millis(millis),
            tupdate: Span::from_millis(millis),
            at,
            overload,
            law,
            ..DualPi2Params::default()
        };
        built(&Spec::DualPi2(params), &steps);
    }

    #[test]
    fn pie_keeps_the_laws(aqm in pie(), limit in 0_u32..50, steps in steps()) {
        single(limit, aqm, &steps);
    }

    #[test]
    fn gsp_keeps_the_laws(aqm in gsp(), limit in 0_u32..50, steps in steps()) {
        single(limit, aqm, &steps);
    }

    #[test]
    fn fq_gsp_keeps_the_laws(params in flows(), aqm in gsp(), steps in steps()) {
        flow(params, aqm, &steps);
    }

    #[test]
    fn adth_keeps_the_laws(aqm in adth(), limit in 0_u32..50, steps in steps()) {
        single(limit, aqm, &steps);
    }

    #[test]
    fn fq_adth_keeps_the_laws(params in flows(), aqm in adth(), steps in steps()) {
        flow(params, aqm, &steps);
    }

    #[test]
    fn steering_keeps_the_laws(
        policy in policy(),
        aqms in (codel(), pie(), gsp()),
        limit in 0_u32..50,
        params in flows(),
        steps in steps(),
    ) {
        let (codel, pie, gsp) = aqms;
        steered(Spec::single(limit, codel), policy, &steps);
        steered(Spec::single(limit, pie), policy, &steps);
        steered(Spec::single(limit, gsp), policy, &steps);
        steered(Spec::flows(params, pie), policy, &steps);
        steered(Spec::flows(params, gsp), policy, &steps);
    }

    #[test]
    fn red_keeps_the_laws(params in red(), steps in steps()) {
        let limit = match params.unit {
            RedUnit::Packets => Limit::Packets(40),
            RedUnit::Bytes => Limit::Bytes(40_000),
        };
        built(&Spec::Single { limit, policy: params.into() }, &steps);
    }

    #[test]
    fn fq_codel_keeps_the_laws(params in flows(), aqm in codel(), steps in steps()) {
        flow(params, aqm, &steps);
    }

    #[test]
    fn fq_pie_keeps_the_laws(params in flows(), aqm in pie(), steps in steps()) {
        flow(params, aqm, &steps);
    }

    #[test]
    fn updates_made_up_for_late_are_the_same_as_in_time(
        polls in vec(0_u64..400, 1..60),
        sojourn in 0_u64..400,
    ) {
        // One queue is asked about an arrival of no consequence at every update, the other only
        // now and then; both must hold the same probability whenever both were asked.
        let packet = sojourn_qdisc::Facts::new(0, &Ecn::NotEct);
        let view = sojourn_qdisc::QueueView {
            packets: 1,
            bytes: 100,
            total_bytes: 100,
            ..Default::default()
        };
        let new = || Pie::new(PieParams::default(), 1514, Stream::named(1, "pie"));
        let (mut often, mut seldom) = (new(), new());
        let (mut a, mut b) = (PieState::default(), PieState::default());
        let mut now = 0;
        for gap in polls {
            let at = Time::from_nanos(now * 1_000_000);
            let delay = Span::from_millis(if gap % 3 == 0 { 0 } else { sojourn });
            often.leave(&mut a, view, packet, delay, at);
            seldom.leave(&mut b, view, packet, delay, at);
            for ms in now..=now + gap {
                often.arrive(&mut a, view, packet, Time::from_nanos(ms * 1_000_000));
            }
            now += gap;
            seldom.arrive(&mut b, view, packet, Time::from_nanos(now * 1_000_000));
            prop_assert_eq!(a.prob.to_bits(), b.prob.to_bits());
            prop_assert_eq!(a.delay, b.delay);
        }
    }
}

#[test]
fn drops_of_a_full_single_queue_are_tail_drops() {
    let codel = Codel::new(CodelParams::default(), 1514);
    let mut queue = SingleQueue::new(Limit::Packets(1), codel);
    let mut log = Log::default();
    for id in 0..3 {
        queue.enqueue(TestPacket::new(id, 100), Time::ZERO, &mut log);
    }
    let ids: BTreeSet<u64> = log.dropped.iter().map(|(p, _)| p.id).collect();
    assert_eq!(ids, BTreeSet::from([1, 2]));
    assert_eq!(queue.counters().dropped_for(DropReason::Tail), 2);
}
