//! Changes of links in mid-run, beside the kernel's own queues: what tc is told at which time.
//!
//! A queue takes new parameters and keeps its packets, as in the other worlds. Where it becomes
//! another one the kernel throws away what waits in it, which the other worlds do not.

use sojourn_qdisc::Spec;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Line, LineRate, Reorder};

use super::super::Guests;
use super::{Paths, ends, queue_devices, refused_line, refused_queue};
use crate::lab::Lab;
use crate::tc::{self, Whose};
use crate::unfit::Unfit;
use crate::world::run::way;
use sojourn_bridge::Side;

/// Takes no time: the rate of a line without one.
const FAST: Rate = Rate::from_bps(1_000_000_000_000);

/// What a change is for the kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) at: Time,
    pub(super) side: Side,
    /// The link's rate from then on.
    pub(super) rate: LineRate,
    /// The same when the two ends of the link are to be told.
    pub(super) told: Option<LineRate>,
    /// For tc where the queues are.
    pub(super) queue: Vec<String>,
    /// Whether it makes another queue of the queue.
    pub(super) afresh: bool,
    /// The queue from then on.
    pub(super) spec: Spec,
    /// The queue's numbers from then on.
    pub(super) majors: Vec<u16>,
    /// For tc at the line behind the queue, where that changes.
    pub(super) line: Vec<String>,
}

/// The changes of a joint's two links, in the order of time.
pub(super) fn steps(
    guests: &Guests,
    whose: Whose,
    cell: &Cell,
    numbers: [Option<usize>; 2],
) -> Result<Vec<Step>, Unfit> {
    let mut links = numbers.map(|link| way(&cell.network, link));
    let mut steps = Vec::new();
    let devices = queue_devices(cell);
    for change in &cell.changes {
        let Some(number) = numbers.iter().position(|&n| n == Some(change.link)) else {
            continue;
        };
        let (side, way) = (Side::BOTH[number], &mut links[number]);
        let (spec, line) = (&mut way.qdisc, &mut way.line);
        let device = devices[number];
        let has_ends = ends::are_of(guests, cell, Some(change.link));
        let (before, _) = tc::queue(whose, device, spec, &line.rate, has_ends);
        change.line.apply(line);
        if let Some(qdisc) = &change.qdisc {
            *spec = qdisc.clone();
        }
        refused_queue(whose, spec)?;
        refused_line(line)?;
        let path = Paths::of(guests, cell, Some(change.link)).alike();
        let (after, majors) = tc::queue(whose, device, spec, &line.rate, has_ends);
        let changed = tc::changed(&before, &after);
        let afresh = changed.is_none();
        let queue = changed.unwrap_or_else(|| tc::anew(device, after));
        steps.push(Step {
            at: change.at,
            side,
            rate: line.rate.clone(),
            told: change.line.rate.clone().filter(|_| has_ends),
            queue,
            afresh,
            spec: spec.clone(),
            majors,
            line: changed_line(guests, cell, change.link, side, line, path),
        });
    }
    Ok(steps)
}

/// A side's line, behind its queue, with the delay that all paths have beyond it. Nothing when it
/// does nothing.
pub(super) fn line_of(
    guests: &Guests,
    cell: &Cell,
    link: Option<usize>,
    side: Side,
    line: &Line,
    path: Span,
) -> Vec<String> {
    let device = match side {
        Side::Up => Lab::RIGHT,
        Side::Down => Lab::LEFT,
    };
    let has_ends = ends::are_of(guests, cell, link);
    let mut changes = cell.changes.iter();
    if has_ends || changes.any(|change| Some(change.link) == link && change.line.is_behind()) {
        let lines = link.map_or_else(Vec::new, |link| cell.lines(link));
        let ahead = |line: &Line| matches!(line.reorder, Reorder::Ahead { .. });
        tc::line_in_parts(device, line, path, lines.iter().any(ahead), has_ends)
    } else {
        tc::line(device, "root", line, path)
    }
}

/// The same after a change.
fn changed_line(
    guests: &Guests,
    cell: &Cell,
    link: usize,
    side: Side,
    line: &Line,
    path: Span,
) -> Vec<String> {
    // To netem a rate that is not said is what it was.
    let rate = match &line.rate {
        LineRate::Infinite => LineRate::Fixed(FAST),
        rate => rate.clone(),
    };
    let line = Line {
        rate,
        ..line.clone()
    };
    line_of(guests, cell, Some(link), side, &line, path)
        .into_iter()
        .map(|line| line.replacen("add", "replace", 1))
        .collect()
}
