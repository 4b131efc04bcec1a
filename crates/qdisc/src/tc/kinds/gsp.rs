//! GSP's rows.

use super::super::catalogue::{Initial, Kind, Opt, Style, Unit};
use super::super::parts::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, ISOLATION, NAT, WAY_COLLISIONS, WAY_INDIRECT_HITS,
    WAY_MISSES,
};
use super::{ECN, FLOWS, MEMORY_LIMIT, TIME, first, opt, packet_limit, quantum, stat, styled};
use Initial::{From, Is};

const SOURCE: &str = "Lautenschlaeger and Francini 2015; draft-lauten-aqm-gsp; not in tc";
const THRESHOLD: Opt = opt(
    "threshold",
    Unit::Time,
    (1, TIME),
    Is("5ms"),
    "delay above which an arrival is dropped",
);
const INTERVAL: Opt = opt(
    "interval",
    Unit::Time,
    (1, TIME),
    Is("200ms"),
    "pause after a drop; shrinks while the delay stays above the threshold",
);
const ALPHA: Opt = opt(
    "alpha",
    Unit::Count,
    (1, 64),
    Is("2"),
    "weight of time above the threshold against time below",
);
const TAU: Opt = opt(
    "tau",
    Unit::Time,
    (1, TIME),
    Is("1s"),
    "surplus of time above the threshold that halves the pause",
);
const MIN_INTERVAL: Opt = opt(
    "min_interval",
    Unit::Time,
    (1, TIME),
    From("1ms, or `interval` if that is shorter"),
    "pause after a drop at least",
);

pub(super) const GSP: Kind = Kind {
    name: "gsp",
    summary: "global synchronization protection: one drop above a threshold, then a pause",
    source: SOURCE,
    example: "gsp limit 10000 threshold 2500us interval 200ms",
    options: &[
        packet_limit("1000"),
        THRESHOLD,
        INTERVAL,
        ALPHA,
        TAU,
        MIN_INTERVAL,
        ECN,
    ],
    absent: &[],
    stats: &[
        first(styled(
            stat("delay", "time that the head has waited"),
            Style::Time,
        )),
        styled(
            stat("pause", "pause that a drop would start now"),
            Style::Time,
        ),
        styled(
            stat("cumul", "surplus of time above the threshold"),
            Style::Time,
        ),
        first(stat("dropped", "packets dropped above the threshold")),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("overflows", "times that the queue filled up"),
        stat("drop_overlimit", "packets dropped at the packet limit"),
    ],
};

pub(super) const FQ_GSP: Kind = Kind {
    name: "fq_gsp",
    summary: "flow queues in turn, sparse flows first, each with its own GSP",
    source: "RFC 8290; Lautenschlaeger and Francini 2015; not in tc",
    example: "fq_gsp limit 10240 flows 1024 threshold 5ms interval 200ms",
    options: &[
        packet_limit("10240"),
        FLOWS,
        quantum(Unit::Bytes),
        THRESHOLD,
        INTERVAL,
        ALPHA,
        TAU,
        MIN_INTERVAL,
        MEMORY_LIMIT,
        ECN,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    absent: &[],
    stats: &[
        first(stat("dropped", "packets dropped above the threshold")),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("overflows", "times that a queue filled up"),
        stat(
            "drop_overlimit",
            "packets dropped at the packet or memory limit",
        ),
        stat("drop_overmemory", "packets dropped at the memory limit"),
        first(stat("new_flow_count", "times that a flow became a new one")),
        stat("memory_used", "bytes held"),
        stat("new_flows_len", "flows on the list of new ones"),
        stat("old_flows_len", "flows on the list of old ones"),
        BULK_FLOWS,
        WAY_INDIRECT_HITS,
        WAY_MISSES,
        WAY_COLLISIONS,
        ACK_DROPS,
    ],
};
