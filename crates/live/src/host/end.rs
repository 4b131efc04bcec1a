//! One end of a flow's connection: a socket, and the port through which the app speaks.

use std::io::IoSlice;
use std::net::SocketAddrV4;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::epoll::EventFlags;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, sockopt};
use sojourn_apps::{App, Datagram, Input, Message, Metric, Port, Wishes};
use sojourn_bridge::receive_datagram;
use sojourn_units::{Ecn, Span, Time};
use sojourn_world::{FlowRecorder, Received};

use super::Ends;
use super::datagram;
use super::message::{self, Reader};
use super::socket::{self, TcpInfo};

/// Bytes per write: enough for many segments, few enough to let other flows have their turn.
const CHUNK: usize = 64 << 10;
/// Writes per turn.
const TURNS: u32 = 16;
/// Sends without waiting, and without a signal when the peer is gone.
const AT_ONCE: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Where a flow's socket is in its life.
#[derive(Debug, Default)]
pub(super) enum Socket {
    /// Bound, waiting for the flow's start.
    Bound(OwnedFd),
    /// Waiting for the peer's connection.
    Listening(OwnedFd),
    /// On the way to the peer.
    Connecting(OwnedFd),
    /// In use.
    Open(OwnedFd),
    /// Gone.
    #[default]
    Closed,
}

impl Socket {
    pub(super) const fn fd(&self) -> Option<&OwnedFd> {
        match self {
            Self::Bound(fd) | Self::Listening(fd) | Self::Connecting(fd) | Self::Open(fd) => {
                Some(fd)
            }
            Self::Closed => None,
        }
    }
}

/// One end of one of a flow's connections.
pub(super) struct End {
    /// Index of its flow.
    pub(super) flow: usize,
    /// Index of its flow's instance.
    pub(super) instance: usize,
    /// Number of the connection within the flow.
    pub(super) connection: u8,
    /// Bytes after which the receiving end has everything, until it has.
    pub(super) expected: Option<u64>,
    /// When the flow begins.
    pub(super) start: Time,
    pub(super) peer: SocketAddrV4,
    /// What the epoll looks for, while it knows the socket.
    pub(super) interest: Option<EventFlags>,
    /// The wake-up that is planned.
    pub(super) armed: Option<Time>,
    /// Whether the flow goes on over other connections when this one is gone.
    is_one_of_many: bool,
    /// Finds the messages in what arrives; none where the stream carries plain bytes.
    reader: Option<Reader>,
    /// Datagrams that have come, where packets may arrive twice.
    pub(super) received: Option<Box<Received>>,
    pub(super) io: Io,
}

/// The socket's side of an end.
#[derive(Default)]
pub(super) struct Io {
    pub(super) socket: Socket,
    /// At the flow's `from`.
    pub(super) is_first: bool,
    stream: bool,
    /// Whether the socket tells the ECN field of each datagram.
    hears_ecn: bool,
    /// Ask for an immediate ACK after each read.
    quick_ack: bool,
    /// The app has endless data.
    forever: bool,
    /// The app waits for room.
    hungry: bool,
    /// Bytes of a message that did not fit into the send buffer, and how many of them are the
    /// last ones of `head`.
    rest: usize,
    head_rest: usize,
    head: [u8; message::HEAD],
    closing: bool,
    pub(super) stopped: bool,
    /// When the app wants to be woken.
    pub(super) wake: Option<Time>,
    received: u64,
    /// Whether TCP spaces its segments.
    paces: bool,
    /// Whether its control tells a share of marks.
    tells_share: bool,
    last: TcpInfo,
    /// When that was read; none before the first time.
    last_at: Option<Time>,
}

/// An app's turn: something happened at one of its ends.
pub(super) struct Turn<'a> {
    pub(super) now: Time,
    pub(super) recorder: &'a Mutex<FlowRecorder>,
    pub(super) app: &'a mut dyn App,
    pub(super) wishes: &'a mut Wishes,
}

