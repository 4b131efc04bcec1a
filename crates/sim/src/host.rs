//! Endpoints: the transports at both ends of a flow, and the ports through which apps use them.

use crate::packet::{Body, Packet, Way};
use sojourn_apps::{Datagram, Message, Metric, Port, Wishes};
use sojourn_memory::{LINE, fetch_part};
use sojourn_tcp::{Codepoint, Connection, Owes, Segment};
use sojourn_units::{Span, Time};
use sojourn_world::{Flow, FlowRecorder, Received};
use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;

/// Bytes of IPv4 and UDP headers.
pub(crate) const UDP_HEADERS: u16 = 28;

/// What carries a flow, at one end.
///
/// With its tag first: else the compiler would hide it in a field that packets do not need.
#[expect(
    clippy::large_enum_variant,
    reason = "most are TCP, and must not be elsewhere"
)]
#[repr(u8)]
pub(crate) enum Transport {
    Tcp {
        /// Whether segments tell when they were sent.
        stamped: bool,
        /// Header bytes of a segment without SACK blocks, link header included.
        header: u16,
        connection: Connection,
    },
    Udp {
        /// Header bytes of a datagram, link header included.
        header: u16,
        /// What has come, where packets may arrive twice.
        received: Option<Box<Received>>,
    },
}

impl Transport {
    fn fork(&self) -> Option<Self> {
        Some(match self {
            Self::Tcp {
                stamped,
                header,
                connection,
            } => Self::Tcp {
                stamped: *stamped,
                header: *header,
                connection: connection.fork()?,
            },
            Self::Udp { header, received } => Self::Udp {
                header: *header,
                received: received.clone(),
            },
        })
    }

    /// What it has to send by itself.
    #[inline]
    pub(crate) fn owes(&self) -> Owes {
        match self {
            Self::Tcp { connection, .. } => connection.owes(),
            Self::Udp { .. } => Owes::Nothing,
        }
    }

    /// Whether a datagram has come before.
    pub(crate) fn has_come(&mut self, datagram: Datagram) -> bool {
        match self {
            Self::Udp {
                received: Some(received),
                ..
            } => !received.is_new(datagram.number),
            _ => false,
        }
    }

    /// When a packet of this transport was sent, if it tells.
    pub(crate) fn sent(&self, packet: &Packet) -> Option<Time> {
        match (self, packet.body()) {
            (_, Body::Datagram { sent, .. }) => Some(sent),
            (Self::Tcp { stamped: true, .. }, Body::Segment(segment)) => Some(segment.ts),
            (_, Body::Segment(_)) => None,
        }
    }
}

/// When something is to be done at an endpoint, and whether that is for the calendar.
#[derive(Clone, Copy)]
pub(crate) struct Alarm {
    pub(crate) at: Time,
    pub(crate) is_new: bool,
}

/// One end of one of a flow's connections.
///
/// In this order, and with its connection in place, so that what a packet needs lies close
/// together: of thousands of flows it is neither in the cache nor in the TLB.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// Index of the app at this end.
    pub(crate) app: u32,
    /// Direction of what it sends.
    pub(crate) way: Way,
    /// Whether it opens the connection.
    pub(crate) opens: bool,
    started: bool,
    stopped: bool,
    /// DSCP of what it sends, in place in the TOS byte.
    pub(crate) tos: u8,
    /// Number of the connection within the flow.
    pub(crate) connection: u8,
    /// Whether its app wants to hear of payload that is delivered.
    pub(crate) hears: bool,
    /// Whether its packets make pairs for the flow's round-trip times.
    pub(crate) paired: bool,
    /// Payload delivered by the peer so far.
    pub(crate) delivered: u64,
    /// At so much of it something is complete: a message or the file.
    notable: u64,
    /// Time of the event that counts in the calendar; others are stale.
    pub(crate) armed: Time,
    /// When its start, its stop or its app is due.
    due: Time,
    pub(crate) transport: Transport,

    pub(crate) start: Time,
    stop: Time,
    /// When the app wants to be woken.
    wake: Time,
    /// Size of the file that the peer sends, if it sends one and it has not yet arrived.
    expected: Option<u64>,
    /// Bytes of messages written so far.
    written: u64,
    /// Bytes of the last message that wait for room in the send buffer.
    pub(crate) rest: u64,
    /// Messages that the peer has written, each with the byte that ends it.
    mail: VecDeque<(u64, Message)>,
}

