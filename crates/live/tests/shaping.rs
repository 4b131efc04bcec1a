//! Rate, delay and loss on the real link are what was asked for. Needs root.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::{Link, OURS, Raw, frame, is_ours, measured, plain, wait_for};
use sojourn_bridge::{NoObserver, Observer, PathDelays, Side};
use sojourn_qdisc::Spec;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{LineRate, RateTrace};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Frames sent ahead of what has come out: enough to keep the queue busy however late anybody
/// wakes up, and few enough for every socket on the way to hold.
const AHEAD: usize = 500;

/// Sends `count` full frames as fast as they are taken and measures the rate at which they come
/// out, in bit/s of bytes as a queue counts them.
fn rate_out(link: &Link, rate: LineRate, count: usize) -> f64 {
    let mut config = plain();
    config.up.line.rate = rate;
    config.up.qdisc = Spec::pfifo(100_000);
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ours = |got: &[u8]| got[12..14] == [0x88, 0xb5];
    let arrived = AtomicUsize::new(0);
    let (rate, stats) = link.bridged(config, || {
        thread::scope(|scope| {
            let meter = scope.spawn(|| {
                right.receive(ours).expect("a first frame");
                let start = Instant::now();
                for number in 1..count {
                    arrived.store(number, Ordering::Relaxed);
                    right.receive(ours).expect("all frames arrive");
                }
                (count - 1) as f64 * 1514.0 * 8.0 / start.elapsed().as_secs_f64()
            });
            for number in 0..count {
                while number > arrived.load(Ordering::Relaxed) + AHEAD && !meter.is_finished() {
                    thread::sleep(Duration::from_micros(200));
                }
                left.send(&frame(0x88b5, &[0; 1500]));
            }
            meter.join().expect("the meter ends")
        })
    });
    assert_eq!(stats.up.queue.dequeued.packets, count as u64);
    rate
}

#[test]
fn the_rate_is_exact() {
    let run = || {
        let link = Link::new();
        [(2_000_000, 400), (100_000_000, 10_000)].map(|(bps, count)| {
            let rate = rate_out(&link, LineRate::Fixed(Rate::from_bps(bps)), count);
            (rate, bps as f64)
        })
    };
    measured(run, |rates| {
        for (rate, wanted) in rates {
            let error = (rate / wanted - 1.0).abs();
            assert!(error < 0.01, "{rate} instead of {wanted} bit/s");
        }
    });
}

#[test]
fn a_trace_is_a_rate() {
    let run = || {
        // One opportunity each millisecond: 1500 bytes of IP packet, 1514 of frame.
        let trace = RateTrace {
            opportunities_ms: vec![1],
        };
        rate_out(&Link::new(), LineRate::Trace(Arc::new(trace)), 2000)
    };
    measured(run, |rate| {
        assert!((rate / 12_112_000.0 - 1.0).abs() < 0.01, "{rate}");
    });
}

/// Round-trip times of `count` echoes between these ports, one after the other.
fn round_trips(link: &Link, port: u16, count: usize) -> Vec<f64> {
    let server = link
        .server
        .run(|| UdpSocket::bind(("10.9.0.2", port)).expect("a socket"));
    let client = link
        .client
        .run(|| UdpSocket::bind("10.9.0.1:0").expect("a socket"));
    client.connect(("10.9.0.2", port)).expect("an address");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 64];
            for _ in 0..=count {
                let (len, from) = server.recv_from(&mut buffer).expect("a request");
                server.send_to(&buffer[..len], from).expect("an answer");
            }
        });
        let once = || {
            let start = Instant::now();
            client.send(&[0; 32]).expect("a request");
            client.recv(&mut [0; 64]).expect("an answer");
            start.elapsed().as_secs_f64() * 1e3
        };
        // The first also waits for ARP.
        once();
        (0..count).map(|_| once()).collect()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn delays_add_up_by_flow() {
    let run = || {
        let link = Link::new();
        let mut config = plain();
        let by_port = |paths: PathDelays| paths.udp(5002, Span::from_millis(20));
        config.up.line.delay = Span::from_millis(8);
        config.down.line.delay = Span::from_millis(2);
        config.up.paths = by_port(PathDelays::default());
        config.down.paths = by_port(PathDelays::default());
        let echoes = || {
            [(5001, 10.0), (5002, 50.0)].map(|(port, expected)| {
                let rtts = round_trips(&link, port, 20);
                assert!(rtts.iter().all(|&rtt| rtt >= expected), "{rtts:?}");
                (port, median(rtts), expected)
            })
        };
        link.bridged(config, echoes).0
    };
    measured(run, |medians| {
        for (port, median, expected) in medians {
            assert!(*median < expected + 8.0, "{median} ms on port {port}");
        }
    });
}

