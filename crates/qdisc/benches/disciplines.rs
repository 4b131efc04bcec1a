//! Nanoseconds per enqueue and dequeue of every discipline, over a standing backlog of one
//! packet per flow, and a table relative to `pfifo`.
//!
//!     cargo bench -p sojourn-qdisc --bench disciplines
//!
//! The packet is 64 bytes of memory, as a simulator's is; disciplines are called through
//! `Box<dyn Qdisc>`, as the worlds do. Time advances 1 ns per packet, so no AQM acts: what is
//! measured is the path that every packet takes. `overload` rows offer two packets per one taken
//! to a full queue, and show what shedding costs; they count per packet offered.
//!
//! Flows alternate between DiffServ4's tins. In rows named `of ACKs` every packet is a pure ACK: all
//! carry the same number, so that the filter looks for one to drop, finds none, and the backlog stays.
#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use criterion::{BenchmarkId, Criterion, Throughput};
use sojourn_qdisc::{
    AckFacts, AckFilter, AdthParams, CakeParams, CodelParams, Dequeue, DiffServ, Discard,
    DualPi2Params, Ecn, FlowParams, GspParams, Limit, Packet, PieParams, Qdisc, RedParams, RedUnit,
    RedWeight, Setting, Spec, SteerParams, TbfParams,
};
use sojourn_units::{Rate, Span, Time};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

const FLOWS: [u32; 6] = [1, 32, 100, 1024, 10_000, 100_000];

#[derive(Clone, Copy)]
struct Frame {
    len: u32,
    hash: u32,
    dscp: u8,
    is_ack: bool,
    _rest: [u64; 6],
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        (sojourn_random::mix(perturbation ^ u64::from(self.hash)) >> 32) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn ack(&self) -> Option<AckFacts> {
        self.is_ack.then_some(AckFacts {
            ack: 1,
            flags: 0x10,
            ..AckFacts::default()
        })
    }
}

/// DSCPs of DiffServ4's tins: bulk (CS1), best effort, video (AF41), voice (EF).
const DSCPS: [u8; 4] = [8, 0, 34, 46];

/// One whose limit never falls below the backlog.
fn adth(limit: u32) -> AdthParams {
    AdthParams {
        target: Span::from_secs(100),
        max: limit,
        min: limit,
        ..AdthParams::default()
    }
}

/// Its target is out of reach, so that nothing is dropped.
fn dualpi2(limit: u32) -> Spec {
    Spec::DualPi2(DualPi2Params {
        limit,
        target: Span::from_secs(2000),
        ..DualPi2Params::default()
    })
}

fn specs(limit: u32) -> Vec<(&'static str, Spec)> {
    let flows = FlowParams {
        limit,
        flows: if limit > 65_536 { 65_536 } else { 1024 },
        memory_limit: u64::MAX,
        ..FlowParams::default()
    };
    // The packets of the backlog wait for as long as it takes; this must not count as delay.
    let codel = CodelParams {
        target: Span::from_secs(100),
        ..CodelParams::default()
    };
    let gsp = GspParams {
        threshold: Span::from_secs(100),
        ..GspParams::default()
    };
    let pie = PieParams::default();
    let red = RedParams {
        unit: RedUnit::Packets,
        min: u64::from(limit) * 2,
        max: u64::from(limit) * 3,
        avpkt: 1000,
        weight: RedWeight::Exact(0.002),
        ..RedParams::default()
    };
    // The backlog must fit; without a rate no shaper holds it back.
    let cake = CakeParams {
        diffserv: DiffServ::BestEffort,
        rtt: Span::from_secs(2000),
        memlimit: Some(u64::MAX),
        ..CakeParams::default()
    };
    let diffserv4 = CakeParams {
        diffserv: DiffServ::DiffServ4,
        ..cake
    };
    let filtered = |cake: CakeParams| {
        Spec::Cake(CakeParams {
            ack_filter: AckFilter::Normal,
            ..cake
        })
    };
    vec![
        ("pfifo", Spec::pfifo(limit)),
        (
            "red",
            Spec::Single {
                limit: Limit::Packets(limit.into()),
                policy: red.into(),
            },
        ),
        ("codel", Spec::single(limit, codel)),
        ("pie", Spec::single(limit, pie)),
        ("gsp", Spec::single(limit, gsp)),
        ("adth", Spec::single(limit, adth(limit))),
        ("dualpi2", dualpi2(limit)),
        ("fq_codel", Spec::flows(flows, codel)),
        ("fq_pie", Spec::flows(flows, pie)),
        ("fq_gsp", Spec::flows(flows, gsp)),
        ("steer", steered(Spec::single(limit, gsp))),
        ("cake", Spec::Cake(cake)),
        ("cake diffserv4", Spec::Cake(diffserv4)),
        ("cake ack-filter", filtered(cake)),
        ("cake diffserv4 ack-filter", filtered(diffserv4)),
        ("cake of ACKs", Spec::Cake(cake)),
        ("cake ack-filter of ACKs", filtered(cake)),
        ("cake diffserv4 ack-filter of ACKs", filtered(diffserv4)),
        ("tbf", unhindered(Spec::pfifo(limit))),
    ]
}

