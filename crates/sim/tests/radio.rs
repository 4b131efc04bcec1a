//! Radios with queues and routing: what must be so. `radio_ns2.rs` holds them to ns-2.

mod common;

use common::radio::{NS2, chain, network, steps};
use common::{flow_of, run};
use sojourn_apps::{Bulk, Cbr, Gaps};
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{
    AodvParams, Cell, Change, Flow, Medium, Place, Profile, Routing, RunResult, Transport,
};

#[test]
fn a_node_that_goes_away_and_comes_back_is_found_again() {
    let flows = vec![steps(
        "flow",
        [0, 2],
        (1000, 0.1),
        (Span::from_secs(0), None),
    )];
    let mut cell = Cell::new("move", chain(2, NS2, "pfifo"), flows, Span::from_secs(60));
    let to = |seconds, x| Change {
        at: Time::ZERO + Span::from_secs(seconds),
        link: 1,
        place: Some(Place { x, y: 0.0 }),
        ..Change::default()
    };
    cell.changes = vec![to(10, 1e6), to(20, 25.0)];
    let result = run(&cell);
    let loss = flow_of(&result, "flow").loss_ratio.expect("it is UDP");
    // 10 of 60 s without a way, less what waited in the buffer for it, and up to 10 s of silence
    // after a search was given up.
    assert!((0.05..0.36).contains(&loss), "{loss}");
    let given_up = result.links[0].1.retry_drops.expect("a radio");
    assert!((1.0..3.0).contains(&given_up), "{given_up}");
    let lost = |name: fn(&sojourn_world::LinkResult) -> Option<f64>| name(&result.links[0].1);
    let places = lost(|link| link.no_route_drops).zip(lost(|link| link.routing_buffer_drops));
    assert!(
        places.is_some_and(|(route, buffer)| route + buffer > 10.0),
        "{places:?}"
    );
}

/// The last of three is out of reach at first, comes, goes and comes back: TCP and datagrams find
/// it.
#[test]
fn a_node_that_comes_later_is_found() {
    let mut places = common::radio::row(2, 25.0);
    places[2].x = 1e6;
    let to = |seconds, x| Change {
        at: Time::ZERO + Span::from_secs(seconds),
        link: 2,
        place: Some(Place { x, y: 0.0 }),
        ..Change::default()
    };
    for (routing, qdisc) in [
        (NS2, "pfifo limit 50"),
        (Routing::Aodv(AodvParams::RFC), "fq_codel"),
    ] {
        let network = network(Profile::NS2_B, places.clone(), routing, qdisc);
        let bulk = Flow {
            from: 0,
            to: 2,
            ..Flow::new("tcp", Transport::Tcp(Config::default()), Bulk)
        };
        let probe = steps("probe", [0, 2], (200, 0.02), (Span::from_secs(0), None));
        let mut cell = Cell::new("late", network, vec![bulk, probe], Span::from_secs(60));
        cell.changes = vec![to(5, 50.0), to(25, 1e6), to(30, 50.0)];
        let result = run(&cell);
        let tcp = flow_of(&result, "tcp").goodput.as_bps();
        // About 2 Mbit/s for as long as it is there, but for timeouts that have grown meanwhile.
        assert!(tcp > 600_000, "{qdisc}: {tcp} bit/s");
        let lost = flow_of(&result, "probe").loss_ratio.expect("it is UDP");
        assert!((0.05..0.5).contains(&lost), "{qdisc}: {lost}");
    }
}

/// From both ends at the same instant, over three hops: each end's questions collide at the relays
/// with the other's, unless they wait a random time.
#[test]
fn sources_that_ask_at_one_time_are_answered() {
    for profile in [Profile::NS2_B, Profile::STANDARD_B, Profile::STANDARD_G] {
        let aodv = Routing::Aodv(AodvParams::RFC);
        let network = network(profile, common::radio::row(3, 25.0), aodv, "pfifo limit 50");
        let flow = |name, ends| steps(name, ends, (700, 0.1), (Span::ZERO, None));
        let flows = vec![flow("forth", [0, 3]), flow("back", [3, 0])];
        let cell = Cell::new("both", network, flows, Span::from_secs(20));
        let result = run(&cell);
        for name in ["forth", "back"] {
            let loss = flow_of(&result, name).loss_ratio.expect("it is UDP");
            assert!(loss < 0.1, "{name}: {loss}");
        }
    }
}

#[test]
fn queues_of_all_kinds_keep_their_accounts_over_radios() {
    let queues = [
        "pfifo limit 20",
        "codel",
        "fq_codel",
        "pie",
        "cake",
        "adth target 50ms",
        "fq_adth target 50ms",
        "steer util 99% delay 30ms over gsp",
        "tbf rate 1mbit burst 5kb over fq_codel",
    ];
    for qdisc in queues {
        for routing in [NS2, Routing::Static { hop: None }] {
            let flows = vec![
                steps("forth", [0, 3], (1000, 1.0), (Span::from_secs(0), None)),
                steps("back", [3, 1], (1000, 1.0), (Span::from_secs(1), None)),
            ];
            let network = chain(3, routing, qdisc);
            let mut cell = Cell::new("queues", network, flows, Span::from_secs(5));
            let first = run(&cell);
            assert_eq!(first.digest, run(&cell).digest, "{qdisc}");
            cell.seed = 2;
            assert_ne!(first.digest, run(&cell).digest, "{qdisc}");
            for (name, link) in &first.links {
                let gone = link.dequeued_packets + link.dropped_packets;
                let held = link.offered_packets.checked_sub(gone);
                assert!(held.is_some(), "{qdisc} {name}");
            }
            assert!(
                flow_of(&first, "forth").goodput > Rate::from_bps(100_000),
                "{qdisc}"
            );
        }
    }
}

