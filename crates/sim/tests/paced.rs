//! Hosts that pace: segments leave at the times that TCP gives them, whatever the control.

use sojourn_apps::Bulk;
use sojourn_sim::Sim;
use sojourn_tcp::{Algorithm, Config};
use sojourn_units::{Rate, Span};
use sojourn_world::figure::Distribution;
use sojourn_world::{Cell, Flow, Hosts, Line, LineRate, Network, Taps, Transport, World as _};
use std::ops::ControlFlow;

/// The 95th percentile, in ms, of what the packets of an upload wait whose window, of 20 segments,
/// is half of what the path holds: 20 Mbit/s and 40 ms.
fn waits(hosts: Hosts, control: Algorithm) -> f64 {
    run(hosts, control, Span::from_secs(2)).p95
}

/// The mean of the same from the first packet on.
fn start(hosts: Hosts, control: Algorithm) -> f64 {
    run(hosts, control, Span::ZERO).mean
}

fn run(hosts: Hosts, control: Algorithm, warmup: Span) -> Distribution {
    let mut network = Network::new(["client", "server"]);
    for (ends, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line::new(LineRate::Fixed(Rate::from_bps(20_000_000)));
        let queue = "pfifo limit 100".parse().expect("a test's own spec");
        network.join(ends, name, queue, line);
    }
    let config = Config {
        algorithm: control,
        receive_window: 30_000,
        receive_window_max: 30_000,
        ..Config::default()
    };
    let flow = Flow {
        base_rtt: Span::from_millis(40),
        ..Flow::new("upload", Transport::Tcp(config), Bulk)
    };
    let cell = Cell {
        hosts,
        warmup,
        ..Cell::new("paced", network, vec![flow], Span::from_secs(8))
    };
    let result = Sim.run(&cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    result.expect("it can be run").links[0].1.sojourn.clone()
}

/// A packet of 1514 bytes takes 0.606 ms. One ACK lets two go: at once, the second waits for the
/// first. The window is still in slow start and has twice what is used. At two windows a round trip
/// the gap is 40.7 ms by 80, 0.51 ms, of which a sender that comes late makes up for half: the
/// second waits 0.10 to 0.35 ms, and a little longer where the round trip varies.
#[test]
fn a_window_leaves_spread_out() {
    let all = [Algorithm::Cubic, Algorithm::Reno];
    for control in all {
        let burst = waits(Hosts::Linux, control);
        assert!((0.59..0.61).contains(&burst), "{control:?}: {burst}");
        let paced = waits(Hosts::LinuxFq, control);
        assert!(paced < 0.45, "{control:?}: {paced}");
    }
}

/// With trains, too: a train that would wait for the one before leaves later.
#[test]
fn trains_leave_spread_out() {
    let cubic = Algorithm::Cubic;
    let [burst, paced] = [Hosts::LinuxGso, Hosts::LinuxGsoFq].map(|hosts| start(hosts, cubic));
    assert!(paced < 0.9 * burst, "{paced} and {burst}");
}

/// BBR gives its segments times by itself.
#[test]
fn who_paces_anyway_is_as_before() {
    let bbr = Algorithm::Bbr;
    let all = [Hosts::Linux, Hosts::LinuxFq].map(|hosts| waits(hosts, bbr).to_bits());
    assert_eq!(all[0], all[1]);
}
