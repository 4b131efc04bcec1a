//! The way of packets through the network.

use crate::packet::Way;
use std::collections::BTreeMap;

/// Where a packet goes when it leaves a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Next {
    /// To the queue of a link.
    Link(u32),
    /// To the endpoint at the end of its way.
    Host,
    /// Nowhere: this way does not pass here.
    None,
}

/// What happens to a packet of one direction after one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Leg {
    /// The pipe into which the link sends it.
    pub(crate) pipe: u32,
    /// Where it goes after that pipe.
    pub(crate) next: Next,
}

/// From a sender to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    /// The link whose queue the sender's packets come to first.
    pub(crate) first: u32,
    /// By link.
    pub(crate) legs: Vec<Leg>,
}

impl Route {
    /// To the link `first`, and nowhere from there, over a network of `links`.
    pub(crate) fn new(links: usize, first: usize) -> Self {
        let nowhere = Leg {
            pipe: u32::MAX,
            next: Next::None,
        };
        Self {
            first: first as u32,
            legs: vec![nowhere; links],
        }
    }
}

/// The routes of all directions. Thousands of flows share a few, which stay in the cache.
#[derive(Debug)]
pub(crate) struct Routes {
    links: usize,
    /// By direction.
    route_of: Vec<u32>,
    /// By route.
    firsts: Vec<u32>,
    /// By route, then link.
    legs: Vec<Leg>,
    known: BTreeMap<Route, u32>,
}

impl Routes {
    /// Over a network of `links`.
    pub(crate) fn new(links: usize) -> Self {
        Self {
            links,
            route_of: Vec::new(),
            firsts: Vec::new(),
            legs: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// Gives the next direction its route.
    pub(crate) fn push(&mut self, route: Route) {
        let number = self.known.get(&route).copied().unwrap_or_else(|| {
            let number = self.firsts.len() as u32;
            self.firsts.push(route.first);
            self.legs.extend(&route.legs);
            self.known.insert(route, number);
            number
        });
        self.route_of.push(number);
    }

    /// The link whose queue packets come to first.
    #[inline]
    pub(crate) fn first(&self, way: Way) -> usize {
        self.firsts[self.route_of[way.index()] as usize] as usize
    }

    /// What happens after link `link`.
    #[inline]
    pub(crate) fn leg(&self, link: usize, way: Way) -> Leg {
        self.legs[self.route_of[way.index()] as usize * self.links + link]
    }
}
