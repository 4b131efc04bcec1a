use super::*;
use crate::forwarding::Circuits;
use crate::forwarding::frame::tests::super_packet;
use crate::forwarding::{NoObserver, VnetHeader};
use sojourn_line::LineRate;
use sojourn_qdisc::{Spec, TreeClass, TreeSpec};
use sojourn_units::{Rate, Span};
use std::collections::VecDeque;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A port in memory: frames with their times of arrival, and what was sent.
struct Memory {
    inbox: VecDeque<(Time, Vec<u8>, VnetHeader)>,
    sent: Vec<Vec<u8>>,
    /// Frames that it still sends.
    room: usize,
    now: Time,
    alarm: Option<OwnedFd>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            inbox: VecDeque::new(),
            sent: Vec::new(),
            room: usize::MAX,
            now: Time::ZERO,
            alarm: None,
        }
    }
}

impl FramePort for Memory {
    fn receive(
        &mut self,
        pool: &mut Pool,
        _clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize> {
        let mut count = 0;
        while count < BATCH && self.inbox.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (at, bytes, vnet) = self.inbox.pop_front().expect("there is a first");
            into.extend(Frame::from_bytes(pool, &bytes, at).map(|mut frame| {
                frame.filled(bytes.len(), vnet, None, at);
                frame
            }));
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        let takes = frames.len().min(self.room);
        self.room -= takes;
        for frame in frames.drain(..takes) {
            self.sent.push(frame.parts().concat());
            pool.give(frame);
        }
        Ok(())
    }

    fn fds(&self) -> &[OwnedFd] {
        &[]
    }

    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.as_ref().map(AsFd::as_fd)
    }

