//! What `tc -s` shows of a flow queue.

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