impl End {
    pub(super) fn new(
        flow: &sojourn_world::Flow,
        at: Ends,
        is_first: bool,
        peer: SocketAddrV4,
        socket: Socket,
    ) -> Self {
        let (stream, quick_ack, paces, tells_share) = match flow.transport {
            sojourn_world::Transport::Tcp(config) => {
                let quick_ack = config.delayed_ack == sojourn_tcp::DelayedAck::Off;
                let paces = socket::paces(&config);
                (true, quick_ack, paces, socket::tells_share(&config))
            }
            sojourn_world::Transport::Udp => (false, false, false, false),
        };
        Self {
            flow: at.flow,
            instance: at.instance,
            connection: at.connection,
            expected: flow.app.total_bytes(),
            start: flow.start,
            peer,
            interest: None,
            armed: None,
            is_one_of_many: flow.app.kind().opens_later && flow.app.connections() > 1,
            reader: flow.app.kind().has_messages.then(Reader::default),
            received: None,
            io: Io {
                socket,
                is_first,
                stream,
                hears_ecn: !stream && flow.ecn.is_capable(),
                quick_ack,
                paces,
                tells_share,
                ..Io::default()
            },
        }
    }

    /// Tells the app something.
    pub(super) fn tell(&mut self, input: Input, turn: &mut Turn<'_>) {
        let mut port = LivePort {
            io: &mut self.io,
            now: turn.now,
            recorder: turn.recorder,
            wishes: turn.wishes,
        };
        turn.app.handle(input, turn.now, &mut port);
    }

    /// Tells the app that this end may begin.
    pub(super) fn begin(&mut self, turn: &mut Turn<'_>) {
        let input = match self.connection {
            0 => Input::Start,
            further => Input::Open(further),
        };
        self.tell(input, turn);
    }

    /// Reads what has arrived.
    pub(super) fn readable(&mut self, turn: &mut Turn<'_>, buffer: &mut [u8]) {
        if self.io.stream {
            self.read_stream(turn, buffer);
        } else {
            self.read_datagrams(turn, buffer);
        }
    }

    fn read_stream(&mut self, turn: &mut Turn<'_>, buffer: &mut [u8]) {
        let Socket::Open(fd) = &self.io.socket else {
            return;
        };
        let mut flags = RecvFlags::DONTWAIT;
        if self.reader.is_none() {
            // The kernel drops the bytes instead of copying them (tcp(7)).
            flags |= RecvFlags::TRUNC;
        }
        let bytes = match net::recv(fd, &mut *buffer, flags) {
            Ok((_, bytes)) => bytes as u64,
            Err(Errno::AGAIN | Errno::INTR) => return,
            // Reset or timed out: for the flow it is over like after an orderly close.
            Err(_) => 0,
        };
        if bytes == 0 {
            self.sample(turn.now, turn.recorder);
            self.io.socket = Socket::Closed;
            if !self.is_one_of_many {
                self.io.wake = None;
            }
            return;
        }
        if self.io.quick_ack {
            // The kernel falls back to delayed ACKs by itself: tell it again each time.
            let _ = sockopt::set_tcp_quickack(fd, true);
        }
        self.io.received += bytes;
        if !self.io.is_first {
            let mut recorder = locked(turn.recorder);
            recorder.delivered(turn.now, bytes);
            if self.expected.is_some_and(|size| self.io.received >= size) {
                self.expected = None;
                recorder.completed(turn.now, self.start);
            }
        }
        self.tell(Input::Delivered(bytes), turn);
        let mut rest = &buffer[..(bytes as usize).min(buffer.len())];
        while let Some(reader) = self.reader.as_mut().filter(|_| !rest.is_empty()) {
            let (taken, message) = reader.take(rest);
            rest = &rest[taken..];
            if let Some(message) = message {
                let connection = self.connection;
                let input = Input::Message {
                    connection,
                    message,
                };
                self.tell(input, turn);
            }
        }
    }

