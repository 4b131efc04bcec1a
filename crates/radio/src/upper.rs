//! What a medium asks of whoever drives it, and what it tells: packets, frames.

use sojourn_units::{Span, Time};

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet, to one station or to all.
    Data,
    /// The answer to one.
    Ack,
    /// The question before a long one.
    Rts,
    /// The answer to that.
    Cts,
}

/// A packet for a station to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<P> {
    /// The packet.
    pub packet: P,
    /// Bytes of its frame ([`Profile::frame`](crate::profile::Profile::frame)).
    pub bytes: u32,
    /// To whom; None: to all that can receive it.
    pub to: Option<u32>,
}

/// What a station gets that asks for a packet.
#[derive(Clone, Copy, Debug)]
pub enum Taken<P> {
    /// One.
    Packet(Outgoing<P>),
    /// None before this time, at which it asks again.
    NotBefore(Time),
    /// None: [`Air::waited_for`](crate::Air::waited_for) says when there is one.
    Nothing,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a, P> {
    /// Its kind.
    pub kind: FrameKind,
    /// Who sends it.
    pub from: u32,
    /// To whom; None: to all.
    pub to: Option<u32>,
    /// When it begins.
    pub start: Time,
    /// How long it takes.
    pub airtime: Span,
    /// How long it reserves the medium after its end.
    pub reserves: Span,
    /// Of a data frame.
    pub packet: Option<&'a P>,
    /// Whether it was sent before.
    pub repeated: bool,
}

/// Who drives the stations and has their packets.
pub trait Upper {
    /// What stations carry.
    type Packet: Copy;

    /// The next packet of a station.
    fn take(&mut self, station: u32, now: Time) -> Taken<Self::Packet>;

    /// A packet has come to station `to` and is to be handed on there at `at`.
    fn deliver(&mut self, from: u32, to: u32, packet: Self::Packet, at: Time);

    /// A station has given up sending a packet to `to`.
    fn fail(&mut self, station: u32, to: u32, packet: Self::Packet, now: Time);

    /// Something of a station is going to happen soon: its memory may be asked for.
    fn expect(&self, _station: u32) {}

    /// The same a little later, when that memory may tell which other one is needed.
    fn expect_soon(&self, _station: u32) {}

    /// A frame begins. For observers.
    fn sent(&mut self, _frame: &Frame<'_, Self::Packet>) {}

    /// Whether [`Upper::received`] is to be called.
    fn looks_on(&self) -> bool {
        false
    }

    /// A frame has come through to a station that can receive it, whomever it is to, with this
    /// share of the power sent. For observers.
    fn received(&mut self, _station: u32, _frame: &Frame<'_, Self::Packet>, _power: f64) {}

    /// A station is done with the packet that it took last: acknowledged, sent to all or given up.
    /// For observers.
    fn finished(&mut self, _station: u32, _now: Time) {}

    /// A data frame of a station was lost at its addressee, which hears another frame. For those
    /// who look on.
    fn collided(&mut self, _station: u32, _now: Time) {}
}
