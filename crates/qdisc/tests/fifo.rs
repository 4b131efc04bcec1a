//! The three fifos against a model that is too simple to be wrong.

use crate::common::{Log, TestPacket};
use proptest::collection::vec;
use proptest::prelude::*;
use sojourn_qdisc::{Dequeue, DropReason, Fifo, FifoParams, Qdisc, Spec};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Variant {
    Packets,
    Bytes,
    HeadDrop,
}

impl Variant {
    fn spec(self, limit: u32) -> Spec {
        match self {
            Self::Packets => Spec::pfifo(limit),
            Self::Bytes => Spec::bfifo(u64::from(limit)),
            Self::HeadDrop => Spec::Fifo(FifoParams::HeadDrop(limit)),
        }
    }

    fn fifo(self, limit: u32) -> Fifo<TestPacket> {
        match self {
            Self::Packets => Fifo::new(FifoParams::Packets(limit)),
            Self::Bytes => Fifo::new(FifoParams::Bytes(u64::from(limit))),
            Self::HeadDrop => Fifo::new(FifoParams::HeadDrop(limit)),
        }
    }

    /// What a model does with an arrival: the ids that are dropped.
    fn arrive(self, held: &mut VecDeque<(u64, u32)>, limit: u32, id: u64, len: u32) -> Vec<u64> {
        let bytes: u64 = held.iter().map(|&(_, len)| u64::from(len)).sum();
        let full = match self {
            Self::Packets | Self::HeadDrop => held.len() >= limit as usize,
            Self::Bytes => bytes + u64::from(len) > u64::from(limit),
        };
        match self {
            Self::HeadDrop if full && limit > 0 => {
                let oldest = held.pop_front().map(|(id, _)| id);
                held.push_back((id, len));
                oldest.into_iter().collect()
            }
            _ if full => vec![id],
            _ => {
                held.push_back((id, len));
                vec![]
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32),
    Take,
    Limit(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![0_u32..2000, Just(u32::MAX)];
    let step = prop_oneof![
        6 => len.prop_map(Step::Offer),
        4 => Just(Step::Take),
        1 => (0_u32..20).prop_map(Step::Limit),
        1 => (0_u32..20_000).prop_map(Step::Limit),
    ];
    vec(step, 0..200)
}

proptest! {
    #[test]
    fn a_fifo_is_its_model(
        kind in prop_oneof![Just(Variant::Packets), Just(Variant::Bytes), Just(Variant::HeadDrop)],
        mut limit in prop_oneof![0_u32..20, 0_u32..20_000],
        steps in steps(),
    ) {
        let (mut fifo, mut held) = (kind.fifo(limit), VecDeque::new());
        for (id, step) in (0_u64..).zip(steps) {
            let (now, mut log) = (Time::from_nanos(id * 10), Log::default());
            match step {
                Step::Offer(len) => {
                    fifo.enqueue(TestPacket::new(id, len), now, &mut log);
                    let dropped = kind.arrive(&mut held, limit, id, len);
                    let seen: Vec<u64> = log.dropped.iter().map(|(p, _)| p.id).collect();
                    prop_assert_eq!(seen, dropped);
                    for (packet, reason) in log.dropped {
                        let head = packet.id != id;
                        prop_assert_eq!(reason == DropReason::Head, head);
                        prop_assert_eq!(reason == DropReason::Tail, !head);
                    }
                }
                Step::Take => match (fifo.dequeue(now, &mut log), held.pop_front()) {
                    (Dequeue::Packet { packet, sojourn }, Some((first, len))) => {
                        prop_assert_eq!((packet.id, packet.len), (first, len));
                        prop_assert_eq!(sojourn, Span::from_nanos((id - first) * 10));
                    }
                    (Dequeue::Empty, None) => {}
                    other => prop_assert!(false, "{other:?}"),
                },
                Step::Limit(new) => {
                    limit = new;
                    prop_assert_eq!(fifo.change(&kind.spec(limit), now), Ok(()));
                    prop_assert_eq!(fifo.spec(), Some(kind.spec(limit)));
                }
            }
            let (counters, backlog) = (*fifo.counters(), fifo.backlog());
            prop_assert_eq!(backlog.packets, held.len() as u64);
            prop_assert_eq!(backlog.bytes, held.iter().map(|&(_, len)| u64::from(len)).sum::<u64>());
            prop_assert_eq!(fifo.head_len(), held.front().map(|&(_, len)| len));
            prop_assert_eq!(
                counters.offered.bytes,
                counters.dequeued.bytes + counters.dropped.bytes + backlog.bytes
            );
            prop_assert_eq!(
                counters.offered.packets,
                counters.dequeued.packets + counters.dropped.packets + backlog.packets
            );
        }
    }
}

/// An empty queue lets a packet pass that it would take and give at once, and counts it as if it
/// had; another packet, or one too long, it is to decide about itself.
#[test]
fn what_passes_counts_as_what_is_taken_and_given_at_once() {
    for (kind, limit, len, passes) in [
        (Variant::Packets, 1, 1500, true),
        (Variant::Packets, 0, 1500, false),
        (Variant::Bytes, 1500, 1500, true),
        (Variant::Bytes, 1499, 1500, false),
        (Variant::HeadDrop, 1, 1500, true),
        (Variant::HeadDrop, 0, 1500, false),
    ] {
        let mut short = kind.fifo(limit);
        assert_eq!(short.pass(len), passes, "{kind:?} {limit}");
        let mut long = kind.fifo(limit);
        let mut log = Log::default();
        let packet = TestPacket::new(1, len);
        long.enqueue(packet, Time::ZERO, &mut log);
        let given = matches!(long.dequeue(Time::ZERO, &mut log), Dequeue::Packet { .. });
        assert_eq!(given, passes, "{kind:?} {limit}");
        if passes {
            assert_eq!(short.counters(), long.counters(), "{kind:?} {limit}");
            long.enqueue(packet, Time::ZERO, &mut log);
            assert!(!long.pass(len), "one is held");
        } else {
            assert_eq!(short.counters().offered.packets, 0, "nothing has happened");
        }
    }
}
