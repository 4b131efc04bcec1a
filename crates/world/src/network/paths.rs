//! The ways between a network's nodes, of which many are asked for.

use super::Network;
use sojourn_units::Span;
use std::collections::VecDeque;

/// Finds the ways of packets through a network: who hears whom is gathered once for all of them.
#[derive(Debug)]
pub struct Paths<'a> {
    network: &'a Network,
    /// By node its interfaces, in their order.
    of_node: Vec<Vec<usize>>,
    /// By node those whose packets it may receive.
    heard_from: Vec<Vec<usize>>,
}

impl<'a> Paths<'a> {
    /// Those of a network.
    pub fn of(network: &'a Network) -> Self {
        let mut of_node = vec![Vec::new(); network.nodes.len()];
        let mut heard_from = vec![Vec::new(); network.nodes.len()];
        for (index, interface) in network.interfaces.iter().enumerate() {
            of_node[interface.node].push(index);
            for &node in network.media[interface.medium].hearers(interface.node) {
                heard_from[node].push(interface.node);
            }
        }
        Self {
            network,
            of_node,
            heard_from,
        }
    }

    /// Hops left from each node on the way between two, by breadth-first search against the
    /// direction of packets; `usize::MAX` of nodes that it has not come to. It goes no further than
    /// `from`: all nodes that are nearer have their number then.
    fn left(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut left = vec![usize::MAX; self.of_node.len()];
        left.get(from)?;
        *left.get_mut(to)? = 0;
        let mut queue = VecDeque::from([to]);
        while left[from] == usize::MAX {
            let node = queue.pop_front()?;
            for &other in &self.heard_from[node] {
                if left[other] == usize::MAX {
                    left[other] = left[node] + 1;
                    queue.push_back(other);
                }
            }
        }
        Some(left)
    }

    /// Indices of the interfaces on the way from one node to another, with the fewest hops and the
    /// earlier listed interface among equals; none when there is no way, empty when it is the same
    /// node.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let left = self.left(from, to)?;
        let (mut path, mut node) = (Vec::new(), from);
        while left[node] != 0 {
            let nearer = |to: &&usize| left[**to] == left[node] - 1;
            let next = |&index: &usize| {
                let hearers = self.network.medium(index).hearers(node);
                Some((index, *hearers.iter().find(nearer)?))
            };
            // The earlier listed interface among equals.
            let (index, to) = self.of_node[node].iter().find_map(next)?;
            path.push(index);
            node = to;
        }
        Some(path)
    }

    /// The media's own delays on the way there and back; none when there is no way.
    pub fn rtt(&self, from: usize, to: usize) -> Option<Span> {
        let sum = |path: Vec<usize>| {
            let delays = path
                .iter()
                .map(|&interface| self.network.medium(interface).delay());
            delays.fold(Span::ZERO, |sum, delay| sum + delay)
        };
        Some(sum(self.path(from, to)?) + sum(self.path(to, from)?))
    }
}
