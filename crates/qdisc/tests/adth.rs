//! ADTH against tables computed from its pseudo-code with a timer, and rules worked out by hand.

use crate::common::{Log, TestPacket};
use sojourn_qdisc::{
    Adth, AdthParams, Dequeue, DropReason, End, Limit, Qdisc, Setting, SingleQueue, Spec,
};
use sojourn_units::{Span, Time};
use std::fmt::Write;

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * MS)
}

/// Of `golden/adth.py`.
fn gap(ms: u64) -> Option<u64> {
    match ms {
        0..500 => Some(9 * MS),
        500..2000 => Some(1_700_003),
        2000..2400 => None,
        2400..3500 => Some(1_100_007),
        _ => Some(2_900_001),
    }
}

/// Of `golden/adth.py`.
fn service(number: u64, ms: u64) -> u64 {
    match ms {
        3100..3115 => 180 * MS,
        2800..3100 => 3 * (2 * MS + number * 7919 % 1000 * 1001),
        _ => 2 * MS + number * 7919 % 1000 * 1001,
    }
}

fn arrivals() -> Vec<(u64, TestPacket)> {
    let (mut all, mut time) = (Vec::new(), 0);
    while time < 4500 * MS {
        let Some(gap) = gap(time / MS) else {
            time = 2400 * MS;
            continue;
        };
        let id = all.len() as u64;
        all.push((time, TestPacket::new(id, 200 + (id * 37 % 1200) as u32)));
        time += gap;
    }
    all
}

/// Takes the next packet at `now`; returns when it has been served.
fn serve(
    queue: &mut SingleQueue<TestPacket, Adth>,
    (now, served): (u64, u64),
    log: &mut Log,
) -> Option<u64> {
    match queue.dequeue(Time::from_nanos(now), log) {
        Dequeue::Packet { .. } => Some(now + service(served, now / MS)),
        _ => None,
    }
}

/// Limits and factors at departures, and the numbers of what was dropped, in order.
fn trajectory(full: End, drop: End) -> (Vec<(u64, u32, f64)>, Vec<u64>) {
    let params = AdthParams {
        target: Span::from_millis(100),
        sampling: Span::from_millis(25),
        min: 2,
        max: 400,
        fmin: 0.25,
        full,
        drop,
        ..AdthParams::default()
    };
    let mut queue = SingleQueue::new(Limit::Packets(400), Adth::new(params));
    let (mut log, mut rows) = (Log::default(), Vec::new());
    let (mut busy, mut served) = (None, 0);
    let mut coming = arrivals().into_iter().peekable();
    while busy.is_some() || coming.peek().is_some() {
        let next = coming.peek().map_or(u64::MAX, |(time, _)| *time);
        let now = busy.unwrap_or(u64::MAX).min(next);
        if busy != Some(now)
            && let Some((_, packet)) = coming.next()
        {
            queue.enqueue(packet, Time::from_nanos(now), &mut log);
            if busy.is_some() {
                continue;
            }
        }
        busy = serve(&mut queue, (now, served), &mut log);
        if busy.is_some() {
            served += 1;
            let control = queue.aqm().control(queue.state());
            let row = (control.limit, control.factor);
            if rows
                .last()
                .is_none_or(|&(_, limit, factor)| (limit, factor) != row)
            {
                rows.push((now, row.0, row.1));
            }
        }
    }
    (
        rows,
        log.dropped.iter().map(|(packet, _)| packet.id).collect(),
    )
}

fn agrees(full: End, drop: End, table: &str) {
    let (rows, dropped) = trajectory(full, drop);
    let (mut limits, mut drops) = (rows.iter(), dropped.iter());
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] == "drop" {
            assert_eq!(drops.next().map(u64::to_string).as_deref(), Some(fields[2]));
            continue;
        }
        let (time, limit, factor) = limits.next().expect("as many rows");
        let mut said = String::new();
        write!(said, "limit,{time},{limit},{factor:.12}").expect("a string takes all");
        assert_eq!(said, line);
    }
    assert_eq!((limits.next(), drops.next()), (None, None));
}

