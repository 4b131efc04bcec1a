//! The border to what does not stand in a cell: queues and congestion controls of one's own.

use crate::packet::Packet;
use sojourn_qdisc::{Qdisc, Setting};
use sojourn_tcp::{Config, CongestionControl};
use sojourn_world::{Flow, Interface};

/// What a run has in the place of what its cell says. `()` leaves all as it is.
pub trait Instead {
    /// The discipline of an interface; none: the cell's. Labels of flows ([`Flow::label`]) do not
    /// reach it.
    fn queue(
        &mut self,
        _interface: &Interface,
        _setting: Setting<'_>,
    ) -> Option<Box<dyn Qdisc<Packet>>> {
        None
    }

    /// What stands around the queue of an interface, the cell's or one's own: the queue itself, or
    /// what hands all on to it and observes.
    fn around(
        &mut self,
        _interface: &Interface,
        queue: Box<dyn Qdisc<Packet>>,
    ) -> Box<dyn Qdisc<Packet>> {
        queue
    }

    /// The congestion control of one end of one of a flow's connections; none: that of `config`.
    /// Each end gets random bits of its own ([`CongestionControl::seed`]), the same whatever the
    /// control is.
    fn control(
        &mut self,
        _flow: &Flow,
        _config: &Config,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        None
    }
}

impl Instead for () {}
