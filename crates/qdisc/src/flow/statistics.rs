//! What `tc -s` shows of a flow queue.

use super::FlowQueue;
use super::policy::FlowPolicy;
use crate::report::{Field, int};
use crate::{Aqm, DropReason, FlowParts, Packet};
use alloc::vec::Vec;

/// What a flow queue counts beside [`Counters`](crate::Counters), with the names of `tc -s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowStatistics {
    /// Times that an idle flow became a new one.
    pub new_flow_count: u64,
    /// Flows in the list of new ones.
    pub new_flows_len: u32,
    /// Flows in the list of old ones.
    pub old_flows_len: u32,
    /// Bytes held.
    pub memory_used: u64,
    /// Packets dropped because the packet limit or the memory limit was crossed.
    pub drop_overlimit: u64,
    /// Those of them for which it was the memory limit.
    pub drop_overmemory: u64,
}

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
