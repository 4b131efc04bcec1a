//! Marks, classes and a network address translation of the kernel, on real packets. Needs root.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::{PATIENCE, StopOnDrop, measured};
use sojourn_apps::Ping;
use sojourn_bridge::{Bridge, BridgeConfig, Frame, Observer, Point, Side};
use sojourn_live::{Gateway, Host, Lab, Live, Plan};
use sojourn_qdisc::{Packet, Report, Spec as Qdisc, Value};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{
    Cell, Flow, Label, Line, LineRate, Network, RunResult, Taps, Transport, World,
};
use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn cake(words: &str) -> Qdisc {
    format!("cake {words}").parse().expect("a test's own spec")
}

/// Probes of 20 requests a second for two seconds, from hosts with these numbers.
fn probes(labels: &[(u32, Label)], nat: bool, qdisc: &Qdisc) -> Cell {
    probes_every(Span::from_millis(50), labels, nat, qdisc)
}

fn probes_every(interval: Span, labels: &[(u32, Label)], nat: bool, qdisc: &Qdisc) -> Cell {
    let ping = Ping { size: 64, interval };
    let flow = |(index, &(host, label)): (usize, &(u32, Label))| Flow {
        hosts: [host, 0],
        base_rtt: Span::from_millis(4),
        label,
        ..Flow::new(&format!("probe-{index}"), Transport::Udp, ping)
    };
    let mut network = Network::new(["client", "server"]);
    network.nodes[0].nat = nat;
    for (way, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line::new(LineRate::Fixed(Rate::from_bps(100_000_000)));
        network.join(way, name, qdisc.clone(), line);
    }
    Cell::new(
        "test",
        network,
        labels.iter().enumerate().map(flow).collect(),
        Span::from_secs(2),
    )
}

fn run(cell: &Cell) -> RunResult {
    Live.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

/// Packets that the tins have taken in, in tc's order.
fn tins(report: &Report) -> Vec<i64> {
    let mut stats = report.stats.iter();
    let Some(Value::Groups(tins)) = stats.find(|f| f.name == "tins").map(|f| &f.value) else {
        panic!("no tins")
    };
    let of = |tin: &Vec<sojourn_qdisc::Field>| {
        let sent = tin.iter().find(|field| field.name == "sent_packets");
        match sent.map(|field| &field.value) {
            Some(&Value::Int(packets)) => packets,
            other => panic!("{other:?}"),
        }
    };
    tins.iter().map(of).collect()
}

#[test]
fn marks_and_classes_choose_tins_both_ways() {
    let label = |mark, class| Label { mark, class };
    let labels = [(0, label(0x30, 1)), (0, label(0, 1)), (0, label(0, 0))];
    let queue = cake("unlimited diffserv3 fwmark 0xf0");
    let cell = probes(&labels, false, &queue);
    // A probe of a busy machine may be so late that it is left out, or has no time to come back.
    measured(
        || run(&cell),
        |result| {
            let sent = |flow: usize| result.flows[flow].1.sent_packets.cast_signed();
            let [voice, bulk, effort] = [0, 1, 2].map(sent);
            for (name, link) in &result.links {
                // Bulk by class, best effort by DSCP, voice by mark.
                assert_eq!(tins(&link.qdisc), [bulk, effort, voice], "{name}");
            }
        },
    );
}

#[test]
fn a_cell_behind_a_translation_runs_and_its_opposite_is_refused() {
    let hosts = [(0, Label::default()), (1, Label::default())];
    let mut cell = probes(&hosts, true, &cake("unlimited nat dual-srchost"));
    measured(
        || run(&cell),
        |result| {
            for (name, probe) in &result.flows {
                assert_eq!(probe.loss_ratio, Some(0.0), "{name}");
            }
        },
    );
    (cell.flows[1].from, cell.flows[1].to) = (1, 0);
    cell.flows[1].hosts.reverse();
    let refused = Live.run(&cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    let reason = refused.unwrap_err().to_string();
    assert!(
        reason.contains("probe-1") && reason.contains("the server sends first"),
        "{reason}"
    );
}

/// As many hosts as CAKE tells apart only since it counts them in more than a byte.
#[test]
fn three_hundred_hosts_cross_one_link() {
    let hosts: Vec<_> = (0..300).map(|host| (host, Label::default())).collect();
    for nat in [false, true] {
        let queue = cake("unlimited nat dual-srchost");
        let cell = probes_every(Span::from_millis(500), &hosts, nat, &queue);
        measured(
            || run(&cell).flows,
            |flows| {
                assert_eq!(flows.len(), hosts.len());
                for (name, probe) in flows {
                    assert_eq!(probe.loss_ratio, Some(0.0), "{name}, nat {nat}");
                }
            },
        );
    }
}

/// What frames of one direction say of their source host: outside, and inside where known.
#[derive(Default)]
struct Sources(Mutex<Vec<Source>>);

type Source = (u32, Option<u32>);

impl Observer for &Sources {
    fn frame(&mut self, point: Point, side: Side, _now: Time, frame: &Frame) {
        if point == Point::Offered && side == Side::Up {
            let inside = frame.inside_hashes(0).map(|inside| inside.hosts.0);
            let source = (frame.host_hashes(0).0, inside);
            self.0.lock().expect("nobody panics").push(source);
        }
    }
}

/// Datagrams of two hosts cross a bridge behind the kernel's own translation. On the wire they
/// have one source; connection tracking tells the two apart.
#[test]
fn connection_tracking_tells_hosts_behind_a_translation_apart() {
    let plan = Plan {
        hosts: 2,
        nat: Some(Gateway::Client),
        ..Plan::default()
    };
    let lab = Lab::new(&plan).unwrap();
    let sources = Sources::default();
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            lab.bridge.enter().unwrap();
            let mut config = BridgeConfig::new(Lab::LEFT, Lab::RIGHT);
            config.seed = 1;
            config.up.qdisc = cake("unlimited nat");
            config.gateway = Some(lab.client.clone());
            let mut bridge = Bridge::open(config).unwrap();
            ready.send(()).unwrap();
            bridge.run(&stop, &mut &sources).unwrap();
        });
        // Also when an assertion fails.
        let _stop = StopOnDrop(&stop);
        is_ready.recv().unwrap();
        let server = (lab.server)
            .run(|| UdpSocket::bind((Host::Server.address(0), 7)))
            .unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let clients = [0, 1].map(|number| {
            let bound = (lab.client).run(|| UdpSocket::bind((Host::Client.address(number), 0)));
            bound.unwrap()
        });
        let patience = Instant::now() + PATIENCE;
        loop {
            let mut seen: Vec<SocketAddr> = Vec::new();
            for client in &clients {
                client
                    .send_to(b"request", (Host::Server.address(0), 7))
                    .unwrap();
                seen.push(server.recv_from(&mut [0; 16]).unwrap().1);
            }
            // Two ports of one address.
            assert!(seen.iter().all(|from| from.ip() == Host::Client.address(0)));
            assert_ne!(seen[0].port(), seen[1].port());
            // The table is read once a second.
            if (sources.0.lock().unwrap().last()).is_some_and(|(_, inside)| inside.is_some()) {
                break;
            }
            assert!(Instant::now() < patience, "no translation was ever known");
            thread::sleep(Duration::from_millis(100));
        }
    });
    let sources = sources.0.into_inner().unwrap();
    let [first, second] = sources.last_chunk().copied().expect("two datagrams");
    assert_eq!(first.0, second.0, "outside");
    // The first host has the gateway's address: nothing is translated. The second one's is its own.
    assert_eq!(first.1, None);
    assert!(second.1.is_some_and(|inside| inside != second.0));
}
