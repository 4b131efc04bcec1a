//! Nanoseconds for a packet in and out of a tree of rates, by how many circuits are busy.
//!
//!     cargo bench -p sojourn-qdisc --bench tree
//!
//! Below a site of 10 Gbit/s are sites of 64 circuits each, of 10 to 100 Mbit/s, all of which hold
//! packets of 1514 bytes in a queue of fq_codel; time goes on as packets may leave. Beside it the
//! same packets through as many queues without a tree, one after the other: the difference is the
//! tree's. Then what a change of all rates takes, and what it takes to make a circuit's queue.
#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use sojourn_qdisc::{
    Dequeue, Discard, Ecn, Packet, Qdisc, Setting, Spec, Tree, TreeClass, TreeSpec,
};
use sojourn_units::{Rate, Time};
use std::sync::Arc;
use std::time::Instant;

const PACKETS: u32 = 2_000_000;
const SETTING: Setting<'static> = Setting {
    seed: 1,
    name: "bench",
    mtu: 1514,
    link_header: 14,
};

/// As long as a simulator's packet.
#[derive(Clone, Copy)]
struct Frame {
    circuit: u32,
    _rest: [u64; 7],
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        1514
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        sojourn_random::mix(perturbation) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }

    fn circuit(&self) -> u32 {
        self.circuit
    }
}

fn leaf_queue() -> Spec {
    let spec = "fq_codel target 100s interval 100s flows 16 memory_limit 1gb";
    spec.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn spec(circuits: u32, percent: u64) -> Arc<TreeSpec> {
    let mbit = |rate: u64| Rate::from_bps(rate * 10_000 * percent);
    let class = |name: String, parent, rate, ceil, queue| TreeClass {
        name: name.into(),
        parent,
        rate: mbit(rate),
        ceil: Some(mbit(ceil)),
        queue,
    };
    let mut classes = vec![class("core".into(), None, 10_000, 10_000, None)];
    for circuit in 0..circuits {
        if circuit % 64 == 0 {
            let name = format!("site {circuit}");
            classes.push(class(name, Some(0), 1000, 1000, None));
        }
        let site = classes.len() as u32 - 1 - circuit % 64;
        let name = format!("circuit {circuit}");
        classes.push(class(name, Some(site), 10, 100, Some(0)));
    }
    Arc::new(TreeSpec::new(classes, vec![leaf_queue()]).unwrap_or_else(|error| panic!("{error}")))
}

/// The numbers that packets of circuits have.
fn numbers(spec: &TreeSpec) -> Vec<u32> {
    let leaves = spec
        .classes()
        .iter()
        .zip(1..)
        .filter(|(class, _)| class.queue.is_some());
    leaves.map(|(_, number)| number).collect()
}

fn in_tree(circuits: u32) {
    let spec_of_all = spec(circuits, 100);
    let mut tree = Tree::new(Arc::clone(&spec_of_all), SETTING);
    let start = Instant::now();
    for circuit in numbers(&spec_of_all) {
        for _ in 0..2 {
            let frame = Frame {
                circuit,
                _rest: [0; 7],
            };
            tree.enqueue(frame, Time::from_nanos(1), &mut Discard);
        }
    }
    let made = start.elapsed().as_nanos() / u128::from(circuits);
    let (mut now, mut taken, mut waits) = (Time::from_nanos(1), 0_u32, 0_u32);
    let start = Instant::now();
    while taken < PACKETS {
        match tree.dequeue(now, &mut Discard) {
            Dequeue::Packet { packet, .. } => {
                taken += 1;
                tree.enqueue(packet, now, &mut Discard);
            }
            Dequeue::NotBefore(due) => {
                waits += 1;
                now = due;
            }
            Dequeue::Empty => panic!("always busy"),
        }
    }
    let each = start.elapsed().as_nanos() as f64 / f64::from(taken);
    println!("{circuits:>7} circuits: {each:>6.1} ns, {waits} waits; {made} ns to make a queue");
    let other = Spec::Tree(spec(circuits, 50));
    let start = Instant::now();
    let changed = tree.change(&other, now);
    assert_eq!(changed, Ok(()));
    println!("{:>17} all rates changed in {:?}", "", start.elapsed());
}

fn alone(circuits: u32) {
    let queue = || leaf_queue().build::<Frame>(SETTING);
    let mut queues: Vec<_> = (0..circuits).map(|_| queue()).collect();
    let frame = Frame {
        circuit: 0,
        _rest: [0; 7],
    };
    let now = Time::from_nanos(1);
    for queue in &mut queues {
        queue.enqueue(frame, now, &mut Discard);
        queue.enqueue(frame, now, &mut Discard);
    }
    let start = Instant::now();
    for step in 0..PACKETS {
        let queue = &mut queues[(step % circuits) as usize];
        if let Dequeue::Packet { packet, .. } = queue.dequeue(now, &mut Discard) {
            queue.enqueue(packet, now, &mut Discard);
        }
    }
    let each = start.elapsed().as_nanos() as f64 / f64::from(PACKETS);
    println!("{circuits:>7} queues:   {each:>6.1} ns");
}

fn main() {
    for circuits in [1, 64, 1000, 10_000] {
        alone(circuits);
        in_tree(circuits);
    }
}
