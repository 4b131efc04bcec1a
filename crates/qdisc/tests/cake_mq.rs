//! A rate that several CAKEs share: who gets how much, from when on, and how much together.

use crate::common::frame::{Drops, Frame, SETTING, compete, frame, ms, near};
use sojourn_qdisc::{Cake, CakeParams, Dequeue, LEND, Qdisc, Share, SharedRate, Spec, Value};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};

/// 1514 bytes take a millisecond.
const RATE: u64 = 1514 * 8 * 1000;
const PACKET: Span = Span::from_millis(1);

/// Workers of one link, each with the flows that are sent through it.
struct Link {
    workers: Vec<Cake<Frame, Share>>,
    now: Time,
    /// What left: when, through which worker, of which flow.
    left: Vec<(Time, usize, Frame)>,
}

impl Link {
    fn new(workers: u32) -> Self {
        let params = CakeParams {
            bandwidth: Some(Rate::from_bps(RATE)),
            ..CakeParams::default()
        };
        let shared = SharedRate::new(workers);
        let worker = |number| {
            let dice = Stream::named(1, "cake");
            Cake::worker(params, 1514, 14, dice, &shared, number)
        };
        Self {
            workers: (0..workers).map(worker).collect(),
            now: ms(1),
            left: Vec::new(),
        }
    }

    fn offer(&mut self, worker: usize, flow: Frame, count: usize) {
        for _ in 0..count {
            self.workers[worker].enqueue(flow, self.now, &mut Drops::default());
        }
    }

    /// Has these workers send until a time, each as soon as it may. Whoever may at the same time
    /// goes in turn; a flow that sends offers another packet.
    fn run(&mut self, awake: &[usize], until: Time) {
        let mut first = 0;
        while self.now < until {
            let mut next = until;
            for step in 0..awake.len() {
                let worker = awake[(first + step) % awake.len()];
                match self.workers[worker].dequeue(self.now, &mut Drops::default()) {
                    Dequeue::Packet { packet, .. } => {
                        self.left.push((self.now, worker, packet));
                        self.offer(worker, packet, 1);
                        next = self.now;
                    }
                    Dequeue::NotBefore(time) => next = next.min(time),
                    Dequeue::Empty => {}
                }
            }
            first += 1;
            self.now = self.now.max(next);
        }
    }

    /// Packets of a worker that left in a time.
    fn count(&self, worker: usize, from: Time, to: Time) -> usize {
        let counted =
            |(at, by, _): &&(Time, usize, Frame)| (from..to).contains(at) && *by == worker;
        self.left.iter().filter(counted).count()
    }

    /// Holds every window that begins and ends with a packet to the rate, one packet for each
    /// worker, and what lending brings.
    fn is_within_the_rate(&self) {
        let most = self.workers.len() as u64;
        for (begin, (from, ..)) in self.left.iter().enumerate() {
            for (end, (to, ..)) in self.left.iter().enumerate().skip(begin) {
                let sent = (end - begin + 1) as u64;
                let time = *to - *from + LEND + PACKET * most;
                assert!(PACKET * sent <= time, "{sent} from {from:?} to {to:?}");
            }
        }
    }
}

/// Half a packet's time after so many.
fn at(packets: u64) -> Time {
    ms(packets) + Span::from_micros(500)
}

fn flow(port: u32) -> Frame {
    frame(1, 2, port)
}

/// By hand: one flow beside three is a quarter of the rate, 250 of 1000 packets. Shares are told
/// 200 µs after they change, so that it holds from the second round on.
#[test]
fn one_flow_beside_three_gets_a_quarter() {
    let mut link = Link::new(2);
    link.offer(0, flow(1), 20);
    (2..=4).for_each(|port| link.offer(1, flow(port), 20));
    link.run(&[0, 1], at(1009));
    let count = |worker| link.count(worker, at(9), at(1009));
    let (one, three) = (count(0), count(1));
    assert_eq!(one + three, 1000, "the whole rate");
    assert!((248..=252).contains(&one), "{one}");
    for port in 2..=4 {
        let of_port = |(_, _, packet): &&(Time, usize, Frame)| packet.port == port;
        let own = link.left.iter().filter(of_port).count();
        assert!((248..=257).contains(&own), "{own}");
    }
    link.is_within_the_rate();
    // From the tenth packet on no window of twelve is more than a packet away from it.
    for begin in (9..997).step_by(12) {
        let own = link.count(0, at(begin), at(begin + 12));
        assert!((2..=4).contains(&own), "{own} from {begin} ms");
    }
}

/// What a worker without packets does not need the others have from their next packet on, and
/// what it needs again it has as soon.
#[test]
fn an_idle_workers_share_is_lent_and_given_back() {
    let mut link = Link::new(2);
    link.offer(0, flow(1), 20);
    link.run(&[0, 1], at(101));
    assert_eq!(link.count(0, at(1), at(101)), 100, "alone it has it all");
    link.offer(1, flow(2), 20);
    link.run(&[0, 1], at(301));
    let given = link.count(1, at(101), at(301));
    assert!((99..=101).contains(&given), "{given}");
    // It ends, and nothing of the link is lost for it.
    while let Dequeue::Packet { .. } | Dequeue::NotBefore(_) =
        link.workers[1].dequeue(link.now, &mut Drops::default())
    {
        link.now += PACKET;
    }
    let from = link.now + PACKET;
    link.run(&[0, 1], from + Span::from_millis(100));
    assert!(link.count(0, from, from + Span::from_millis(100)) >= 99);
}