/// Adds up what it is told.
#[derive(Default)]
struct Tallies {
    offered: [u64; 2],
    dequeued: [u64; 2],
    dropped: [u64; 2],
    last: [Time; 2],
}

impl Tallies {
    fn at(&mut self, side: Side, now: Time) {
        let last = &mut self.last[side as usize];
        assert!(now >= *last, "time runs backwards: {last:?} {now:?}");
        *last = now;
    }
}

impl Observer for Tallies {
    fn offered(&mut self, side: Side, now: Time, _len: u32) {
        self.at(side, now);
        self.offered[side as usize] += 1;
    }

    fn dequeued(&mut self, side: Side, now: Time, _len: u32, _sojourn: Span) {
        self.at(side, now);
        self.dequeued[side as usize] += 1;
    }

    fn dropped(&mut self, side: Side, now: Time, _len: u32, _reason: sojourn_qdisc::DropReason) {
        self.at(side, now);
        self.dropped[side as usize] += 1;
    }
}

/// Where frames share wake-ups, and those in a hurry have some of their own, all arrive in order.
#[test]
fn frames_that_share_wakeups_stay_in_order() {
    const FRAMES: u32 = 1000;
    let link = Link::new();
    let mut config = plain();
    config.saves_wakeups = true;
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(50_000_000));
    config.up.qdisc = Spec::pfifo(100_000);
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let (numbers, stats) = link.bridged(config, || {
        for number in 0..FRAMES {
            let len = if number % 7 == 0 { 60 } else { 1400 };
            let payload = [&number.to_be_bytes()[..], &vec![0; len]].concat();
            left.send(&frame(OURS, &payload));
            // Some find a shaper that has nothing to do.
            if number % 200 == 0 {
                thread::sleep(Duration::from_millis(50));
            }
        }
        let mut numbers = Vec::new();
        while numbers.len() < FRAMES as usize {
            let frame = right.receive(is_ours).expect("all frames arrive");
            let number = frame[14..].first_chunk().expect("it has a number");
            numbers.push(u32::from_be_bytes(*number));
        }
        assert_eq!(right.count(0, is_ours), 0);
        numbers
    });
    assert!(numbers.into_iter().eq(0..FRAMES));
    assert_eq!(stats.up.queue.dequeued.packets, u64::from(FRAMES));
}

#[test]
fn an_overfull_queue_drops_and_everything_is_accounted() {
    let link = Link::new();
    let mut config = plain();
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(5_000_000));
    config.up.qdisc = Spec::pfifo(50);
    config.up.line.loss = 0.2.into();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats, told) = link.asked(config, Tallies::default(), |remote| {
        for _ in 0..1000 {
            left.send(&frame(0x88b5, &[0; 1000]));
        }
        wait_for("an empty queue", || {
            let up = &remote.snapshot().expect("it answers").stats[0];
            up.input.received + up.input.missed >= 1000 && up.backlog.packets == 0
        });
    });
    // The bridge has ended: what comes has come.
    let count = right.count(0, is_ours);
    let (queue, input) = (stats.up.queue, stats.up.input);
    // A bridge that a busy machine holds up says what it has missed.
    let offered = 1000 - input.missed - input.no_buffer - stats.up.stale;
    assert_eq!(queue.offered.packets, offered, "{:?}", stats.up);
    assert!(queue.dropped.packets > 0);
    assert_eq!(queue.dequeued.packets + queue.dropped.packets, offered);
    assert_eq!(stats.up.lost.packets + count as u64, queue.dequeued.packets);
    assert!(stats.up.lost.packets > 0);
    assert_eq!(told.offered, [offered, stats.down.queue.offered.packets]);
    assert_eq!(told.dropped[0], queue.dropped.packets);
    assert_eq!(told.dequeued[0], queue.dequeued.packets);
}

#[test]
fn what_a_queue_held_at_the_stop_is_told() {
    let link = Link::new();
    let mut config = plain();
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(8_000));
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats, _) = link.asked(config, NoObserver, |remote| {
        for _ in 0..100 {
            left.send(&frame(0x88b5, &[0; 1000]));
        }
        wait_for("all frames", || {
            let up = &remote.snapshot().expect("it answers").stats[0];
            up.input.received >= 100
        });
    });
    let up = stats.up;
    assert!(up.backlog.packets >= 90, "{up:?}");
    let done = up.queue.dequeued.packets + up.queue.dropped.packets;
    assert_eq!(up.queue.offered.packets, done + up.backlog.packets);
    // And it was sent.
    assert_eq!(right.count(100, is_ours), 100);
}
