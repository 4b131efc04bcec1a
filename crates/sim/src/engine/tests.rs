//! Runs repeat; where two do not, the first event is named at which they part.

use super::*;
use crate::build;
use crate::interface::Interface;
use proptest::prelude::*;
use sojourn_apps::{Bulk, Cbr, Gaps, Ping, Spec as AppSpec};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_radio::{AodvParams, Place, Profile};
use sojourn_tcp::Config;
use sojourn_world::{
    Cell, Change, Flow, Line, LineRate, Medium, Network, Radio, Routing, RunResult,
    Transport as Carrier,
};
use std::ops::ControlFlow;

/// What two runs of a cell do differently.
#[derive(Debug, PartialEq)]
struct Parting {
    /// How many events both have in common.
    after: u64,
    /// The next event of each: its time, what it belongs to, and the packet that arrives. None
    /// where a run is over.
    events: [Option<(Time, Owner, Option<String>)>; 2],
}

/// The next event of a run.
fn next(engine: &Engine) -> Option<(Time, Owner, Option<String>)> {
    let (now, source) = engine.due()?;
    let passage = &engine.net.passage;
    let packet = match source.owner() {
        Owner::Pipe(index) => passage.pipes[index].head(),
        Owner::Uplink(way) => passage.access.as_ref().and_then(|access| access.head(way)),
        _ => None,
    };
    Some((now, source.owner(), packet.map(|p| format!("{p:?}"))))
}

/// Runs two cells step by step; where do they part?
fn parting(cells: [&Cell; 2]) -> Option<Parting> {
    let mut runs = cells.map(|cell| build::engine(cell, &mut ()).expect("the cell can be run"));
    for run in &mut runs {
        run.start();
    }
    loop {
        let [one, other] = &mut runs;
        let events = [next(one), next(other)];
        if events[0] != events[1] {
            let after = one.events();
            return Some(Parting { after, events });
        }
        let (now, source) = one.due()?;
        one.step(now, source);
        other.step(now, source);
        assert_eq!(one.digest, other.digest, "the same events");
    }
}

/// Connections, probes and datagrams over a lossy line with access links, which changes.
fn cell(seed: u64) -> Cell {
    let mut network = Network::new(["client", "server"]);
    for (way, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line {
            jitter: Span::from_millis(2),
            loss: 0.01.into(),
            ..Line::new(LineRate::Fixed(sojourn_units::Rate::from_bps(5_000_000)))
        };
        let queue = "cake bandwidth 4mbit".parse().expect("a test's own spec");
        network.join(way, name, queue, line);
    }
    network.access = Some(sojourn_units::Rate::from_bps(100_000_000));
    let flow = |number: u32, transport, app| Flow {
        hosts: [number; 2],
        base_rtt: Span::from_millis(20),
        ..Flow::new(&format!("flow-{number}"), transport, app)
    };
    let interval = Span::from_millis(10);
    let flows = vec![
        flow(0, Carrier::Tcp(Config::default()), AppSpec::from(Bulk)),
        flow(1, Carrier::Udp, Ping { size: 64, interval }.into()),
        flow(
            2,
            Carrier::Udp,
            Cbr {
                size: 500,
                interval,
                gaps: Gaps::Even,
            }
            .into(),
        ),
    ];
    let change = Change {
        at: Time::ZERO + Span::from_secs(2),
        qdisc: Some("fq_pie".parse().expect("a test's own spec")),
        ..Change::default()
    };
    Cell {
        seed,
        changes: vec![change],
        ..Cell::new("test", network, flows, Span::from_secs(4))
    }
}

#[test]
fn a_run_repeats_event_by_event() {
    assert_eq!(parting([&cell(1), &cell(1)]), None);
}

