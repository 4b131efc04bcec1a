//! The flow queue against orders and drops worked out by hand from RFC 8290.

use crate::common::{Log, TestPacket};
use proptest::collection::vec;
use proptest::prelude::*;
use sojourn_qdisc::{
    Aqm, AqmParams, Codel, CodelParams, Dequeue, Discard, DropReason, FlowParams, FlowQueue, Pie,
    PieLaw, PieParams, Qdisc,
};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

const FLOWS: u32 = 8;

fn params() -> FlowParams {
    FlowParams {
        flows: FLOWS,
        quantum: Some(1500),
        ..FlowParams::default()
    }
}

fn fq_codel(params: FlowParams) -> FlowQueue<TestPacket, Codel> {
    let dice = Stream::named(1, "hash");
    FlowQueue::new(params, 1514, dice, Codel::new(CodelParams::default(), 1514))
}

fn fq_pie(params: FlowParams) -> FlowQueue<TestPacket, Pie> {
    let pie = Pie::new(PieParams::default(), 1514, Stream::named(1, "pie"));
    FlowQueue::new(params, 1514, Stream::named(1, "hash"), pie)
}

fn offer<A: Aqm<Params: AqmParams>>(
    queue: &mut FlowQueue<TestPacket, A>,
    flow: u32,
    lens: &[u32],
    log: &mut Log,
) {
    for (i, len) in lens.iter().enumerate() {
        let id = u64::from(flow) * 1000 + i as u64;
        queue.enqueue(TestPacket::of_flow(id, *len, flow, FLOWS), Time::ZERO, log);
    }
}

fn order<A: Aqm<Params: AqmParams>>(queue: &mut FlowQueue<TestPacket, A>) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Dequeue::Packet { packet, .. } = queue.dequeue(Time::ZERO, &mut Discard) {
        ids.push(packet.id);
    }
    ids
}

#[test]
fn deficit_round_robin_serves_mixed_sizes_by_bytes() {
    let mut queue = fq_codel(params());
    let mut log = Log::default();
    offer(&mut queue, 1, &[1500; 4], &mut log);
    offer(&mut queue, 2, &[500; 8], &mut log);
    offer(&mut queue, 3, &[1000; 4], &mut log);
    // By hand, quantum 1500, all flows start as new ones with a deficit of 1500.
    // Flow 1: 1500 - 1500 = 0, spent. Flow 2: three of 500. Flow 3: 1000, then 500 left > 0, so
    // a second one: -500. Round 2, as old flows: flow 1 one (0), flow 2 three (0),
    // flow 3 has 1000: one (0). Round 3: flow 1 one, flow 2 its last two, 500 left, empty: it
    // goes; flow 3 one (500 left), empty. Round 4: flow 1 its last one.
    assert_eq!(
        order(&mut queue),
        [
            1000, 2000, 2001, 2002, 3000, 3001, // new flows
            1001, 2003, 2004, 2005, 3002, // second round
            1002, 2006, 2007, 3003, // third round
            1003,
        ]
    );
    assert!(log.dropped.is_empty());
}

#[test]
fn a_new_flow_goes_before_old_ones_once() {
    let mut queue = fq_codel(params());
    let mut log = Log::default();
    offer(&mut queue, 1, &[600; 8], &mut log);
    let next =
        |queue: &mut FlowQueue<TestPacket, Codel>| match queue.dequeue(Time::ZERO, &mut Discard) {
            Dequeue::Packet { packet, .. } => packet.id,
            other => panic!("{other:?}"),
        };
    for id in 1000..1004 {
        assert_eq!(next(&mut queue), id);
    }
    // Flow 1 is an old flow now, with 600 of its 1500 bytes left. A sparse flow's packet goes
    // first ...
    queue.enqueue(
        TestPacket::of_flow(2000, 100, 2, FLOWS),
        Time::ZERO,
        &mut log,
    );
    assert_eq!(queue.statistics().new_flows_len, 1);
    assert_eq!(next(&mut queue), 2000);
    // ... but emptied, it queues up behind flow 1 and does not become new at once
    // (RFC 8290 section 4.2).
    assert_eq!(next(&mut queue), 1004);
    queue.enqueue(
        TestPacket::of_flow(2001, 100, 2, FLOWS),
        Time::ZERO,
        &mut log,
    );
    let statistics = queue.statistics();
    assert_eq!((statistics.new_flows_len, statistics.old_flows_len), (0, 2));
    assert_eq!(statistics.new_flow_count, 2);
    // Flow 1 has spent its round, so flow 2's packet is next.
    assert_eq!([next(&mut queue), next(&mut queue)], [2001, 1005]);
}

