//! What media work on: interfaces, packets under way, where these go, and the calendar.

use crate::access::AccessLinks;
use crate::arrivals::Arrivals;
use crate::autorate::Autorates;
use crate::calendar::{Calendar, Owner, Source};
use crate::forwarding::{Forwarding, Leg, Next};
use crate::interface::Interface;
use crate::mesh::Mail;
use crate::packet::Packet;
use crate::pipe::Pipe;
use crate::tap::Tapped;
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
    /// Rates that follow their links.
    pub(crate) autorates: Option<Box<Autorates>>,
}

impl Passage {
    /// Whether the event that goes on has left something to be done over a radio.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.arrivals.any_due() || !self.mail.is_empty()
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
    pub(crate) fn fly(&mut self, leg: Leg, mut arrival: Time, packet: Packet) {
        if leg.next == Next::Host
            && let Some(access) = &mut self.access
        {
            arrival = access.pass_down(packet.way, arrival, packet.len);
        }
        let pipe = &mut self.pipes[leg.pipe as usize];
        pipe.push(arrival, packet);
        if arrival < pipe.armed {
            pipe.armed = arrival;
            let source = Source::of(Owner::Pipe(leg.pipe as usize));
            self.calendar.push(arrival, source);
        }
    }
}
