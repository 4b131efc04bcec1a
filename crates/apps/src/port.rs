//! The border between a traffic model and the world that runs it.

use crate::{Metric, Wish, Wishes};
use alloc::boxed::Box;
use sojourn_units::{Ecn, Span, Time};

/// A message of an unreliable transport. A literal with `..Datagram::default()` needs only what its
/// app sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Counts up from zero in each direction of a flow.
    pub number: u32,
    /// Payload in bytes.
    pub len: u16,
    /// When the first copy was sent; an echo carries the time of its request.
    pub sent: Time,
    /// What the app tells its peer beside; zeros unless its model says otherwise. A payload of at
    /// least [`Datagram::WITH_WORDS`] bytes carries them in every world.
    pub words: [u32; 3],
    /// The ECN field with which it has arrived. What an app sets here is not used: the flow says
    /// which field its datagrams are sent with.
    pub ecn: Ecn,
}

impl Datagram {
    /// Smallest payload in bytes that carries the words of an app.
    pub const WITH_WORDS: u16 = 32;

    /// Largest payload in bytes that fits an IP packet with its headers.
    pub const MOST: u16 = 65_000;
}

/// A message on a stream: `len` bytes, which carry a number for the peer. A direction of a stream
/// carries either plain bytes or messages, never both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What the sender wants to say.
    pub tag: u64,
    /// Bytes on the stream, at least [`Message::LEAST`].
    pub len: u32,
}

impl Message {
    /// Bytes of the tag and the length, which every message contains.
    pub const LEAST: u32 = 12;

    /// A message of `len` bytes, or of [`Message::LEAST`] when that is more.
    pub const fn new(tag: u64, len: u32) -> Self {
        let len = if len < Self::LEAST { Self::LEAST } else { len };
        Self { tag, len }
    }
}

/// What happened to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The flow may begin: its (first) connection is up, or the start time has come.
    Start,
    /// One more of the flow's connections is up: the one with this number, from 1.
    Open(u8),
    /// The time asked for by [`Port::wake_at`] has come.
    Timer,
    /// The peer's bytes have arrived in order.
    Delivered(u64),
    /// The last byte of a message has arrived in order; its bytes were told before by
    /// [`Input::Delivered`].
    Message {
        /// The connection that brought it.
        connection: u8,
        /// The message.
        message: Message,
    },
    /// A datagram has arrived.
    Datagram(Datagram),
    /// After a short [`Port::write`]: there is room again.
    Writable,
}

/// What an app can do; implemented by the worlds. Where no connection is named, it is the one
/// that the input came from, the flow's first for [`Input::Timer`].
pub trait Port {
    /// Writes up to `bytes` to the stream; returns how many the send buffer took. After a short
    /// write, [`Input::Writable`] tells when to try again.
    fn write(&mut self, bytes: u64) -> u64;

    /// Writes for ever: from now on the stream always has data.
    fn write_forever(&mut self);

    /// Sends a datagram. Over a stream, the message is written whole, or skipped (and counted by
    /// the world as blocked) when the send buffer has no room for it.
    fn send(&mut self, datagram: Datagram);

    /// Where the wishes below are kept until the app has answered.
    fn wishes(&mut self) -> &mut Wishes;

    /// Puts a message on the stream of a connection. One that finds an earlier message still
    /// waiting for room in the send buffer is skipped (and counted by the world as blocked).
    fn message(&mut self, connection: u8, message: Message) {
        let wish = (connection, Wish::Message(message));
        self.wishes().connections.push(wish);
    }

    /// Opens a further connection of a flow whose kind opens them when asked
    /// ([`Kind::opens_later`](crate::Kind::opens_later)), from the end that opens; [`Input::Open`]
    /// tells when it is up. Each is opened once.
    fn open(&mut self, connection: u8) {
        self.wishes().connections.push((connection, Wish::Open));
    }

    /// Breaks a connection off at once: neither end sends or receives on it again.
    fn abort(&mut self, connection: u8) {
        self.wishes().connections.push((connection, Wish::Abort));
    }

    /// Asks for [`Input::Timer`] at `time`; replaces an earlier wish.
    fn wake_at(&mut self, time: Time) {
        self.wishes().wake = Some(time);
    }

    /// Nothing more will be written: closes this direction of the stream.
    fn close(&mut self);

    /// Reports a measured round-trip time.
    fn round_trip(&mut self, rtt: Span);

    /// Reports a figure that the app has measured: a sample of it, or what to add to it.
    fn observe(&mut self, metric: Metric, value: f64);
}

/// One end of a flow.
pub trait App: Send {
    /// Tells the app what happened.
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port);

    /// A copy that does from now on what this one would have done. None, unless it says otherwise.
    fn fork(&self) -> Option<Box<dyn App>> {
        None
    }

    /// Whether it does anything when it hears of an [`Input::Delivered`]. A world need not tell one
    /// that does not.
    fn hears_deliveries(&self) -> bool {
        true
    }
}
