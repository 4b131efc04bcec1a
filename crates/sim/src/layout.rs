//! The ways of all flows through a network of wires: routes, and the pipes on them.

use crate::error::Unfit;
use crate::forwarding::{Leg, Next, Route, Table};
use crate::pipe::Pipe;
use sojourn_units::Span;
use sojourn_world::{Cell, Flow, Instance, Paths};
use std::collections::BTreeMap;

/// Pipes and routes while they are being laid out.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) table: Table,
    /// Of each interface's medium.
    delays: Vec<Span>,
    /// The pipe of each interface and delay.
    known: BTreeMap<(usize, Span), u32>,
}

impl Layout {
    /// The ways of a cell's connections, both directions of each.
    pub(crate) fn of(cell: &Cell, instances: &[Instance]) -> Result<Self, Unfit> {
        let network = &cell.network;
        let interfaces = network.interfaces.len();
        let mut layout = Self {
            pipes: Vec::new(),
            table: Table::new(interfaces),
            delays: (0..interfaces)
                .map(|index| network.medium(index).delay())
                .collect(),
            known: BTreeMap::new(),
        };
        let paths = Paths::of(network);
        for Instance { spec, .. } in instances {
            let forth = path(&paths, spec.from, spec.to, spec)?;
            let back = path(&paths, spec.to, spec.from, spec)?;
            let spare = spec.base_rtt - (layout.along(&forth) + layout.along(&back));
            for _ in 0..spec.app.connections() {
                layout.route(&forth, spare / 2 + cell.host_delay);
                layout.route(&back, spare - spare / 2 + cell.host_delay);
            }
        }
        Ok(layout)
    }

    /// The delay of a path's media.
    fn along(&self, path: &[usize]) -> Span {
        let delays = path.iter().map(|&interface| self.delays[interface]);
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }

    fn pipe(&mut self, interface: usize, delay: Span) -> u32 {
        *self.known.entry((interface, delay)).or_insert_with(|| {
            self.pipes.push(Pipe::new(interface, delay));
            (self.pipes.len() - 1) as u32
        })
    }

    /// Lays the next direction's way over `path`; the last pipe is longer by `extra`.
    fn route(&mut self, path: &[usize], extra: Span) {
        let mut route = Route::new(self.delays.len(), path[0]);
        for (hop, &interface) in path.iter().enumerate() {
            let (delay, next) = match path.get(hop + 1) {
                Some(&next) => (Span::ZERO, Next::Interface(next as u32)),
                None => (extra, Next::Host),
            };
            let pipe = self.pipe(interface, self.delays[interface] + delay);
            self.pipes[pipe as usize].lead(next);
            route.legs[interface] = Leg { pipe, next };
        }
        self.table.push(route);
    }
}

/// The interfaces on the way between two nodes.
fn path(paths: &Paths<'_>, from: usize, to: usize, flow: &Flow) -> Result<Vec<usize>, Unfit> {
    let path = paths.path(from, to);
    path.filter(|path| !path.is_empty())
        .ok_or_else(|| Unfit::NoPath {
            flow: flow.name.clone(),
            from,
            to,
        })
}
