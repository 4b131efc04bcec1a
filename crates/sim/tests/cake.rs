//! CAKE against the real sch_cake: cells R2, R3 and R4 of the kernel's reference runs (Linux
//! 6.1.192 in virtual time, `tt`), whose figures stand here as numbers. The kernel's spread over
//! seeds is a few percent; the tolerances say how near the simulator comes.

mod common;
use common::*;
use sojourn_apps::Spec as AppSpec;
use sojourn_tcp::Config;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, Graph, GraphLink, Hop, HopRate, Topology};

fn cake_hop(name: &str, rate: f64, qdisc: &str) -> Hop {
    Hop {
        qdisc: qdisc.parse().expect("a test's own spec"),
        ..hop(name, mbit(rate))
    }
}

fn bulk(name: &str, start: u64) -> Flow {
    Flow {
        start: Time::ZERO + ms(start),
        ..tcp(name, AppSpec::Bulk, ms(50), Config::default())
    }
}

fn goodputs(cell: &Cell, names: &[&str]) -> Vec<f64> {
    let result = run(cell);
    let goodput = |name: &&str| flow_of(&result, name).goodput.as_bps() as f64 / 1e6;
    names.iter().map(goodput).collect()
}

/// Hosts A and B at nodes 0 and 1, routers 2 and 3, destinations A to D at nodes 4 to 7.
fn isolation(mode: &str) -> Vec<f64> {
    let qdisc = format!("cake bandwidth 10mbit besteffort {mode}");
    let mut links = Vec::new();
    let mut add = |from: usize, to: usize, hop: Hop| links.push(GraphLink { from, to, hop });
    add(2, 3, cake_hop("up", 1000.0, &qdisc));
    add(3, 2, cake_hop("down", 1000.0, &qdisc));
    for (host, router) in [(0, 2), (1, 2), (4, 3), (5, 3), (6, 3), (7, 3)] {
        add(host, router, hop(&format!("{host}-out"), HopRate::Infinite));
        add(router, host, hop(&format!("{host}-in"), HopRate::Infinite));
    }
    let nodes = ["a", "b", "left", "right", "a2", "b2", "c2", "d2"];
    let names = ["aa", "ab", "ac1", "ac2", "bc", "bd"];
    let ends = [(0, 4), (0, 5), (0, 6), (0, 6), (1, 6), (1, 7)];
    let flows = names.iter().zip(ends).enumerate();
    let flows = flows.map(|(index, (name, (from, to)))| Flow {
        from,
        to,
        ..bulk(name, 70 * index as u64)
    });
    let mut cell = dumbbell(
        hop("unused", mbit(1.0)),
        hop("unused", mbit(1.0)),
        ms(60_000),
        flows.collect(),
    );
    cell.topology = Topology::Graph(Graph {
        nodes: nodes.map(String::from).to_vec(),
        links,
    });
    cell.warmup = ms(10_000);
    cell.link_header = 14;
    goodputs(&cell, &names)
}

#[test]
fn hosts_share_as_with_the_kernel() {
    // Mbit/s of A→A, A→B, A→C, A→C, B→C, B→D: the table R2.
    let kernel: [(&str, [f64; 6]); 6] = [
        ("flows", [1.58, 1.60, 1.58, 1.58, 1.57, 1.59]),
        ("srchost", [1.18, 1.15, 1.22, 1.20, 2.27, 2.45]),
        ("dsthost", [2.35, 2.32, 0.80, 0.84, 0.82, 2.33]),
        ("triple-isolate", [1.34, 1.33, 1.33, 1.34, 1.73, 2.44]),
        ("dual-srchost", [1.24, 1.21, 1.24, 1.24, 2.28, 2.30]),
        ("dual-dsthost", [2.26, 2.26, 0.91, 0.91, 0.89, 2.24]),
    ];
    for (mode, wanted) in kernel {
        let got = isolation(mode);
        for (got, wanted) in got.iter().zip(wanted) {
            assert!(near(*got, wanted, 0.1), "{mode}: {got} {wanted}");
        }
    }
}

/// Goodput down and up in Mbit/s.
fn filtered(filter: &str) -> (f64, f64) {
    let mut flows = Vec::new();
    for (index, name) in ["u1", "u2", "u3", "u4"].into_iter().enumerate() {
        flows.push(bulk(name, 110 * index as u64));
    }
    for (index, name) in ["d1", "d2", "d3", "d4"].into_iter().enumerate() {
        flows.push(Flow {
            from: 1,
            to: 0,
            ..bulk(name, 60 + 90 * index as u64)
        });
    }
    let mut cell = dumbbell(
        cake_hop(
            "up",
            1000.0,
            &format!("cake bandwidth 1mbit besteffort {filter}"),
        ),
        cake_hop("down", 1000.0, "cake bandwidth 30mbit besteffort"),
        ms(60_000),
        flows,
    );
    cell.warmup = ms(10_000);
    cell.link_header = 14;
    let names = ["d1", "d2", "d3", "d4", "u1", "u2", "u3", "u4"];
    let goodput = goodputs(&cell, &names);
    (goodput[..4].iter().sum(), goodput[4..].iter().sum())
}

#[test]
fn the_ack_filter_makes_room_as_with_the_kernel() {
    // Down and up: the table R3.
    let kernel = [
        ("no-ack-filter", (22.47, 0.466)),
        ("ack-filter", (27.37, 0.603)),
        ("ack-filter-aggressive", (27.12, 0.671)),
    ];
    let got = kernel.map(|(filter, _)| filtered(filter));
    // C9's upload part: more with the filter, most with the aggressive one.
    assert!(got[1].1 > 1.03 * got[0].1 && got[2].1 > got[1].1);
    // A known difference: download without a filter is a fifth above the kernel's (which itself
    // spreads by 25 %), so that the filter gains nothing here. The cause is not known; the model's
    // senders may mind lost acknowledgements less than Linux's. With a filter they agree.
    for ((got, (_, wanted)), slack) in got.iter().zip(kernel).zip([0.25, 0.06, 0.06]) {
        assert!(near(got.0, wanted.0, slack), "{got:?} {wanted:?}");
        assert!(near(got.1, wanted.1, 0.15), "{got:?} {wanted:?}");
    }
}

/// A 2 Mbit/s EF flow against 32 CUBIC flows from 5 s on: its goodput in Mbit/s.
fn call(qdisc: &str) -> f64 {
    let mut flows = vec![Flow {
        dscp: 46,
        ..cbr("ef", 1028, Span::from_micros(4112), ms(50))
    }];
    for index in 0..32 {
        flows.push(bulk(&format!("bulk{index}"), 5000 + 10 * index));
    }
    let mut cell = dumbbell(
        cake_hop("up", 1000.0, qdisc),
        hop("down", mbit(1000.0)),
        ms(60_000),
        flows,
    );
    cell.warmup = ms(10_000);
    cell.link_header = 14;
    goodputs(&cell, &["ef"])[0]
}

#[test]
fn a_marked_call_is_not_disturbed() {
    let marked = call("cake bandwidth 10mbit diffserv3");
    let plain = call("cake bandwidth 10mbit besteffort");
    // All of it arrives: 1000 bytes of payload each 4112 us.
    assert!(near(marked, 8.0 * 1000.0 / 4112.0, 0.001), "{marked}");
    assert!(near(plain, 0.35, 0.3), "{plain}");
}