    fn counters(&mut self) -> PortCounters {
        PortCounters::default()
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// With a seed of its own: by chance two flows may have one place in a flow queue.
fn config() -> BridgeConfig {
    BridgeConfig {
        seed: 1,
        ..BridgeConfig::new("left", "right")
    }
}

/// 1 Mbit/s, 5 ms, and 1250 bytes a frame: 10 ms each on the link.
fn engine(limit: u32, count: u8) -> Engine<Memory> {
    let mut config = config();
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(1_000_000));
    config.up.qdisc = Spec::pfifo(limit);
    config.up.line.delay = Span::from_millis(5);
    let left = Memory {
        inbox: (0..count)
            .map(|n| (at(1000), vec![n; 1250], VnetHeader::default()))
            .collect(),
        ..Memory::default()
    };
    let pools = [Pool::new(64), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    Engine::new(&config, pools, [left, Memory::default()], lanes)
}

fn step(engine: &mut Engine<Memory>, now: Time) -> Wait {
    for port in &mut engine.ports {
        port.now = now;
    }
    engine
        .step(now, &mut NoObserver)
        .expect("memory does not fail")
}

#[test]
fn frames_leave_when_the_link_has_sent_them() {
    let mut engine = engine(100, 3);
    // Each step says when the next frame is due: 10, 20, 30 ms of sending and 5 of delay.
    let mut wait = step(&mut engine, at(1000));
    for (sent, due) in [(1, 1015), (2, 1025), (3, 1035)] {
        while wait.until < at(due) {
            wait = step(&mut engine, wait.until);
            assert_eq!(engine.ports[1].sent.len(), sent - 1);
        }
        assert_eq!(wait.until, at(due));
        wait = step(&mut engine, at(due));
        assert_eq!(engine.ports[1].sent.len(), sent);
    }
    assert_eq!(wait.until, Time::MAX);
}

#[test]
fn a_late_wake_up_costs_no_rate() {
    let mut engine = engine(100, 5);
    step(&mut engine, at(1000));
    // 47 ms late for the first: four have been sent by then, three have come out.
    step(&mut engine, at(1042));
    assert_eq!(engine.ports[1].sent.len(), 3);
    step(&mut engine, at(1055));
    assert_eq!(engine.ports[1].sent.len(), 5);
}

#[test]
fn no_frame_is_lost_from_the_pool() {
    let mut engine = engine(4, 20);
    for now in 1000..1030 {
        step(&mut engine, at(now));
        let held = engine.lanes[0].qdisc().backlog().packets as usize + engine.lanes[0].under_way();
        assert_eq!(engine.pools[0].lent(), held, "at {now} ms");
    }
    assert!(engine.lanes[0].qdisc().counters().dropped.packets > 0);
    engine
        .finish(at(1030), &mut NoObserver)
        .expect("memory does not fail");
    assert_eq!(engine.pools[0].lent(), 0);
    let counters = *engine.lanes[0].qdisc().counters();
    assert_eq!(engine.ports[1].sent.len() as u64, counters.dequeued.packets);
    assert_eq!(counters.dequeued.packets + counters.dropped.packets, 20);
}

#[test]
fn another_queue_takes_over_what_is_held() {
    let mut engine = engine(100, 5);
    step(&mut engine, at(1000));
    let spec = "fq_codel".parse().expect("a spec");
    let mut built = engine.lanes[0].plan.build(&spec, None);
    engine.lanes[0].set_spec(&spec, &mut built, at(1001));
    engine.lanes[0].change_line(&LineRate::Infinite.into(), at(1001));
    step(&mut engine, at(1100));
    assert_eq!(engine.ports[1].sent.len(), 5);
    assert!(
        engine.ports[1]
            .sent
            .iter()
            .zip(0..)
            .all(|(frame, n)| frame[0] == n)
    );
}

/// Payloads of what leaves a link of 100 Mbit/s, when a super-packet of ten segments of 1400 bytes
/// has come to it, a frame of another flow 200 µs later, and `turns` are the moments at which it is
/// looked at, in µs since. A segment, 1454 bytes with its headers, takes 116 µs.
fn left(turns: &[u64]) -> Vec<usize> {
    let mut config = config();
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(100_000_000));
    config.up.qdisc = "fq_codel".parse().expect("a spec");
    let after = |micros| at(1000) + Span::from_micros(micros);
    let (bytes, vnet) = super_packet(14_000, false);
    let (mut other, _) = super_packet(100, false);
    other[35] = 81;
    let left = Memory {
        inbox: [
            (after(0), bytes, vnet),
            (after(200), other, VnetHeader::default()),
        ]
        .into(),
        ..Memory::default()
    };
    let pools = [Pool::new(64), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    let mut engine = Engine::new(&config, pools, [left, Memory::default()], lanes);
    for micros in turns {
        step(&mut engine, after(*micros));
    }
    assert_eq!(engine.pools[0].lent(), 0, "{turns:?}");
    let sent = &engine.ports[1].sent;
    sent.iter().map(|bytes| bytes.len() - 54).collect()
}

/// Nothing waits to be joined, the queue decides the order as ever, and what is joined has taken
/// the link 500 µs at most.
#[test]
fn segments_that_are_due_together_leave_together() {
    let on_time: Vec<u64> = (0..1500).collect();
    let single = [1400; 10];
    // The other flow's frame passes by the segments that wait.
    let mut expected = single.to_vec();
    expected.insert(2, 100);
    assert_eq!(left(&on_time), expected);
    // Two before it; of eight the first five, due within 465 µs, and the rest.
    assert_eq!(left(&[0, 5000]), [2800, 100, 7000, 4200]);
    assert_eq!(left(&[0, 120, 640, 5000]), [1400, 1400, 100, 4200, 7000]);
}

/// What an interface takes no more waits in the queue, but for 1 MiB or what came at one look.
#[test]
fn a_slow_interface_fills_the_queue() {
    const FRAMES: u64 = 5000;
    let mut config = config();
    config.up.qdisc = Spec::pfifo(10_000);
    let bytes = |number: u64| {
        (
            at(1000),
            number.to_be_bytes().repeat(8),
            VnetHeader::default(),
        )
    };
    let left = Memory {
        inbox: (0..FRAMES).map(bytes).collect(),
        ..Memory::default()
    };
    let right = Memory {
        room: 10,
        ..Memory::default()
    };
    let pools = [Pool::new(10_000), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    let mut engine = Engine::new(&config, pools, [left, right], lanes);
    let turn = |engine: &mut Engine<Memory>, now| {
        let wait = step(engine, at(now));
        let (held, ready) = (
            engine.lanes[0].qdisc().backlog(),
            engine.lanes[0].under_way(),
        );
        assert_eq!(engine.pools[0].lent(), held.packets as usize + ready);
        (wait, held.packets as usize, ready)
    };
    let (mut wait, mut held, mut ready) = turn(&mut engine, 1001);
    while wait.more {
        (wait, held, ready) = turn(&mut engine, 1001);
    }
    // 448 frames of 2.3 KiB, or what came at the first look.
    assert!((448..=512).contains(&ready), "{ready}");
    assert_eq!(held + ready + 10, FRAMES as usize);
    assert_eq!((wait.blocked, wait.until), (true, Time::MAX));
    // It gives nothing before what was ready has gone, and then all of it.
    engine.ports[1].room = ready - 1;
    assert_eq!(turn(&mut engine, 1002).1, held);
    engine.ports[1].room = usize::MAX;
    let (wait, held, ready) = turn(&mut engine, 1003);
    assert_eq!((wait.blocked, held, ready), (false, 0, 0));
    let sent = &engine.ports[1].sent;
    assert_eq!(sent.len() as u64, FRAMES);
    assert!(
        sent.iter()
            .zip(0_u64..)
            .all(|(frame, number)| frame[..8] == number.to_be_bytes())
    );
}

/// However an interface stops and goes on, no more waits behind the queue than 1 MiB or what came
/// at one look: what it held back leaves in pieces, also while more arrives than one look takes in.
#[test]
fn an_interface_that_goes_on_gets_what_waited_in_pieces() {
    let mut config = config();
    config.up.qdisc = Spec::pfifo(10_000);
    let pools = [Pool::new(20_000), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    let ports = [Memory::default(), Memory::default()];
    let mut engine = Engine::new(&config, pools, ports, lanes);
    let mut number = 0_u64;
    for turn in 0..2000 {
        let now = at(1000 + turn);
        for _ in 0..turn * 7919 % 1201 {
            let bytes = number.to_be_bytes().repeat(8);
            engine.ports[0]
                .inbox
                .push_back((now, bytes, VnetHeader::default()));
            number += 1;
        }
        engine.ports[1].room = [0, 100, 700, usize::MAX][turn as usize * 31 % 7 % 4];
        step(&mut engine, now);
        let ready = engine.lanes[0].under_way();
        assert!(ready <= BATCH * BATCHES, "{ready} at {turn}");
    }
    let sent = &engine.ports[1].sent;
    assert!(sent.is_sorted(), "frames overtook each other");
}

/// What was held and what waits is dropped, and each frame is counted as what it is.
#[test]
fn what_is_too_old_is_dropped_and_counted() {
    let mut engine = engine(100, 3);
    step(&mut engine, at(1000));
    let held = engine.lanes[0].qdisc().backlog().packets;
    assert_eq!(held, 2, "one is being sent");
    let waiting = (0..200).map(|n| (at(1001 + n), vec![0; 1250], VnetHeader::default()));
    engine.ports[0].inbox.extend(waiting);
    engine.ports[0].now = at(1500);
    let expired = engine.expire(at(1500), &mut NoObserver);
    expired.expect("memory does not fail");
    assert!(engine.ports[0].inbox.is_empty());
    let lane = &engine.lanes[0];
    assert_eq!(lane.qdisc().counters().dropped.packets, held);
    assert_eq!(lane.stale, 201);
    assert_eq!(engine.pools[0].lent(), 0);
}

/// At the end all that has arrived is sent, however much it is.
#[test]
fn what_has_arrived_leaves_at_the_end() {
    const FRAMES: u64 = 3000;
    let mut config = config();
    config.up.qdisc = Spec::pfifo(10_000);
    let frames = (0..FRAMES).map(|_| (at(1000), vec![0; 60], VnetHeader::default()));
    let left = Memory {
        inbox: frames.collect(),
        now: at(1000),
        ..Memory::default()
    };
    let pools = [Pool::new(10_000), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    let mut engine = Engine::new(&config, pools, [left, Memory::default()], lanes);
    let finished = engine.finish(at(1001), &mut NoObserver);
    finished.expect("memory does not fail");
    assert_eq!(engine.ports[1].sent.len() as u64, FRAMES);
}

/// Each minute a burst, each hour another queue, each day a stall of twenty seconds, in which the link
/// is taken to have been down: what comes is sent or dropped and told, and nothing stays.
#[test]
fn a_week_leaves_nothing_behind() {
    const MINUTES: u64 = 7 * 24 * 60;
    const BURST: u8 = 40;
    const QUEUES: [&str; 7] = [
        "fq_codel",
        "cake bandwidth 9mbit",
        "pfifo limit 20",
        "cake_mq queues 4 bandwidth 15mbit",
        "fq_pie flows 32",
        "htb rate 12mbit over cake",
        "tbf rate 15mbit burst 5kb limit 50kb",
    ];
    let mut engine = engine(20, 0);
    let (mut sent, mut kept) = (0, Vec::new());
    for minute in 0..MINUTES {
        let start = 1000 + minute * 60_000;
        if minute % 60 == 0 {
            let queue = QUEUES[(minute / 60) as usize % QUEUES.len()];
            let spec = queue.parse().expect("a spec");
            let mut built = engine.lanes[0].plan.build(&spec, None);
            engine.lanes[0].set_spec(&spec, &mut built, at(start));
        }
        let burst = (0..BURST).map(|n| {
            (
                at(start + u64::from(n)),
                vec![n; 1250],
                VnetHeader::default(),
            )
        });
        engine.ports[0].inbox.extend(burst);
        let mut wait = step(&mut engine, at(start + u64::from(BURST)));
        if minute % 1440 == 700 {
            wait = step(&mut engine, at(start + 20_000));
        }
        while wait.until < Time::MAX {
            assert!(wait.until < at(start + 50_000), "minute {minute}: {wait:?}");
            wait = step(&mut engine, wait.until);
        }
        sent += engine.ports[1].sent.drain(..).len() as u64;
        let pool = &engine.pools[0];
        assert_eq!(pool.lent(), 0, "minute {minute}");
        kept.push(pool.lent_bytes());
    }
    let counters = *engine.lanes[0].qdisc().counters();
    assert_eq!(counters.offered.packets, MINUTES * u64::from(BURST));
    assert_eq!(counters.dequeued.packets, sent);
    assert_eq!(sent + counters.dropped.packets, counters.offered.packets);
    assert!(counters.dropped.packets > 0, "{counters:?}");
    let last = kept.last().expect("a week has minutes");
    assert!(kept[..60].contains(last), "{} and {last} bytes", kept[59]);
}

/// A datagram of 1250 bytes from this address.
fn datagram(last: u8) -> Vec<u8> {
    let mut frame = vec![0; 1250];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..24].copy_from_slice(&[0x45, 0, 0x04, 0xd4, 0, 0, 0, 0, 64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, last, 192, 0, 2, 1]);
    frame
}

/// Two circuits of 1 Mbit/s each.
fn of_circuits() -> Engine<Memory> {
    let mut config = config();
    config.saves_wakeups = true;
    let class = |name: &str| TreeClass {
        name: name.into(),
        parent: None,
        rate: Rate::from_bps(1_000_000),
        ceil: None,
        queue: Some(0),
    };
    let tree = TreeSpec::new(vec![class("one"), class("two")], vec![Spec::pfifo(100)]);
    config.up.qdisc = Spec::Tree(Arc::new(tree.expect("a tree")));
    let circuits = [(1, 1), (2, 2)].map(|(last, circuit)| {
        let address = Ipv4Addr::new(10, 0, 0, last).into();
        (address, 32, circuit)
    });
    config.up.circuits = Some(Arc::new(Circuits::new(circuits)));
    let pools = [Pool::new(64), Pool::new(64)];
    let lanes = Side::BOTH.map(|side| Lane::new(side, &config, 1500));
    Engine::new(
        &config,
        pools,
        [Memory::default(), Memory::default()],
        lanes,
    )
}

/// What one circuit waits for is not what another one waits for.
#[test]
fn a_circuit_that_waits_holds_no_other() {
    let mut engine = of_circuits();
    let frames = (0..20).map(|_| (at(1000), datagram(1), VnetHeader::default()));
    engine.ports[0].inbox = frames.collect();
    let mut wait = step(&mut engine, at(1000));
    // Until its bucket is empty.
    while wait.until <= at(1003) {
        wait = step(&mut engine, wait.until);
    }
    let (sent, due) = (engine.ports[1].sent.len(), wait.until);
    let now = due - Span::from_millis(5);
    let other = (now, datagram(2), VnetHeader::default());
    engine.ports[0].inbox.push_back(other);
    // So a frame that arrives has to wake the thread up.
    assert_eq!(wait.closed_until, [Time::ZERO; 2]);
    step(&mut engine, now);
    assert_eq!(engine.ports[1].sent.len(), sent + 1);
    assert_eq!(engine.ports[1].sent[sent][29], 2);
}

/// While the link sends, no frame that arrives could leave before the next that is due.
#[test]
fn a_direction_is_closed_while_its_link_sends() {
    for saves_wakeups in [true, false] {
        let mut engine = engine(100, 3);
        engine.saves_wakeups = saves_wakeups;
        let wait = step(&mut engine, at(1000));
        let closed = if saves_wakeups { at(1015) } else { Time::ZERO };
        assert_eq!(wait.closed_until, [closed, Time::ZERO]);
        assert_eq!(wait.is_shaped(), saves_wakeups);
        // The last has left the queue: the next may leave as soon as it has been sent.
        let wait = step(&mut engine, at(1020));
        assert_eq!(wait.closed_until, [Time::ZERO; 2]);
    }
}

/// An engine that holds frames, whose ports have alarms.
fn alarmed() -> Engine<Memory> {
    let mut engine = engine(30, 20);
    engine.saves_wakeups = true;
    for port in &mut engine.ports {
        port.alarm = File::open("/dev/null").ok().map(OwnedFd::from);
    }
    engine
}

/// While a shaper has enough to send, only frames in a hurry wake the thread up; in the other
/// direction too, unless that has full frames of its own.
#[test]
fn frames_in_no_hurry_wait_where_a_shaper_holds_others() {
    let mut engine = alarmed();
    let wait = step(&mut engine, at(1000));
    assert!(wait.is_patient() && !wait.hurries, "{wait:?}");
    assert_eq!(wait.bytes, 20 * 1250);
    let full = |now| (now, vec![0; 1250], VnetHeader::default());
    engine.ports[1].inbox.push_back(full(at(1001)));
    assert_eq!(step(&mut engine, at(1001)).patient, [true, false]);
    assert_eq!(step(&mut engine, at(1011)).patient, [true, false]);
    assert_eq!(step(&mut engine, at(1012)).patient, [true; 2]);
    engine.ports[0].alarm = None;
    assert_eq!(step(&mut engine, at(1013)).patient, [false, true]);
    engine.saves_wakeups = false;
    assert_eq!(step(&mut engine, at(1014)).patient, [false; 2]);
}

/// One in a hurry is waited for from its arrival until it has left, behind the queue too, or has
/// been dropped.
#[test]
fn a_frame_in_a_hurry_leaves_at_its_own_time() {
    let mut engine = alarmed();
    let small = |now| (now, vec![7; 60], VnetHeader::default());
    step(&mut engine, at(1000));
    for _ in 0..20 {
        engine.ports[0].inbox.push_back(small(at(1001)));
    }
    assert!(step(&mut engine, at(1002)).hurries);
    // The limit is 30, and one of the full ones has left the queue.
    let dropped = engine.lanes[0].qdisc().counters().dropped.packets;
    assert_eq!(dropped, 9);
    let (mut now, mut left) = (at(1002), 0);
    while left < 31 {
        now += Span::from_millis(1);
        let wait = step(&mut engine, now);
        left = engine.ports[1].sent.len();
        let small = engine.ports[1]
            .sent
            .iter()
            .filter(|frame| frame.len() == 60);
        let has_more = small.count() < 11;
        assert!(wait.hurries || !has_more || !wait.is_shaped(), "{wait:?}");
        assert!(!wait.hurries || has_more, "{wait:?}");
    }
    assert!(!engine.lanes[0].hurries());
}

/// What answers at once is found at the look that sends.
#[test]
fn the_direction_that_has_something_due_goes_first() {
    let mut engine = engine(100, 1);
    assert_eq!(engine.order(at(1000)), Side::BOTH);
    step(&mut engine, at(1000));
    assert_eq!(engine.order(at(1015)), Side::BOTH);
    engine.lanes.swap(0, 1);
    assert_eq!(engine.order(at(1014)), Side::BOTH);
    assert_eq!(engine.order(at(1015)), [Side::Down, Side::Up]);
}
