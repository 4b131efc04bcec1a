//! What every flow queue has: its scheduler's options, and CAKE's parts under it.
//!
//! The words of the parts are `tc-cake(8)`'s; tc itself knows them only for `cake`.

use super::common::packet_limit;
use crate::params::FlowParams;
use crate::tc::opt::{
    Amount, COUNT, Json, Opt, Stat, Unit, When, choice, field, first, from, json, kept, opt,
    options, ours, plain, stat, when,
};
use crate::{AckFilter, Isolation};

pub(super) const FLOW_LIMIT: Opt = packet_limit(field!(FlowParams, limit));
options! { FlowParams;
    pub(super) FLOWS: opt(Unit::Count, 1..=65_536) flows, "queues into which flows are hashed";
}
/// The largest quantum that Linux takes.
const MOST_QUANTUM: u64 = 1 << 20;

/// tc reads and prints a bare number in fq_codel, and a size in fq_pie.
pub(super) const fn quantum(unit: Unit) -> Opt {
    let access = field!(FlowParams, quantum);
    let meaning = "bytes that a flow queue may send in each round";
    let quantum = opt("quantum", unit, 256..=MOST_QUANTUM, access, meaning);
    plain(from(quantum, "the link's MTU with its header"))
}
options! { FlowParams;
    pub(super) MEMORY_LIMIT: size memory_limit, "largest number of bytes in the queue";
    pub(super) DROP_BATCH: opt(Unit::Count, 1..=COUNT) drop_batch,
        "largest number of packets dropped at once from the longest queue";
}

/// The modes of isolation but `flows`, which is what there is without one.
const MODES: [Isolation; 7] = [
    Isolation::TripleIsolate,
    Isolation::DualSrcHost,
    Isolation::DualDstHost,
    Isolation::Hosts,
    Isolation::SrcHost,
    Isolation::DstHost,
    Isolation::FlowBlind,
];
const MODE_WORDS: [&str; MODES.len()] = {
    let mut words = [""; MODES.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = MODES[i].word();
        i += 1;
    }
    words
};

pub(super) const ISOLATION: Opt = {
    let access = kept!(
        FlowParams;
        |flows| (MODES.iter().position(|mode| *mode == flows.parts.isolation))
            .map(|place| Amount::Number(place as u64));
        |flows, amount| flows.parts.isolation = MODES[amount.number() as usize]
    );
    let meaning = "as in cake: what a flow is, and between which hosts the rate is shared before \
        their flows";
    let mode = choice("triple-isolate", &MODE_WORDS, access, meaning);
    let mode = from(mode, "all flows equal, whatever their hosts");
    ours(json(mode, Json::Named("flowmode")))
};
options! { FlowParams;
    SET_ASSOCIATIVE: switch(None) parts.set_associative as "set-associative",
        "as in cake: a flow may use any of eight queues, so that few flows share one";
    NAT_SWITCH: switch(Some("nonat")) parts.nat as "nat",
        "as in cake: use the addresses inside a network address translation";
}
pub(super) const ASSOCIATIVE: Opt = ours(SET_ASSOCIATIVE);
pub(super) const NAT: Opt = ours(NAT_SWITCH);
pub(super) const ACKS: Opt = {
    let access = field!(FlowParams, parts.ack_filter);
    let meaning = "as in cake: drop ACKs that a newer ACK replaces";
    let filter = choice("no-ack-filter", &AckFilter::WORDS, access, meaning);
    let filter = when(filter, When::On, When::On);
    ours(json(filter, Json::Named("ack-filter")))
};

pub(super) const DROP_OVERLIMIT: Stat = stat(
    "drop_overlimit",
    "packets dropped at the packet or memory limit",
);
pub(super) const DROP_OVERMEMORY: Stat =
    stat("drop_overmemory", "packets dropped at the memory limit");
pub(super) const NEW_FLOW_COUNT: Stat =
    first(stat("new_flow_count", "times that a flow became a new one"));
pub(super) const MEMORY_USED: Stat = stat("memory_used", "bytes held");
pub(super) const NEW_FLOWS_LEN: Stat = stat("new_flows_len", "flows on the list of new ones");
pub(super) const OLD_FLOWS_LEN: Stat = stat("old_flows_len", "flows on the list of old ones");
pub(super) const BULK_FLOWS: Stat = first(stat(
    "bulk_flows",
    "with parts of cake: flows with a standing queue",
));
pub(super) const WAY_INDIRECT_HITS: Stat = stat(
    "way_indirect_hits",
    "packets of flows that use another queue of their set than the first",
);
pub(super) const WAY_MISSES: Stat = stat("way_misses", "flows that found an empty way");
pub(super) const WAY_COLLISIONS: Stat = stat("way_collisions", "flows that share a queue");
pub(super) const ACK_DROPS: Stat = stat("ack_drops", "acknowledgements dropped by the filter");
