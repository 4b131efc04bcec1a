//! Forwarding: where packets go next.
//!
//! A border: what decides is a variant. A table of fixed ways is the first.

use crate::mesh::Mesh;
use crate::packet::{Packet, Way};
use sojourn_memory::fetch;
use std::collections::BTreeMap;

/// Who decides where packets go.
#[derive(Clone, Debug)]
pub(crate) enum Forwarding {
    /// Every direction has its way for the whole run.
    Table(Table),
    /// From station to station over a radio.
    Mesh(Box<Mesh>),
}

impl Forwarding {
    /// The interface whose queue a packet of a host comes to first.
    #[inline]
    pub(crate) fn first(&self, packet: &Packet) -> usize {
        match self {
            Self::Table(table) => table.first(packet.way),
            Self::Mesh(_) => usize::MAX,
        }
    }

    /// Asks for the memory of where a direction's packets begin.
    #[inline]
    pub(crate) fn fetch(&self, way: Way) {
        if let Self::Table(table) = self {
            fetch(&table.firsts[way.index()]);
        }
    }

    /// The interface to which a direction's packets come first.
    #[inline]
    pub(crate) fn first_of(&self, way: Way) -> usize {
        match self {
            Self::Table(table) => table.first(way),
            Self::Mesh(_) => usize::MAX,
        }
    }

    /// Asks for the memory of what becomes of a packet that an interface is going to send.
    #[inline]
    pub(crate) fn fetch_leg(&self, interface: usize, packet: &Packet) {
        if let Self::Table(table) = self {
            table
                .place(interface, packet.way)
                .inspect(|leg| fetch(*leg));
        }
    }

    /// What becomes of a packet that an interface has sent.
    #[inline]
    pub(crate) fn leg(&self, interface: usize, packet: &Packet) -> Leg {
        match self {
            Self::Table(table) => table.leg(interface, packet.way),
            Self::Mesh(_) => Leg::NOWHERE,
        }
    }

    /// That over a radio, where there is one.
    #[inline]
    pub(crate) fn mesh(&mut self) -> Option<&mut Mesh> {
        match self {
            Self::Table(_) => None,
            Self::Mesh(mesh) => Some(mesh),
        }
    }

    /// The same, for a look.
    pub(crate) fn as_mesh(&self) -> Option<&Mesh> {
        match self {
            Self::Table(_) => None,
            Self::Mesh(mesh) => Some(mesh),
        }
    }
}

/// Where a packet goes when it leaves a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Next {
    /// To the queue of an interface.
    Interface(u32),
    /// To the endpoint at the end of its way.
    Host,
    /// The same of a packet that observers see there, or that is a train.
    HostOddly,
    /// Nowhere: this way does not pass here.
    Nowhere,
}

/// What happens to a packet of one direction behind one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Leg {
    /// The pipe into which it is sent.
    pub(crate) pipe: u32,
    /// Where it goes after that pipe.
    pub(crate) next: Next,
}

impl Leg {
    const NOWHERE: Self = Self {
        pipe: u32::MAX,
        next: Next::Nowhere,
    };
}

/// From a sender to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    /// The interface whose queue the sender's packets come to first.
    pub(crate) first: u32,
    /// By interface.
    pub(crate) legs: Vec<Leg>,
}

impl Route {
    /// To the interface `first`, and nowhere from there, over a network of so many interfaces.
    pub(crate) fn new(interfaces: usize, first: usize) -> Self {
        Self {
            first: first as u32,
            legs: vec![Leg::NOWHERE; interfaces],
        }
    }
}

/// The routes of all directions. Thousands of flows share a few, which stay in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    interfaces: usize,
    /// By direction.
    route_of: Vec<u32>,
    /// By direction.
    firsts: Vec<u32>,
    /// By route, then interface.
    legs: Vec<Leg>,
    known: BTreeMap<Route, u32>,
}

impl Table {
    /// Over a network of so many interfaces.
    pub(crate) fn new(interfaces: usize) -> Self {
        Self {
            interfaces,
            ..Self::default()
        }
    }

    /// Gives the next direction its route.
    pub(crate) fn push(&mut self, route: Route) {
        self.firsts.push(route.first);
        let number = self.known.get(&route).copied().unwrap_or_else(|| {
            let number = self.known.len() as u32;
            self.legs.extend(&route.legs);
            self.known.insert(route, number);
            number
        });
        self.route_of.push(number);
    }

    /// What happens to all packets behind an interface; none where that differs.
    pub(crate) fn only_leg(&self, interface: usize) -> Option<Leg> {
        let mut legs = (self.known.keys())
            .filter_map(|route| route.legs.get(interface))
            .filter(|&leg| *leg != Leg::NOWHERE);
        let first = legs.next()?;
        legs.all(|leg| leg == first).then_some(*first)
    }

    #[inline]
    fn first(&self, way: Way) -> usize {
        self.firsts[way.index()] as usize
    }

    fn place(&self, interface: usize, way: Way) -> Option<&Leg> {
        let route = *self.route_of.get(way.index())?;
        self.legs.get(route as usize * self.interfaces + interface)
    }

    #[expect(clippy::inline_always, reason = "it is three reads")]
    #[inline(always)]
    fn leg(&self, interface: usize, way: Way) -> Leg {
        self.legs[self.route_of[way.index()] as usize * self.interfaces + interface]
    }
}
