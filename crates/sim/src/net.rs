//! The network between hosts: a packet from its sender's access link to its receiver.

use crate::access::AccessLinks;
use crate::arrivals::Arrival;
use crate::calendar::{Owner, OwnerKey};
use crate::change::Changes;
use crate::forwarding::Forwarding;
use crate::host::Alarm;
use crate::interface::Interface;
use crate::medium::Medium;
use crate::mesh::{Arrived, Mail};
use crate::packet::{Packet, Way};
use crate::passage::Passage;
use crate::pipe::Pipe;
use crate::tap::Seen;
use sojourn_radio::Lost;
use sojourn_units::Time;
use sojourn_world::{LineRate, RadioEvent};

pub(crate) struct Net {
    pub(crate) media: Vec<Medium>,
    pub(crate) passage: Passage,
    pub(crate) changes: Changes,
}

impl Net {
    /// A copy without taps. An error is the index of the interface whose queue cannot be copied.
    pub(crate) fn fork(&self) -> Result<Self, usize> {
        Ok(Self {
            media: self.media.clone(),
            passage: self.passage.fork()?,
            changes: self.changes.clone(),
        })
    }

    /// Sends a datagram of a program around the simulator.
    pub(crate) fn emit_from_outside(
        &mut self,
        mut packet: Packet,
        payload: Vec<u8>,
        ttl: u8,
        now: Time,
    ) {
        let passage = &mut self.passage;
        let Some(outside) = &mut passage.outside else {
            return;
        };
        if outside.is_full() {
            for token in passage.interfaces.iter_mut().flat_map(Interface::lost) {
                outside.lost(token);
            }
        }
        packet = packet.of_outside(outside.keep(payload), ttl);
        self.emit(&packet, now);
    }

    /// Sends a packet on its way: over the host's access link, or straight to the first queue.
    #[inline(never)]
    pub(crate) fn emit(&mut self, packet: &Packet, now: Time) {
        self.emit_here(packet, now);
    }

