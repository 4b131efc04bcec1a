//! A test bed of any shape: a namespace for each node, which passes packets on as a router, and
//! between two nodes that are joined one for the bridge with their two queues.
//!
//! Hosts of a node are addresses on its loopback device, so that they do not belong to one of its
//! links. Every node knows the way to every other one's hosts, which is the simulator's: with the
//! fewest hops. Neighbours are known, as in [`Lab`].

use std::io;
use std::net::Ipv4Addr;

use sojourn_bridge::{Hosts, Namespace};
use sojourn_world::Network;

use super::{IPV6_OFF, Lab, Mac, Netlink, Plan, ethtool, index, namespace};
use super::{USUAL_WINDOW, pace, sysctl, sysctls};

/// Of the hosts of one node.
const PREFIX: u8 = 20;
/// Most nodes: those of 198.18.0.0/15, the block for benchmarks.
pub(crate) const MOST_NODES: usize = 32;
/// Most hosts of a node.
pub(crate) const MOST_HOSTS: u32 = (1 << (32 - PREFIX)) - 2;

/// The test bed. Dropping it removes everything.
pub(crate) struct Graph {
    /// Where the hosts' sockets are, by node.
    pub(crate) nodes: Vec<Namespace>,
    /// By joint: its two nodes and what is between them.
    pub(crate) labs: Vec<Lab>,
}

/// Two nodes with a link from one to the other, and perhaps one back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joint {
    /// Where the first link comes from, and where it leads.
    pub(crate) nodes: [usize; 2],
    /// Both links' numbers.
    pub(crate) links: [Option<usize>; 2],
}

/// The address of a host of a node.
pub(crate) fn address(node: usize, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(network(node).to_bits() + 1 + number)
}

fn network(node: usize) -> Ipv4Addr {
    let first = Ipv4Addr::new(198, 18, 0, 0).to_bits();
    Ipv4Addr::from_bits(first + ((node as u32) << (32 - PREFIX)))
}

/// The addresses of a node's hosts.
pub(crate) fn hosts_of(node: usize) -> Hosts {
    Hosts {
        network: network(node),
        prefix: PREFIX,
    }
}

fn device(joint: usize) -> String {
    format!("link{joint}")
}

fn mac(joint: usize, node: usize) -> Mac {
    [2, 1, 0, joint as u8, 0, node as u8]
}

/// Links, each with one that leads back where it comes from, if there is one, in the order of their
/// first links. None when one is something else than a wire.
pub(crate) fn joints(network: &Network) -> Option<Vec<Joint>> {
    let ends = |link: usize| Some((network.interfaces[link].node, network.wire(link)?.to));
    let mut open: Vec<usize> = (0..network.interfaces.len()).collect();
    let mut joints = Vec::new();
    while let Some(&link) = open.first() {
        let (from, to) = ends(link)?;
        let mut others = open.iter().copied();
        let back = others.find(|&back| ends(back) == Some((to, from)));
        let links = [Some(link), back];
        open.retain(|&other| !links.contains(&Some(other)));
        let nodes = [from, to];
        joints.push(Joint { nodes, links });
    }
    Some(joints)
}

/// Whether a network is two nodes with a link each way, the first node's first: what [`Lab`] is
/// made for.
pub(crate) fn is_dumbbell(network: &Network) -> bool {
    network.nodes.len() == 2
        && network.interfaces[..]
            .first()
            .is_some_and(|up| up.node == 0)
        && joints(network).is_some_and(|joints| {
            matches!(
                joints[..],
                [Joint {
                    links: [Some(0), Some(1)],
                    ..
                }]
            )
        })
}

impl Graph {
    /// Builds the test bed.
    pub(crate) fn new(plan: &Plan, network: &Network, joints: &[Joint]) -> io::Result<Self> {
        let nodes: Vec<Namespace> = network
            .nodes
            .iter()
            .map(|_| namespace())
            .collect::<io::Result<_>>()?;
        for node in &nodes {
            node.run(|| sysctls(&IPV6_OFF))?;
        }
        let join = |(number, joint): (usize, &Joint)| {
            let hosts = joint.nodes.map(|node| nodes[node].clone());
            let macs = joint.nodes.map(|node| mac(number, node));
            let devices = joint.nodes.map(|_| device(number));
            Lab::between(hosts, devices, macs, plan, |place, port| {
                [2, 2, number as u8, 0, place, port]
            })
        };
        let labs: Vec<Lab> = joints
            .iter()
            .enumerate()
            .map(join)
            .collect::<io::Result<_>>()?;
        for (number, node) in nodes.iter().enumerate() {
            node.run(|| set_up(number, plan, network, joints))?;
        }
        labs.iter().try_for_each(Lab::wait)?;
        Ok(Self { nodes, labs })
    }
}