    fn read_datagrams(&mut self, turn: &mut Turn<'_>, buffer: &mut [u8]) {
        loop {
            let Some(fd) = self.io.socket.fd() else {
                return;
            };
            let (datagram, sent) = match receive(fd, buffer, self.io.hears_ecn) {
                Ok((len, ecn)) => match datagram::decode(&buffer[..len.min(buffer.len())], ecn) {
                    Some(ours) => ours,
                    None => continue,
                },
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            {
                let mut recorder = locked(turn.recorder);
                let received = self.received.as_mut();
                if received.is_some_and(|received| !received.is_new(datagram.number)) {
                    recorder.datagram_repeated(sent);
                    continue;
                }
                recorder.datagram_received(turn.now, sent);
                if !self.io.is_first {
                    recorder.delivered(turn.now, u64::from(datagram.len));
                }
            }
            self.tell(Input::Datagram(datagram), turn);
        }
    }

    /// There is room in the send buffer.
    pub(super) fn writable(&mut self, turn: &mut Turn<'_>) {
        self.io.flush();
        if self.io.rest == 0 && self.io.hungry {
            self.io.hungry = false;
            self.tell(Input::Writable, turn);
        }
        self.io.pump();
    }

    /// The flow is over for its app: no more data, but what was written is still delivered.
    pub(super) fn stop(&mut self) {
        self.io.quit();
        self.io.closing = true;
        self.io.finish();
    }

    /// The run is over: no more data, connections break off at once, datagrams are still let in.
    pub(super) fn over(&mut self) {
        self.io.quit();
        if self.io.stream {
            self.abort();
        }
    }

    /// Breaks the connection off.
    pub(super) fn abort(&mut self) {
        self.io.rest = 0;
        if let Socket::Open(fd) = std::mem::take(&mut self.io.socket) {
            socket::abort(&fd);
        }
    }

    /// Records what the kernel knows about the sending side.
    pub(super) fn sample(&mut self, now: Time, recorder: &Mutex<FlowRecorder>) {
        let Socket::Open(fd) = &self.io.socket else {
            return;
        };
        if !(self.io.stream && self.io.is_first) {
            return;
        }
        let Some(mut info) = socket::tcp_info(fd) else {
            return;
        };
        if self.io.tells_share {
            info.control.marked_share = socket::marked_share(fd);
        }
        let last = core::mem::replace(&mut self.io.last, info);
        let last_at = self.io.last_at.replace(now);
        let mut recorder = locked(recorder);
        if let Some(last_at) = last_at {
            let limits = socket::limits(&last, &info, now - last_at, self.io.paces);
            recorder.limited_between(last_at, now, &limits);
        }
        let segments = info.data_segments.wrapping_sub(last.data_segments);
        let again = info.retransmitted.wrapping_sub(last.retransmitted);
        recorder.sent(now, segments.into(), again.into());
        recorder.control(now, info.control);
        if let Some((rtt, acks)) = socket::measured(&last, &info) {
            for _ in 0..acks {
                recorder.rtt(now, rtt);
            }
        }
    }
}

impl Io {
    /// Its app gives no more data.
    fn quit(&mut self) {
        self.stopped = true;
        self.forever = false;
        self.hungry = false;
        self.wake = None;
    }

    /// What to wait for.
    pub(super) fn interest(&self) -> EventFlags {
        match self.socket {
            Socket::Connecting(_) => EventFlags::OUT,
            Socket::Open(_) if self.forever || self.hungry || self.rest > 0 => {
                EventFlags::IN | EventFlags::OUT
            }
            Socket::Open(_) | Socket::Listening(_) => EventFlags::IN,
            Socket::Bound(_) | Socket::Closed => EventFlags::empty(),
        }
    }

    /// Sends up to `bytes`; returns how many the kernel took.
    fn push(&mut self, bytes: usize) -> usize {
        let Socket::Open(fd) = &self.socket else {
            return 0;
        };
        // An error other than "full" shows on the reading side too, where it ends the flow.
        net::send(fd, &ZEROS[..bytes.min(CHUNK)], AT_ONCE).unwrap_or(0)
    }

    /// Sends the rest of a message.
    fn flush(&mut self) {
        while self.rest > 0 {
            let taken = self.push_rest();
            if taken == 0 {
                return;
            }
            self.head_rest -= taken.min(self.head_rest);
            self.rest -= taken;
        }
        self.finish();
    }

