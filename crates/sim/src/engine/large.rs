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

/// A run is large if it has more connections than this, a link counting as so many. What packets
/// need of so many is more than a processor's second cache holds; below, asking costs more than it
/// saves.
const MANY: usize = 512;
const LINK: usize = 8;
/// Of no more links than these each has events so often that the packets of its pipe tell what is
/// needed next. Of more it is the calendar.
const FEW_LINKS: usize = 32;
/// How many packets before its arrival a packet's receiver is asked for, and how many before that
/// the packet, and what its receiver has apart.
const AHEAD: usize = 2;
const FARTHER: usize = 2 * AHEAD;
const FAR: usize = AHEAD + 1;
const NEARER: usize = AHEAD / 2;

/// Whether so many connections and links make a run large.
pub(crate) const fn is_large(connections: usize, links: usize) -> bool {
    connections + LINK * links > MANY
}

impl Engine {
    /// From now on memory is asked for. The packets of few pipes then come by here, so that those
    /// of other runs pay nothing for it.
    pub(super) fn enlarge(&mut self) {
        self.large = true;
        if !self.has_many_links() {
            self.net.passage.pipes.iter_mut().for_each(Pipe::ask);
        }
    }

    fn has_many_links(&self) -> bool {
        self.net.passage.interfaces.len() > FEW_LINKS
    }

    /// Where a packet goes that has left a pipe, if the pipe does not say so: in runs with
    /// observers or trains, and in large ones with few links. In these, asks for those behind it,
    /// for the receivers of some, and for the next in the queue before.
    #[inline(never)]
    pub(super) fn look_up(&self, pipe: usize, packet: &Packet) -> Next {
        let pipe = &self.net.passage.pipes[pipe];
        let next = self.next_of(pipe, packet);
        if self.large {
            self.fetch_queued(pipe.interface as usize);
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
            self.fetch_apart(packet);
        }
    }

    /// Asks for what a receiver has apart.
    fn fetch_apart(&self, packet: &Packet) {
        if let Transport::Tcp { connection, .. } = &self.receiver(packet).transport {
            connection.fetch_apart();
        }
        let connection = packet.way.index() / 2;
        self.recorders[self.flows[connection] as usize].fetch_apart();
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
        let is_data = packet.tcp().is_none_or(|segment| segment.payload > 0);
        self.recorders[self.flows[answers.index() / 2] as usize].fetch(is_data);
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

    /// The calendar goes on to its next events. With many links, asks for the memory of these and
    /// of those behind them: what each step asks for is there when the calendar comes by the next
    /// time, and tells what the following step asks for.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_over(&mut self) {
        self.net.passage.calendar.refill();
        if !self.large || !self.has_many_links() {
            return;
        }
        let calendar = &self.net.passage.calendar;
        calendar.behind(2).for_each(|key| self.fetch_owner(key));
        calendar.behind(1).for_each(|key| self.fetch_head(key));
        calendar.behind(0).for_each(|key| self.fetch_next(key));
        calendar.soon().for_each(|key| self.fetch_last(key));
    }

    /// Asks for whose an event is.
    fn fetch_owner(&self, key: OwnerKey) {
        match key.owner() {
            Owner::Pipe(index) => fetch(&self.net.passage.pipes[index]),
            Owner::Wire(index) => self.fetch_link(index),
            _ => {}
        }
    }

    /// Asks for the packet of an event.
    fn fetch_head(&self, key: OwnerKey) {
        match key.owner() {
            Owner::Pipe(index) => {
                let head = self.net.passage.pipes[index].ahead(0);
                head.inspect(|packet| fetch(*packet));
            }
            Owner::Wire(index) => {
                let head = self.interface(index).and_then(|it| it.qdisc.ahead(0));
                head.inspect(|packet| fetch(*packet));
            }
            _ => {}
        }
    }

    /// Asks for where the packet of an event goes.
    fn fetch_next(&self, key: OwnerKey) {
        match key.owner() {
            Owner::Pipe(index) => {
                let pipe = &self.net.passage.pipes[index];
                let Some(packet) = pipe.ahead(0) else {
                    return;
                };
                match self.next_of(pipe, packet) {
                    Next::Host | Next::HostOddly => self.fetch_receiver(packet),
                    Next::Interface(next) => self.fetch_link(next as usize),
                    Next::Nowhere => {}
                }
            }
            Owner::Wire(index) => self.fetch_way(index),
            _ => {}
        }
    }

    /// Asks for the last that an event needs: what its packet's receiver has apart, and the link to
    /// which that sends.
    fn fetch_last(&self, key: OwnerKey) {
        if let Owner::Pipe(index) = key.owner()
            && let pipe = &self.net.passage.pipes[index]
            && let Some(packet) = pipe.ahead(0)
            && self.next_of(pipe, packet) == Next::Host
        {
            self.fetch_apart(packet);
            let first = (self.net.passage.forwarding).first_of(packet.way.back());
            self.fetch_link(first);
        }
    }

    /// Asks for the packet that leaves a queue after the next one, and for where the next one goes.
    fn fetch_queued(&self, index: usize) {
        let behind = self.interface(index).and_then(|it| it.qdisc.ahead(1));
        behind.inspect(|packet| fetch(*packet));
        self.fetch_way(index);
    }

    /// Asks for where the packet goes that leaves a queue next.
    fn fetch_way(&self, index: usize) {
        if let Some(packet) = self.interface(index).and_then(|it| it.qdisc.ahead(0)) {
            let passage = &self.net.passage;
            if self.has_many_links() {
                passage.forwarding.fetch_leg(index, packet);
            }
            (passage.access.as_ref()).inspect(|access| access.fetch(packet.way));
        }
    }

    /// Asks for an interface and its medium, which mostly have one number.
    fn fetch_link(&self, index: usize) {
        self.net.media.get(index).inspect(|medium| fetch(*medium));
        if let Some(interface) = self.interface(index) {
            fetch_part(interface, 0..Interface::USUAL);
        }
    }

    fn interface(&self, index: usize) -> Option<&Interface> {
        self.net.passage.interfaces.get(index)
    }
}
