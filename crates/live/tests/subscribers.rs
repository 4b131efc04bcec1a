//! Subscribers behind a real link have what their circuits say. Needs root.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::{Link, Stamped, StopOnDrop, measured, plain};
use sojourn_bridge::{BridgeConfig, Circuits};
use sojourn_qdisc::{Spec, TreeClass, TreeSpec};
use sojourn_units::Rate;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Payload of a datagram, and its bytes in a queue.
const PAYLOAD: usize = 1158;
const BYTES: f64 = 1200.0;
/// How far a rate may be from what is due.
const WITHIN: f64 = 0.01;
/// The last byte of addresses of the two subscribers, and of somebody else.
const ONE: u8 = 11;
const TWO: u8 = 12;
const OTHER: u8 = 13;

/// A site of 16 Mbit/s with two circuits that may have it all, and have 3 and 9 for themselves.
fn config() -> BridgeConfig {
    let mbit = |rate: u64| Rate::from_bps(rate * 1_000_000);
    let class = |name: &str, parent, rate, queue| TreeClass {
        name: name.into(),
        parent,
        rate: mbit(rate),
        ceil: Some(mbit(16)),
        queue,
    };
    let classes = vec![
        class("site", None, 16, None),
        class("one", Some(0), 3, Some(0)),
        class("two", Some(0), 9, Some(0)),
    ];
    let tree = TreeSpec::new(classes, vec![Spec::pfifo(2000)]).expect("a tree");
    let circuits = [(ONE, 2), (TWO, 3)]
        .map(|(last, number)| (Ipv4Addr::new(10, 9, 0, last).into(), 32, number));
    let mut config = plain();
    config.up.qdisc = Spec::Tree(Arc::new(tree));
    config.up.circuits = Some(Arc::new(Circuits::new(circuits)));
    config
}

/// The rates at which datagrams of these senders arrive, each of whom sends much more than it may.
/// By the kernel's times of arrival: when a busy machine lets a program read them tells nothing of
/// the bridge.
fn rates(link: &Link, senders: &[u8]) -> BTreeMap<u8, f64> {
    let server = Stamped::new(&link.server, "10.9.0.2:5001");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = StopOnDrop(&done);
        for &last in senders {
            let from = (Ipv4Addr::new(10, 9, 0, last), 0);
            let socket = link.client.run(|| UdpSocket::bind(from).expect("a socket"));
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    // A second's and more of packets wait, so that none who is kept from the
                    // processor leaves his queue empty.
                    for _ in 0..40 {
                        // A full socket is as good as a lost packet here.
                        let _ = socket.send_to(&[0; PAYLOAD], "10.9.0.2:5001");
                    }
                    thread::sleep(Duration::from_millis(2));
                }
            });
        }
        // Until both queues are full.
        let mut start = 0;
        for _ in 0..500 {
            start = server.receive().1;
        }
        let (mut counts, mut end) = (BTreeMap::new(), start);
        for _ in 0..4000 {
            let (from, at) = server.receive();
            *counts.entry(from).or_insert(0) += 1;
            end = at;
        }
        let seconds = (end - start) as f64 / 1e9;
        let rate = |count: i32| f64::from(count) * BYTES * 8.0 / seconds / 1e6;
        counts
            .into_iter()
            .map(|(last, count)| (last, rate(count)))
            .collect()
    })
}

fn link() -> Link {
    let link = Link::new();
    link.client.ip("address add 10.9.0.11/24 dev a0
         address add 10.9.0.12/24 dev a0
         address add 10.9.0.13/24 dev a0");
    link
}

/// The rates of these senders over a bridge.
fn sent(config: BridgeConfig, senders: &[u8]) -> BTreeMap<u8, f64> {
    let link = link();
    link.bridged(config, || rates(&link, senders)).0
}

#[test]
fn circuits_have_their_own_and_share_what_is_left() {
    measured(
        || sent(config(), &[ONE, TWO]),
        |rates| {
            for (last, expected) in [(ONE, 4.0), (TWO, 12.0)] {
                let error = (rates[&last] / expected - 1.0).abs();
                assert!(error < WITHIN, "{rates:?}");
            }
        },
    );
}

#[test]
fn one_alone_borrows_all_that_its_site_has() {
    measured(
        || sent(config(), &[ONE]),
        |rates| {
            assert!((rates[&ONE] / 16.0 - 1.0).abs() < WITHIN, "{rates:?}");
        },
    );
}

#[test]
fn nobodys_packets_are_limited_by_the_link_alone() {
    let mut limited = config();
    limited.up.line.rate = sojourn_world::LineRate::Fixed(Rate::from_bps(22_000_000));
    measured(
        || sent(limited.clone(), &[OTHER]),
        |rates| {
            assert!((rates[&OTHER] / 22.0 - 1.0).abs() < WITHIN, "{rates:?}");
        },
    );
}
