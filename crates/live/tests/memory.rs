//! What frames hold is bounded, counted and given back, and each direction has its own. Needs root.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::{Link, Raw, frame, plain};
use sojourn_bridge::{BridgeConfig, NoObserver, Remote, SideStats};
use sojourn_qdisc::{DropReason, Spec, truesize};
use sojourn_units::Rate;
use sojourn_world::LineRate;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// An EtherType for experiments.
const OURS: u16 = 0x88b5;

/// A bridge whose way up lets nearly nothing pass.
fn blocked(qdisc: &str) -> BridgeConfig {
    let mut config = plain();
    config.up.qdisc = qdisc.parse().expect("a test's own spec");
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(8_000));
    config
}

fn up(remote: &Remote) -> SideStats {
    // A snapshot is as good as new for 10 ms.
    thread::sleep(Duration::from_millis(20));
    remote.snapshot().expect("it answers").stats[0]
}

/// What has been counted once `done` holds.
fn once(remote: &Remote, done: impl Fn(&SideStats) -> bool) -> SideStats {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let stats = up(remote);
        if done(&stats) {
            return stats;
        }
        assert!(Instant::now() < patience, "{stats:?}");
    }
}

fn is_ours(frame: &[u8]) -> bool {
    frame[12..14] == OURS.to_be_bytes()
}

#[test]
fn a_flood_leaves_the_other_direction_alone() {
    let link = Link::new();
    let mut config = blocked("pfifo limit 100000");
    config.memory = 1 << 20;
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let (arrived, stats, _) = link.asked(config, NoObserver, |remote| {
        let seen = || up(remote).input.received + up(remote).input.no_buffer;
        while up(remote).input.no_buffer < 500 {
            for _ in 0..500 {
                left.send(&frame(OURS, &[1; 1000]));
            }
            assert!(seen() < 100_000, "{} frames in 1 MiB", seen());
        }
        let held = up(remote).backlog.packets;
        // 1 MiB in frames of 2.2 KiB.
        assert!((200..500).contains(&held), "{held} frames in 1 MiB");
        for _ in 0..200 {
            right.send(&frame(OURS, &[2; 1000]));
        }
        left.count(200, is_ours)
    });
    assert_eq!(arrived, 200);
    // What did not reach the queue for want of memory is in its accounts.
    let (queue, lost) = (stats.up.queue, stats.up.input.no_buffer);
    assert_eq!(queue.dropped_for(DropReason::NoBuffer), lost);
    assert!(lost > 0 && queue.dropped.packets >= lost, "{queue:?}");
    let given = queue.dequeued.packets + queue.dropped.packets + stats.up.backlog.packets;
    assert_eq!(queue.offered.packets, given, "{queue:?}");
    assert_eq!(stats.down.input.no_buffer, 0);
}

#[test]
fn a_frame_holds_what_it_needs_and_gives_it_back() {
    let link = Link::new();
    link.mtu(9000);
    let left = Raw::new(&link.client, "a0");
    let empty = link
        .asked(blocked("pfifo"), NoObserver, |remote| up(remote).memory)
        .0;
    link.asked(blocked("pfifo limit 100000"), NoObserver, |remote| {
        for _ in 0..500 {
            left.send(&frame(OURS, &[1; 3000]));
        }
        let full = once(remote, |stats| stats.input.received >= 500);
        let each = (full.memory - empty) / full.backlog.packets;
        assert!((4096..8192).contains(&each), "{each} bytes for 3014");
        let unlimited = remote.set_rate(sojourn_bridge::Side::Up, LineRate::Infinite);
        unlimited.expect("it answers");
        once(remote, |stats| stats.memory == empty);
    });
}

#[test]
fn a_memory_limit_counts_as_linux_does() {
    let link = Link::new();
    link.mtu(9000);
    let left = Raw::new(&link.client, "a0");
    for spec in ["fq_codel memory_limit 1mb", "cake memlimit 1mb"] {
        let config = blocked(spec);
        assert_ne!(config.up.qdisc, Spec::pfifo(1000));
        link.asked(config, NoObserver, |remote| {
            for _ in 0..1000 {
                left.send(&frame(OURS, &[1; 3000]));
            }
            let full = once(remote, |stats| stats.input.received >= 1000);
            assert!(full.queue.dropped.packets > 0, "{spec}: {full:?}");
            // A batch of drops takes at most half of the only flow.
            let most = (1 << 20) / u64::from(truesize::of_datagram(3014));
            let held = full.backlog.packets;
            assert!(
                (most / 2..=most).contains(&held),
                "{spec}: {held} of {most}"
            );
        });
    }
}

/// An interface slower than the queue has the queue wait, where its limit holds.
#[test]
fn behind_the_queue_little_waits_for_a_slow_interface() {
    const FRAMES: u64 = 12_000;
    let link = Link::new();
    link.middle.run(|| {
        let words = "qdisc add dev b1 root tbf rate 10mbit burst 20kb limit 200mb";
        let done = Command::new("tc").args(words.split(' ')).status();
        assert!(done.expect("tc runs").success(), "tc {words}");
    });
    let left = Raw::new(&link.client, "a0");
    let mut config = plain();
    config.up.qdisc = "pfifo limit 2000".parse().expect("a test's own spec");
    link.asked(config, NoObserver, |remote| {
        for _ in 0..FRAMES {
            left.send(&frame(OURS, &[1; 1500]));
        }
        let full = once(remote, |stats| stats.input.received >= FRAMES);
        assert!(full.backlog.packets > 1500, "{full:?}");
        assert!(full.queue.dropped.packets > 2000, "{full:?}");
        // 1 MiB in frames of 2.3 KiB, or the 512 that come at one look; and as many that arrived
        // during the look before, later than its time, and so were on their way.
        assert!((1..=1024).contains(&full.under_way), "{full:?}");
    });
}
