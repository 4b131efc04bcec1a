//! A link: a queue at its entrance, a transmitter, pipes to where its packets go.

use crate::packet::Packet;
use crate::pipe::Pipe;
use sojourn_qdisc::{Dequeue, DropReason, Outlet, Packet as _, Qdisc};
use sojourn_units::{Span, Time};
use sojourn_world::{Impairment, LinkRecorder, Transmitter};

/// A link without its pipes, which the engine keeps in one table.
pub(crate) struct Link {
    pub(crate) qdisc: Box<dyn Qdisc<Packet>>,
    pub(crate) transmitter: Transmitter,
    /// When the transmitter has sent what it was given.
    pub(crate) free_at: Time,
    /// Time of the event that the calendar holds for this link; `Time::MAX` for none.
    pub(crate) armed: Time,
    /// None for the usual link that only delays.
    pub(crate) impairment: Option<Impairment>,
    pub(crate) recorder: LinkRecorder,
}

/// Tells the recorder of drops and marks.
struct Watch<'a> {
    recorder: &'a mut LinkRecorder,
    now: Time,
}

impl Outlet<Packet> for Watch<'_> {
    fn dropped(&mut self, _packet: Packet, _reason: DropReason) {
        self.recorder.dropped(self.now);
    }

    fn marked(&mut self, _packet: &Packet) {
        self.recorder.marked(self.now);
    }
}

/// What a link did when it was asked to send.
pub(crate) enum Sent {
    /// A packet; the transmitter has sent it at the time.
    Packet(Packet, Time),
    /// Nothing; ask again at the time.
    Later(Time),
    /// Nothing; the queue is empty.
    Nothing,
}

impl Link {
    /// Offers a packet to the queue.
    pub(crate) fn offer(&mut self, packet: Packet, now: Time) {
        self.recorder.offered(now, packet.len());
        let mut watch = Watch {
            recorder: &mut self.recorder,
            now,
        };
        self.qdisc.enqueue(packet, now, &mut watch);
        self.recorder.backlog(now, self.qdisc.backlog());
    }

    /// Starts the next packet if there is one and it may start now.
    pub(crate) fn send(&mut self, now: Time) -> Sent {
        if self.qdisc.backlog().packets == 0 {
            return Sent::Nothing;
        }
        let start = self.transmitter.start(now.max(self.free_at));
        if start > now {
            return Sent::Later(start);
        }
        let mut watch = Watch {
            recorder: &mut self.recorder,
            now,
        };
        let dequeued = self.qdisc.dequeue(now, &mut watch);
        self.recorder.backlog(now, self.qdisc.backlog());
        match dequeued {
            Dequeue::Packet { packet, sojourn } => {
                self.recorder.dequeued(now, packet.len(), sojourn);
                if self.recorder.wants_gauges(now) {
                    let recorder = &mut self.recorder;
                    self.qdisc
                        .gauges(now, &mut |gauge| recorder.gauge(now, gauge));
                }
                self.free_at = self.transmitter.finish(now, packet.len());
                Sent::Packet(packet, self.free_at)
            }
            // At least one step ahead: a shaper that says "now" must not stop time.
            Dequeue::NotBefore(time) => Sent::Later(time.max(now + Span::from_nanos(1))),
            Dequeue::Empty => Sent::Nothing,
        }
    }

    /// When a packet sent at `sent` arrives at the end of `pipe`; none if it is lost.
    pub(crate) fn arrival(&mut self, sent: Time, pipe: &Pipe) -> Option<Time> {
        match &mut self.impairment {
            None => Some(sent + pipe.delay),
            Some(impairment) => impairment.arrival(sent + pipe.delay, pipe.last()),
        }
    }
}
