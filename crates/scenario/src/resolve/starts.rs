//! When flows begin. A seed changes nothing else of a cell, so that the cells of one combination
//! are made from one template.

use sojourn_random::Stream;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow};

/// The cells of one combination.
pub(crate) struct Template {
    /// The cell with every flow at its earliest start.
    pub(super) cell: Cell,
    pub(super) starts: Starts,
}

impl Template {
    /// Links and flows of each cell.
    pub(crate) fn parts(&self) -> usize {
        let entries = self.cell.flows.iter();
        let flows = entries.map(|flow| flow.members.len().max(1));
        flows.sum::<usize>() + self.cell.network.interfaces.len()
    }

    /// The cell of a seed.
    pub(crate) fn seeded(&self, seed: u64) -> Cell {
        let mut cell = self.cell.clone();
        cell.seed = seed;
        self.starts.draw(seed, &mut cell.flows);
        cell
    }
}

/// The flows whose start has a random part.
#[derive(Default)]
pub(super) struct Starts(Vec<Start>);

struct Start {
    /// Index of the entry in the cell's flows, and of the flow among the entry's members.
    entry: usize,
    member: usize,
    /// Name of the stream of random numbers.
    stream: String,
    earliest: Time,
    /// Most of what is added, not itself included.
    spread: Span,
}

impl Starts {
    /// Adds a flow that will be there, or be that member there, and starts up to `spread` later.
    pub(super) fn add(&mut self, entry: usize, member: usize, flow: &Flow, spread: Span) {
        if !spread.is_zero() {
            self.0.push(Start {
                entry,
                member,
                stream: format!("flow.{}.start", flow.name),
                earliest: flow.start,
                spread,
            });
        }
    }

    /// Puts flows at the starts of a seed.
    fn draw(&self, seed: u64, flows: &mut [Flow]) {
        for start in &self.0 {
            let later = Stream::named(seed, &start.stream).span_below(start.spread);
            let flow = &mut flows[start.entry];
            let place = match flow.members.get_mut(start.member) {
                Some(member) => &mut member.start,
                None => &mut flow.start,
            };
            *place = start.earliest + later;
        }
        // An entry of several flows starts with its first.
        for flow in flows {
            let first = flow.members.iter().map(|member| member.start).min();
            flow.start = first.unwrap_or(flow.start);
        }
    }
}
