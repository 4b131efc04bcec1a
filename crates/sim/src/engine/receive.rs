//! A packet at the end of its way, and what its receiver sends at once.

use super::app;
use super::burst::{answer, arrived};
use super::{Engine, Sending};
use crate::host::Transport;
use crate::packet::{Body, Packet};
use crate::tap::Seen;
use sojourn_apps::Input;
use sojourn_tcp::{Codepoint, Owes};
use sojourn_units::Time;

impl Engine {
    /// A packet has arrived at the end of its way, over a radio.
    #[inline(never)]
    pub(super) fn receive(&mut self, packet: &Packet, now: Time) {
        if self.net.passage.tapped.is_some() {
            self.net.passage.show(Seen::Received, packet, now);
        }
        let ahead = self.receive_here(packet, Time::ZERO, now);
        debug_assert!(ahead.is_none(), "there is nothing before time zero");
    }

    /// The same over a line, of a packet that observers see, or that is a train.
    #[inline(never)]
    pub(super) fn receive_oddly(&mut self, packet: &Packet, now: Time) {
        if packet.is_train() {
            self.receive_train(packet, now);
        } else {
            self.receive(packet, now);
        }
    }

    /// A packet has arrived at the end of its way, which no observer sees. Compiled into the loop,
    /// as are those that it calls. Returns as [`answer`]; `armed`: for this time more is yet to be
    /// put into the calendar.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(super) fn receive_here(&mut self, packet: &Packet, armed: Time, now: Time) -> Option<Time> {
        let index = packet.way.back().index();
        let endpoint = &mut self.endpoints[index];
        let first = !packet.way.is_forth();
        let flow = self.flows[index / 2] as usize;
        let recorder = &mut self.recorders[flow];
        arrived(recorder, endpoint, packet, now);
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
                    debug_assert!(self.wishes.connections.is_empty() && self.datagrams.is_empty());
                    let owes = endpoint.transport.owes();
                    if owes == Owes::More && self.sending != Sending::default() {
                        return self.send_all(index, Time::ZERO, now);
                    }
                    let before = armed.min(self.look_at).min(self.ahead_before);
                    let (net, sent) = (&mut self.net, &mut self.sent);
                    return answer(owes, net, sent, endpoint, recorder, before, now);
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
    fn answer_told(&mut self, index: usize, armed: Time, now: Time) -> Option<Time> {
        if self.wishes.connections.is_empty() && self.datagrams.is_empty() {
            return self.send_all(index, self.ahead_until(armed), now);
        }
        self.flush(index, now);
        None
    }
}
