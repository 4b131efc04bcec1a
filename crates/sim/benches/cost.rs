//! What a discipline costs in instructions and in memory: figures that need no quiet machine.
//!
//!     cargo bench -p sojourn-sim --bench cost
//!     cargo bench -p sojourn-sim --bench cost -- memory 10000 "cake bandwidth 50mbit" 32 8
//!
//! Without words it prints the memory of CAKE's instances, beside `fq_codel`'s. `memory N SPEC FLOWS
//! BURST` makes N instances and tells what each holds resident: idle, with so many packets of so many
//! flows, and empty again. `packets N SPEC FLOWS [own]` holds one packet of each flow and moves N
//! packets through, all flows of one host or each of its own: `benches/instructions.py` counts that
//! under valgrind.
//!
//! It stands here and not in `qdisc` because it is built together with `count`, in `make test`, and
//! `qdisc`'s other benches need criterion, which takes longer to build than all that is counted.

use sojourn_qdisc::{Dequeue, Discard, Ecn, Packet, Qdisc, Setting, Spec};
use sojourn_units::Time;
use std::env;
use std::fs;
use std::process::{Command, exit};

/// As long as a simulator's packet.
#[derive(Clone, Copy)]
struct Frame {
    flow: u32,
    host: u32,
    _rest: [u64; 7],
}

fn hash(value: u32, perturbation: u64) -> u32 {
    (sojourn_random::mix(perturbation ^ u64::from(value)) >> 32) as u32
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        1514
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        hash(self.flow, perturbation)
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        (
            hash(self.host, perturbation),
            hash(!self.host, perturbation),
        )
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

fn build(spec: &str) -> Box<dyn Qdisc<Frame>> {
    let spec: Spec = spec.parse().unwrap_or_else(|error| panic!("{error}"));
    spec.build(Setting {
        seed: 1,
        name: "cost",
        mtu: 1514,
        link_header: 14,
    })
}

fn frame(flow: u32, own: bool) -> Frame {
    Frame {
        flow,
        host: if own { flow } else { 0 },
        _rest: [0; 7],
    }
}

fn packets(count: u32, spec: &str, flows: u32, own: bool) {
    let mut queue = build(spec);
    assert!(flows > 0, "at least one flow");
    for flow in 0..flows {
        queue.enqueue(frame(flow, own), Time::from_nanos(1), &mut Discard);
    }
    let (mut taken, mut flow) = (0_u32, 0);
    for now in 0..count {
        let now = Time::from_nanos(2 + u64::from(now));
        queue.enqueue(frame(flow, own), now, &mut Discard);
        // The flow that has sent gets the next packet, so that none runs empty: which one sends is
        // CAKE's to say, and by chance.
        if let Dequeue::Packet { packet, .. } = queue.dequeue(now, &mut Discard) {
            flow = packet.flow;
            taken += 1;
        }
    }
    println!(
        "{taken} of {count} packets taken; {} held",
        queue.backlog().packets
    );
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        * 1024
}

fn memory(count: u32, spec: &str, flows: u32, burst: u32) {
    let mut queues = Vec::with_capacity(count as usize);
    let before = resident();
    queues.extend((0..count).map(|_| build(spec)));
    let tell = |what: &str| {
        let bytes = (resident() - before) / u64::from(count);
        println!("  {what}: {bytes} bytes an instance");
    };
    tell("idle");
    for queue in &mut queues {
        for flow in 0..flows * burst {
            let now = Time::from_nanos(u64::from(flow));
            queue.enqueue(frame(flow % flows, true), now, &mut Discard);
        }
    }
    if flows * burst == 0 {
        return;
    }
    tell("loaded");
    for queue in &mut queues {
        let mut now = Time::from_nanos(1_000_000_000);
        loop {
            match queue.dequeue(now, &mut Discard) {
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Packet { .. } => {}
                Dequeue::Empty => break,
            }
        }
    }
    tell("empty again");
}

/// The memory of ten thousand subscribers' instances; each in a process of its own, since memory
/// that one has given back is used again by the next.
fn tables() {
    let program = env::current_exe().expect("this program's path");
    for spec in [
        "fq_codel",
        "cake bandwidth 50mbit besteffort",
        "cake bandwidth 50mbit",
        "cake bandwidth 50mbit diffserv4",
    ] {
        println!("{spec}, 10000 instances, then 8 packets of 32 flows in 1000 instances");
        for (count, flows, burst) in [("10000", "0", "0"), ("1000", "32", "8")] {
            let status = Command::new(&program)
                .args(["memory", count, spec, flows, burst])
                .status();
            assert!(status.is_ok_and(|status| status.success()), "{spec}");
        }
    }
}

fn main() {
    // `cargo bench` adds a flag.
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let word = |index: usize| words.get(index).map(String::as_str);
    let number = |index: usize| word(index).and_then(|word| word.parse::<u32>().ok());
    match (word(0), number(1), word(2), number(3)) {
        (None, ..) => tables(),
        (Some("packets"), Some(count), Some(spec), Some(flows)) => {
            packets(count, spec, flows, word(4) == Some("own"));
        }
        (Some("memory"), Some(count), Some(spec), Some(flows)) => {
            memory(count, spec, flows, number(4).unwrap_or(1));
        }
        _ => {
            eprintln!("packets N SPEC FLOWS [own], or memory N SPEC FLOWS [BURST]");
            exit(2);
        }
    }
}
