//! Endpoints: an app on a transport, one at each end of a flow.

use crate::packet::{Hosts, Packet, Way};
use sojourn_apps::{App, Datagram, Input, Port};
use sojourn_qdisc::Ecn;
use sojourn_tcp::{Connection, Segment};
use sojourn_units::{Span, Time, TxClock};
use sojourn_world::FlowRecorder;

/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u16 = 28;

/// What carries a flow, at one end.
pub(crate) enum Transport {
    Tcp {
        connection: Box<Connection>,
        /// Header bytes of a segment by its number of SACK blocks, link header included.
        headers: [u16; 4],
    },
    Udp {
        /// Link header.
        header: u16,
    },
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

/// One end of a flow.
pub(crate) struct Endpoint {
    pub(crate) app: Box<dyn App>,
    pub(crate) transport: Transport,
    /// Direction of what it sends.
    pub(crate) way: Way,
    /// This end's node and the other's.
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
    /// Size of the file that the peer sends, if it sends one.
    pub(crate) expected: Option<u64>,
}

impl Endpoint {
    /// Whether it is the flow's first end, whose sending the flow's figures describe.
    pub(crate) fn is_first(&self) -> bool {
        self.way.is_forth()
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
    pub(crate) fn packet(&self, segment: Segment, ect: bool) -> Packet {
        let headers = match &self.transport {
            Transport::Tcp { headers, .. } => headers[usize::from(segment.sack_count.min(3))],
            Transport::Udp { header } => header + UDP_HEADERS,
        };
        let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
        let len = segment.payload.saturating_add(headers);
        Packet::new(segment, self.way, self.hosts, len, self.tos | ecn as u8)
    }

    /// Tells the app something; its datagrams are added to `outbox`.
    pub(crate) fn tell(
        &mut self,
        input: Input,
        now: Time,
        recorder: &mut FlowRecorder,
        outbox: &mut Vec<Datagram>,
    ) {
        let transport = &mut self.transport;
        let mut port = SimPort {
            transport,
            wake: &mut self.wake,
            now,
            recorder,
            outbox,
        };
        self.app.handle(input, now, &mut port);
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

/// An app's port in the simulated world.
struct SimPort<'a> {
    transport: &'a mut Transport,
    wake: &'a mut Time,
    now: Time,
    recorder: &'a mut FlowRecorder,
    outbox: &'a mut Vec<Datagram>,
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
            Transport::Udp { .. } => self.outbox.push(datagram),
        }
    }

    fn wake_at(&mut self, time: Time) {
        *self.wake = time;
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
}
