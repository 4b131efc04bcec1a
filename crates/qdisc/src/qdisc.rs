//! The trait that everything turns on.

use crate::accounts::{Backlog, ClassCounts, Counters, DropReason, Dual, Gauge};
use crate::change::ChangeError;
use crate::packet::Packet;
use crate::report::Report;
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use sojourn_units::{Span, Time, forward};

/// Where dropped packets go, so that a frame's buffer is returned and an observer can count.
pub trait Outlet<P> {
    /// A packet leaves the discipline without being sent.
    fn dropped(&mut self, packet: P, reason: DropReason);

    /// The AQM has set CE on a packet, which stays.
    fn marked(&mut self, _packet: &P) {}

    /// Cuts the first segment off a super-packet ([`Packet::segments`]), which stays with the
    /// others; [`Packet::len`] of both add up to what it was. None for a single packet, and when
    /// it cannot be cut now: then it stays as it is.
    ///
    /// A discipline that cuts counts every segment as offered: one packet in, n out.
    fn cut(&mut self, _packet: &mut P) -> Option<P> {
        None
    }
}

impl Counters {
    /// Drops a packet that counts `len` bytes.
    #[cold]
    pub(crate) fn refuse<P>(
        &mut self,
        packet: P,
        len: u32,
        reason: DropReason,
        out: &mut dyn Outlet<P>,
    ) {
        self.drop(len, reason);
        out.dropped(packet, reason);
    }

    /// Marks a packet that counts `len` bytes, if it can be.
    #[cold]
    pub(crate) fn mark<P: Packet>(&mut self, packet: &mut P, len: u32, out: &mut dyn Outlet<P>) {
        if packet.set_ce() {
            self.marked.add(len);
            out.marked(packet);
        }
    }
}

/// An outlet that forgets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl<P> Outlet<P> for Discard {
    fn dropped(&mut self, _packet: P, _reason: DropReason) {}
}

/// What [`Qdisc::dequeue`] yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue<P> {
    /// A packet to send now, and how long it was held.
    Packet {
        /// The packet.
        packet: P,
        /// Time since it was offered.
        sojourn: Span,
    },
    /// Packets are held, but none may leave before this time (a shaper).
    NotBefore(Time),
    /// Nothing is held.
    Empty,
}

/// Something packets are offered to and taken from.
///
/// The driving contract is in the crate's documentation. `Any` tells [`Spec::reconfigure`] that a
/// tree of rates takes the place of another one.
pub trait Qdisc<P: Packet>: Any + Send {
    /// Offers a packet. Drops that follow (of this packet or of others) go to `out`.
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>);

    /// Takes the next packet. Drops at the head go to `out`. [`Dequeue::Empty`] means that
    /// nothing is held: drops alone never leave packets behind an empty answer.
    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P>;

    /// The packet that is going to leave after so many others, where that is known, as it is of a
    /// FIFO: who runs many queues asks for its memory ahead.
    fn ahead(&self, _places: usize) -> Option<&P> {
        None
    }

    /// Lets a packet of `len` bytes pass that would be taken in the moment in which it is offered,
    /// while nothing is held: counts what [`Qdisc::enqueue`] and [`Qdisc::dequeue`] would count,
    /// and spares both. Returns whether it may; if not, nothing has happened, and they decide.
    fn pass(&mut self, _len: u32) -> bool {
        false
    }

    /// What is held now.
    fn backlog(&self) -> Backlog;

    /// Counts since construction.
    fn counters(&self) -> &Counters;

    /// Parameters and statistics as `tc -s qdisc` shows them.
    fn report(&self, now: Time) -> Report;

    /// What a class has counted, by its number, where the discipline has classes. The number after
    /// the last is that of packets that belong to none.
    fn class_counts(&self, _number: u32) -> Option<ClassCounts> {
        None
    }

    /// The parameters in force. None for a policy that is not of this crate: no words stand for
    /// it.
    fn spec(&self) -> Option<Spec>;

    /// Gives the live instance new parameters of its own kind. Nothing held is lost: what is
    /// above a lower limit stays until it drains, and a flow queue drops from its fattest flows
    /// at the next arrival. An error changes nothing. For another kind see
    /// [`Spec::reconfigure`].
    ///
    /// # Errors
    /// When `spec` is of another kind, or what it changes is fixed at construction.
    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError>;

    /// Length of the packet that the next [`Qdisc::dequeue`] yields, for shapers that must know
    /// it beforehand. None if empty, and where only taking a packet decides which one it is:
    /// where Linux peeks by taking (`qdisc_peek_dequeued`).
    fn head_len(&self) -> Option<u32> {
        None
    }

    /// Packets that it can take before it allocates memory for them, where all are in one store;
    /// None: it cannot say.
    fn room(&self) -> Option<usize> {
        None
    }

    /// The tin that the packet of the last [`Qdisc::dequeue`] came from, in tc's order (which
    /// [`DiffServ::names`](crate::DiffServ::names) has); None without tins.
    fn tin(&self) -> Option<usize> {
        None
    }

    /// What two coupled queues have counted, each for itself (`dualpi2`, also below a shaper); None
    /// for all else.
    fn dual(&self) -> Option<Dual> {
        None
    }

    /// Tells the few variables that show how the discipline controls: for series, which look more
    /// often than [`Qdisc::report`] is meant for. A variable without a value is left out.
    fn gauges(&self, _now: Time, _tell: &mut dyn FnMut(Gauge)) {}

    /// Takes out all that is held, with the times of arrival, each flow in order. The accounts
    /// do not balance afterwards: the instance is to be given up.
    fn drain(&mut self) -> Vec<(Time, P)>;

    /// Takes over, in the order of arrival, what another instance held, and its accounts.
    /// Neither AQM nor limit is asked, so that nothing is lost.
    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters);

    /// A copy with all that is held. From then on both decide as this one would have, and neither
    /// knows of the other. None if a part of it cannot be copied ([`Aqm::fork`](crate::Aqm::fork)).
    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        None
    }
}

impl<P: Packet, Q: Qdisc<P> + ?Sized> Qdisc<P> for Box<Q> {
    forward! { (**self);
        enqueue(self: &mut Self, packet: P, now: Time, out: &mut dyn Outlet<P>);
        dequeue(self: &mut Self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P>;
        pass(self: &mut Self, len: u32) -> bool;
        backlog(self: &Self) -> Backlog;
        counters(self: &Self) -> &Counters;
        report(self: &Self, now: Time) -> Report;
        class_counts(self: &Self, number: u32) -> Option<ClassCounts>;
        spec(self: &Self) -> Option<Spec>;
        change(self: &mut Self, spec: &Spec, now: Time) -> Result<(), ChangeError>;
        head_len(self: &Self) -> Option<u32>;
        room(self: &Self) -> Option<usize>;
        tin(self: &Self) -> Option<usize>;
        dual(self: &Self) -> Option<Dual>;
        gauges(self: &Self, now: Time, tell: &mut dyn FnMut(Gauge));
        drain(self: &mut Self) -> Vec<(Time, P)>;
        adopt(self: &mut Self, held: Vec<(Time, P)>, counters: Counters);
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        (**self).fork()
    }
}
