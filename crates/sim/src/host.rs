//! Endpoints: the transports at both ends of a flow, and the ports through which apps use them.

use crate::packet::{Hosts, Packet, Way};
use sojourn_apps::{Datagram, Message, Metric, Port};
use sojourn_qdisc::Ecn;
use sojourn_tcp::{Connection, Segment};
use sojourn_units::{Span, Time, TxClock};
use sojourn_world::FlowRecorder;
use std::collections::VecDeque;

/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u16 = 28;

/// What carries a flow, at one end.
pub(crate) enum Transport {
    Tcp {
        connection: Box<Connection>,
        /// Whether segments tell when they were sent.
        stamped: bool,
        /// Header bytes of a segment by its number of SACK blocks, link header included.
        headers: [u16; 4],
    },
    Udp {
        /// Link header.
        header: u16,
    },
}

impl Transport {
    /// When a segment of this transport was sent, if it tells.
    pub(crate) fn sent(&self, segment: &Segment) -> Option<Time> {
        match self {
            Self::Tcp { stamped: true, .. } => Some(segment.ts),
            Self::Tcp { stamped: false, .. } => None,
            Self::Udp { .. } => Some(segment_datagram(segment).1),
        }
    }
}

/// A host's own access link: a transmitter with an endless queue.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) clock: TxClock,
    pub(crate) free_at: Time,
}

impl Access {
    /// When a packet that comes at `now` has been sent.
    pub(crate) fn send(&mut self, now: Time, len: u16) -> Time {
        self.free_at = self.clock.finish(now.max(self.free_at), u32::from(len));
        self.free_at
    }
}

/// One end of one of a flow's connections.
pub(crate) struct Endpoint {
    /// Index of its flow in the cell.
    pub(crate) flow: usize,
    /// Index of the app at this end.
    pub(crate) app: usize,
    /// Number of the connection within the flow.
    pub(crate) connection: u8,
    /// Whether it opens the connection.
    pub(crate) opens: bool,
    pub(crate) transport: Transport,
    /// Direction of what it sends.
    pub(crate) way: Way,
    /// This end's host and the other's.
    pub(crate) hosts: Hosts,
    /// DSCP of what it sends, in place in the TOS byte.
    pub(crate) tos: u8,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub(crate) started: bool,
    pub(crate) stopped: bool,
    /// When the app wants to be woken.
    pub(crate) wake: Time,
    /// Time of the event that counts in the calendar; others are stale.
    pub(crate) armed: Time,
    /// When the congestion window is next sampled.
    pub(crate) sample_at: Time,
    /// Payload delivered by the peer so far.
    pub(crate) delivered: u64,
    /// Size of the file that the peer sends, if it sends one and it has not yet arrived.
    pub(crate) expected: Option<u64>,
    /// Bytes of messages written so far.
    pub(crate) written: u64,
    /// Bytes of the last message that wait for room in the send buffer.
    pub(crate) rest: u64,
    /// Messages that the peer has written, each with the byte that ends it.
    pub(crate) mail: VecDeque<(u64, Message)>,
}

impl Endpoint {
    /// Whether it is the flow's first end, whose sending the flow's figures describe.
    pub(crate) fn is_first(&self) -> bool {
        self.way.is_forth()
    }

    /// Index of the flow's first connection at this end; the app lives there.
    pub(crate) fn home(&self) -> usize {
        self.way.index() - 2 * usize::from(self.connection)
    }

    /// Writes what room there is for of the message that waits.
    pub(crate) fn write_rest(&mut self) {
        if let Transport::Tcp { connection, .. } = &mut self.transport
            && self.rest > 0
        {
            self.rest -= connection.write(self.rest).min(self.rest);
        }
    }

    /// The next message that has arrived whole.
    pub(crate) fn next_message(&mut self) -> Option<Message> {
        let &(end, message) = self.mail.front()?;
        (end <= self.delivered).then(|| {
            self.mail.pop_front();
            message
        })
    }

    /// The earliest time at which something is to be done here.
    pub(crate) fn deadline(&self) -> Time {
        let transport = match &self.transport {
            Transport::Tcp { connection, .. } => connection.next_timer().unwrap_or(Time::MAX),
            Transport::Udp { .. } => Time::MAX,
        };
        let change = match (self.started, self.stopped) {
            (false, _) => self.start,
            (true, false) => self.stop,
            (true, true) => Time::MAX,
        };
        transport.min(change).min(self.wake)
    }

    /// A segment as a packet.
    #[inline]
    pub(crate) fn packet(&self, segment: Segment, ect: bool) -> Packet {
        let headers = match &self.transport {
            Transport::Tcp { headers, .. } => headers[usize::from(segment.sack_count.min(3))],
            Transport::Udp { header } => header + UDP_HEADERS,
        };
        let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
        let len = segment.payload.saturating_add(headers);
        Packet::new(segment, self.way, self.hosts, len, self.tos | ecn as u8)
    }
}

/// A datagram as a segment: its number in `seq`, the time of its first copy in `ts`, the time
/// this copy was sent in `ts_echo`.
pub(crate) fn datagram_segment(datagram: Datagram, now: Time) -> Segment {
    Segment {
        seq: datagram.number,
        payload: datagram.len,
        ts: datagram.sent,
        ts_echo: now,
        ..Segment::default()
    }
}

/// The reverse of [`datagram_segment`], and when this copy was sent.
pub(crate) fn segment_datagram(segment: &Segment) -> (Datagram, Time) {
    let datagram = Datagram {
        number: segment.seq,
        len: segment.payload,
        sent: segment.ts,
    };
    (datagram, segment.ts_echo)
}

/// What an app has asked for and its engine has yet to do.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) datagrams: Vec<Datagram>,
    /// Messages by the number of their connection.
    pub(crate) messages: Vec<(u8, Message)>,
    pub(crate) wake: Option<Time>,
}

/// An app's port in the simulated world.
pub(crate) struct SimPort<'a> {
    pub(crate) transport: &'a mut Transport,
    pub(crate) now: Time,
    pub(crate) recorder: &'a mut FlowRecorder,
    pub(crate) outbox: &'a mut Outbox,
}

impl Port for SimPort<'_> {
    fn write(&mut self, bytes: u64) -> u64 {
        match self.transport {
            Transport::Tcp { connection, .. } => connection.write(bytes),
            Transport::Udp { .. } => 0,
        }
    }

    fn write_forever(&mut self) {
        if let Transport::Tcp { connection, .. } = self.transport {
            connection.write_forever();
        }
    }

    fn send(&mut self, datagram: Datagram) {
        match self.transport {
            Transport::Tcp { connection, .. } => {
                if !connection.write_message(u64::from(datagram.len)) {
                    self.recorder.blocked(self.now);
                }
            }
            Transport::Udp { .. } => self.outbox.datagrams.push(datagram),
        }
    }

    fn message(&mut self, connection: u8, message: Message) {
        self.outbox.messages.push((connection, message));
    }

    fn wake_at(&mut self, time: Time) {
        self.outbox.wake = Some(time);
    }

    fn close(&mut self) {
        if let Transport::Tcp { connection, .. } = self.transport {
            connection.close();
        }
    }

    fn round_trip(&mut self, rtt: Span) {
        // A probe belongs to the time it was sent: those under way at the end count.
        self.recorder.rtt(self.now - rtt, rtt);
    }

    fn observe(&mut self, metric: Metric, value: f64) {
        self.recorder.observe(self.now, metric, value);
    }
}
