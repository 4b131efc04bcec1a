//! What a program sees of a run between two events, and what it may change there.
//!
//! Links and flows go by the names that the scenario has for them.

use crate::engine::Engine;
use crate::outside::End;
use crate::packet::{Packet, Way};
use sojourn_qdisc::Qdisc;
use sojourn_tcp::{CongestionControl, Connection};
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult};
use std::any::Any;

/// What a run is like now ([`Run::look`](crate::Run::look)). To look changes nothing.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) cell: &'a Cell,
    pub(crate) now: Time,
}

impl<'a> Look<'a> {
    /// How far the run has been taken.
    pub const fn now(self) -> Time {
        self.now
    }

    /// The cell that it runs.
    pub const fn cell(self) -> &'a Cell {
        self.cell
    }

    /// The queue of a link: what it holds, has counted, and reports. None when there is no such
    /// link.
    pub fn queue(self, link: &str) -> Option<&'a dyn Qdisc<Packet>> {
        let index = interface(self.cell, link)?;
        Some(&*self.engine.net.passage.interfaces[index].qdisc)
    }

    /// TCP at the sending end of each connection of a flow. None for a flow of datagrams.
    pub fn connections(self, flow: &str) -> impl Iterator<Item = &'a Connection> {
        let index = flow_of(self.cell, flow);
        let all = self.engine.connections();
        all.filter_map(move |(of, connection)| (index == Some(of)).then_some(connection))
    }

    /// The congestion controls of one's own ([`Instead::control`](crate::Instead::control)) at
    /// both ends of each connection of a flow, those of this type.
    pub fn controls<T: CongestionControl>(self, flow: &str) -> impl Iterator<Item = &'a T> {
        let ends = flow_of(self.cell, flow).map(|index| self.engine.both_ends(index));
        ends.into_iter().flatten().filter_map(|connection| {
            let control: &dyn Any = connection.own_control()?;
            control.downcast_ref()
        })
    }

    /// The ends of a flow of the kind `outside`, of each of its instances: at its `from` node and
    /// at its `to` node. Empty for other flows.
    pub fn ends(self, flow: &str) -> Vec<[End; 2]> {
        let (index, outside) = (
            flow_of(self.cell, flow),
            self.engine.net.passage.outside.as_ref(),
        );
        let ways = (0..self.engine.flows.len()).map(Way::forth);
        let ends = ways.filter(|way| {
            let of = self.engine.flows[way.index() / 2] as usize;
            index == Some(of) && outside.is_some_and(|outside| outside.has(*way))
        });
        ends.map(|way| [End(way), End(way.back())]).collect()
    }

    /// The result as if nothing more happened. Its series are long enough for the whole run: what
    /// they say of the time to come has no meaning.
    pub fn result(self) -> RunResult {
        self.engine.so_far(self.cell)
    }
}

/// What may be changed in a run now ([`Run::change`](crate::Run::change)).
pub struct Alter<'a> {
    pub(crate) engine: &'a mut Engine,
    pub(crate) cell: &'a Cell,
    pub(crate) now: Time,
}

impl<'a> Alter<'a> {
    /// The queue of a link, to give it other parameters ([`Qdisc::change`]), or as what it is
    /// behind `dyn Any`. It must hold the same packets afterwards.
    pub fn queue(self, link: &str) -> Option<&'a mut dyn Qdisc<Packet>> {
        let index = interface(self.cell, link)?;
        Some(&mut *self.engine.net.passage.interfaces[index].qdisc)
    }

    /// Changes the congestion controls of one's own at both ends of each connection of a flow,
    /// those of this type. Then each end of the flow sends what its control allows now. Returns how
    /// many controls there are.
    pub fn controls<T: CongestionControl>(self, flow: &str, mut change: impl FnMut(&mut T)) -> u32 {
        let Some(index) = flow_of(self.cell, flow) else {
            return 0;
        };
        let mut count = 0;
        for connection in self.engine.both_ends_mut(index) {
            if let Some(control) = connection.own_control_mut()
                && let Some(control) = (control as &mut dyn Any).downcast_mut()
            {
                change(control);
                count += 1;
            }
        }
        self.engine.nudge(index, self.now);
        count
    }
}

fn interface(cell: &Cell, link: &str) -> Option<usize> {
    let mut interfaces = cell.network.interfaces.iter();
    interfaces.position(|interface| interface.name == link)
}

fn flow_of(cell: &Cell, name: &str) -> Option<usize> {
    cell.flows.iter().position(|flow| flow.name == name)
}

impl std::fmt::Debug for Look<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Look")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Alter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alter")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
