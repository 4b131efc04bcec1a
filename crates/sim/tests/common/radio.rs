//! Cells with radios.

use sojourn_apps::Steps;
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{AodvParams, Flow, Network, Place, Profile, Radio, Routing, Transport};

pub(crate) const NS2: Routing = Routing::Aodv(AodvParams::NS2);

pub(crate) fn row(hops: usize, spacing: f64) -> Vec<Place> {
    let place = |n| Place {
        x: n as f64 * spacing,
        y: 0.0,
    };
    (0..=hops).map(place).collect()
}

pub(crate) fn network(
    profile: Profile,
    places: Vec<Place>,
    routing: Routing,
    qdisc: &str,
) -> Network {
    let names: Vec<String> = (0..places.len()).map(|n| format!("n{n}")).collect();
    let mut network = Network::new(names.iter().map(String::as_str));
    let qdisc: QdiscSpec = qdisc.parse().expect("a test's own spec");
    let qdiscs = vec![qdisc; places.len()];
    network.share(Radio::new(profile, places, routing), qdiscs);
    network
}

pub(crate) fn chain(hops: usize, routing: Routing, qdisc: &str) -> Network {
    network(Profile::NS2_B, row(hops, 25.0), routing, qdisc)
}

/// From `from` to `to`: packets of so many bytes at `mbps`, from `start` on, halved at `half` s.
pub(crate) fn steps(
    name: &str,
    [from, to]: [usize; 2],
    (size, mbps): (u16, f64),
    (start, half): (Span, Option<u64>),
) -> Flow {
    let mut then = [None; Steps::MOST];
    then[0] = half.map(|at| (Span::from_secs(at), 0.5));
    let steps = Steps {
        size: [size; 2],
        rate: Rate::from_bps((mbps * 1e6) as u64),
        then,
    };
    Flow {
        from,
        to,
        start: Time::ZERO + start,
        ..Flow::new(name, Transport::Udp, steps)
    }
}