/// Where its connection is, if it has one.
const CONNECTION: usize =
    offset_of!(Endpoint, transport) + size_of::<Transport>() - size_of::<Connection>();
const _: () = assert!((CONNECTION + Connection::ALIGNED).is_multiple_of(LINE));

impl Endpoint {
    /// The end of `flow` that sends in direction `way`: its app's index, its connection's number
    /// within the flow, whether its app hears of deliveries, and what carries it.
    pub(crate) fn new(
        flow: &Flow,
        way: Way,
        app: usize,
        connection: u8,
        hears: bool,
        transport: Transport,
    ) -> Self {
        let (is_first, kind) = (way.is_forth(), flow.app.kind());
        let expected = flow.app.total_bytes().filter(|_| !is_first);
        // Of a conversation both ends stop, of one-way traffic its source.
        let stop = flow.stop.filter(|_| is_first || kind.has_messages);
        let start = if connection > 0 && kind.opens_later {
            Time::MAX
        } else {
            flow.start
        };
        Self {
            transport,
            app: app as u32,
            way,
            tos: flow.tos(),
            connection,
            hears,
            paired: connection == 0,
            delivered: 0,
            notable: expected.unwrap_or(u64::MAX),
            armed: Time::MAX,
            due: start,
            opens: is_first != kind.second_opens,
            started: false,
            stopped: false,
            start,
            stop: stop.unwrap_or(Time::MAX),
            wake: Time::MAX,
            expected,
            written: 0,
            rest: 0,
            mail: VecDeque::new(),
        }
    }

    /// Asks for the memory that a packet needs which is going to arrive here. Reads none of it.
    #[inline]
    pub(crate) fn fetch(&self, packet: &Packet) {
        match packet.tcp() {
            Some(segment) if segment.payload > 0 => {
                for Range { start, end } in Connection::NEEDED_BY_DATA {
                    fetch_part(self, CONNECTION + start..CONNECTION + end);
                }
            }
            Some(_) => {
                for Range { start, end } in Connection::NEEDED_BY_ACK {
                    fetch_part(self, CONNECTION + start..CONNECTION + end);
                }
            }
            None => fetch_part(self, 0..offset_of!(Self, transport)),
        }
    }

    /// Asks for the memory that a timer needs.
    pub(crate) fn fetch_timers(&self) {
        // Most are of delayed ACKs.
        let [receiver, sender] = Connection::NEEDED_BY_DATA;
        fetch_part(self, 0..CONNECTION + receiver.end);
        fetch_part(self, CONNECTION + sender.start..CONNECTION + sender.end);
    }

    /// A copy, if its congestion control can be copied.
    pub(crate) fn fork(&self) -> Option<Self> {
        Some(Self {
            transport: self.transport.fork()?,
            mail: self.mail.clone(),
            ..*self
        })
    }

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

    /// Whether a message, or the end of one, waits for room in the send buffer.
    pub(crate) fn waits_for_room(&self) -> bool {
        let waits = match &self.transport {
            Transport::Tcp { connection, .. } => connection.waits_for_room(),
            Transport::Udp { .. } => false,
        };
        self.rest > 0 || waits
    }

    /// Counts payload that has been delivered. Tells whether something is complete.
    pub(crate) fn deliver(&mut self, bytes: u64) -> bool {
        self.delivered += bytes;
        self.delivered >= self.notable
    }

    /// Whether the file has just arrived whole. Told once.
    pub(crate) fn completes_file(&mut self) -> bool {
        let delivered = self.delivered;
        let whole = self.expected.take_if(|size| delivered >= *size).is_some();
        self.note();
        whole
    }

    /// The next message that has arrived whole.
    pub(crate) fn next_message(&mut self) -> Option<Message> {
        let &(end, message) = self.mail.front()?;
        if end > self.delivered {
            return None;
        }
        self.mail.pop_front();
        self.note();
        Some(message)
    }

    /// A message of the peer's that ends at byte `end` is under way.
    pub(crate) fn expect(&mut self, end: u64, message: Message) {
        self.mail.push_back((end, message));
        self.note();
    }

    fn note(&mut self) {
        let file = self.expected.unwrap_or(u64::MAX);
        let message = self.mail.front().map_or(u64::MAX, |&(end, _)| end);
        self.notable = file.min(message);
    }

    /// Puts a message of `bytes` on the stream, of which [`write_rest`](Self::write_rest) writes
    /// what there is no room for now. Returns the byte that ends it.
    pub(crate) fn write_message(&mut self, bytes: u64) -> u64 {
        self.rest = bytes;
        self.written += bytes;
        self.write_rest();
        self.written
    }

