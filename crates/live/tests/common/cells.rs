//! Small cells for the live world.

use sojourn_apps::Spec as App;
use sojourn_live::Live;
use sojourn_qdisc::Spec as Qdisc;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{
    Cell, Distribution, Flow, FlowResult, Line, LineRate, Network, RunResult, Taps, Transport,
    World,
};
use std::ops::ControlFlow;

/// From client to server, with an empty path of 20 ms.
pub fn flow(name: &str, transport: Transport, app: impl Into<App>) -> Flow {
    Flow {
        base_rtt: Span::from_millis(20),
        ..Flow::new(name, transport, app)
    }
}

pub fn tcp() -> Transport {
    Transport::Tcp(Config::default())
}

/// 10 Mbit/s both ways with a FIFO; the first third is not measured.
pub fn cell(millis: u64, flows: Vec<Flow>) -> Cell {
    let mut network = Network::new(["client", "server"]);
    for (way, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line::new(LineRate::Fixed(Rate::from_bps(10_000_000)));
        network.join(way, name, Qdisc::pfifo(100), line);
    }
    Cell {
        warmup: Span::from_millis(millis / 3),
        ..Cell::new("test", network, flows, Span::from_millis(millis))
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

/// No sample is less than what a line alone takes, however slow the machine is.
pub fn none_below(samples: &Distribution, least: f64) {
    assert!(samples.count == 0 || samples.min >= least, "{samples:?}");
}
