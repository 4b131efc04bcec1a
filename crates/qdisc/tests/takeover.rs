//! A tree of rates takes another one's place without building anything: whoever waits for a packet
//! waits for a look at each class.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use common::TestPacket;
use sojourn_qdisc::{Dequeue, Discard, Qdisc, Setting, Spec, TreeClass, TreeSpec};
use sojourn_units::{Rate, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// Counts what each thread allocates and frees.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: all is the system's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const SETTING: Setting<'static> = Setting {
    seed: 1,
    name: "tree",
    mtu: 1514,
    link_header: 14,
};
const CIRCUITS: u32 = 10_000;

/// A site with many circuits from a number on, all with this queue.
fn tree(first: u32, queue: &str) -> Spec {
    let class = |name: String, parent, queue| TreeClass {
        name: name.into(),
        parent,
        rate: Rate::from_bps(1_000_000),
        ceil: Some(Rate::from_bps(100_000_000)),
        queue,
    };
    let mut classes = vec![class("site".into(), None, None)];
    let circuits = first..first + CIRCUITS;
    classes.extend(circuits.map(|n| class(format!("circuit {n}"), Some(0), Some(0))));
    let queues = vec![queue.parse().expect("a spec")];
    Spec::Tree(Arc::new(TreeSpec::new(classes, queues).expect("a tree")))
}

/// Packets for a hundred circuits; one of each stays.
fn hundred(tree: &mut Box<dyn Qdisc<TestPacket>>, now: Time) {
    for circuit in 200..300 {
        for id in 0..2 {
            tree.enqueue(TestPacket::new(id, 1000).to(circuit), now, &mut Discard);
        }
        let left = tree.dequeue(now, &mut Discard);
        assert!(matches!(left, Dequeue::Packet { .. }), "{left:?}");
    }
}

/// Allocations and frees of a change, after which a hundred packets are held; then of each packet
/// that leaves.
fn calls(old: &Spec, new: &Spec) -> (u64, Vec<u64>) {
    let now = Time::from_nanos(1_000_000_000);
    let mut tree = old.build(SETTING);
    hundred(&mut tree, now);
    let mut fresh = new.build_after(old, SETTING);
    let before = CALLS.get();
    new.reconfigure_with(&mut tree, now, || &mut fresh);
    let change = CALLS.get() - before;
    drop(std::mem::replace(&mut tree, fresh));
    assert_eq!(tree.backlog().packets, 100);
    let leaves = (0..100).map(|_| {
        let before = CALLS.get();
        let left = tree.dequeue(now, &mut Discard);
        assert!(matches!(left, Dequeue::Packet { .. }), "{left:?}");
        CALLS.get() - before
    });
    (change, leaves.collect())
}

#[test]
fn circuits_that_stay_cost_no_memory() {
    let (change, leaves) = calls(&tree(0, "fq_codel"), &tree(20, "fq_codel"));
    // Lists of those with packets, which grow.
    assert!(change < 60, "{change}");
    assert_eq!(
        leaves.iter().filter(|calls| **calls > 2).count(),
        0,
        "{leaves:?}"
    );
}

#[test]
fn another_queue_is_built_with_a_packet_each() {
    let (change, leaves) = calls(&tree(0, "fq_codel"), &tree(20, "fq_pie"));
    assert!(change < 60, "{change}");
    let built = leaves.iter().filter(|calls| **calls > 2);
    assert_eq!(built.count(), 100, "one after the other: {leaves:?}");
    let most = leaves.iter().max();
    assert!(most.is_some_and(|most| *most < 60), "{leaves:?}");
}
