//! Runs with trains: what queues get of them, and that nothing gets lost on the way.

use crate::Sim;
use sojourn_apps::Bulk;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span};
use sojourn_world::{
    Cell, Flow, FlowResult, Hosts, Line, LineRate, LinkResult, Network, Place, Profile, Radio,
    Routing, RunResult, Taps, Transport, World as _, WorldError,
};
use std::ops::ControlFlow;

/// One upload of two seconds over 20 Mbit/s and 40 ms, through this queue.
fn cell(queue: &str, hosts: Hosts) -> Cell {
    let mut network = Network::new(["client", "server"]);
    let line = |mbit: u64| Line::new(LineRate::Fixed(Rate::from_bps(mbit * 1_000_000)));
    let spec = queue.parse().expect("a test's own spec");
    network.join([0, 1], "up", spec, line(20));
    let plenty = "pfifo limit 1000".parse().expect("a test's own spec");
    network.join([1, 0], "down", plenty, line(1000));
    let flow = Flow {
        base_rtt: Span::from_millis(40),
        ..Flow::new("upload", Transport::Tcp(Config::default()), Bulk)
    };
    Cell {
        hosts,
        ..Cell::new("trains", network, vec![flow], Span::from_secs(2))
    }
}

fn run(cell: &Cell) -> Result<RunResult, WorldError> {
    Sim.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
}

/// The upload, and its link.
fn figures(queue: &str, hosts: Hosts) -> (FlowResult, LinkResult) {
    let result = run(&cell(queue, hosts)).expect("it can be run");
    (result.flows[0].1.clone(), result.links[0].1.clone())
}

fn mean(link: &LinkResult) -> f64 {
    link.dequeued_bytes as f64 / link.dequeued_packets as f64
}

#[test]
fn queues_get_trains_whole_unless_they_cut_them() {
    for queue in ["pfifo limit 1000", "codel", "fq_codel", "pie"] {
        let (_, single) = figures(queue, Hosts::Linux);
        let (_, trains) = figures(queue, Hosts::LinuxGso);
        assert!(mean(&single) <= 1514.0, "{queue}");
        assert!(mean(&trains) > 2500.0, "{queue}: {}", mean(&trains));
    }
    for queue in [
        "cake",
        "tbf rate 19mbit burst 3000 over pfifo limit 1000",
        "dualpi2",
    ] {
        let (_, cut) = figures(queue, Hosts::LinuxGso);
        assert!(
            (1400.0..=1514.0).contains(&mean(&cut)),
            "{queue}: {}",
            mean(&cut)
        );
    }
}

/// A queue that drops nothing: every segment goes once, nothing is sent again as it would be if
/// they came in another order, and each segment has its headers on the link.
#[test]
fn trains_keep_their_order_and_their_bytes() {
    let (flow, link) = figures("pfifo limit 10000", Hosts::LinuxGso);
    assert_eq!((link.dropped_packets, flow.retransmitted_packets), (0, 0));
    let waiting = link.offered_packets - link.dequeued_packets;
    assert!(waiting < 10_000, "{waiting}");
    // One SYN and one ACK without data are less than two segments.
    let offered = flow.sent_packets * 1514;
    assert!(
        link.offered_bytes.abs_diff(offered) < 1514,
        "{} and {offered}",
        link.offered_bytes
    );
    // Bytes of the application over those of the link, while that is full.
    let share = flow.goodput.as_bps() as f64 / (link.utilisation.unwrap_or(0.0) * 20e6);
    assert!((0.9..=1448.0 / 1514.0).contains(&share), "{share}");
}

#[test]
fn drops_are_of_whole_trains_and_their_segments_are_sent_again() {
    let (flow, link) = figures("pfifo limit 30", Hosts::LinuxGso);
    assert!(link.dropped_packets > 0);
    // A window that grows by one segment makes trains of one, too.
    let (again, dropped) = (flow.retransmitted_packets, link.dropped_packets);
    assert!(again > dropped, "{again} for {dropped}");
}

#[test]
fn stations_of_a_radio_have_none() {
    let mut cell = cell("pfifo limit 10", Hosts::LinuxGso);
    cell.network = Network::new(["a", "b"]);
    let routing = Routing::Static { hop: None };
    let places = vec![Place::default(); 2];
    let queues = vec!["pfifo limit 10".parse().expect("a test's own spec"); 2];
    cell.network
        .share(Radio::new(Profile::NS2_B, places, routing), queues);
    let error = run(&cell).expect_err("it is refused").to_string();
    assert!(
        error.contains("linux-gso") && error.contains("radio"),
        "{error}"
    );
}
