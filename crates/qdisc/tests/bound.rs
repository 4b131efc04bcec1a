//! A policy that bounds its queue: against a model that is too simple to be wrong, and its laws in
//! flow queues.

use crate::common::{Log, TestPacket};
use proptest::collection::vec;
use proptest::prelude::*;
use sojourn_qdisc::{
    Aqm, Bound, Capacity, Dequeue, DropReason, End, FlowParams, FlowQueue, Limit, Qdisc, QueueView,
    SingleQueue,
};
use sojourn_random::Stream;
use sojourn_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A limit that moves with time, as an ADTH's would: one value a millisecond, over and over.
#[derive(Clone, Debug)]
struct Moving {
    limits: Vec<Limit>,
    full: End,
    surplus: End,
    /// What it heard: arrivals that were refused, and older packets that made room.
    refused: u64,
    made_room: u64,
}

impl Moving {
    fn at(&self, now: Time) -> Limit {
        self.limits[(now.as_nanos() / 1_000_000) as usize % self.limits.len()]
    }
}

impl Aqm for Moving {
    type State = ();
    type Params = ();

    const BOUNDS: bool = true;

    fn bound(&mut self, _state: &mut (), _queue: QueueView, now: Time) -> Bound {
        Bound {
            limit: self.at(now),
            full: self.full,
            keep: self.at(now),
            surplus: self.surplus,
        }
    }

    fn tail_dropped(&mut self, _state: &mut (), _now: Time) {
        self.refused += 1;
    }

    fn overflowed(&mut self, _state: &mut (), packets: u32, _now: Time) {
        self.made_room += u64::from(packets);
    }
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Head), Just(End::Tail)]
}

fn moving() -> impl Strategy<Value = Moving> {
    let limit = prop_oneof![
        (0_u64..12).prop_map(Limit::Packets),
        (0_u64..9000).prop_map(Limit::Bytes),
        Just(Limit::Packets(u64::MAX)),
    ];
    (vec(limit, 1..8), end(), end()).prop_map(|(limits, full, surplus)| Moving {
        limits,
        full,
        surplus,
        refused: 0,
        made_room: 0,
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32, u32),
    Take,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0_u32..3000, 0_u32..6).prop_map(|(len, flow)| Step::Offer(len, flow)),
        4 => Just(Step::Take),
        3 => (0_u64..3_000_000).prop_map(Step::Wait),
    ];
    vec(step, 1..300)
}

/// One queue as a list: what is dropped, in which order and why.
struct Model {
    held: VecDeque<(u64, u32)>,
    limit: u64,
    moving: Moving,
    dropped: Vec<(u64, DropReason)>,
}

impl Model {
    fn bytes(&self) -> u64 {
        self.held.iter().map(|&(_, len)| u64::from(len)).sum()
    }

    fn fits(&self, more: Capacity, most: Capacity) -> bool {
        self.held.len() as u64 + more.packets <= most.packets
            && self.bytes() + more.bytes <= most.bytes
    }

    fn purge(&mut self, now: Time) {
        let most = self.moving.at(now).most();
        while !self.fits(Capacity::default(), most) {
            let gone = match self.moving.surplus {
                End::Head => self.held.pop_front(),
                End::Tail => self.held.pop_back(),
            };
            let (id, _) = gone.expect("something is too much");
            self.dropped.push((id, DropReason::Surplus));
        }
    }

    fn offer(&mut self, id: u64, len: u32, now: Time) {
        self.purge(now);
        let own = Capacity::of_packets(self.limit);
        let most = self.moving.at(now).most().min(own);
        let more = Capacity {
            packets: 1,
            bytes: len.into(),
        };
        let ever = more.packets <= most.packets && more.bytes <= most.bytes;
        while ever && self.moving.full == End::Head && !self.fits(more, most) {
            let (oldest, _) = self.held.pop_front().expect("an empty one has room");
            self.dropped.push((oldest, DropReason::Head));
        }
        if self.fits(more, most) {
            self.held.push_back((id, len));
        } else {
            self.dropped.push((id, DropReason::Tail));
        }
    }

    fn take(&mut self, now: Time) -> Option<u64> {
        self.purge(now);
        self.held.pop_front().map(|(id, _)| id)
    }
}

fn account(queue: &dyn Qdisc<TestPacket>, log: &Log) {
    let (c, held) = (queue.counters(), queue.backlog());
    assert_eq!(
        c.offered.packets,
        c.dequeued.packets + c.dropped.packets + held.packets
    );
    assert_eq!(
        c.offered.bytes,
        c.dequeued.bytes + c.dropped.bytes + held.bytes
    );
    assert_eq!(c.dropped.packets, log.dropped.len() as u64);
    for reason in DropReason::ALL {
        let told = log.dropped.iter().filter(|(_, why)| *why == reason);
        assert_eq!(c.dropped_for(reason), told.count() as u64, "{reason:?}");
    }
}