#[test]
fn limits_and_drops_are_those_of_the_pseudo_code_with_a_timer() {
    agrees(End::Head, End::Tail, include_str!("golden/adth.csv"));
    agrees(End::Tail, End::Head, include_str!("golden/adth-tail.csv"));
}

/// Ten packets of 1000 bytes, taken every 4 ms from 1 ms on: MAC delay 4 ms, and the n-th waits
/// 4n ms.
#[test]
fn the_first_estimate_by_hand() {
    let params = AdthParams {
        target: Span::from_millis(20),
        sampling: Span::from_millis(40),
        ..AdthParams::default()
    };
    let mut queue = SingleQueue::new(Limit::Packets(1000), Adth::new(params));
    let mut log = Log::default();
    for id in 0..30 {
        queue.enqueue(TestPacket::new(id, 1000), at(1), &mut log);
    }
    for n in 0..10 {
        queue.dequeue(at(1 + 4 * n), &mut log);
    }
    assert!(log.dropped.is_empty());
    // 10 packets in 40 ms; nodal delays 4, 8 … 36 ms: their mean is the target, so f stays at 1.
    // 1 · (20 − 4) ms · 250/s = 4 packets; 20 waited.
    queue.enqueue(TestPacket::new(30, 1000), at(40), &mut log);
    let control = queue.aqm().control(queue.state());
    assert_eq!((control.limit, control.factor), (4, 1.0));
    assert_eq!(control.nodal_delay, Span::from_millis(20));
    assert_eq!(control.mac_delay, Span::from_millis(4));
    assert!((control.throughput - 250_000.0).abs() < 1e-6);
    let surplus = log
        .dropped
        .iter()
        .filter(|(_, why)| *why == DropReason::Surplus);
    assert_eq!(surplus.count(), 16);
    assert_eq!(queue.backlog().packets, 4, "the arrival was refused");
    // 36 ms more without a departure, although four packets wait: the limit stays.
    queue.enqueue(TestPacket::new(31, 1000), at(80), &mut log);
    assert_eq!(queue.aqm().control(queue.state()).limit, 4);
    assert_eq!(queue.backlog().packets, 4, "the arrival was refused");
}

/// A queue and its log.
struct Node {
    queue: SingleQueue<TestPacket, Adth>,
    log: Log,
    next: u64,
}

impl Node {
    /// Target 20 ms, sampling 10 ms.
    fn new() -> Self {
        let params = AdthParams {
            target: Span::from_millis(20),
            sampling: Span::from_millis(10),
            ..AdthParams::default()
        };
        Self {
            queue: SingleQueue::new(Limit::Packets(1000), Adth::new(params)),
            log: Log::default(),
            next: 0,
        }
    }

    fn arrive(&mut self, packets: u64, millis: u64) {
        for _ in 0..packets {
            let packet = TestPacket::new(self.next, 1000);
            self.next += 1;
            self.queue.enqueue(packet, at(millis), &mut self.log);
        }
    }

    fn leave(&mut self, millis: u64) {
        self.queue.dequeue(at(millis), &mut self.log);
    }

    fn limit(&self) -> u32 {
        self.queue.aqm().control(self.queue.state()).limit
    }
}

