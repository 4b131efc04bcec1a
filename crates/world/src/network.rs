//! What a cell's packets cross: nodes, interfaces with a queue each, media that join them.
//!
//! Not here: notation. A dumbbell is two nodes with a wire each way; `scenario` makes it one.

mod paths;

pub use paths::Paths;

use crate::{Line, LineRate};
use sojourn_autorate::Params as AutorateParams;
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_radio::{AodvParams, Neighbours, Place, Profile, Rules};
use sojourn_units::{Rate, Span};

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
    /// Links whose rate follows a slower one.
    pub following: Vec<Following>,
}

/// A link each way of which one at least has a rate that follows a slower link beyond one of its
/// ends. What is known of that link is seen there: what goes out and what comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    /// Indices of the interface towards the slow link and of the one from it.
    pub interfaces: [usize; 2],
    /// Of each what its rate does; none: it stays. The rate of its line is where it begins.
    pub params: [Option<AutorateParams>; 2],
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
    /// Shared by the stations of many nodes.
    Radio(Box<Radio>),
}

impl Medium {
    /// Indices of the nodes that can receive what a node sends into it.
    pub fn hearers(&self, node: usize) -> &[usize] {
        match self {
            Self::Wire(wire) => std::slice::from_ref(&wire.to),
            Self::Radio(radio) => radio.reach.get(node).map_or(&[], Vec::as_slice),
        }
    }

    /// How fast it sends; none when that has no meaning for it.
    pub const fn rate(&self) -> Option<&LineRate> {
        match self {
            Self::Wire(wire) => Some(&wire.line.rate),
            Self::Radio(_) => None,
        }
    }

    /// Delay of every packet after transmission.
    pub const fn delay(&self) -> Span {
        match self {
            Self::Wire(wire) => wire.line.delay,
            Self::Radio(_) => Span::ZERO,
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

/// A radio medium: the station of each of a network's nodes, which all have one interface, in
/// their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Constants of all stations.
    pub profile: Profile,
    /// Who decides where packets go.
    pub routing: Routing,
    /// Whether packets of the routing protocol pass by the queue.
    pub routing_first: bool,
    /// Whether stations ask for each other's addresses; else they know them.
    pub arp: bool,
    /// Frames that a station holds below its queue.
    pub driver_queue: u32,
    /// Nodal delay that counts as missed above it, by node; none where nobody asks.
    pub nodal_deadlines: Vec<Option<Span>>,
    /// Where each station is.
    places: Vec<Place>,
    /// Its sent power over the profile's.
    powers: Vec<f64>,
    /// By node those to which packets may be sent in one hop.
    reach: Vec<Vec<usize>>,
}

/// Who decides where packets go over a radio.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// The shortest ways from the first moment, over hops of up to so many metres.
    Static {
        /// Longest hop in m; none: as far as the radio reaches.
        hop: Option<f64>,
    },
    /// A protocol whose packets are packets.
    Aodv(AodvParams),
}

impl Radio {
    /// Stations at these places, all with the profile's power; routing packets first, ARP as the
    /// profile's rules have it, no deadlines, no queue below the queue.
    pub fn new(profile: Profile, places: Vec<Place>, routing: Routing) -> Self {
        Self::with_powers(profile, places, Vec::new(), routing)
    }

    /// The same with sent powers over the profile's.
    pub fn with_powers(
        profile: Profile,
        places: Vec<Place>,
        powers: Vec<f64>,
        routing: Routing,
    ) -> Self {
        let neighbours = Neighbours::new(&profile, &places, &powers);
        let longest = match routing {
            // What is laid out in steps of this length is meant, whatever the last bit says.
            Routing::Static { hop: Some(hop) } => hop * 1.0001,
            _ => f64::INFINITY,
        };
        let reach = |node: usize| {
            let near = neighbours.of(node as u32).filter(|neighbour| {
                let there = places[neighbour.station as usize];
                // The other one's ACK has to come back.
                let mut back = neighbours.of(neighbour.station);
                let answers = back.any(|back| back.station as usize == node && back.decodes());
                neighbour.decodes() && answers && places[node].distance(there) <= longest
            });
            near.map(|neighbour| neighbour.station as usize).collect()
        };
        Self {
            reach: (0..places.len()).map(reach).collect(),
            nodal_deadlines: vec![None; places.len()],
            routing_first: true,
            driver_queue: 0,
            arp: profile.rules == Rules::Ns2,
            profile,
            routing,
            places,
            powers,
        }
    }

    /// Sent power of each station over the profile's; those beyond the end have that.
    pub fn powers(&self) -> &[f64] {
        &self.powers
    }

    /// Where each station is.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
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

    /// The radio of all nodes; none where there is none.
    pub fn radio(&self) -> Option<&Radio> {
        self.media.iter().find_map(|medium| match medium {
            Medium::Radio(radio) => Some(&**radio),
            Medium::Wire(_) => None,
        })
    }

    /// Gives every node an interface of its own name into one radio medium.
    pub fn share(&mut self, radio: Radio, qdiscs: impl IntoIterator<Item = QdiscSpec>) {
        let medium = self.media.len();
        for (node, qdisc) in qdiscs.into_iter().enumerate().take(self.nodes.len()) {
            self.interfaces.push(Interface {
                name: self.nodes[node].name.clone(),
                node,
                medium,
                qdisc,
            });
        }
        self.media.push(Medium::Radio(Box::new(radio)));
    }

    /// What an interface sends into.
    pub fn medium(&self, interface: usize) -> &Medium {
        &self.media[self.interfaces[interface].medium]
    }

    /// The wire of an interface; none where it sends into something else.
    pub fn wire(&self, interface: usize) -> Option<&Wire> {
        match self.medium(interface) {
            Medium::Wire(wire) => Some(wire),
            Medium::Radio(_) => None,
        }
    }

    /// The line of an interface's wire, to be changed.
    pub fn line_mut(&mut self, interface: usize) -> Option<&mut Line> {
        match &mut self.media[self.interfaces[interface].medium] {
            Medium::Wire(wire) => Some(&mut wire.line),
            Medium::Radio(_) => None,
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

    /// Indices of the interfaces on the way from one node to another. [`Paths`] says more, and
    /// finds many of them faster.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        Paths::of(self).path(from, to)
    }
}

#[cfg(test)]
mod tests;
