//! What a run does for memory when there are so many flows or links that an event finds its own in
//! no cache: it asks for that of the next events while others happen. Nothing here changes them.
//!
//! Here too is where a packet goes that leaves a pipe which does not say so, as the pipes of large
//! runs do not, nor those of runs with observers or trains.

use super::Engine;
use crate::calendar::{Owner, OwnerKey};
use crate::forwarding::Next;
use crate::host::{Endpoint, Transport};
use crate::interface::Interface;
use crate::packet::Packet;
use crate::pipe::Pipe;
use sojourn_memory::{fetch, fetch_part};

/// With more connections and interfaces a run is large. What packets need of so many is more
/// than a processor's second cache holds; below, asking costs more than it saves.
const MANY: usize = 512;
/// So many links are in the cache whatever happens.
const FEW_LINKS: usize = 32;
/// How many packets before its arrival a packet's receiver is asked for, and how many before that
/// the packet, and what its receiver has apart.
const AHEAD: usize = 2;
const FARTHER: usize = 2 * AHEAD;
const FAR: usize = AHEAD + 1;
const NEARER: usize = AHEAD / 2;

/// Whether so many connections and interfaces are many.
pub(crate) const fn is_large(connections: usize, interfaces: usize) -> bool {
    connections + interfaces > MANY
}

impl Engine {
    /// From now on memory is asked for. The pipes' packets then come by here, so that those of
    /// other runs pay nothing for it.
    pub(super) fn enlarge(&mut self) {
        self.large = true;
        self.net.passage.pipes.iter_mut().for_each(Pipe::ask);
    }

    /// Where a packet goes that has left a pipe, if the pipe does not say so: in runs with
    /// observers or trains, and in large ones. In a large run, asks for those behind it, for the
    /// receivers of some, and for the next in the queue before.
    #[inline(never)]
    pub(super) fn look_up(&self, pipe: usize, packet: &Packet) -> Next {
        let pipe = &self.net.passage.pipes[pipe];
        let next = self.next_of(pipe, packet);
        if self.large {
            self.fetch_queued(pipe.interface as usize);
            pipe.ahead(0).inspect(|packet| fetch(*packet));
            if next == Next::Host {
                self.fetch_receivers(pipe);
            }
        }
        if next == Next::Host && (self.net.passage.tapped.is_some() || packet.is_train()) {
            return Next::HostOddly;
        }
        next
    }

    fn next_of(&self, pipe: &Pipe, packet: &Packet) -> Next {
        let forwarding = &self.net.passage.forwarding;
        (pipe.next.or(pipe.asked))
            .unwrap_or_else(|| forwarding.leg(pipe.interface as usize, packet).next)
    }

    fn fetch_receivers(&self, pipe: &Pipe) {
        pipe.ahead(FARTHER - 1).inspect(|packet| fetch(*packet));
        if let Some(packet) = pipe.ahead(FAR - 1) {
            self.fetch_places(packet);
        }
        if let Some(packet) = pipe.ahead(AHEAD - 1) {
            self.fetch_receiver(packet);
        }
        if let Some(packet) = pipe.ahead(NEARER - 1) {
            if let Transport::Tcp { connection, .. } = &self.receiver(packet).transport {
                connection.fetch_apart();
            }
            if self.net.passage.interfaces.len() > FEW_LINKS {
                let first = self.net.passage.forwarding.first_of(packet.way.back());
                self.fetch_link(first);
            }
        }
    }

    /// Asks for where it stands what a packet needs that arrives at the end of its way.
    fn fetch_places(&self, packet: &Packet) {
        let answers = packet.way.back();
        fetch(&self.flows[answers.index() / 2]);
        self.net.passage.forwarding.fetch(answers);
    }

    fn receiver(&self, packet: &Packet) -> &Endpoint {
        &self.endpoints[packet.way.back().index()]
    }

    /// Asks for what a packet needs that arrives at the end of its way.
    fn fetch_receiver(&self, packet: &Packet) {
        let answers = packet.way.back();
        self.receiver(packet).fetch(packet);
        fetch(&self.recorders[self.flows[answers.index() / 2] as usize]);
        if let Some(access) = &self.net.passage.access {
            access.fetch(answers);
        }
    }

    /// Asks for the endpoint whose timer is the next one.
    #[inline(never)]
    pub(super) fn fetch_timer(&self) {
        let next = self.net.passage.calendar.next_far();
        if let Some(Owner::Endpoint(index)) = next.map(OwnerKey::owner) {
            self.endpoints[index].fetch_timers();
        }
    }

    /// The calendar goes on to its next events. Asks for the memory of them all at once, so that
    /// the time for one is that for all: first for what their owners are, then for what these hold,
    /// and then for where that goes.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_over(&mut self) {
        self.net.passage.calendar.refill();
        if !self.large {
            return;
        }
        let passage = &self.net.passage;
        let soon = || passage.calendar.soon().map(OwnerKey::owner);
        for owner in soon() {
            match owner {
                Owner::Pipe(index) => fetch(&passage.pipes[index]),
                Owner::Wire(index) => self.fetch_link(index),
                _ => {}
            }
        }
        for owner in soon() {
            match owner {
                Owner::Pipe(index) => {
                    passage.pipes[index].ahead(0).inspect(|next| fetch(*next));
                }
                Owner::Wire(index) => self.fetch_queued(index),
                _ => {}
            }
        }
        for owner in soon() {
            if let Owner::Pipe(index) = owner {
                self.fetch_next(index);
            }
        }
    }

    /// Asks for where the next packet of a pipe goes.
    fn fetch_next(&self, pipe: usize) {
        let pipe = &self.net.passage.pipes[pipe];
        let Some(packet) = pipe.ahead(0) else {
            return;
        };
        match self.next_of(pipe, packet) {
            Next::Host | Next::HostOddly => self.fetch_receiver(packet),
            Next::Interface(next) => self.fetch_link(next as usize),
            Next::Nowhere => {}
        }
    }

    /// Asks for the packet that leaves a queue after the next one, and for where the next one goes.
    fn fetch_queued(&self, index: usize) {
        let Some(interface) = self.net.passage.interfaces.get(index) else {
            return;
        };
        interface.qdisc.ahead(1).inspect(|packet| fetch(*packet));
        if let Some(packet) = interface.qdisc.ahead(0) {
            let passage = &self.net.passage;
            passage.forwarding.fetch_leg(index, packet);
            (passage.access.as_ref()).inspect(|access| access.fetch(packet.way));
        }
    }

    /// Asks for an interface and its medium, which mostly have one number.
    fn fetch_link(&self, index: usize) {
        self.net.media.get(index).inspect(|medium| fetch(*medium));
        self.with_interface(index, |it| fetch_part(it, 0..Interface::USUAL));
    }

    fn with_interface(&self, index: usize, act: impl FnOnce(&Interface)) {
        self.net.passage.interfaces.get(index).map(act);
    }
}