/// The paper's scenario 1: `max` before congestion, the largest estimate after it.
#[test]
fn after_congestion_the_limit_stays_at_the_largest_estimate() {
    let mut node = Node::new();
    // 1..11 ms: one packet waits a millisecond; the estimate is 20 - 1 ms at 200/s: 3 packets,
    // more than wait, and the nodal delay is 2 ms: no congestion.
    node.arrive(2, 1);
    node.leave(1);
    node.leave(2);
    node.arrive(1, 11);
    assert_eq!(node.limit(), 1000);
    // 11..20 ms: five leave 2 ms apart while 30 more wait; the first found the line idle. 18 ms at
    // 500/s are 9 packets.
    node.arrive(34, 11);
    for n in 0..5 {
        node.leave(11 + 2 * n);
    }
    node.arrive(1, 20);
    assert_eq!((node.limit(), node.queue.backlog().packets), (9, 9));
    // 20..30 ms: two leave, 1 ms and 7 ms after the one before them.
    node.leave(20);
    node.leave(27);
    node.arrive(1, 30);
    let control = node.queue.aqm().control(node.queue.state());
    assert_eq!(control.mac_delay, Span::from_millis(4));
    // 16 ms at 200/s: 3 packets, fewer than the 7 that wait.
    assert_eq!((node.limit(), node.queue.backlog().packets), (3, 3));
    // 30..40 ms: the arrival was refused, then three leave at 31 ms, and one comes and goes: MAC
    // delays 4, 0 and 0 ms, 18.67 ms at 400/s.
    for _ in 0..3 {
        node.leave(31);
    }
    node.arrive(1, 35);
    node.leave(35);
    node.arrive(1, 40);
    assert_eq!(node.limit(), 7);
    // 40..50 ms: no congestion.
    node.leave(40);
    node.arrive(1, 50);
    assert_eq!(node.limit(), 9, "the largest of 9, 3 and 7");
    node.leave(50);
    // Nothing received for an interval: there is no congestion either.
    node.arrive(1, 75);
    assert_eq!(node.limit(), 9);
    node.leave(75);
    node.arrive(1, 85);
    assert_eq!(node.limit(), 9);
    node.leave(85);
    // After ten seconds without a packet nothing is remembered.
    node.arrive(1, 10_100);
    node.leave(10_100);
    node.arrive(1, 10_110);
    assert_eq!(node.limit(), 1000);
}

/// The same where arrivals are rarer than intervals: one without an arrival, in which a packet
/// left, does not open the queue while packets wait.
#[test]
fn an_interval_without_an_arrival_opens_no_queue_that_is_not_empty() {
    let mut node = Node::new();
    node.arrive(1, 0);
    node.leave(0);
    let mut most = 0;
    for millis in 1..2000 {
        if millis % 41 == 0 {
            node.leave(millis);
        }
        if millis % 16 == 0 {
            node.arrive(1, millis);
        }
        if millis > 100 {
            most = most.max(node.queue.backlog().packets);
        }
    }
    assert_eq!((node.limit(), most), (1, 1));
}

/// A line so slow that most intervals have no departure: the limit of the last one with a
/// departure holds, so that one packet waits, not a thousand.
#[test]
fn a_line_slower_than_the_sampling_keeps_its_limit() {
    let mut node = Node::new();
    node.arrive(1, 0);
    node.leave(0);
    let mut most = 0;
    for millis in 1..1000 {
        if millis % 100 == 0 {
            node.leave(millis);
        }
        node.arrive(1, millis);
        // The first estimate is made when the interval of the second departure ends.
        if millis > 110 {
            most = most.max(node.queue.backlog().packets);
        }
    }
    // Packets that leave 100 ms apart have a MAC delay above the target: an estimate of 0.
    assert_eq!((node.limit(), most), (1, 1));
}

#[test]
fn without_a_purge_every_arrival_replaces_one() {
    let build = |words: &str| {
        let spec: Spec = words.parse().expect("adth");
        spec.build::<TestPacket>(Setting {
            seed: 1,
            name: "queue",
            mtu: 1514,
            link_header: 14,
        })
    };
    let mut queue = build("adth target 20ms sampling 20ms full head nopurge");
    let mut log = Log::default();
    for id in 0..50 {
        queue.enqueue(TestPacket::new(id, 1000), at(1), &mut log);
    }
    for n in 0..5 {
        queue.dequeue(at(1 + 4 * n), &mut log);
    }
    for id in 50..60 {
        queue.enqueue(TestPacket::new(id, 1000), at(21), &mut log);
    }
    assert_eq!(queue.backlog().packets, 45);
    let dropped: Vec<u64> = log.dropped.iter().map(|(packet, _)| packet.id).collect();
    assert_eq!(dropped, (5..15).collect::<Vec<u64>>());
    // The same queue, told to purge, does so at the next packet.
    let purging: Spec = "adth target 20ms sampling 20ms full head"
        .parse()
        .expect("adth");
    let changed = queue.change(&purging, at(22));
    assert!(changed.is_ok());
    queue.dequeue(at(23), &mut log);
    assert!(queue.backlog().packets < 5, "{:?}", queue.backlog());
}