/// Sets up a node, in its namespace.
fn set_up(node: usize, plan: &Plan, network: &Network, joints: &[Joint]) -> io::Result<()> {
    for (path, value) in &plan.sysctls {
        sysctl(path, value)?;
    }
    sysctl("ipv4/ip_forward", "1")?;
    // The way there and the way back may be different ones.
    sysctl("ipv4/conf/all/rp_filter", "0")?;
    sysctl("ipv4/conf/default/rp_filter", "0")?;
    let mut netlink = Netlink::open()?;
    let loopback = index("lo")?;
    netlink.up(loopback)?;
    let hosts = plan.hosts.max(1);
    for number in 0..hosts {
        netlink.address(loopback, address(node, number), 32)?;
    }
    for (number, joint) in joints.iter().enumerate() {
        if joint.nodes.contains(&node) {
            ethtool::set_offloads(&device(number), plan.trains)?;
            netlink.up(index(&device(number))?)?;
            pace(plan, &device(number))?;
        }
    }
    for other in 0..network.nodes.len() {
        let way = network.path(node, other).unwrap_or_default();
        let Some((&link, wire)) = way
            .first()
            .and_then(|link| Some((link, network.wire(*link)?)))
        else {
            continue;
        };
        let joint = (joints.iter())
            .position(|joint| joint.links.contains(&Some(link)))
            .expect("every link is one of a joint's");
        let device = index(&device(joint))?;
        let window = plan.initial_window.unwrap_or(USUAL_WINDOW);
        netlink.route(device, self::network(other), PREFIX, window)?;
        for number in 0..hosts {
            netlink.neighbour(device, address(other, number), mac(joint, wire.to))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_qdisc::Spec;
    use sojourn_world::{Line, LineRate};

    fn chain(links: &[[usize; 2]]) -> Network {
        let mut network = Network::new(["a", "b", "c"]);
        for (number, ends) in links.iter().enumerate() {
            let line = Line::new(LineRate::Infinite);
            network.join(*ends, &format!("link{number}"), Spec::pfifo(9), line);
        }
        network
    }

    #[test]
    fn links_are_joined_with_those_that_lead_back() {
        let links = |ends: &[[usize; 2]]| -> Vec<_> {
            let joints = joints(&chain(ends)).unwrap();
            joints.into_iter().map(|joint| joint.links).collect()
        };
        let found = links(&[[0, 1], [1, 2], [2, 1], [1, 0]]);
        assert_eq!(found, [[Some(0), Some(3)], [Some(1), Some(2)]]);
        // A second one there has none back, and a triangle's lead on.
        let found = links(&[[0, 1], [1, 0], [0, 1]]);
        assert_eq!(found, [[Some(0), Some(1)], [Some(2), None]]);
        let found = joints(&chain(&[[0, 1], [1, 2], [2, 0]])).unwrap();
        assert!(found.iter().all(|joint| joint.links[1].is_none()));
        assert_eq!(found[2].nodes, [2, 0]);
    }

    #[test]
    fn nodes_have_networks_of_their_own() {
        assert_eq!(address(0, 0), Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(address(1, MOST_HOSTS - 1), Ipv4Addr::new(198, 18, 31, 254));
        assert_eq!(address(MOST_NODES - 1, 0), Ipv4Addr::new(198, 19, 240, 1));
        for node in [0, 1, MOST_NODES - 1] {
            let Hosts { network, prefix } = hosts_of(node);
            let first = address(node, 0).to_bits() - 1;
            let behind = address(node, MOST_HOSTS - 1).to_bits() + 2;
            assert_eq!(
                (network.to_bits(), 1 << (32 - prefix)),
                (first, behind - first)
            );
        }
    }
}
