//! The network between hosts: a packet from its sender's access link to its receiver.

use crate::calendar::{Owner, Source};
use crate::change::Changes;
use crate::medium::Medium;
use crate::packet::{Packet, Way};
use crate::passage::Passage;
use sojourn_units::Time;

pub(crate) struct Net {
    pub(crate) media: Vec<Medium>,
    pub(crate) passage: Passage,
    pub(crate) changes: Changes,
}

impl Net {
    /// Sends a packet on its way: over the host's access link, or straight to the first queue.
    pub(crate) fn emit(&mut self, packet: Packet, now: Time) {
        let passage = &mut self.passage;
        if let Some(tapped) = &mut passage.tapped {
            tapped.emitted(&packet, now);
        }
        let way = packet.way;
        if let Some(access) = &mut passage.access {
            if let Some(arrival) = access.send_up(packet, now) {
                passage
                    .calendar
                    .push(arrival, Source::of(Owner::Uplink(way)));
            }
        } else {
            let first = passage.forwarding.first(&packet);
            self.offer(first, packet, now);
        }
    }

    /// Offers a packet to an interface, whose medium may start it.
    pub(crate) fn offer(&mut self, index: usize, packet: Packet, now: Time) {
        let passage = &mut self.passage;
        if let Some(tapped) = &mut passage.tapped {
            tapped.offered(index, &packet, now);
        }
        let interface = &mut passage.interfaces[index];
        interface.offer(packet, now);
        let medium = interface.medium as usize;
        self.media[medium].waited_for(index, passage, now);
    }

    /// Something is due at a medium. Returns when the next thing is.
    #[inline]
    pub(crate) fn medium_event(&mut self, index: usize, now: Time) -> Option<Time> {
        self.media[index].event(&mut self.passage, now)
    }

    /// The packet at the head of an uplink arrives. Returns when the next one does.
    pub(crate) fn uplink_event(&mut self, way: Way, now: Time) -> Option<Time> {
        let (packet, again) = self.passage.access.as_mut()?.arrive(way)?;
        let first = self.passage.forwarding.first(&packet);
        self.offer(first, packet, now);
        again
    }

    /// The changes that are due happen. Returns when the next one does.
    #[cold]
    pub(crate) fn change_event(&mut self, now: Time) -> Option<Time> {
        while let Some(change) = self.changes.due(now) {
            let interface = &mut self.passage.interfaces[change.link];
            let medium = &mut self.media[interface.medium as usize];
            if let Some(rate) = &change.rate {
                interface.recorder.rate(now, rate.fixed());
                medium.set_rate(rate);
            }
            if let Some(spec) = &change.qdisc {
                interface.change(spec, now);
            }
            medium.waited_for(change.link, &mut self.passage, now);
        }
        self.changes.next()
    }
}
