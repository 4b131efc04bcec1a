//! Limits of queues in time or in bandwidth-delay products, resolved against the link.
//!
//! The rate is the link's at the beginning, or after a change that brings the queue; the base RTT
//! is the dumbbell's, and in a graph the longest of the flows that cross the link. A buffer is
//! memory: it keeps its size when the rate changes later.

use super::Resolver;
use crate::format::{Framing, ScenarioFile};
use sojourn_qdisc::LinkPath;
use sojourn_text::queue::{MTU, QueueWords};
use sojourn_units::{Rate, Span};
use sojourn_world::{Flow, Line, Network};

/// A queue whose limit follows from what is known only later.
pub(crate) struct Pending {
    /// Indices of its interfaces: two of a duplex link.
    pub(super) interfaces: Vec<usize>,
    /// The field that says so.
    pub(super) path: String,
    pub(super) words: QueueWords,
}

/// Length of a full packet's frame.
pub(super) fn frame_of(file: &ScenarioFile) -> u32 {
    MTU + u32::from(file.framing.unwrap_or(Framing::Ethernet).value())
}

/// A link at this rate, with frames of that framing.
pub(super) fn link_path(file: &ScenarioFile, rate: Option<Rate>) -> LinkPath {
    LinkPath {
        rate,
        rtt: None,
        frame: frame_of(file),
    }
}

/// The base RTT that a link's buffer is measured by.
pub(super) fn base_rtt(
    file: &ScenarioFile,
    network: &Network,
    flows: &[Flow],
    link: usize,
) -> Option<Span> {
    if let Some(dumbbell) = &file.dumbbell {
        let lines = (0..network.interfaces.len()).filter_map(|link| network.wire(link));
        let sum = lines.fold(Span::ZERO, |sum, wire| sum + wire.line.delay);
        return Some(dumbbell.rtt.map_or(sum, |rtt| rtt.0));
    }
    let crosses = |from, to| {
        let path = network.path(from, to);
        path.is_some_and(|path| path.contains(&link))
    };
    let crossing = flows
        .iter()
        .filter(|flow| crosses(flow.from, flow.to) || crosses(flow.to, flow.from));
    crossing.map(|flow| flow.base_rtt).max()
}

/// The rate of a line, if it is one that buffers can be measured by.
pub(super) fn constant(line: Option<&Line>) -> Option<Rate> {
    line.and_then(|line| line.rate.fixed())
}

impl Resolver<'_> {
    /// Gives the queues of a network their limits.
    pub(super) fn buffers(&mut self, file: &ScenarioFile, network: &mut Network, flows: &[Flow]) {
        for pending in std::mem::take(&mut self.pending) {
            for link in pending.interfaces {
                let line = network.wire(link).map(|wire| &wire.line);
                let path = LinkPath {
                    rtt: base_rtt(file, network, flows, link),
                    ..link_path(file, constant(line))
                };
                let words = pending.words.clone();
                if let Some(queue) = words.for_link(&pending.path, path, self.problems) {
                    network.interfaces[link].qdisc = queue.spec;
                }
            }
        }
    }
}
