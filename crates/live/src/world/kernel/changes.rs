//! Changes of links in mid-run, beside the kernel's own queues: what tc is told at which time.
//!
//! A queue takes new parameters and keeps its packets, as in the other worlds. It cannot become
//! another one, since the kernel would throw away what waits in it.

use sojourn_qdisc::Spec;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Line, LineRate};

use super::{alike, links_of, refused_line, refused_queue};
use crate::bridge::Side;
use crate::lab::Lab;
use crate::tc;
use crate::unfit::Unfit;

/// What a change is for the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) at: Time,
    pub(super) side: Side,
    /// The link's rate from then on; nothing when it has none.
    pub(super) rate: Option<sojourn_units::Rate>,
    /// For tc where the queues are.
    pub(super) queue: Vec<String>,
    /// For tc at the line behind the queue.
    pub(super) line: Vec<String>,
}

/// The changes of a cell, in the order of time.
pub(super) fn steps(cell: &Cell) -> Result<Vec<Step>, Unfit> {
    let mut links: Vec<(Spec, Line)> = links_of(cell)
        .map(|(interface, line)| (interface.qdisc.clone(), line.clone()))
        .collect();
    let mut steps = Vec::new();
    for change in &cell.changes {
        let Some((spec, line)) = links.get_mut(change.link) else {
            return Err(Unfit::Graph(super::GRAPH));
        };
        let side = Side::BOTH[change.link];
        let device = device(side);
        let (before, _) = tc::queue(device, spec, &line.rate);
        if let Some(rate) = &change.rate {
            line.rate = rate.clone();
        }
        if let Some(qdisc) = &change.qdisc {
            *spec = qdisc.clone();
        }
        refused_queue(spec)?;
        refused_line(line)?;
        let (after, _) = tc::queue(device, spec, &line.rate);
        let what = "way from one queue to another in mid-run";
        let queue = tc::changed(&before, &after).ok_or(Unfit::KernelQueue { what })?;
        steps.push(Step {
            at: change.at,
            side,
            rate: line.rate.fixed(),
            queue,
            line: at_line(cell, side, line),
        });
    }
    Ok(steps)
}

/// The device behind which a side's queue is.
fn device(side: Side) -> &'static str {
    match side {
        Side::Up => Lab::RIGHT,
        Side::Down => Lab::LEFT,
    }
}

fn at_line(cell: &Cell, side: Side, line: &Line) -> Vec<String> {
    let further = match side {
        Side::Up => alike(cell),
        Side::Down => Span::ZERO,
    };
    let device = device(side);
    let mut lines = tc::line(device, "root", line, further);
    if lines.is_empty() {
        debug_assert_eq!(line.rate, LineRate::Infinite);
        lines.push(tc::wire(device, "root"));
    }
    lines
        .into_iter()
        .map(|line| line.replacen("add", "replace", 1))
        .collect()
}
