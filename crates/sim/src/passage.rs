//! What media work on: interfaces, packets under way, where these go, and the calendar.

use crate::access::AccessLinks;
use crate::arrivals::Arrivals;
use crate::autorate::Autorates;
use crate::calendar::{Calendar, Owner, OwnerKey};
use crate::forwarding::{Forwarding, Leg, Next};
use crate::interface::Interface;
use crate::mesh::Mail;
use crate::outside::Outside;
use crate::packet::Packet;
use crate::pipe::Pipe;
use crate::tap::{Seen, Tapped};
use sojourn_units::Time;
use std::collections::VecDeque;

pub(crate) struct Passage {
    pub(crate) calendar: Calendar,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) forwarding: Forwarding,
    /// The hosts' access links, if their rate is limited.
    pub(crate) access: Option<AccessLinks>,
    /// What has come over a radio.
    pub(crate) arrivals: Arrivals,
    /// What is to be done after the event that goes on, and after what has arrived; only radios
    /// have any.
    pub(crate) mail: VecDeque<Mail>,
    /// Who wants to see packets; seldom anybody.
    pub(crate) tapped: Option<Box<Tapped>>,
    /// Ends of flows that are outside; seldom any.
    pub(crate) outside: Option<Box<Outside>>,
    /// Rates that follow their links.
    pub(crate) autorates: Option<Box<Autorates>>,
}

impl Passage {
    /// Whether the event that goes on has left something to be done over a radio.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.arrivals.any_due() || !self.mail.is_empty()
    }

    /// A copy without taps. An error is the index of the interface whose queue cannot be copied.
    pub(crate) fn fork(&self) -> Result<Self, usize> {
        let interfaces = self.interfaces.iter().enumerate();
        Ok(Self {
            calendar: self.calendar.clone(),
            interfaces: interfaces
                .map(|(index, interface)| interface.fork().ok_or(index))
                .collect::<Result<_, _>>()?,
            pipes: self.pipes.clone(),
            forwarding: self.forwarding.clone(),
            access: self.access.clone(),
            arrivals: self.arrivals.clone(),
            mail: self.mail.clone(),
            tapped: None,
            outside: self.outside.clone(),
            autorates: self.autorates.clone(),
        })
    }

    /// Whether something has come to an end that is outside.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let outside = self.outside.as_ref();
        outside.is_some_and(|outside| outside.has_news())
    }

    /// A node hands a datagram from outside on, if its TTL lets it.
    #[cold]
    pub(crate) fn hop(&mut self, packet: &mut Packet) -> bool {
        let passes = packet.hop();
        if let (false, Some(token), Some(outside)) = (passes, packet.token(), &mut self.outside) {
            outside.lost(token);
        }
        passes
    }

    /// Whether anybody looks at what interfaces are offered and send: one question for two.
    #[inline]
    pub(crate) const fn is_watched(&self) -> bool {
        self.tapped.is_some() | self.autorates.is_some()
    }

    /// Tells who looks that an interface is offered a packet.
    #[cold]
    pub(crate) fn tell_offered(&mut self, index: usize, packet: &Packet, now: Time) {
        if self.tapped.is_some() {
            self.show(Seen::Offered(index), packet, now);
        }
        if let Some(autorates) = &mut self.autorates {
            autorates.offered(index, packet, now);
        }
    }

    /// The same of one that it sends, until `end`.
    #[cold]
    pub(crate) fn tell_sent(&mut self, index: usize, packet: &Packet, now: Time, end: Time) {
        if self.tapped.is_some() {
            self.show(Seen::Dequeued(index), packet, now);
        }
        if let Some(autorates) = &mut self.autorates {
            autorates.sent(index, packet, end);
        }
    }

    /// Shows a packet to taps.
    #[cold]
    pub(crate) fn show(&mut self, seen: Seen, packet: &Packet, now: Time) {
        if packet.is_train() {
            // As a capture on a wire has them.
            packet.parts().for_each(|part| self.show(seen, &part, now));
            return;
        }
        let payload = match (&self.outside, packet.token()) {
            (Some(outside), Some(token)) => outside.payload(token),
            _ => None,
        };
        if let Some(tapped) = &mut self.tapped {
            tapped.show(seen, packet, payload, now);
        }
    }

    /// Packets in queues and under way; a radio's few are left out.
    pub(crate) fn packets(&self) -> usize {
        let waiting = self.interfaces.iter().map(Interface::waiting);
        let flying = self.pipes.iter().map(Pipe::len);
        let sent = self.access.as_ref().map_or(0, AccessLinks::most);
        waiting.chain(flying).sum::<usize>() + sent
    }

    /// Puts a packet in flight that arrives at the end of its pipe at `arrival`.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn fly(&mut self, leg: Leg, mut arrival: Time, packet: &Packet) {
        if leg.next == Next::Host
            && let Some(access) = &mut self.access
        {
            arrival = access.pass_down(packet.way, arrival, packet.len);
        }
        let pipe = &mut self.pipes[leg.pipe as usize];
        pipe.push(arrival, packet);
        if arrival < pipe.armed {
            pipe.armed = arrival;
            let source = OwnerKey::of(Owner::Pipe(leg.pipe as usize));
            self.calendar.push(arrival, source);
        }
    }
}
