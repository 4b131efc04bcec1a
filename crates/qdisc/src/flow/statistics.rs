//! What `tc -s` shows of a flow queue.

use super::FlowQueue;
use super::policy::FlowPolicy;
use crate::report::{Field, int};
use crate::{Aqm, DropReason, FlowParts, Packet};
use alloc::vec::Vec;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// What CAKE's parts count, where there are some.
    pub(super) fn parts_statistics(&self) -> Vec<Field> {
        let parts = self.params.parts;
        if parts == FlowParts::NONE {
            return Vec::new();
        }
        Vec::from([
            int("bulk_flows", self.policy.bulk_flows()),
            int("way_indirect_hits", self.ways.way_indirect_hits),
            int("way_misses", self.ways.way_misses),
            int("way_collisions", self.ways.way_collisions),
            int(
                "ack_drops",
                self.counters.dropped_for(DropReason::AckFilter),
            ),
        ])
    }
}
