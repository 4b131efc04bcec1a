//! What a tree of rates takes: bytes for circuits that are idle, and nothing built when it takes
//! another one's place, since whoever waits for a packet waits for a look at each class.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use common::TestPacket;
use sojourn_qdisc::{Dequeue, Discard, Qdisc, Setting, Spec, Tree, TreeClass, TreeSpec, Value};
use sojourn_units::{Rate, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Counts what each thread allocates and frees: tests beside it change nothing, which they would in
/// the figures that the system keeps for a whole process.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: all is the system's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        HELD.with(|held| held.set(held.get().wrapping_add(layout.size())));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // What a thread frees may be another's.
        HELD.with(|held| held.set(held.get().wrapping_sub(layout.size())));
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

/// A site with circuits of these numbers, all with this queue.
fn classes(circuits: Range<u32>, queue: &str) -> TreeSpec {
    let class = |name: String, parent, queue| TreeClass {
        name: name.into(),
        parent,
        rate: Rate::from_bps(1_000_000),
        ceil: Some(Rate::from_bps(100_000_000)),
        queue,
    };
    let mut classes = vec![class("site".into(), None, None)];
    classes.extend(circuits.map(|n| class(format!("circuit {n}"), Some(0), Some(0))));
    let queues = vec![queue.parse().expect("a spec")];
    TreeSpec::new(classes, queues).expect("a tree")
}

fn tree(first: u32, queue: &str) -> Spec {
    Spec::Tree(Arc::new(classes(first..first + CIRCUITS, queue)))
}

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// A packet for a circuit comes, and leaves at once.
fn pass(tree: &mut Tree<TestPacket>, circuit: u32, len: u32, now: Time) {
    tree.enqueue(TestPacket::new(0, len).to(circuit), now, &mut Discard);
    let left = tree.dequeue(now, &mut Discard);
    assert!(matches!(left, Dequeue::Packet { .. }), "{left:?}");
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

#[test]
fn an_idle_leaf_takes_less_than_a_kibibyte() {
    const CIRCUITS: u32 = 50_000;
    let before = HELD.get();
    let spec = Arc::new(classes(0..CIRCUITS, "fq_codel"));
    let mut tree = Tree::<TestPacket>::new(spec, SETTING);
    // Those that have had a packet are as small again five seconds after it.
    for circuit in 2..200 {
        pass(&mut tree, circuit, 1514, micros(u64::from(circuit)));
    }
    let live = |tree: &Tree<TestPacket>| {
        let report = tree.report(Time::ZERO);
        let live = report
            .stats
            .iter()
            .find(|field| field.name == "live_queues");
        live.expect("told").value.clone()
    };
    assert_eq!(live(&tree), Value::Int(198));
    for step in 0..200 {
        let late = micros(5_000_300 + step);
        assert!(matches!(tree.dequeue(late, &mut Discard), Dequeue::Empty));
    }
    assert_eq!(live(&tree), Value::Int(0));
    let each = HELD.get().wrapping_sub(before) / CIRCUITS as usize;
    println!("{each} bytes");
    assert!((1..1024).contains(&each), "{each} bytes");
}

/// Somebody sends a packet to each address of subscribers, again and again: queues are made once,
/// and take no more than there are circuits for.
#[test]
fn a_scan_of_idle_leaves_makes_each_queue_once() {
    const CIRCUITS: u32 = 5000;
    for (queue, most) in [("fq_codel", 7), ("cake", 16)] {
        let spec = Arc::new(classes(0..CIRCUITS, queue));
        let mut tree = Tree::<TestPacket>::new(spec, SETTING);
        let mut scan = |from: u64| {
            for circuit in 2..CIRCUITS + 2 {
                let now = micros(from + u64::from(circuit) * 20);
                pass(&mut tree, circuit, 72, now);
            }
            HELD.get()
        };
        let before = HELD.get();
        let once = scan(0);
        let again = (1..10).map(|number| scan(number * 1_000_000)).last();
        let each = once.wrapping_sub(before) as f64 / f64::from(CIRCUITS) / 1024.0;
        println!("{queue}: {each:.1} KiB a circuit");
        assert!(each < f64::from(most), "{queue}: {each} KiB");
        assert_eq!(again, Some(once), "the nine scans that follow add nothing");
    }
}