#[test]
fn tcp_goes_over_a_chain() {
    let bulk = Flow {
        from: 0,
        to: 3,
        ..Flow::new("tcp", Transport::Tcp(Config::default()), Bulk)
    };
    let network = chain(3, Routing::Static { hop: None }, "fq_codel");
    let result = run(&Cell::new("tcp", network, vec![bulk], Span::from_secs(20)));
    let got = flow_of(&result, "tcp").goodput.as_bps() as f64 / 1e6;
    assert!((0.8..1.8).contains(&got), "{got} Mbit/s");
}

/// Why TCP gets less with the RFC's AODV than with ns-2's: hidden stations break links and their
/// frames meet questions, and a lost question is repeated after a time that is counted in
/// NODE_TRAVERSAL_TIME, where ns-2 goes by what answers took.
#[test]
fn tcp_waits_for_questions_to_be_repeated() {
    let carried = |params| {
        let bulk = Flow {
            from: 0,
            to: 3,
            ..Flow::new("tcp", Transport::Tcp(Config::default()), Bulk)
        };
        let network = chain(3, Routing::Aodv(params), "pfifo limit 50");
        let mut cell = Cell::new("tcp", network, vec![bulk], Span::from_secs(60));
        let mbps = (1..=5).map(|seed| {
            cell.seed = seed;
            flow_of(&run(&cell), "tcp").goodput.as_bps() as f64 / 1e6
        });
        mbps.sum::<f64>() / 5.0
    };
    let traversal = Span::from_millis(10);
    let sooner = AodvParams {
        traversal,
        ..AodvParams::RFC
    };
    let got = [AodvParams::RFC, AodvParams::NS2, sooner].map(carried);
    println!(
        "Mbit/s with aodv, aodv-ns2, and aodv with a quarter of the traversal time, means of five \
         seeds: {got:.2?}"
    );
    let [rfc, ns2, sooner] = got;
    assert!((0.6..0.85).contains(&rfc), "{rfc}");
    assert!((0.9..1.15).contains(&ns2), "{ns2}");
    assert!((1.15..1.4).contains(&sooner), "{sooner}");
}

/// So many rows of 32 radios, 25 m apart, with two rows of flows over three hops for every four.
fn rows_of_32(rows: usize) -> RunResult {
    let place = |n: usize| Place {
        x: (n % 32) as f64 * 25.0,
        y: (n / 32) as f64 * 25.0,
    };
    let flow = |n: usize| Flow {
        from: 64 * n + 3 * (n % 8),
        to: 64 * n + 3 * (n % 8) + 3,
        ..Flow::new(
            &format!("f{n}"),
            Transport::Udp,
            Cbr {
                size: 200,
                interval: Span::from_millis(50),
                gaps: Gaps::Even,
            },
        )
    };
    let places = (0..32 * rows).map(place).collect();
    let routing = Routing::Static { hop: None };
    let network = network(Profile::NS2_B, places, routing, "pfifo");
    let flows = (0..rows / 2).map(flow).collect();
    run(&Cell::new("grid", network, flows, Span::from_secs(5)))
}

#[test]
fn a_thousand_radios_cost_as_much_each_as_a_hundred() {
    let (few, many) = (rows_of_32(4), rows_of_32(32));
    for (_, flow) in few.flows.iter().chain(&many.flows) {
        assert!(flow.delay.count > 80, "{} arrived", flow.delay.count);
    }
    // The work is that of the flows: as many steps for each, whatever else is there.
    let steps = |result: &RunResult| result.cost.events as f64 / result.flows.len() as f64;
    let ratio = steps(&many) / steps(&few);
    assert!(ratio < 1.1, "{ratio} times the steps a flow");
}

/// Packets below the queue: each adds a packet's service to the delay, and nothing to the queue's.
#[test]
fn a_driver_queue_delays_what_no_queue_sees() {
    let saturated = |depth: u32| {
        let places = common::radio::row(1, 25.0);
        let routing = Routing::Static { hop: None };
        let mut network = network(Profile::STANDARD_B, places, routing, "pfifo limit 1");
        if let Medium::Radio(radio) = &mut network.media[0] {
            radio.driver_queue = depth;
        }
        let flow = steps("f", [0, 1], (1000, 50.0), (Span::ZERO, None));
        let result = run(&Cell::new("below", network, vec![flow], Span::from_secs(5)));
        let (link, flow) = (&result.links[0].1, &result.flows[0].1);
        let service = 8000.0 / flow.goodput.as_bps() as f64 * 1e3;
        let nodal = link.nodal_delay.mean;
        (
            flow.delay.mean / service,
            nodal / service,
            link.sojourn.mean / service,
        )
    };
    let (bare, bare_nodal, bare_queue) = saturated(0);
    let (deep, deep_nodal, deep_queue) = saturated(10);
    assert!(
        (deep - bare - 10.0).abs() < 0.3,
        "{bare} and {deep} services"
    );
    assert!(
        (deep_nodal - bare_nodal - 10.0).abs() < 0.3,
        "{bare_nodal} and {deep_nodal}"
    );
    assert!(
        (deep_queue - bare_queue).abs() < 0.1,
        "{bare_queue} and {deep_queue}"
    );
}