proptest! {
    #[test]
    fn one_queue_does_what_the_model_does(
        moving in moving(),
        limit in 0_u64..15,
        steps in steps(),
    ) {
        let (mut log, mut now, mut next) = (Log::default(), Time::ZERO, 0);
        let mut queue = SingleQueue::new(Limit::Packets(limit), moving.clone());
        let mut model = Model { held: VecDeque::new(), limit, moving, dropped: Vec::new() };
        for step in steps {
            match step {
                Step::Offer(len, _) => {
                    queue.enqueue(TestPacket::new(next, len), now, &mut log);
                    model.offer(next, len, now);
                    next += 1;
                }
                Step::Take => {
                    let taken = match queue.dequeue(now, &mut log) {
                        Dequeue::Packet { packet, .. } => Some(packet.id),
                        _ => None,
                    };
                    prop_assert_eq!(taken, model.take(now));
                }
                Step::Wait(nanos) => now = Time::from_nanos(now.as_nanos() + nanos),
            }
            account(&queue, &log);
            let dropped: Vec<_> = log.dropped.iter().map(|(p, why)| (p.id, *why)).collect();
            prop_assert_eq!(&dropped, &model.dropped);
            prop_assert_eq!(queue.backlog().packets, model.held.len() as u64);
            prop_assert_eq!(queue.backlog().bytes, model.bytes());
        }
        let count = |reason| queue.counters().dropped_for(reason);
        prop_assert_eq!(queue.aqm().refused, count(DropReason::Tail));
        prop_assert_eq!(queue.aqm().made_room, count(DropReason::Head));
    }

    #[test]
    fn each_flow_of_a_flow_queue_is_within_its_bound(
        moving in moving(),
        limit in 1_u32..40,
        steps in steps(),
    ) {
        let (mut log, mut now, mut next) = (Log::default(), Time::ZERO, 0);
        let flows = FlowParams { limit, flows: 8, ..FlowParams::default() };
        let dice = Stream::named(1, "hash");
        let mut queue = FlowQueue::new(flows, 1514, dice, moving);
        let mut flow_of = BTreeMap::new();
        let mut last_of_flow = BTreeSet::new();
        for step in steps {
            match step {
                Step::Offer(len, flow) => {
                    let packet = TestPacket::of_flow(next, len, flow, 8);
                    flow_of.insert(next, (flow, len));
                    next += 1;
                    queue.enqueue(packet, now, &mut log);
                    // Of a single queue's flow: what was not dropped and has not left.
                    let gone = |id: &u64| {
                        last_of_flow.contains(&(flow, *id))
                            || log.dropped.iter().any(|(packet, _)| packet.id == *id)
                    };
                    let held = flow_of.iter().filter(|(id, (of, _))| *of == flow && !gone(id));
                    let (mut packets, mut bytes) = (0, 0);
                    for (_, (_, len)) in held {
                        packets += 1;
                        bytes += u64::from(*len);
                    }
                    let most = queue.aqm().at(now).most();
                    prop_assert!(packets <= most.packets && bytes <= most.bytes);
                }
                Step::Take => match queue.dequeue(now, &mut log) {
                    Dequeue::Packet { packet, .. } => {
                        let flow = flow_of[&packet.id].0;
                        let newest = last_of_flow.range((flow, 0)..(flow + 1, 0)).next_back();
                        prop_assert!(newest.is_none_or(|(_, last)| *last < packet.id));
                        last_of_flow.insert((flow, packet.id));
                    }
                    answer => {
                        prop_assert_eq!(answer, Dequeue::Empty);
                        prop_assert_eq!(queue.backlog().packets, 0);
                    }
                },
                Step::Wait(nanos) => now = Time::from_nanos(now.as_nanos() + nanos),
            }
            account(&queue, &log);
            prop_assert!(queue.backlog().packets <= u64::from(limit));
        }
        let count = |reason| queue.counters().dropped_for(reason);
        prop_assert_eq!(queue.aqm().refused, count(DropReason::Tail));
        let overlimit = count(DropReason::Overlimit) + count(DropReason::OverMemory);
        prop_assert_eq!(queue.aqm().made_room, count(DropReason::Head) + overlimit);
        while queue.backlog().packets > 0 {
            queue.dequeue(now, &mut log);
            account(&queue, &log);
        }
    }
}

/// A limit that sinks: the next departure finds only what is left, at either end.
#[test]
fn a_surplus_goes_at_once() {
    for (surplus, left) in [(End::Head, [7, 8, 9]), (End::Tail, [0, 1, 2])] {
        let moving = Moving {
            limits: vec![Limit::Packets(10), Limit::Packets(3)],
            full: End::Tail,
            surplus,
            refused: 0,
            made_room: 0,
        };
        let mut queue = SingleQueue::new(Limit::Packets(1000), moving);
        let mut log = Log::default();
        for id in 0..12 {
            queue.enqueue(TestPacket::new(id, 100), Time::ZERO, &mut log);
        }
        assert_eq!(queue.counters().dropped_for(DropReason::Tail), 2);
        let later = Time::from_nanos(1_000_000);
        let mut sent = Vec::new();
        while let Dequeue::Packet { packet, .. } = queue.dequeue(later, &mut log) {
            sent.push(packet.id);
        }
        assert_eq!(sent, left);
        assert_eq!(queue.counters().dropped_for(DropReason::Surplus), 7);
    }
}