#[test]
fn a_full_queue_drops_half_of_the_fattest_flow_from_its_head() {
    let limit = 50;
    let mut queue = fq_codel(FlowParams { limit, ..params() });
    let mut log = Log::default();
    // 4000 bytes.
    offer(&mut queue, 1, &[100; 40], &mut log);
    // 10000 bytes: the fattest, with fewer packets.
    offer(&mut queue, 2, &[1000; 10], &mut log);
    assert!(log.dropped.is_empty());
    offer(&mut queue, 3, &[60], &mut log);
    let ids: Vec<u64> = log.dropped.iter().map(|(p, _)| p.id).collect();
    assert_eq!(ids, [2000, 2001, 2002, 2003, 2004]);
    assert!(log.dropped.iter().all(|(_, r)| *r == DropReason::Overlimit));
    assert_eq!(queue.statistics().drop_overlimit, 5);
    assert_eq!(queue.backlog().packets, 46);
}

#[test]
fn a_batch_has_at_most_drop_batch_packets() {
    let params = FlowParams {
        limit: 300,
        drop_batch: 64,
        ..params()
    };
    let mut queue = fq_codel(params);
    let mut log = Log::default();
    offer(&mut queue, 1, &[1000; 301], &mut log);
    assert_eq!(log.dropped.len(), 64);
    // CoDel is told, so that its signal grows (Linux: count += dropped).
    let (_, state) = queue.busy_flows().next().expect("a flow is busy");
    assert_eq!(state.count, 64);
}

#[test]
fn memory_is_limited_and_counted_apart() {
    let params = FlowParams {
        memory_limit: 10_000,
        ..params()
    };
    let mut queue = fq_codel(params);
    let mut log = Log::default();
    offer(&mut queue, 1, &[1000; 10], &mut log);
    assert!(log.dropped.is_empty());
    offer(&mut queue, 2, &[1], &mut log);
    assert_eq!(log.dropped.len(), 5);
    let statistics = queue.statistics();
    assert_eq!(
        (statistics.drop_overmemory, statistics.drop_overlimit),
        (5, 5)
    );
    assert_eq!(statistics.memory_used, 5001);
    // A packet larger than all memory is dropped, and takes the fatter flows with it no further.
    offer(&mut queue, 3, &[20_000], &mut log);
    assert_eq!(log.dropped.last().map(|(p, _)| p.id), Some(3000));
    assert_eq!(queue.backlog().packets, 6);
}

#[test]
fn pie_too_drops_from_the_fattest_flow_when_it_is_full() {
    let mut queue = fq_pie(FlowParams {
        limit: 20,
        ..params()
    });
    let mut log = Log::default();
    offer(&mut queue, 1, &[1000; 20], &mut log);
    offer(&mut queue, 2, &[100], &mut log);
    assert_eq!(log.dropped.len(), 10);
    assert!(log.dropped.iter().all(|(p, _)| p.id < 2000));
}

/// Two packets at zero, of which one leaves after 100 ms, and one more at 160: ten updates have used the
/// allowance up. Then the flow is away.
#[test]
fn dummynets_pie_begins_anew_when_its_flow_comes_back() {
    let law = PieParams {
        law: PieLaw::Dummynet,
        ..PieParams::default()
    };
    let pie = Pie::new(law, 1514, Stream::named(1, "pie"));
    let mut queue = FlowQueue::new(params(), 1514, Stream::named(1, "hash"), pie);
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let packet = |id| TestPacket::of_flow(id, 1000, 1, FLOWS);
    queue.enqueue(packet(0), at(0), &mut Discard);
    queue.enqueue(packet(1), at(0), &mut Discard);
    queue.dequeue(at(100), &mut Discard);
    queue.enqueue(packet(2), at(160), &mut Discard);
    let allowance = |queue: &FlowQueue<TestPacket, Pie>| {
        let (_, state) = queue.busy_flows().next().unwrap();
        state.burst_allowance
    };
    assert_eq!(allowance(&queue), Span::ZERO);
    while let Dequeue::Packet { .. } = queue.dequeue(at(170), &mut Discard) {}
    queue.enqueue(packet(3), at(200), &mut Discard);
    assert_eq!(allowance(&queue), Span::from_millis(150));
}

