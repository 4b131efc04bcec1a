//! The border between a traffic model and the world that runs it.

use sojourn_units::{Span, Time};

/// A message of an unreliable transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Counts up from zero in each direction of a flow.
    pub number: u32,
    /// Payload in bytes.
    pub len: u16,
    /// When the first copy was sent; an echo carries the time of its request.
    pub sent: Time,
}

/// What happened to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The flow may begin: the connection is up, or the start time has come.
    Start,
    /// The time asked for by [`Port::wake_at`] has come.
    Timer,
    /// The peer's bytes have arrived in order.
    Delivered(u64),
    /// A datagram has arrived.
    Datagram(Datagram),
    /// After a short [`Port::write`]: there is room again.
    Writable,
}

/// What an app can do; implemented by the worlds.
pub trait Port {
    /// Writes up to `bytes` to the stream; returns how many the send buffer took. After a short
    /// write, [`Input::Writable`] tells when to try again.
    fn write(&mut self, bytes: u64) -> u64;

    /// Writes for ever: from now on the stream always has data.
    fn write_forever(&mut self);

    /// Sends a datagram. Over a stream, the message is written whole, or skipped (and counted by
    /// the world as blocked) when the send buffer has no room for it.
    fn send(&mut self, datagram: Datagram);

    /// Asks for [`Input::Timer`] at `time`; replaces an earlier wish.
    fn wake_at(&mut self, time: Time);

    /// Nothing more will be written: closes this direction of the stream.
    fn close(&mut self);

    /// Reports a measured round-trip time.
    fn round_trip(&mut self, rtt: Span);
}

/// One end of a flow.
pub trait App {
    /// Tells the app what happened.
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port);
}
