use super::*;
use crate::bridge::NoObserver;
use sojourn_qdisc::Spec;
use sojourn_units::{Rate, Span};
use sojourn_world::LineRate;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// A port in memory: frames with their times of arrival, and what was sent.
#[derive(Default)]
struct Memory {
    inbox: VecDeque<(Time, Vec<u8>)>,
    sent: Vec<Vec<u8>>,
    now: Time,
}

impl FramePort for Memory {
    fn receive(
        &mut self,
        pool: &mut Pool,
        _clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize> {
        let mut count = 0;
        while count < BATCH && self.inbox.front().is_some_and(|(at, _)| *at <= self.now) {
            let (at, bytes) = self.inbox.pop_front().expect("there is a first");
            into.extend(Frame::from_bytes(pool, &bytes, at));
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        for frame in frames.drain(..) {
            self.sent.push(frame.parts().0.to_vec());
            pool.give(frame);
        }
        Ok(())
    }

    fn fds(&self) -> &[OwnedFd] {
        &[]
    }

    fn counters(&mut self) -> PortCounters {
        PortCounters::default()
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// 1 Mbit/s, 5 ms, and 1250 bytes a frame: 10 ms each on the link.
fn engine(limit: u32, count: u8) -> Engine<Memory> {
    let mut config = BridgeConfig::new("left", "right");
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(1_000_000));
    config.up.qdisc = Spec::pfifo(limit);
    config.up.line.delay = Span::from_millis(5);
    let left = Memory {
        inbox: (0..count).map(|n| (at(1000), vec![n; 1250])).collect(),
        ..Memory::default()
    };
    let pools = [Pool::new(64), Pool::new(64)];
    Engine::new(&config, pools, [left, Memory::default()], 1500)
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
    let mut built = engine.lanes[0].plan.build(&spec);
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