    /// Starts now. From here on the flow's round-trip times are those of this connection.
    pub(crate) fn start_at(&mut self, now: Time) {
        self.start = now;
        self.paired = true;
        self.plan();
    }

    /// Breaks the connection off.
    pub(crate) fn abort(&mut self) {
        self.paired = false;
        self.rest = 0;
        if let Transport::Tcp { connection, .. } = &mut self.transport {
            connection.abort();
        }
    }

    /// Whether its start, its stop or its app is due.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.due <= now
    }

    /// Whether the start is due now, for the first time.
    pub(crate) fn starts(&mut self, now: Time) -> bool {
        let starts = !self.started && now >= self.start;
        self.started |= starts;
        self.plan();
        starts
    }

    /// Whether the stop is due now, for the first time.
    pub(crate) fn stops(&mut self, now: Time) -> bool {
        let stops = self.started && !self.stopped && now >= self.stop;
        if stops {
            self.stopped = true;
            self.wake = Time::MAX;
        }
        self.plan();
        stops
    }

    /// Whether the app is to be woken now.
    pub(crate) fn wakes(&mut self, now: Time) -> bool {
        let wakes = self.wake <= now;
        if wakes {
            self.wake_at(Time::MAX);
        }
        wakes
    }

    /// Wakes the app at `time`, and not when it wanted before.
    pub(crate) fn wake_at(&mut self, time: Time) {
        self.wake = time;
        self.plan();
    }

    fn plan(&mut self) {
        let change = match (self.started, self.stopped) {
            (false, _) => self.start,
            (true, false) => self.stop,
            (true, true) => Time::MAX,
        };
        self.due = change.min(self.wake);
    }

    /// The earliest time at which something is to be done here.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        let transport = match &self.transport {
            Transport::Tcp { connection, .. } => connection.next_timer().unwrap_or(Time::MAX),
            Transport::Udp { .. } => Time::MAX,
        };
        transport.min(self.due)
    }

    /// Sets the timer to that, if it is before the armed time.
    #[expect(clippy::inline_always, reason = "mostly it is a few comparisons")]
    #[inline(always)]
    pub(crate) fn set_alarm(&mut self) -> Alarm {
        let at = self.deadline();
        let is_new = at < self.armed;
        if is_new {
            self.armed = at;
        }
        Alarm { at, is_new }
    }

    /// Makes a packet of the ACK that the connection [owes](Owes::Ack).
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, packet: &mut Packet, now: Time) {
        packet.way = self.way;
        if let (Transport::Tcp { connection, .. }, Some(segment)) =
            (&mut self.transport, packet.tcp_mut())
        {
            let ecn = connection.take_ack(segment, now);
            packet.len = self.len_of(segment);
            packet.tos = self.tos | ecn as u8;
        }
    }

    #[inline]
    fn header(&self) -> u16 {
        let (Transport::Tcp { header, .. } | Transport::Udp { header, .. }) = &self.transport;
        *header
    }

    /// A segment as a packet.
    #[inline]
    pub(crate) fn segment(&self, segment: Segment, ecn: Codepoint) -> Packet {
        let len = self.len_of(&segment);
        Packet::segment(segment, self.way, len, self.tos | ecn as u8)
    }

    /// Length of the packet with a segment.
    #[inline]
    pub(crate) fn len_of(&self, segment: &Segment) -> u16 {
        let headers = self.header() + segment.varying_len();
        segment.payload.saturating_add(headers)
    }

    /// A datagram that is sent now as a packet.
    pub(crate) fn datagram(&self, datagram: Datagram, now: Time) -> Packet {
        let len = datagram.len.saturating_add(self.header());
        Packet::datagram(datagram, now, self.way, len, self.tos)
    }
}

/// An app's port in the simulated world.
pub(crate) struct SimPort<'a> {
    pub(crate) transport: &'a mut Transport,
    pub(crate) now: Time,
    pub(crate) recorder: &'a mut FlowRecorder,
    pub(crate) wishes: &'a mut Wishes,
    /// Those to send when the app has answered.
    pub(crate) datagrams: &'a mut Vec<Datagram>,
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
            Transport::Udp { .. } => self.datagrams.push(datagram),
        }
    }

    fn wishes(&mut self) -> &mut Wishes {
        self.wishes
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