/// A worker that needs its share and does not send, because its thread sleeps, holds the others up
/// for `LEND` once; what it was lent it does not get back at once.
#[test]
fn a_sleeping_workers_share_is_lent() {
    let mut link = Link::new(2);
    link.offer(0, flow(1), 20);
    link.offer(1, flow(2), 20);
    link.run(&[0, 1], at(101));
    link.run(&[0], at(301));
    let lent = link.count(0, at(101), at(301));
    assert!((198..=200).contains(&lent), "{lent}");
    link.run(&[0, 1], at(501));
    let again = [0, 1].map(|worker| link.count(worker, at(301), at(501)));
    assert_eq!(again[0] + again[1], 200);
    assert!(again[0] >= 96 && again[1] <= 104, "{again:?}");
    link.is_within_the_rate();
}

/// A worker that begins and ends with each packet takes nothing from the rate's bound.
#[test]
fn packets_now_and_then_do_not_add_to_the_rate() {
    let mut link = Link::new(2);
    link.offer(0, flow(1), 20);
    let mut drops = Drops::default();
    for step in 1..200 {
        link.run(&[0], ms(1) + Span::from_micros(1700) * step);
        link.workers[1].enqueue(flow(2), link.now, &mut drops);
        loop {
            match link.workers[1].dequeue(link.now, &mut drops) {
                Dequeue::Packet { packet, .. } => link.left.push((link.now, 1, packet)),
                Dequeue::NotBefore(time) => {
                    // A sparse flow waits for the packet that is being sent, and no turn.
                    assert!(time - link.now <= PACKET * 2, "{:?}", time - link.now);
                    link.run(&[0], time);
                }
                Dequeue::Empty => break,
            }
        }
    }
    link.is_within_the_rate();
}

/// Ten flows of one host beside one of another: half each, over all queues, as on one queue.
#[test]
fn hosts_share_over_all_queues() {
    let mut flows: Vec<Frame> = (1..=10).map(|port| frame(1, 100 + port, port)).collect();
    flows.push(frame(2, 99, 11));
    for queues in [1, 2, 4] {
        let spec = format!("cake_mq queues {queues} bandwidth 10mbit besteffort dual-srchost");
        let shares = compete(crate::common::frame::build(&spec), &flows, 30);
        near(&shares[10..], &[0.5], 0.06);
        let many: f64 = shares[..10].iter().sum();
        near(&[many], &[0.5], 0.06);
    }
}

/// Flows share alike, whatever queue each is in: Jain's index over eleven of them.
#[test]
fn flows_share_over_all_queues() {
    let flows: Vec<Frame> = (1..=11).map(flow).collect();
    for queues in [1, 2, 3, 8] {
        let spec = format!("cake_mq queues {queues} bandwidth 10mbit besteffort");
        let shares = compete(crate::common::frame::build(&spec), &flows, 20);
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let jain = 1.0 / (squares * flows.len() as f64);
        assert!(jain > 0.995, "{queues} queues: {jain}, {shares:?}");
    }
}

/// What is shown: the sums of all queues, and each with its part of the rate.
#[test]
fn the_report_adds_up() {
    let spec: Spec = "cake_mq queues 4 bandwidth 8mbit".parse().expect("valid");
    let mut queue = spec.build::<Frame>(SETTING);
    let mut drops = Drops::default();
    for port in 0..40 {
        queue.enqueue(flow(port % 8), ms(1), &mut drops);
    }
    for step in 0..10 {
        queue.dequeue(ms(1 + 2 * step), &mut drops);
    }
    let report = queue.report(ms(20));
    let number = |fields: &[sojourn_qdisc::Field], name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        match field.map(|field| &field.value) {
            Some(Value::Int(number)) => *number,
            _ => panic!("{name} is missing"),
        }
    };
    let groups = |name: &str| {
        let field = report.stats.iter().find(|field| field.name == name);
        match field.map(|field| &field.value) {
            Some(Value::Groups(groups)) => groups,
            _ => panic!("{name} is missing"),
        }
    };
    let queues = groups("queues");
    assert_eq!(queues.len(), 4);
    let sum = |name| queues.iter().map(|queue| number(queue, name)).sum::<i64>();
    assert_eq!(sum("packets"), number(&report.stats, "packets"));
    assert_eq!(sum("qlen"), number(&report.stats, "qlen"));
    assert_eq!(sum("qlen"), queue.backlog().packets.cast_signed());
    let parts = sum("share_rate");
    assert!((999_990..=1_000_000).contains(&parts), "{parts}");
    let tins = groups("tins");
    let offered: i64 = tins.iter().map(|tin| number(tin, "sent_packets")).sum();
    assert_eq!((tins.len(), offered), (3, 40));
    assert_eq!(number(&tins[1], "threshold_rate"), 1_000_000);
    let text = report.tc_text(sojourn_qdisc::Place {
        dev: None,
        handle: 1,
    });
    assert!(
        text.contains("queue 1      queue 2      queue 3      queue 4"),
        "{text}"
    );
}