#[test]
fn a_jumbo_packet_is_paid_for_without_walking_every_round() {
    let mut queue = fq_codel(FlowParams {
        quantum: Some(256),
        memory_limit: u64::MAX,
        ..params()
    });
    let mut log = Log::default();
    // Sixteen million rounds each; walked one by one, this test would take minutes.
    for flow in 1..4 {
        offer(&mut queue, flow, &[u32::MAX, u32::MAX - 600, 64], &mut log);
    }
    let ids = order(&mut queue);
    assert_eq!(ids.len(), 9);
    assert_eq!(ids[..3], [1000, 2000, 3000]);
    assert_eq!(ids[3..6], [1001, 2001, 3001]);
}

#[test]
fn parameters_change_without_losing_a_packet() {
    let mut queue = fq_codel(params());
    let mut log = Log::default();
    for flow in 0..4 {
        offer(&mut queue, flow, &[1000; 20], &mut log);
    }
    queue.set_params(FlowParams {
        limit: 10,
        flows: 1,
        quantum: Some(3000),
        ..params()
    });
    queue.aqm_mut().set_params(CodelParams {
        target: Span::from_millis(1),
        ..CodelParams::default()
    });
    assert_eq!(queue.params().flows, FLOWS);
    assert_eq!(queue.backlog().packets, 80);
    assert!(log.dropped.is_empty());
    // The next arrival finds it far over the new limit.
    offer(&mut queue, 5, &[100], &mut log);
    assert!(queue.backlog().packets <= 10);
    assert_eq!(
        queue.backlog().packets as usize + log.dropped.len(),
        81,
        "all accounted for"
    );
}

#[test]
fn millions_of_flows_use_the_memory_of_those_that_wait() {
    let mut queue = fq_codel(FlowParams {
        flows: 65_536,
        limit: 1000,
        ..FlowParams::default()
    });
    let mut log = Log::default();
    let mut dice = Stream::named(3, "flows");
    let mut out = 0;
    for id in 0..2_000_000_u64 {
        let hash = (dice.bits() >> 32) as u32;
        let packet = TestPacket {
            hash,
            ..TestPacket::new(id, 64 + hash % 1400)
        };
        let now = Time::from_nanos(id * 10_000);
        queue.enqueue(packet, now, &mut log);
        if id % 4 != 0 {
            out += u64::from(queue.dequeue(now, &mut Discard) != Dequeue::Empty);
        }
        log.dropped.clear();
    }
    let c = queue.counters();
    assert_eq!(
        c.offered.packets,
        out + c.dropped.packets + queue.backlog().packets
    );
    assert!(queue.backlog().packets <= 1000);
}

/// The scheduler of RFC 8290 section 4.2 as it is written there, for queues that are filled once.
fn rfc_order(flows: &[VecDeque<(u64, u32)>], quantum: i64) -> Vec<u64> {
    let mut queues = flows.to_vec();
    let mut credits = vec![quantum; flows.len()];
    let mut new: VecDeque<usize> = (0..flows.len()).filter(|&i| !flows[i].is_empty()).collect();
    let (mut old, mut order) = (VecDeque::new(), Vec::new());
    loop {
        let from_new = !new.is_empty();
        let list = if from_new { &mut new } else { &mut old };
        let Some(&flow) = list.front() else {
            return order;
        };
        if credits[flow] <= 0 {
            credits[flow] += quantum;
            list.pop_front();
            old.push_back(flow);
        } else if let Some((id, len)) = queues[flow].pop_front() {
            credits[flow] -= i64::from(len);
            order.push(id);
        } else {
            list.pop_front();
            if from_new {
                old.push_back(flow);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Long packets take hundreds of rounds here, which the library skips and the model walks.
    #[test]
    fn the_order_is_that_of_the_rfc(
        lens in vec(vec(prop_oneof![40_u32..1515, 10_000_u32..200_000], 0..8), FLOWS as usize),
        quantum in 256_u32..3000,
    ) {
        let mut queue = fq_codel(FlowParams { quantum: Some(quantum), ..params() });
        let mut log = Log::default();
        let mut model = Vec::new();
        for (flow, lens) in lens.iter().enumerate() {
            offer(&mut queue, flow as u32, lens, &mut log);
            let ids = (0..).map(|i| flow as u64 * 1000 + i);
            model.push(ids.zip(lens.iter().copied()).collect());
        }
        prop_assert_eq!(order(&mut queue), rfc_order(&model, i64::from(quantum)));
    }
}
