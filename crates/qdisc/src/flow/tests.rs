//! What cannot be seen from outside: memory, and debts.

use super::*;
use crate::{Cobalt, CobaltParams, Codel, CodelParams, CodelState, Discard, Ecn, Pie, PieState};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tiny(u32);

impl Packet for Tiny {
    fn len(&self) -> u32 {
        1000
    }

    fn flow_hash(&self, _perturbation: u64) -> u32 {
        self.0
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

fn fq_codel(flows: u32, limit: u32) -> FlowQueue<Tiny, Codel> {
    let params = FlowParams {
        limit,
        flows,
        ..FlowParams::default()
    };
    let codel = Codel::new(CodelParams::default(), 1514);
    FlowQueue::new(params, 1514, Stream::named(1, "hash"), codel)
}

#[test]
fn sizes_are_as_documented() {
    assert!(size_of::<FlowQueue<Tiny, Codel>>() < 760);
    assert!(size_of::<FlowQueue<Tiny, Pie>>() < 760);
    assert_eq!(size_of::<Flow<CodelState, ()>>(), 80);
    assert_eq!(size_of::<Flow<PieState, ()>>(), 128);
    let idle = fq_codel(65_536, 10_240);
    assert_eq!((idle.table.capacity(), idle.flows.capacity()), (0, 0));
}

#[test]
fn sparse_flows_share_a_few_entries() {
    let mut queue = fq_codel(65_536, 10_240);
    for flow in 0..100_000_u32 {
        let now = Time::from_nanos(u64::from(flow) * 1000);
        queue.enqueue(Tiny(flow << 16 | flow), now, &mut Discard);
        assert_ne!(queue.dequeue(now, &mut Discard), Dequeue::Empty);
        // The link asks until nothing is left; this also takes empty flows off their list.
        assert_eq!(queue.dequeue(now, &mut Discard), Dequeue::Empty);
    }
    assert!(queue.flows.len() < 16, "{} entries", queue.flows.len());
}

#[test]
fn the_slab_grows_to_the_limit_and_no_further() {
    let mut queue = fq_codel(16, 1000);
    for i in 0..5000_u32 {
        queue.enqueue(Tiny(i << 28), Time::ZERO, &mut Discard);
    }
    assert!(queue.backlog().packets <= 1000);
    assert_eq!(queue.slab.capacity(), 1001);
}

/// 200 flows of one host: 65535/200 is 327, so that the rounds given are more than 200 for each
/// packet's 1000 bytes at 1514 a round. Any fewer, and the flow would come back to wait again.
#[test]
fn who_waits_has_paid_when_it_comes_back() {
    let params = FlowParams {
        limit: u32::MAX,
        ..FlowParams::default()
    };
    let cobalt = Cobalt::new(CobaltParams::default(), Stream::named(1, "blue"));
    let sharing = Sharing {
        set_associative: true,
        ..Sharing::default()
    };
    let policy = HostFair::new(sharing, Stream::named(1, "quantum"));
    let hash = Stream::named(1, "hash");
    let mut queue = FlowQueue::with_policy(params, 1514, hash, cobalt, policy);
    for packet in 0..600_u32 {
        let flow = packet % 200;
        queue.enqueue(Tiny(flow << 22 | flow), Time::ZERO, &mut Discard);
    }
    let mut seen = 0;
    for _ in 0..500 {
        let taken = queue.dequeue(Time::ZERO, &mut Discard);
        assert!(matches!(taken, Dequeue::Packet { .. }));
        let waiting = queue.flows.iter().filter(|flow| flow.turn == Turn::InDebt);
        for flow in waiting {
            assert!(flow.deficit > 0, "{} bytes", flow.deficit);
            seen += 1;
        }
    }
    assert!(seen > 10_000, "{seen} flows have waited");
}
