//! Small cells for the live world.

use sojourn_apps::Spec as App;
use sojourn_live::Live;
use sojourn_qdisc::Spec as Qdisc;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{
    Cell, Dumbbell, Flow, FlowResult, Hop, HopRate, RunResult, Taps, Topology, Transport, World,
};
use std::ops::ControlFlow;

fn hop(name: &str, mbit: u64) -> Hop {
    Hop {
        name: name.into(),
        rate: HopRate::Fixed(Rate::from_bps(mbit * 1_000_000)),
        qdisc: Qdisc::Pfifo { limit: 100 },
        delay: Span::ZERO,
        jitter: Span::ZERO,
        reorder: false,
        loss: 0.0,
    }
}

/// From client to server, with an empty path of 20 ms.
pub fn flow(name: &str, transport: Transport, app: App) -> Flow {
    Flow {
        name: name.into(),
        from: 0,
        to: 1,
        hosts: [0; 2],
        start: Time::ZERO,
        stop: None,
        every: None,
        base_rtt: Span::from_millis(20),
        dscp: 0,
        label: sojourn_world::Label::default(),
        transport,
        app,
    }
}

pub fn tcp() -> Transport {
    Transport::Tcp(Config::default())
}

/// 10 Mbit/s both ways with a FIFO; the first third is not measured.
pub fn cell(millis: u64, flows: Vec<Flow>) -> Cell {
    Cell {
        scenario: "test".into(),
        params: Vec::new(),
        seed: 1,
        duration: Span::from_millis(millis),
        warmup: Span::from_millis(millis / 3),
        sample_every: Span::from_millis(100),
        link_header: 14,
        spp: false,
        flow_series: true,
        topology: Topology::Dumbbell(Dumbbell {
            up: hop("up", 10),
            down: hop("down", 10),
            access: None,
            nat: false,
        }),
        flows,
        changes: Vec::new(),
    }
}

pub fn run(cell: &Cell) -> RunResult {
    Live.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

/// Of the first flow.
pub fn only(result: &RunResult) -> &FlowResult {
    &result.flows[0].1
}
