//! What a cell's packets cross: nodes, interfaces with a queue each, media that join them.
//!
//! Not here: notation. A dumbbell is two nodes with a wire each way; `scenario` makes it one.

use crate::{Line, LineRate};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_units::{Rate, Span};
use std::collections::VecDeque;

/// Nodes, their interfaces, and the media between these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Where hosts are and packets are passed on.
    pub nodes: Vec<Node>,
    /// In the scenario's order, which is that of the results. Each is what users call a link.
    pub interfaces: Vec<Interface>,
    /// What the interfaces send into.
    pub media: Vec<Medium>,
    /// Rate of each host's own access link; none: infinitely fast. With a rate, each flow must
    /// have hosts of its own.
    pub access: Option<Rate>,
}

/// A place with hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name, unique in the cell.
    pub name: String,
    /// Whether its hosts stand behind a network address translation, before the queues: on the
    /// links they have one address. Queues with `nat` look behind it.
    pub nat: bool,
}

/// Where packets leave a node: a queue before a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Its name and that of the link behind it, unique in the cell.
    pub name: String,
    /// Index of its node.
    pub node: usize,
    /// Index of what it sends into.
    pub medium: usize,
    /// The queue.
    pub qdisc: QdiscSpec,
}

/// What carries packets from interfaces to nodes. A new kind is one more variant here, and in
/// each world that can run it.
#[derive(Clone, Debug, PartialEq)]
pub enum Medium {
    /// From one interface to one node.
    Wire(Wire),
}

impl Medium {
    /// Indices of the nodes that hear what is sent.
    pub fn hearers(&self) -> &[usize] {
        match self {
            Self::Wire(wire) => std::slice::from_ref(&wire.to),
        }
    }

    /// How fast it sends; none when that has no meaning for it.
    pub const fn rate(&self) -> Option<&LineRate> {
        match self {
            Self::Wire(wire) => Some(&wire.line.rate),
        }
    }

    /// Delay of every packet after transmission.
    pub const fn delay(&self) -> Span {
        match self {
            Self::Wire(wire) => wire.line.delay,
        }
    }
}

/// A medium of one interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// Index of the node it leads to.
    pub to: usize,
    /// What it does to packets.
    pub line: Line,
}

impl Network {
    /// Nodes of these names that nothing joins.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let node = |name: &str| Node {
            name: name.into(),
            nat: false,
        };
        Self {
            nodes: names.into_iter().map(node).collect(),
            ..Self::default()
        }
    }

    /// Gives the first of two nodes an interface, and a wire from there to the second.
    pub fn join(&mut self, [from, to]: [usize; 2], name: &str, qdisc: QdiscSpec, line: Line) {
        self.interfaces.push(Interface {
            name: name.into(),
            node: from,
            medium: self.media.len(),
            qdisc,
        });
        self.media.push(Medium::Wire(Wire { to, line }));
    }

    /// What an interface sends into.
    pub fn medium(&self, interface: usize) -> &Medium {
        &self.media[self.interfaces[interface].medium]
    }

    /// The wire of an interface; none where it sends into something else.
    pub fn wire(&self, interface: usize) -> Option<&Wire> {
        match self.medium(interface) {
            Medium::Wire(wire) => Some(wire),
        }
    }

    /// The line of an interface's wire, to be changed.
    pub fn line_mut(&mut self, interface: usize) -> Option<&mut Line> {
        match &mut self.media[self.interfaces[interface].medium] {
            Medium::Wire(wire) => Some(&mut wire.line),
        }
    }

    /// Names of the nodes, in their order.
    pub fn node_names(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    /// Names of the interfaces, in their order.
    pub fn link_names(&self) -> Vec<&str> {
        let interfaces = self.interfaces.iter();
        interfaces
            .map(|interface| interface.name.as_str())
            .collect()
    }

    fn hears(&self, interface: &Interface, node: usize) -> bool {
        self.media[interface.medium].hearers().contains(&node)
    }

    /// Indices of the interfaces on the way from one node to another, with the fewest hops and the
    /// earlier listed interface among equals; none when there is no way, empty when it is the same
    /// node.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Hops left from each node, by breadth-first search against the direction of packets.
        let mut left = vec![usize::MAX; self.nodes.len()];
        *left.get_mut(to)? = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for interface in self.interfaces.iter().filter(|i| self.hears(i, node)) {
                if left[interface.node] == usize::MAX {
                    left[interface.node] = left[node] + 1;
                    queue.push_back(interface.node);
                }
            }
        }
        let mut hops = *left.get(from)?;
        let (mut path, mut node) = (Vec::new(), from);
        while hops != 0 {
            let nearer = |to: &&usize| left[**to] == hops - 1;
            let next = |i: &Interface| {
                let hearer = self.media[i.medium].hearers().iter().find(nearer);
                hearer.filter(|_| i.node == node).copied()
            };
            // The earlier listed interface among equals.
            let (index, to) = (self.interfaces.iter().enumerate())
                .find_map(|(index, interface)| Some((index, next(interface)?)))?;
            path.push(index);
            (node, hops) = (to, hops - 1);
        }
        Some(path)
    }

    /// The media's own delays on the way there and back; none when there is no way.
    pub fn path_rtt(&self, from: usize, to: usize) -> Option<Span> {
        let sum = |path: Vec<usize>| {
            let delays = path.iter().map(|&interface| self.medium(interface).delay());
            delays.fold(Span::ZERO, |sum, delay| sum + delay)
        };
        Some(sum(self.path(from, to)?) + sum(self.path(to, from)?))
    }
}

#[cfg(test)]
mod tests;
