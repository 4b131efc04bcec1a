//! Media: what carries packets on from interfaces.
//!
//! A medium decides when a packet of an interface may start, and knows when it has ended; both are
//! events of its own, those of wires apart, as most events are theirs (`Net::wire_event`,
//! `Net::radio_event`). It asks the interface's queue for a packet when one may start, and hands
//! the packet on when it has ended. A new kind of medium is one more variant here.

use crate::forwarding::Table;
use crate::interface::stream_name;
use crate::packet::Packet;
use crate::passage::Passage;
use crate::pipe::Pipe;
use crate::radio::Radio;
use crate::wire::{Ends, Wire};
use sojourn_units::Time;
use sojourn_world::{Cell, LineChange, Medium as Spec, Place, Stations};

#[derive(Clone)]
pub(crate) enum Medium {
    Wire(Wire),
    Radio(Box<Radio>),
}

impl Medium {
    /// The media of a cell, in their order, which send over the ways of `table`.
    pub(crate) fn of(cell: &Cell, table: &Table) -> Vec<Self> {
        let network = &cell.network;
        let medium = |(index, spec): (usize, &Spec)| match spec {
            Spec::Wire(wire) => {
                let mut interfaces = network.interfaces.iter().enumerate();
                let interface = interfaces.find(|(_, interface)| interface.medium == index);
                // A wire without one is never waited for.
                let (interface, name) = interface.map_or((usize::MAX, ""), |(i, at)| (i, &at.name));
                let dice = format!("{}.impairment", stream_name(name));
                let ends = Ends {
                    medium: index as u32,
                    interface: interface as u32,
                };
                let mut wire = Wire::new(cell, &wire.line, ends, &dice);
                wire.lead(table);
                Self::Wire(wire)
            }
            Spec::Radio(radio) => Self::Radio(Box::new(Radio::new(cell, radio, index))),
        };
        network.media.iter().enumerate().map(medium).collect()
    }

    /// A packet waits at an interface.
    #[inline]
    pub(crate) fn waited_for(&mut self, interface: usize, passage: &mut Passage, now: Time) {
        match self {
            Self::Wire(wire) => wire.waited_for(passage, now),
            Self::Radio(radio) => radio.waited_for(interface, passage, now),
        }
    }

    /// A packet is going to wait at an interface of a radio soon.
    pub(crate) fn expect(&self, interface: u32) {
        match self {
            Self::Wire(_) => {}
            Self::Radio(radio) => radio.expect(interface),
        }
    }

    /// Whether it is a wire that takes a packet at once.
    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        matches!(self, Self::Wire(wire) if wire.is_free(now))
    }

    /// The packets that it has taken from queues and not handed on yet; a wire's are in pipes.
    pub(crate) fn held(&self) -> Vec<Packet> {
        match self {
            Self::Wire(_) => Vec::new(),
            Self::Radio(radio) => radio.held().copied().collect(),
        }
    }

    /// The node of an interface is elsewhere from now on.
    pub(crate) fn put(&mut self, interface: usize, place: Place) {
        match self {
            Self::Wire(_) => {}
            Self::Radio(radio) => radio.put(interface, place),
        }
    }

    /// The stations of a radio; none of a wire.
    pub(crate) fn stations(&self, spec: &Spec) -> Option<Stations> {
        match (self, spec) {
            (Self::Radio(radio), Spec::Radio(spec)) => Some(radio.stations(spec)),
            _ => None,
        }
    }

    /// Its line is another one from now on.
    pub(crate) fn change(&mut self, change: &LineChange, pipes: &mut [Pipe]) {
        match self {
            Self::Wire(wire) => wire.change(change, pipes),
            Self::Radio(_) => {}
        }
    }
}
