//! The ring beside the walk that it stands for.

use crate::flow::{FlowQueue, HostFair, Sharing, Turn};
use crate::{Cobalt, CobaltParams, Dequeue, Discard, Ecn, FlowParams, Isolation, Packet, Qdisc};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_random::{Stream, mix};
use sojourn_units::Time;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sized {
    flow: u32,
    host: u32,
    len: u32,
}

impl Packet for Sized {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        (mix(perturbation ^ u64::from(self.flow)) >> 32) as u32
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        let hash = mix(perturbation ^ u64::from(self.host));
        (hash as u32, (hash >> 32) as u32)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

type Queue = FlowQueue<Sized, Cobalt, HostFair>;

fn queue(seed: u64, quantum: u32, flows: u32, isolation: Isolation) -> Queue {
    let params = FlowParams {
        limit: 3000,
        flows,
        memory_limit: u64::MAX,
        quantum: Some(quantum),
        ..FlowParams::default()
    };
    let sharing = Sharing {
        isolation,
        set_associative: true,
        ..Sharing::default()
    };
    let policy = HostFair::new(sharing, Stream::named(seed, "quantum"));
    let cobalt = Cobalt::new(CobaltParams::default(), Stream::named(seed, "blue"));
    FlowQueue::with_policy(params, quantum, Stream::named(seed, "hash"), cobalt, policy)
}

/// The same without rings.
fn walked(mut queue: Queue) -> Queue {
    queue.calm.patience = u32::MAX;
    queue
}

/// Credits of the flows that are old.
fn credits(queue: &Queue) -> Vec<(Turn, i64)> {
    let mut queue = queue.clone();
    queue.dissolve();
    let flows = queue.flows.iter();
    flows.map(|flow| (flow.turn, flow.deficit)).collect()
}

/// What arrives: packets of 64 bytes to 300 kB, of some flows of some hosts. Now and then these
/// numbers change.
struct Load {
    dice: Stream,
    flows: u64,
    hosts: u64,
    longest: u64,
}

impl Load {
    fn packet(&mut self) -> Sized {
        let flow = self.dice.below(self.flows) as u32;
        Sized {
            flow,
            host: flow % self.hosts as u32,
            len: 64 + self.dice.below(self.longest) as u32,
        }
    }

    fn change(&mut self) {
        self.flows = [3, 11, 13, 14, 20, 40, 64, 70, 120][self.dice.below(9) as usize];
        self.hosts = [1, 1, 1, 2, 60][self.dice.below(5) as usize];
        self.longest = [1450, 64_000, 64_000, 300_000][self.dice.below(4) as usize];
    }
}

/// With a quantum of 65 536 bytes no share has a fraction, so that dice change nothing. Then a ring
/// must do what the walk does, whatever comes and goes. Returns the number of packets sent from a
/// ring.
fn compare(seed: u64, buckets: u32, isolation: Isolation) -> u32 {
    let mut ring = queue(seed, 65_536, buckets, isolation);
    let mut plain = walked(ring.clone());
    let mut load = Load {
        dice: Stream::named(seed, "load"),
        flows: 20,
        hosts: 1,
        longest: 64_000,
    };
    let (mut inside, mut taken, mut again) = (0, 0, None);
    for step in 0..6000_u64 {
        let now = Time::from_nanos(step * 100_000);
        if load.dice.below(300) == 0 {
            load.change();
        }
        // After some changes it would make no more rings in this test.
        ring.calm.patience = 4;
        // Rings form while each packet that is sent is followed by one of its flow.
        let often = if step / 250 % 2 == 0 { 2 } else { 60 };
        let more = (load.dice.below(often) == 0).then(|| load.packet());
        for packet in more.into_iter().chain(again) {
            ring.enqueue(packet, now, &mut Discard);
            plain.enqueue(packet, now, &mut Discard);
        }
        let sent = ring.dequeue(now, &mut Discard);
        assert_eq!(
            sent,
            plain.dequeue(now, &mut Discard),
            "seed {seed}, {step}"
        );
        again = None;
        if let Dequeue::Packet { packet, .. } = sent {
            taken += 1;
            let follows = often > 2 || load.dice.below(3) > 0;
            again = follows.then_some(packet);
        }
        inside += u32::from(ring.has_ring);
        if step % 50 == 0 {
            assert_eq!(credits(&ring), credits(&plain), "seed {seed}, {step}");
            assert_eq!(ring.counters(), plain.counters());
            assert_eq!(ring.counters().dequeued.packets, taken);
        }
        if load.dice.below(500) == 0 {
            fork(&ring);
        }
        if load.dice.below(700) == 0 {
            let quantum = Some([65_536, 131_072][load.dice.below(2) as usize]);
            for queue in [&mut ring, &mut plain] {
                queue.set_params(FlowParams {
                    quantum,
                    ..*queue.params()
                });
            }
        }
    }
    inside
}

/// A fork goes on as the queue itself.
fn fork(queue: &Queue) {
    let mut fork = queue.fork().expect("a copy");
    let mut queue = queue.clone();
    for step in 0..100 {
        let now = Time::from_nanos(1_000_000_000 + step);
        let sent = fork.dequeue(now, &mut Discard);
        assert_eq!(sent, queue.dequeue(now, &mut Discard));
    }
}

#[test]
fn the_ring_does_what_the_walk_does() {
    for (buckets, isolation, least) in [
        (1024, Isolation::TripleIsolate, 10_000),
        (1024, Isolation::Flows, 0),
        (64, Isolation::DualSrcHost, 1000),
    ] {
        let inside: u32 = (0..12).map(|seed| compare(seed, buckets, isolation)).sum();
        assert!(
            inside >= least,
            "{inside} packets from rings with {isolation:?}"
        );
    }
}

/// Sums of the gaps between a flow's packets, in packets and in bytes, and of their squares.
struct Gaps {
    sums: [f64; 4],
    count: f64,
}

impl Gaps {
    fn mean(&self, of: usize) -> f64 {
        self.sums[of] / self.count
    }