#[test]
fn runs_that_differ_part_at_an_event_with_a_name() {
    let one = cell(1);
    let mut later = cell(1);
    later.flows[1].start += Span::from_millis(5);
    let found = parting([&one, &later]).expect("one probes later");
    // The other flows begin together; then the probe, on its access link or not.
    let [Some((here, ..)), Some((there, ..))] = &found.events else {
        panic!("neither is over: {found:?}");
    };
    assert!(*here <= Time::ZERO + Span::from_millis(5), "{found:?}");
    assert!(here <= there, "{found:?}");
    // Of another seed the first packet that arrives at another time is named.
    let found = parting([&one, &cell(2)]).expect("the dice fall differently");
    let named = found.events.iter().flatten();
    let packets = named.filter(|(_, owner, packet)| {
        matches!(owner, Owner::Pipe(_)) && packet.as_ref().is_some_and(|p| p.contains("way"))
    });
    assert!(packets.count() > 0, "{found:?}");
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    use sojourn_world::{Taps, World as _};
    let cell = cell(3);
    let mut go_on = |_| ControlFlow::Continue(());
    let whole = crate::Sim
        .run(&cell, Taps::default(), &mut go_on)
        .expect("the cell can be run");
    let mut run = crate::Run::new(cell).expect("the cell can be run");
    let mut until = Time::ZERO;
    let mut last = run.look().result();
    while run.forward(until).expect("few packets") == crate::Turn::Until {
        until += Span::from_millis(70);
        let now = run.look().result();
        let sent = |result: &RunResult| result.links[0].1.dequeued_packets;
        assert!(sent(&now) >= sent(&last), "what has happened stays");
        last = now;
    }
    // As texts: what is missing from a series is no number, and equal to nothing.
    let texts = [run.finish(), whole].map(|result| format!("{result:?}"));
    assert!(texts[0] == texts[1], "the results differ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Event by event none is taken ahead; over whole runs, that most ACKs' are changes nothing.
    /// Access links as slow as the line, and flows that begin together, make many events of one
    /// time.
    #[test]
    fn events_that_are_taken_ahead_come_in_their_order(
        seed in 0..1000_u64,
        access in prop::sample::select(vec![1_u64, 5, 40, 2000]),
        delay in prop::sample::select(vec![0_u64, 1, 7]),
        plain in any::<bool>(),
    ) {
        let mut cell = cell(seed);
        cell.duration = Span::from_secs(3);
        cell.network.access = Some(sojourn_units::Rate::from_bps(access * 1_000_000));
        cell.flows.push(Flow { hosts: [3; 2], ..cell.flows[0].clone() });
        for medium in &mut cell.network.media {
            if let Medium::Wire(wire) = medium {
                wire.line.delay = Span::from_millis(delay);
                if plain {
                    wire.line.jitter = Span::ZERO;
                    wire.line.loss = 0.0.into();
                }
            }
        }
        let go_on = &mut |_| ControlFlow::Continue(());
        let [mut whole, mut single] =
            [(); 2].map(|()| build::engine(&cell, &mut ()).expect("the cell can be run"));
        whole.run(go_on).expect("few packets");
        single.start();
        while single.due().is_some() {
            single.forward_by_one().expect("few packets");
        }
        single.end();
        prop_assert_eq!((whole.events(), whole.digest), (single.events(), single.digest));
        let [whole, single] = [whole, single].map(|engine| format!("{:?}", engine.finish(&cell)));
        prop_assert!(whole == single, "the results differ");
    }
}

/// A chain of so many links, a connection over each, and one over all.
fn chain(links: usize) -> Cell {
    let name = |node: usize| format!("node-{node}");
    let names: Vec<String> = (0..=links).map(name).collect();
    let mut network = Network::new(names.iter().map(String::as_str));
    let flow = |from, to| Flow {
        base_rtt: Span::from_millis(500),
        from,
        to,
        ..Flow::new(
            &format!("{from}-{to}"),
            Carrier::Tcp(Config::default()),
            AppSpec::from(Bulk),
        )
    };
    let mut flows = vec![flow(0, links)];
    for link in 0..links {
        for (from, to) in [(link, link + 1), (link + 1, link)] {
            let rate = LineRate::Fixed(sojourn_units::Rate::from_bps(8_000_000));
            let line = Line {
                delay: Span::from_millis(1),
                ..Line::new(rate)
            };
            let queue = "pfifo limit 20".parse().expect("a test's own spec");
            network.join([from, to], &format!("{from}-{to}"), queue, line);
        }
        flows.push(flow(link, link + 1));
    }
    Cell::new("chain", network, flows, Span::from_secs(3))
}

#[test]
fn asking_for_memory_changes_nothing() {
    for cell in [cell(5), chain(40)] {
        let figures = [false, true].map(|large| {
            let mut engine = build::engine(&cell, &mut ()).expect("the cell can be run");
            if large {
                engine.enlarge();
            }
            engine
                .run(&mut |_| ControlFlow::Continue(()))
                .expect("few packets");
            let run = (engine.events(), engine.digest);
            (run, format!("{:?}", engine.finish(&cell)))
        });
        assert!(figures[0] == figures[1], "the results differ");
        assert!(figures[0].0.0 > 1000, "much has happened");
    }
}

/// A queue of radios that has nothing is not asked again.
#[test]
fn to_ask_no_empty_queue_changes_nothing() {
    let names: Vec<String> = (0..12).map(|node| format!("node-{node}")).collect();
    let mut network = Network::new(names.iter().map(String::as_str));
    let place = |node: u32| Place {
        x: f64::from(node % 4) * 25.0,
        y: f64::from(node / 4) * 25.0,
    };
    let routing = Routing::Aodv(AodvParams::NS2);
    let radio = Radio::new(Profile::NS2_B, (0..12).map(place).collect(), routing);
    let queue: QdiscSpec = "pfifo limit 5".parse().expect("a test's own spec");
    network.share(radio, vec![queue; names.len()]);
    let flow = |from: usize| Flow {
        from,
        to: 11 - from,
        ..Flow::new(
            &format!("{from}"),
            Carrier::Tcp(Config::default()),
            AppSpec::from(Bulk),
        )
    };
    let change = |at, link, queue: &str| Change {
        at: Time::ZERO + Span::from_secs(at),
        link,
        qdisc: Some(queue.parse().expect("a test's own spec")),
        ..Change::default()
    };
    let changes = vec![change(1, 0, "codel"), change(2, 0, "pfifo limit 9")];
    let cell = Cell {
        changes,
        ..Cell::new(
            "grid",
            network,
            (0..3).map(flow).collect(),
            Span::from_secs(3),
        )
    };
    let figures = [false, true].map(|always| {
        let mut engine = build::engine(&cell, &mut ()).expect("the cell can be run");
        if always {
            let interfaces = &mut engine.net.passage.interfaces;
            interfaces.iter_mut().for_each(Interface::ask_always);
        }
        engine
            .run(&mut |_| ControlFlow::Continue(()))
            .expect("few packets");
        let run = (engine.events(), engine.digest);
        (run, format!("{:?}", engine.finish(&cell)))
    });
    assert!(figures[0] == figures[1], "the results differ");
    assert!(figures[0].0.0 > 1000, "much has happened");
}

/// Datagrams at twenty times the line's rate, before a queue that takes them all.
#[test]
fn a_queue_that_would_fill_the_memory_ends_the_run() {
    let mut cell = cell(1);
    cell.duration = Span::from_secs(60);
    cell.changes.clear();
    cell.flows.retain(|flow| flow.transport == Carrier::Udp);
    for interface in &mut cell.network.interfaces {
        interface.qdisc = "pfifo limit 4000000000".parse().expect("a test's own spec");
    }
    for flow in &mut cell.flows {
        flow.app = AppSpec::Cbr(Cbr {
            size: 1200,
            interval: Span::from_micros(100),
            gaps: Gaps::Even,
        });
    }
    let mut engine = build::engine(&cell, &mut ()).expect("the cell can be run");
    engine.room = 10_000;
    let stop = engine.run(&mut |_| ControlFlow::Continue(())).unwrap_err();
    let Stop::Crowded(crowd) = stop else {
        panic!("{stop:?}");
    };
    // It is looked at every now and then.
    let most = 10_000 + PROGRESS_EVENTS as usize;
    assert!((10_000..most).contains(&crowd.packets), "{crowd:?}");
    let told = stop.told(&cell).to_string();
    let queue = &cell.network.interfaces[crowd.interface].name;
    assert!(
        told.contains(&format!("in the queue of `{queue}`")),
        "{told}"
    );
}
