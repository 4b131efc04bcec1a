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
    // 36 ms more without a departure: nothing is known, and the limit is the largest one.
    queue.enqueue(TestPacket::new(31, 1000), at(80), &mut log);
    assert_eq!(queue.aqm().control(queue.state()).limit, 1000);
    assert_eq!(queue.backlog().packets, 5);
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
