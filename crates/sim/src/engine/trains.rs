//! Trains: segments that a host hands to its queue as one packet, and a receiver gets so.

use super::burst::{arrived, left};
use super::{Engine, app};
use crate::host::Transport;
use crate::packet::Packet;
use crate::tap::Seen;
use sojourn_tcp::{Codepoint, Received};
use sojourn_units::Time;

impl Engine {
    /// [`send_segments`](super::burst::send_segments) in trains.
    #[inline(never)]
    pub(super) fn send_trains(&mut self, index: usize, now: Time) {
        let mut train: Option<Packet> = None;
        loop {
            let endpoint = &mut self.endpoints[index];
            let Transport::Tcp { connection, .. } = &mut endpoint.transport else {
                break;
            };
            let goes_on = connection.train_goes_on();
            let Some(sent) = connection.poll_train(now) else {
                break;
            };
            if sent.segment.payload > 0 && endpoint.is_first() {
                let recorder = &mut self.recorders[self.flows[index / 2] as usize];
                recorder.sent(now, 1, u64::from(sent.retransmission));
            }
            let packet = endpoint.segment(sent.segment, sent.ecn);
            let joined = goes_on && train.as_mut().is_some_and(|train| train.join(&packet));
            if !joined && let Some(whole) = train.replace(packet) {
                self.emit_train(index, whole, now);
            }
        }
        if let Some(whole) = train {
            self.emit_train(index, whole, now);
        }
    }

    fn emit_train(&mut self, index: usize, mut packet: Packet, now: Time) {
        if packet.is_train() {
            packet.push();
        }
        let packet = &packet;
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        left(recorder, &self.endpoints[index], packet, now);
        self.net.emit(packet, now);
    }

    /// A train has arrived at the end of its way: all its segments, and then one answer.
    #[inline(never)]
    pub(super) fn receive_train(&mut self, train: &Packet, now: Time) {
        if self.net.passage.tapped.is_some() {
            self.net.passage.show(Seen::Received, train, now);
        }
        let index = train.way.back().index();
        let endpoint = &mut self.endpoints[index];
        let first = !train.way.is_forth();
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        arrived(recorder, endpoint, train, now);
        let ecn = Codepoint::from_bits(train.tos);
        let mut all = Received::default();
        for (number, part) in train.parts().enumerate() {
            if !first {
                recorder.received(now, u32::from(part.len - self.link_header));
                if ecn != Codepoint::NotEct {
                    recorder.received_ecn(now, ecn == Codepoint::Ce);
                }
            }
            let (Some(segment), Transport::Tcp { connection, .. }) =
                (part.tcp(), &mut endpoint.transport)
            else {
                debug_assert!(false, "a train is of TCP");
                return;
            };
            // Streams end with the run.
            if now > self.end {
                continue;
            }
            connection.receive_in_train(number > 0);
            let news = connection.receive(segment, ecn, now);
            connection.receive_in_train(false);
            all.delivered += news.delivered;
            all.rtt = all.rtt.or(news.rtt);
            all.established |= news.established;
            all.writable |= news.writable;
            all.peer_closed |= news.peer_closed;
        }
        if now > self.end {
            return;
        }
        if let Some(rtt) = all.rtt.filter(|_| first) {
            recorder.rtt(now, rtt);
        }
        if all.delivered > 0 {
            let notable = app::deliver(endpoint, recorder, all.delivered, now);
            if notable | endpoint.hears {
                self.hear(index, all.delivered, notable, now);
            }
        }
        if all.established | all.writable {
            self.turn(index, all, now);
        }
        self.flush(index, now);
    }
}

#[cfg(test)]
mod tests;
