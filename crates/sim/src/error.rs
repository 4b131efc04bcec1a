//! What the simulator cannot run.

use crate::calendar::MAX_OWNERS;
use sojourn_tcp::Algorithm;

/// Why the simulator cannot run a cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A flow joins nodes that nothing joins.
    #[error("flow `{flow}`: no path from node {from} to node {to}")]
    NoPath {
        /// Its name.
        flow: String,
        /// Index of the node where it begins.
        from: usize,
        /// Index of the node where it ends.
        to: usize,
    },
    /// A flow's congestion control is only in Linux.
    #[error(
        "flow `{flow}`: the simulator has no congestion control {name}; it has {}. Run this \
         scenario with --world kernel",
        Algorithm::ALL.map(Algorithm::name).join(", ")
    )]
    Algorithm {
        /// The flow.
        flow: String,
        /// What it wants.
        name: &'static str,
    },
    /// There is too much of something.
    #[error(
        "the simulator holds up to {MAX_OWNERS} links, delays and endpoints; this cell has {flows} \
         flows over {links} links"
    )]
    TooLarge {
        /// Beginnings of flows.
        flows: usize,
        /// Links.
        links: usize,
    },
}
