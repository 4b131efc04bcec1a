//! Cells made by hand, for tests of the simulator against arithmetic.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod radio;

use sojourn_apps::{Cbr, Gaps, Ping, Spec as AppSpec};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_sim::Sim;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span};
use sojourn_world::{
    Cell, Flow, FlowResult, Line, LineRate, LinkResult, Network, RunResult, Taps, Transport, World,
};
use std::ops::ControlFlow;

pub(crate) fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub(crate) fn mbit(rate: f64) -> LineRate {
    LineRate::Fixed(Rate::from_bps_f64(rate * 1e6))
}

/// A queue and the line behind it.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) name: String,
    pub(crate) qdisc: QdiscSpec,
    pub(crate) line: Line,
}

/// A link with an ample FIFO and no delay of its own.
pub(crate) fn hop(name: &str, rate: LineRate) -> Hop {
    Hop {
        name: name.into(),
        qdisc: QdiscSpec::pfifo(1000),
        line: Line::new(rate),
    }
}

/// A dumbbell of bare IP packets, measured from the start.
pub(crate) fn dumbbell(up: Hop, down: Hop, duration: Span, flows: Vec<Flow>) -> Cell {
    let mut network = Network::new(["client", "server"]);
    network.join([0, 1], &up.name, up.qdisc, up.line);
    network.join([1, 0], &down.name, down.qdisc, down.line);
    Cell {
        link_header: 0,
        ..Cell::new("test", network, flows, duration)
    }
}

fn flow(name: &str, app: impl Into<AppSpec>, transport: Transport, rtt: Span) -> Flow {
    Flow {
        base_rtt: rtt,
        ..Flow::new(name, transport, app)
    }
}

/// A latency probe of 100-byte packets.
pub(crate) fn ping(name: &str, interval: Span, rtt: Span) -> Flow {
    flow(name, Ping { size: 72, interval }, Transport::Udp, rtt)
}

/// Datagrams of `len` bytes with their headers.
pub(crate) fn cbr(name: &str, len: u16, interval: Span, rtt: Span) -> Flow {
    flow(
        name,
        Cbr {
            size: len - 28,
            interval,
            gaps: Gaps::Even,
        },
        Transport::Udp,
        rtt,
    )
}

/// A stream of this app.
pub(crate) fn tcp(name: &str, app: impl Into<AppSpec>, rtt: Span, config: Config) -> Flow {
    flow(name, app, Transport::Tcp(config), rtt)
}

pub(crate) fn run(cell: &Cell) -> RunResult {
    Sim.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
        .expect("the cell can be run")
}

pub(crate) fn link<'a>(result: &'a RunResult, name: &str) -> &'a LinkResult {
    &result
        .links
        .iter()
        .find(|(n, _)| n == name)
        .expect("the link exists")
        .1
}

pub(crate) fn flow_of<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    &result
        .flows
        .iter()
        .find(|(n, _)| n == name)
        .expect("the flow exists")
        .1
}

/// Whether `value` is within `tolerance` (a ratio) of `expected`.
pub(crate) fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= expected.abs() * tolerance
}