    /// [`emit`](Self::emit), compiled into where segments come from.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn emit_here(&mut self, packet: &Packet, now: Time) {
        let passage = &mut self.passage;
        if passage.tapped.is_some() {
            passage.show(Seen::Emitted, packet, now);
        }
        let way = packet.way;
        if let Forwarding::Mesh(mesh) = &mut passage.forwarding {
            // Over a radio a packet first needs a next hop; without a route it waits in the
            // routing protocol, not in a queue.
            match mesh.emit(packet, now, &mut passage.mail) {
                Some(station) => self.offer(station as usize, packet, now),
                None => self.arm_routing(),
            }
            return;
        }
        if let Some(access) = &mut passage.access {
            // Only the first packet of an access link is in the calendar; those behind it follow
            // from its event.
            if let Some(arrival) = access.send_up(packet, now) {
                passage
                    .calendar
                    .push(arrival, OwnerKey::of(Owner::Uplink(way)));
            }
        } else {
            let first = passage.forwarding.first(packet);
            self.offer(first, packet, now);
        }
    }

    /// [`emit`](Self::emit) of what is the last thing of an event, by an endpoint that has set this
    /// alarm.
    ///
    /// Returns when the packet [arrives](Self::arrive_up) at the end of its access link, if that is
    /// before this time and before all events; then it is in neither the calendar nor the link. So
    /// does most of what a host sends, as a packet is on its access link for a small part of the
    /// time between two events.
    #[expect(clippy::inline_always, reason = "as `emit_here`")]
    #[inline(always)]
    pub(crate) fn emit_last(
        &mut self,
        packet: &Packet,
        alarm: Alarm,
        before: Time,
        now: Time,
    ) -> Option<Time> {
        // The alarm is not in the calendar yet, as its event comes after the packet's.
        let ahead = self.emit_ahead(packet, before.min(alarm.at), now);
        self.arm(packet.way, alarm);
        ahead
    }

    /// [`emit_last`](Self::emit_last) without the alarm.
    #[expect(clippy::inline_always, reason = "as `emit_here`")]
    #[inline(always)]
    fn emit_ahead(&mut self, packet: &Packet, before: Time, now: Time) -> Option<Time> {
        let passage = &mut self.passage;
        let (None, Forwarding::Table(_), Some(access)) =
            (&passage.tapped, &passage.forwarding, &mut passage.access)
        else {
            self.emit(packet, now);
            return None;
        };
        let (arrival, is_first) = access.start_up(packet, now);
        if is_first && arrival < before && passage.calendar.is_next(arrival) {
            return Some(arrival);
        }
        if let Some(arrival) = access.hold(packet, arrival) {
            let source = OwnerKey::of(Owner::Uplink(packet.way));
            passage.calendar.push(arrival, source);
        }
        None
    }

    /// Puts the alarm of the endpoint that sends in this direction into the calendar.
    #[inline]
    pub(crate) fn arm(&mut self, way: Way, alarm: Alarm) {
        if alarm.is_new {
            let source = OwnerKey::of(Owner::Endpoint(way.index()));
            self.passage.calendar.push(alarm.at, source);
        }
    }

    /// A packet has arrived at the end of its access link.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn arrive_up(&mut self, packet: &Packet, now: Time) {
        let first = self.passage.forwarding.first(packet);
        self.offer_here(first, packet, now);
    }

    /// Takes all packets that are queued or on the way: the run is over.
    pub(crate) fn empty(&mut self, now: Time) -> Vec<Packet> {
        let passage = &mut self.passage;
        let mut held = Vec::new();
        for interface in &mut passage.interfaces {
            interface.empty(now, &mut held);
        }
        held.extend(passage.pipes.iter().flat_map(Pipe::packets));
        held.extend(passage.access.iter().flat_map(AccessLinks::packets));
        held.extend(passage.arrivals.packets());
        held.extend(self.media.iter().flat_map(Medium::held));
        if let Forwarding::Mesh(mesh) = &passage.forwarding {
            held.extend(mesh.held());
        }
        held
    }

    /// Offers a packet to an interface, whose medium may start it.
    #[inline(never)]
    pub(crate) fn offer(&mut self, index: usize, packet: &Packet, now: Time) {
        self.offer_here(index, packet, now);
    }

    /// [`offer`](Self::offer), compiled into where most packets come from.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    fn offer_here(&mut self, index: usize, packet: &Packet, now: Time) {
        let passage = &mut self.passage;
        if passage.is_watched() {
            passage.tell_offered(index, packet, now);
        }
        // Observers first: a queue may drop the packet, and what was offered counts even so.
        let interface = &mut passage.interfaces[index];
        let medium = &mut self.media[interface.medium as usize];
        if let Medium::Wire(wire) = medium
            && wire.is_free(now)
            && interface.pass(packet, now)
        {
            return wire.launch(packet, passage, now);
        }
        interface.offer(*packet, now);
        medium.waited_for(index, passage, now);
    }

    /// Does what the last event has left to be done over a radio, until a packet has come to its
    /// host, or nothing is left.
    pub(crate) fn settle(&mut self, now: Time) -> Option<Packet> {
        // Arrivals before mail: what has been on the air is older than what it makes stations
        // send.
        while let Some(Arrival { from, to, packet }) = self.passage.arrivals.pop() {
            let mut packet = packet;
            let passage = &mut self.passage;
            let Forwarding::Mesh(mesh) = &mut passage.forwarding else {
                return None;
            };
            // A station may relay the packet, learn a route from it, or both.
            match mesh.arrived(from, to, &mut packet, now, &mut passage.mail) {
                Arrived::Host => return Some(packet),
                Arrived::Relay => self.offer(to as usize, &packet, now),
                Arrived::Nowhere => {}
            }
        }
        while let Some(mail) = self.passage.mail.pop_front() {
            let passage = &mut self.passage;
            let Forwarding::Mesh(mesh) = &mut passage.forwarding else {
                return None;
            };
            match mail {
                Mail::Queue { station, packet } => {
                    if mesh.resolve(station, &packet, now, &mut passage.mail) {
                        self.queue(station as usize, packet, now);
                    }
                }
                Mail::Lost { station, why } => {
                    let recorder = &mut passage.interfaces[station as usize].recorder;
                    recorder.radio(
                        now,
                        match why {
                            Lost::NoRoute => RadioEvent::NoRoute,
                            Lost::Buffer => RadioEvent::Buffer,
                        },
                    );
                }
            }
        }
        self.arm_routing();
        None
    }

    /// Queues a packet at a station.
    fn queue(&mut self, station: usize, packet: Packet, now: Time) {
        if !packet.is_routing() {
            return self.offer(station, &packet, now);
        }
        let interface = &mut self.passage.interfaces[station];
        interface.offer_routing(packet, now);
        let medium = interface.medium as usize;
        self.media[medium].waited_for(station, &mut self.passage, now);
    }

    fn arm_routing(&mut self) {
        if let Forwarding::Mesh(mesh) = &mut self.passage.forwarding
            && let Some(due) = mesh.due()
            // A later time needs nothing: the armed event finds nothing to do and arms the next
            // one.
            && due < mesh.armed
        {
            mesh.armed = due;
            let source = OwnerKey::of(Owner::Routing);
            self.passage.calendar.push(due, source);
        }
    }

    /// Something is due at the routing protocol. Returns when the next thing is.
    pub(crate) fn routing_event(&mut self, now: Time) -> Option<Time> {
        let mesh = self.passage.forwarding.mesh()?;
        if mesh.armed != now {
            return None; // stale
        }
        mesh.run(now, &mut self.passage.mail);
        let next = mesh.due();
        mesh.armed = next.unwrap_or(Time::MAX);
        if let Some((next, others)) = mesh.next_senders() {
            let interfaces = &self.passage.interfaces;
            others.for_each(|sender| interfaces[sender as usize].fetch_first());
            let interface = &interfaces[next as usize];
            interface.fetch_radio();
            self.media[interface.medium as usize].expect(next);
        }
        next
    }

    /// Something is due at a wire. Returns when the next thing is.
    #[inline]
    pub(crate) fn wire_event(&mut self, index: usize, now: Time) -> Option<Time> {
        match &mut self.media[index] {
            Medium::Wire(wire) => wire.event(&mut self.passage, now),
            Medium::Radio(_) => None,
        }
    }

    /// The same at a radio.
    #[inline]
    pub(crate) fn radio_event(&mut self, index: usize, now: Time) -> Option<Time> {
        match &mut self.media[index] {
            Medium::Radio(radio) => radio.event(&mut self.passage, now),
            Medium::Wire(_) => None,
        }
    }

    /// The packet at the head of an uplink arrives. Returns when the next one does.
    pub(crate) fn uplink_event(&mut self, way: Way, now: Time) -> Option<Time> {
        let passage = &mut self.passage;
        let is_watched = passage.is_watched();
        let access = passage.access.as_mut()?;
        let (place, again) = access.arrive(way)?;
        let packet = access.arrived(place)?;
        let index = passage.forwarding.first(packet);
        let interface = &mut passage.interfaces[index];
        let medium = &mut self.media[interface.medium as usize];
        if medium.is_free(now) || is_watched {
            // What it goes into needs the access links too.
            let packet = *packet;
            self.offer_here(index, &packet, now);
        } else {
            // Straight from where it lies.
            interface.offer(*packet, now);
            medium.waited_for(index, passage, now);
        }
        again
    }

    /// Rates follow their links. Returns when they are looked at next.
    #[cold]
    pub(crate) fn autorate_event(&mut self, now: Time) -> Option<Time> {
        let passage = &mut self.passage;
        let autorates = passage.autorates.as_mut()?;
        let next = autorates.step(now, &mut passage.interfaces);
        for (link, rate) in std::mem::take(&mut autorates.changed) {
            let rate = LineRate::Fixed(rate);
            let interface = &mut passage.interfaces[link];
            // Recorded where it is decided, or a shaper that follows would seem to use a share of
            // a rate that is gone.
            interface.recorder.rate(now, &rate);
            let medium = &mut self.media[interface.medium as usize];
            medium.change(&rate.into(), &mut passage.pipes);
            medium.waited_for(link, passage, now);
        }
        next
    }

    /// The changes that are due happen. Returns when the next one does.
    #[cold]
    pub(crate) fn change_event(&mut self, now: Time) -> Option<Time> {
        // All that are due: those of one time are one step of the scenario.
        while let Some(change) = self.changes.due(now) {
            let interface = &mut self.passage.interfaces[change.link];
            let medium = &mut self.media[interface.medium as usize];
            if let Some(rate) = &change.line.rate {
                interface.recorder.rate(now, rate);
            }
            medium.change(&change.line, &mut self.passage.pipes);
            if let Some(place) = change.place {
                medium.put(change.link, place);
            }
            if let Some(spec) = &change.qdisc {
                interface.change(spec, now);
            }
            medium.waited_for(change.link, &mut self.passage, now);
        }
        self.changes.next()
    }
}