/// A policy whose highest delay leaves the AQM's target where it is.
fn steered(inner: Spec) -> Spec {
    let steer = SteerParams {
        delay: Span::from_secs(100),
        ..SteerParams::default()
    };
    inner.steered(steer).expect("it has a target")
}

/// A shaper that always has tokens, although time hardly advances.
fn unhindered(inner: Spec) -> Spec {
    let tbf = TbfParams {
        rate: Rate::from_bps(1_000_000_000_000_000),
        burst: 1 << 30,
        peakrate: None,
        mtu: None,
        mpu: 0,
        overhead: 0,
        atm: false,
    };
    Spec::Tbf {
        tbf,
        inner: Box::new(inner),
    }
}

struct Drive {
    queue: Box<dyn Qdisc<Frame>>,
    frames: Vec<Frame>,
    next: usize,
    now: u64,
}

impl Drive {
    /// A queue that holds one packet of each flow.
    fn new(name: &str, spec: &Spec, flows: u32) -> Self {
        let is_ack = name.ends_with("of ACKs");
        let setting = Setting {
            seed: 1,
            name: "bench",
            mtu: 1514,
            link_header: 14,
        };
        let frames: Vec<Frame> = (0..flows)
            .map(|hash| Frame {
                len: if is_ack { 66 } else { 1514 },
                hash,
                dscp: DSCPS[hash as usize % DSCPS.len()],
                is_ack,
                _rest: [0; 6],
            })
            .collect();
        let mut drive = Self {
            queue: spec.build(setting),
            frames,
            next: 0,
            now: 0,
        };
        for _ in 0..flows {
            drive.offer();
        }
        drive
    }

    fn offer(&mut self) {
        self.now += 1;
        let frame = self.frames[self.next];
        self.next = (self.next + 1) % self.frames.len();
        self.queue
            .enqueue(frame, Time::from_nanos(self.now), &mut Discard);
    }

    fn take(&mut self) {
        let answer = self.queue.dequeue(Time::from_nanos(self.now), &mut Discard);
        debug_assert!(!matches!(answer, Dequeue::NotBefore(_)));
        // Its flow gets the next packet, so that none runs empty.
        if let Dequeue::Packet { packet, .. } = &answer {
            self.next = packet.hash as usize;
        }
        black_box(answer);
    }
}

type Table = BTreeMap<(u32, usize), (&'static str, f64)>;

fn steady(c: &mut Criterion, table: &mut Table) {
    for flows in FLOWS {
        let mut group = c.benchmark_group("enqueue_dequeue");
        group.throughput(Throughput::Elements(1));
        for (row, (name, spec)) in specs(flows + 1000).into_iter().enumerate() {
            let mut drive = Drive::new(name, &spec, flows);
            let mut best = f64::INFINITY;
            group.bench_function(BenchmarkId::new(name, flows), |b| {
                b.iter_custom(|times| {
                    let start = Instant::now();
                    for _ in 0..times {
                        drive.offer();
                        drive.take();
                    }
                    let took = start.elapsed();
                    if times >= 1000 {
                        best = best.min(took.as_nanos() as f64 / times as f64);
                    }
                    took
                });
            });
            table.insert((flows, row), (name, best));
        }
        group.finish();
    }
}

fn overload(c: &mut Criterion) {
    let mut group = c.benchmark_group("overload");
    group.throughput(Throughput::Elements(2));
    for flows in FLOWS {
        for (name, spec) in specs(flows.max(1000)) {
            let mut drive = Drive::new(name, &spec, flows);
            group.bench_function(BenchmarkId::new(name, flows), |b| {
                b.iter(|| {
                    drive.offer();
                    drive.offer();
                    drive.take();
                });
            });
        }
    }
    group.finish();
}

fn main() {
    let mut c = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1))
        .configure_from_args();
    let mut table = Table::new();
    steady(&mut c, &mut table);
    overload(&mut c);
    c.final_summary();
    println!("\nBest ns per enqueue+dequeue (and relative to pfifo), one packet of each flow held");
    for flows in FLOWS {
        let pfifo = table.get(&(flows, 0)).map_or(f64::NAN, |cell| cell.1);
        print!("{flows:>7} flows:");
        for (_, (name, best)) in table.range((flows, 0)..(flows + 1, 0)) {
            print!("  {name} {best:.1} ({:.2}x)", best / pfifo);
        }
        println!();
    }
}
