//! Which flows share a bottleneck.
//!
//! Source: max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 1992,
//! section 6.5.2). The rates of all flows grow together. When a link is full, the flows on it stop:
//! the link is their bottleneck. Links that fill at the same time and have a flow in common are one
//! bottleneck, as both hops of a parking lot are.
//!
//! A link's rate is that of its line, or of a shaper in its queue where that is lower; of a trace
//! it is the mean. All stations of a radio share one medium. A host's own access link is the
//! bottleneck of one flow alone.
//!
//! Not here: changes of rates during a run, flows that do not take all they can get, and what
//! acknowledgements take on the way back.

use crate::{Cell, LineRate, Medium, Paths};
use sojourn_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What flows cross together.
struct Shared {
    bps: f64,
    /// Places of the flows among those asked about.
    flows: Vec<usize>,
}

/// Groups of those `flows` of a cell (by index) that share a bottleneck, two flows at least in
/// each.
pub(crate) fn sharing(cell: &Cell, flows: &[usize]) -> Vec<Vec<usize>> {
    let mut shared = crossed(cell, flows);
    let access = cell.network.access.map(|rate| rate.as_bps() as f64);
    shared.extend({ access.iter() }.flat_map(|&bps| {
        let alone = move |flow| Shared {
            bps,
            flows: vec![flow],
        };
        (0..flows.len()).map(alone)
    }));
    // Of each flow the number of its bottleneck, once it has one.
    let mut bottleneck: Vec<Option<usize>> = vec![None; flows.len()];
    let mut level = vec![0.0; flows.len()];
    for round in 0.. {
        let full: Vec<Full> = { shared.iter() }
            .filter_map(|link| Full::of(link, &bottleneck, &level))
            .collect();
        let Some(lowest) = full.iter().map(|full| full.at).reduce(f64::min) else {
            break;
        };
        if !lowest.is_finite() {
            break;
        }
        let now = full.iter().filter(|full| full.at <= lowest * (1.0 + 1e-9));
        for (number, Full { growing, .. }) in now.enumerate() {
            stop(&mut bottleneck, round * shared.len() + number, growing);
            for flow in growing {
                level[*flow] = lowest;
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (flow, bottleneck) in flows.iter().zip(bottleneck) {
        if let Some(number) = bottleneck {
            groups.entry(number).or_default().push(*flow);
        }
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

/// When a link is full.
struct Full {
    /// The rate of each of its growing flows then, in bit/s.
    at: f64,
    /// Its flows that have no bottleneck yet.
    growing: Vec<usize>,
}

impl Full {
    /// None where all flows have stopped.
    fn of(link: &Shared, bottleneck: &[Option<usize>], level: &[f64]) -> Option<Self> {
        let has_stopped = |flow: &usize| bottleneck[*flow].is_some();
        let (stopped, growing): (Vec<usize>, Vec<usize>) =
            link.flows.iter().partition(|flow| has_stopped(flow));
        let taken: f64 = stopped.iter().map(|&flow| level[flow]).sum();
        let at = (link.bps - taken) / growing.len() as f64;
        (!growing.is_empty()).then_some(Self { at, growing })
    }
}

/// Gives flows a bottleneck. One that has one already joins the two.
fn stop(bottleneck: &mut [Option<usize>], number: usize, flows: &[usize]) {
    let others: BTreeSet<usize> = flows.iter().filter_map(|flow| bottleneck[*flow]).collect();
    for flow in flows {
        bottleneck[*flow] = Some(number);
    }
    for of_flow in bottleneck.iter_mut().flatten() {
        if others.contains(of_flow) {
            *of_flow = number;
        }
    }
}

/// The links that the flows cross, and a radio once.
fn crossed(cell: &Cell, flows: &[usize]) -> Vec<Shared> {
    let network = &cell.network;
    let all = Paths::of(network);
    let mut paths = BTreeMap::new();
    let mut shared: BTreeMap<usize, Shared> = BTreeMap::new();
    for (place, flow) in flows.iter().map(|&flow| &cell.flows[flow]).enumerate() {
        let ends = (flow.from, flow.to);
        let path = paths
            .entry(ends)
            .or_insert_with(|| all.path(ends.0, ends.1));
        for &interface in path.iter().flatten() {
            let link = shared
                .entry(network.interfaces[interface].medium)
                .or_insert_with(|| Shared {
                    bps: link_rate(cell, interface),
                    flows: Vec::new(),
                });
            if link.flows.last() != Some(&place) {
                link.flows.push(place);
            }
        }
    }
    shared.into_values().collect()
}

/// The rate of an interface's link in bit/s, or of its shaper where that is lower: a trace's mean;
/// infinite without one.
pub fn link_rate(cell: &Cell, interface: usize) -> f64 {
    let line = match cell.network.medium(interface) {
        Medium::Radio(radio) => radio.profile.data_rate.as_bps() as f64,
        Medium::Wire(wire) => match &wire.line.rate {
            LineRate::Infinite => f64::INFINITY,
            LineRate::Fixed(rate) => rate.as_bps() as f64,
            trace @ LineRate::Trace(_) => {
                trace.bits_between(Time::ZERO, cell.end()) / cell.duration.as_secs_f64()
            }
        },
    };
    let shaper = cell.network.interfaces[interface].qdisc.shapes_to();
    shaper.map_or(line, |rate| line.min(rate.as_bps() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flow, Line, Network, Transport};
    use sojourn_qdisc::Spec;
    use sojourn_units::{Rate, Span};

    /// Links from each node to the next of so many Mbit/s, none: infinitely fast, and flows
    /// between nodes.
    fn groups(links: &[(Option<u64>, &str)], flows: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let names: Vec<String> = (0..=links.len()).map(|n| n.to_string()).collect();
        let mut network = Network::new(names.iter().map(String::as_str));
        for (from, (mbit, queue)) in links.iter().enumerate() {
            let rate = mbit.map_or(LineRate::Infinite, |mbit| {
                LineRate::Fixed(Rate::from_bps(mbit * 1_000_000))
            });
            let queue: Spec = queue.parse().expect("a queue");
            network.join(
                [from, from + 1],
                &format!("l{from}"),
                queue,
                Line::new(rate),
            );
        }
        let flow = |&(from, to): &(usize, usize)| Flow {
            from,
            to,
            ..Flow::new("f", Transport::Udp, sojourn_apps::Bulk)
        };
        let flows: Vec<Flow> = flows.iter().map(flow).collect();
        let all: Vec<usize> = (0..flows.len()).collect();
        let cell = Cell::new("c", network, flows, Span::from_secs(1));
        sharing(&cell, &all)
    }

    #[test]
    fn both_hops_of_a_parking_lot_are_one_bottleneck() {
        let lot = [(0, 2), (0, 1), (1, 2)];
        let equal = [(Some(10), "pfifo"), (Some(10), "pfifo")];
        assert_eq!(groups(&equal, &lot), [[0, 1, 2]]);
        // The first is full at 5 Mbit/s a flow; the second then has 7 for its short flow alone.
        let wider = [(Some(10), "pfifo"), (Some(12), "pfifo")];
        assert_eq!(groups(&wider, &lot), [[0, 1]]);
    }

    #[test]
    fn a_link_that_never_fills_is_no_bottleneck() {
        // Two access links of 10 Mbit/s on both sides of a core: the flows cross the core together.
        let core = [
            (Some(10), "pfifo"),
            (Some(1000), "pfifo"),
            (Some(20), "pfifo"),
        ];
        assert_eq!(groups(&core, &[(0, 2), (1, 3)]), [[0; 0]; 0]);
        assert_eq!(groups(&core, &[(0, 2), (0, 2), (1, 3)]), [[0, 1]]);
        let none: [(Option<u64>, &str); 1] = [(None, "pfifo")];
        assert_eq!(groups(&none, &[(0, 1), (0, 1)]), [[0; 0]; 0]);
    }

    #[test]
    fn a_shaper_is_the_rate_of_its_link() {
        let lot = [(0, 2), (0, 1), (1, 2)];
        for shaper in [
            "cake bandwidth 10mbit",
            "htb rate 10mbit over fq_codel",
            "tbf rate 10mbit burst 5kb over fq_codel",
        ] {
            let shaped = [(Some(1000), shaper), (Some(12), "pfifo")];
            assert_eq!(groups(&shaped, &lot), [[0, 1]], "{shaper}");
        }
    }

    /// 10 of 30 Mbit/s stop two flows of three; the third shares the rest of the wide link with a
    /// fourth, at 10 Mbit/s each.
    #[test]
    fn several_bottlenecks_have_their_own_flows() {
        let links = [(Some(10), "pfifo"), (Some(30), "pfifo")];
        let flows = [(0, 2), (0, 2), (1, 2), (1, 2)];
        assert_eq!(groups(&links, &flows), [[0, 1], [2, 3]]);
    }
}