    /// Sends what the kernel takes of the rest of a message: its head, then zeros.
    fn push_rest(&self) -> usize {
        let Socket::Open(fd) = &self.socket else {
            return 0;
        };
        let head = &self.head[message::HEAD - self.head_rest..];
        let body = &ZEROS[..(self.rest - self.head_rest).min(CHUNK)];
        // One call, so that a small message leaves in one segment.
        let parts = [IoSlice::new(head), IoSlice::new(body)];
        net::sendmsg(fd, &parts, &mut SendAncillaryBuffer::default(), AT_ONCE).unwrap_or(0)
    }

    /// Puts a message on the stream; false when an earlier one still waits for room.
    pub(super) fn message(&mut self, message: Message) -> bool {
        if self.rest > 0 {
            return false;
        }
        self.head = message::head(message);
        self.head_rest = message::HEAD;
        self.rest = (message.len as usize).max(message::HEAD);
        self.flush();
        true
    }

    /// Keeps the send buffer full.
    fn pump(&mut self) {
        for _ in 0..TURNS {
            if !self.forever || self.push(CHUNK) < CHUNK {
                return;
            }
        }
    }

    /// Closes our direction once nothing is left to send.
    fn finish(&mut self) {
        if let Socket::Open(fd) = &self.socket
            && self.closing
            && self.stream
            && self.rest == 0
        {
            // An error means that the connection is gone already.
            let _ = net::shutdown(fd, Shutdown::Write);
            self.closing = false;
        }
    }
}

/// An app's port in the live world.
struct LivePort<'a> {
    io: &'a mut Io,
    now: Time,
    recorder: &'a Mutex<FlowRecorder>,
    wishes: &'a mut Wishes,
}

impl Port for LivePort<'_> {
    fn write(&mut self, bytes: u64) -> u64 {
        let mut written = 0;
        while written < bytes && !self.io.stopped {
            let wanted = usize::try_from(bytes - written).unwrap_or(usize::MAX);
            let taken = self.io.push(wanted) as u64;
            written += taken;
            if taken < (wanted.min(CHUNK)) as u64 {
                self.io.hungry = true;
                break;
            }
        }
        written
    }

    fn write_forever(&mut self) {
        self.io.forever = !self.io.stopped;
        self.io.pump();
    }

    fn send(&mut self, datagram: Datagram) {
        if self.io.stream {
            self.io.flush();
            let len = usize::from(datagram.len);
            let taken = if self.io.rest == 0 {
                self.io.push(len)
            } else {
                0
            };
            if taken == 0 {
                locked(self.recorder).blocked(self.now);
            } else {
                self.io.rest = len - taken;
            }
            return;
        }
        let Some(fd) = self.io.socket.fd() else {
            return;
        };
        let mut buffer = [0; datagram::LARGEST as usize];
        let payload = datagram::encode(datagram, self.now, &mut buffer);
        let sent = net::send(fd, payload, AT_ONCE);
        let mut recorder = locked(self.recorder);
        if sent.is_err() {
            recorder.blocked(self.now);
            return;
        }
        recorder.datagram_sent(self.now);
        if self.io.is_first {
            recorder.sent(self.now, 1, 0);
        }
    }

    fn wishes(&mut self) -> &mut Wishes {
        self.wishes
    }

    fn close(&mut self) {
        self.io.closing = true;
        self.io.finish();
    }

    fn round_trip(&mut self, rtt: Span) {
        // A probe belongs to the time it was sent: those under way at the end count.
        locked(self.recorder).rtt(self.now - rtt, rtt);
    }

    fn observe(&mut self, metric: Metric, value: f64) {
        locked(self.recorder).observe(self.now, metric, value);
    }
}

/// Receives a datagram without waiting: its length, and its ECN field if the socket tells it.
fn receive(fd: impl AsFd, buffer: &mut [u8], hears_ecn: bool) -> rustix::io::Result<(usize, Ecn)> {
    if hears_ecn {
        return receive_datagram(fd, buffer)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    let (_, len) = net::recv(fd, buffer, RecvFlags::DONTWAIT)?;
    Ok((len, Ecn::NotEct))
}

/// Recorders hold plain sums: one that a panicking thread left behind is still consistent.
pub(crate) fn locked<T>(recorder: &Mutex<T>) -> MutexGuard<'_, T> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}
