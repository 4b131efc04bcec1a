//! A packet at the end of its way, and what its receiver sends at once.

use super::Engine;
use super::app;
use crate::calendar::{Owner, OwnerKey};
use crate::host::{Endpoint, Transport};
use crate::packet::{Body, Packet};
use crate::tap::Seen;
use sojourn_apps::Input;
use sojourn_tcp::{Codepoint, Owes, Segment};
use sojourn_units::Time;
use sojourn_world::FlowRecorder;

/// An event that was found to be the next one before it was in the calendar: this packet arrives at
/// the end of its uplink. So does most of what a host sends and sends alone, as a packet is on an
/// uplink for a small part of the time between two events.
pub(super) struct Ahead {
    pub(super) at: Time,
    pub(super) packet: Packet,
}

impl Engine {
    /// A packet has arrived at the end of its way, over a radio.
    #[inline(never)]
    pub(super) fn receive(&mut self, packet: &Packet, now: Time) {
        let ahead = self.receive_here(packet, Time::ZERO, now);
        debug_assert!(ahead.is_none(), "there is nothing before time zero");
    }

    /// A packet has arrived at the end of its way. Compiled into the loop, as are those that it
    /// calls. Returns the next event, if that is known and before `armed`, for which more is yet to
    /// be put into the calendar.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(super) fn receive_here(
        &mut self,
        packet: &Packet,
        armed: Time,
        now: Time,
    ) -> Option<Ahead> {
        if self.net.passage.tapped.is_some() {
            self.net.passage.show(Seen::Received, packet, now);
        }
        let index = packet.way.back().index();
        let endpoint = &mut self.endpoints[index];
        let first = !packet.way.is_forth();
        let flow = self.flows[index / 2] as usize;
        let recorder = &mut self.recorders[flow];
        if let Some(spp) = recorder.spp().filter(|_| endpoint.paired) {
            // A pair of observers sees what a capture at both hosts would: by the sending time
            // where the transport has it, by the identity of the packet where not.
            match endpoint.transport.sent(packet) {
                Some(sent) => spp.passed(now, !first, sent),
                None => spp.reached(now, !first, packet.identity()),
            }
        }
        if !first {
            // Without the link's header, as a host's socket counts, so that worlds with other
            // headers agree.
            recorder.received(now, u32::from(packet.len - self.link_header));
            let ecn = Codepoint::from_bits(packet.tos);
            if ecn != Codepoint::NotEct {
                recorder.received_ecn(now, ecn == Codepoint::Ce);
            }
        }
        match (packet.body(), &mut endpoint.transport) {
            (Body::Datagram { datagram, sent }, transport) => {
                if let Some(token) = packet.token()
                    && let Some(outside) = &mut self.net.passage.outside
                {
                    outside.arrived(token, packet, sent, now);
                }
                // A line that duplicates must not make a flow look faster than it is.
                if transport.has_come(datagram) {
                    recorder.datagram_repeated(sent);
                    return None;
                }
                recorder.datagram_received(now, sent);
                if !first {
                    recorder.delivered(now, u64::from(datagram.len));
                    if let Some(other) = self.other_ways[flow]
                        && let Some(spp) = self.recorders[other].spp()
                    {
                        spp.passed(now, false, sent);
                    }
                }
                self.tell(index, Input::Datagram(datagram), now);
            }
            // Streams end with the run. Datagrams go on for a moment: one that is under way is
            // not lost.
            (Body::Segment(_), _) if now > self.end => return None,
            (Body::Segment(segment), Transport::Tcp { connection, .. }) => {
                let ecn = Codepoint::from_bits(packet.tos);
                let news = connection.receive(segment, ecn, now);
                if let Some(rtt) = news.rtt
                    && first
                {
                    recorder.rtt(now, rtt);
                }
                let mut tells = news.established | news.writable;
                let mut notable = false;
                if news.delivered > 0 {
                    notable = app::deliver(endpoint, recorder, news.delivered, now);
                    tells |= notable | endpoint.hears;
                }
                if !tells {
                    // The app has not been asked, and wants nothing.
                    return self.answer(index, armed, now);
                }
                self.tell_news(index, news, notable, now);
            }
            (Body::Segment(_), Transport::Udp { .. }) => {
                debug_assert!(false, "a segment for a socket of datagrams");
            }
        }
        self.answer_told(index, armed, now)
    }

    /// Sends what a packet has made an endpoint send, whose app has heard of it.
    #[inline(never)]
    fn answer_told(&mut self, index: usize, armed: Time, now: Time) -> Option<Ahead> {
        if self.wishes.connections.is_empty() && self.datagrams.is_empty() {
            return self.answer(index, armed, now);
        }
        self.flush(index, now);
        None
    }

    /// Sends what a segment has made an endpoint send, without its app.
    #[expect(clippy::inline_always, reason = "as `receive_here`")]
    #[inline(always)]
    fn answer(&mut self, index: usize, armed: Time, now: Time) -> Option<Ahead> {
        debug_assert!(self.wishes.connections.is_empty() && self.datagrams.is_empty());
        // Of the segments that data comes in every other one leaves nothing to be done, and of the
        // others most an ACK.
        match self.endpoints[index].transport.owes() {
            Owes::Nothing => {
                self.arm_endpoint(index);
                None
            }
            Owes::Ack => self.acknowledge(index, armed, now),
            Owes::More => {
                self.flush(index, now);
                None
            }
        }
    }

    /// [`flush`](Self::flush) of an end that owes an ACK only.
    #[expect(clippy::inline_always, reason = "as `receive_here`")]
    #[inline(always)]
    fn acknowledge(&mut self, index: usize, armed: Time, now: Time) -> Option<Ahead> {
        let endpoint = &mut self.endpoints[index];
        let Transport::Tcp { connection, .. } = &mut endpoint.transport else {
            return None;
        };
        let mut packet = Packet::segment(Segment::default(), endpoint.way, 0, 0);
        if let Some(segment) = packet.tcp_mut() {
            let ecn = connection.take_ack(segment, now);
            packet.len = endpoint.len_of(segment);
            packet.tos = endpoint.tos | ecn as u8;
        }
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        left(recorder, endpoint, &packet, now);
        // What is not in the calendar yet: this pipe's next packet, the endpoint's timer, and what
        // is done between events.
        let deadline = endpoint.deadline();
        let unknown = armed.min(deadline).min(self.look_at);
        let before = unknown.min(self.ahead_before);
        // As `arm_endpoint`, whose event comes after the packet's.
        let arms = deadline < endpoint.armed;
        if arms {
            endpoint.armed = deadline;
        }
        let at = self.net.emit_last(&packet, before, now);
        if arms {
            let source = OwnerKey::of(Owner::Endpoint(index));
            self.net.passage.calendar.push(deadline, source);
        }
        at.map(|at| Ahead { at, packet })
    }
}

/// Tells a pair of observers of a packet that is sent, where it does not say when that was.
#[expect(clippy::inline_always, reason = "mostly there is none")]
#[inline(always)]
pub(super) fn left(recorder: &mut FlowRecorder, endpoint: &Endpoint, packet: &Packet, now: Time) {
    if let Some(spp) = recorder.spp()
        && endpoint.paired
        && endpoint.transport.sent(packet).is_none()
    {
        spp.left(now, endpoint.is_first(), packet.identity());
    }
}