    /// Variance of the gaps.
    fn variance(&self, of: usize) -> f64 {
        let mean = self.mean(of);
        self.mean(of + 2) - mean * mean
    }
}

/// Gaps in a queue whose flows always hold two packets. A flow's number chooses among `sizes`.
fn gaps(mut queue: Queue, flows: u32, sizes: &[u32]) -> Gaps {
    let packet = |flow: u32| Sized {
        flow,
        host: 1,
        len: sizes[flow as usize % sizes.len()],
    };
    for flow in 0..2 * flows {
        queue.enqueue(packet(flow % flows), Time::ZERO, &mut Discard);
    }
    let mut last = vec![None; flows as usize];
    let (mut sums, mut count, mut bytes) = ([0.0; 4], 0.0, 0_u64);
    for step in 0..8000_u32 {
        let now = Time::from_nanos(u64::from(step));
        let Dequeue::Packet { packet: sent, .. } = queue.dequeue(now, &mut Discard) else {
            panic!("it never empties");
        };
        queue.enqueue(sent, now, &mut Discard);
        bytes += u64::from(sent.len);
        if let Some((step_before, bytes_before)) = last[sent.flow as usize].replace((step, bytes))
            && step > 2000
        {
            let gap = [f64::from(step - step_before), (bytes - bytes_before) as f64];
            for (of, gap) in gap.into_iter().enumerate() {
                sums[of] += gap;
                sums[of + 2] += gap * gap;
            }
            count += 1.0;
        }
    }
    assert_eq!(queue.has_ring, queue.calm.patience != u32::MAX);
    Gaps { sums, count }
}

/// The dice of the ring show other numbers than those of the walk, with the same probabilities. So
/// the gaps between a flow's packets have the same mean and the same variance over many seeds.
#[test]
fn gaps_are_those_of_a_walk() {
    for (flows, sizes) in [
        (32, &[1500][..]),
        (13, &[1500]),
        (24, &[1500, 300, 900]),
        (16, &[65_226]),
    ] {
        let seeds = 64_u64;
        let figures = |walks: bool| -> Vec<[f64; 4]> {
            let run = |seed| {
                let queue = queue(seed, 1514, 1024, Isolation::TripleIsolate);
                let queue = if walks { walked(queue) } else { queue };
                let gaps = gaps(queue, flows, sizes);
                [
                    gaps.mean(0),
                    gaps.variance(0),
                    gaps.mean(1),
                    gaps.variance(1),
                ]
            };
            (0..seeds).map(run).collect()
        };
        let (ring, walk) = (figures(false), figures(true));
        for of in 0..4 {
            let mean = |runs: &[[f64; 4]]| runs.iter().map(|run| run[of]).sum::<f64>() / 64.0;
            let square = |runs: &[[f64; 4]]| {
                let mean = mean(runs);
                runs.iter()
                    .map(|run| (run[of] - mean) * (run[of] - mean))
                    .sum::<f64>()
                    / 63.0
            };
            let difference = mean(&ring) - mean(&walk);
            // Four standard errors of the difference of two means of 64 runs, and rounding.
            let error = 4.0 * libm::sqrt((square(&ring) + square(&walk)) / 64.0);
            let bound = error + 1e-9 * mean(&walk).abs();
            assert!(
                difference.abs() <= bound,
                "{flows} flows of {sizes:?}, figure {of}: {} and {}, {bound}",
                mean(&ring),
                mean(&walk)
            );
        }
    }
}

/// Packets of 100 MB in a ring.
#[test]
fn no_credit_is_too_far() {
    let mut queue = queue(1, 1514, 1024, Isolation::TripleIsolate);
    for step in 0..4000_u32 {
        let now = Time::from_nanos(u64::from(step));
        let packet = Sized {
            flow: step % 20,
            host: 1,
            len: if step < 2000 { 1500 } else { u32::MAX / 40 },
        };
        queue.enqueue(packet, now, &mut Discard);
        if step >= 200 {
            assert!(matches!(
                queue.dequeue(now, &mut Discard),
                Dequeue::Packet { .. }
            ));
        }
    }
    assert!(queue.has_ring);
}
