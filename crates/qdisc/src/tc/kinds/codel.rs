//! CoDel's rows.

use super::common::{LIMIT, ecn};
use super::flows::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, DROP_BATCH, FLOW_LIMIT, FLOWS, ISOLATION,
    MEMORY_LIMIT, NAT, WAY_COLLISIONS, WAY_INDIRECT_HITS, WAY_MISSES, quantum,
};
use crate::params::{CodelParams, FlowParams};
use crate::spec::Spec;
use crate::tc::kind::Kind;
use crate::tc::opt::{Opt, Style, TIME, Unit, When, field, first, opt, stat, styled, when};

pub(super) const TARGET: Opt = opt(
    "target",
    Unit::Time,
    (1, TIME),
    field!(CodelParams, target),
    "standing delay that is acceptable",
);
pub(super) const INTERVAL: Opt = opt(
    "interval",
    Unit::Time,
    (1, TIME),
    field!(CodelParams, interval),
    "time in which the delay must fall below the target once; a worst-case RTT",
);
const CE_THRESHOLD: Opt = opt(
    "ce_threshold",
    Unit::Time,
    (1, TIME),
    field!(CodelParams, ce_threshold),
    "mark every ECN-capable packet that waited longer than this",
);
const ECN: Opt = ecn(Some("noecn"), field!(CodelParams, ecn));

pub(super) const CODEL: Kind = Kind {
    name: "codel",
    summary: "controlled delay: drops at the head while a standing delay exceeds the target",
    source: "RFC 8289; tc-codel(8)",
    example: "codel limit 1000 target 5ms interval 100ms ecn",
    options: &[LIMIT, TARGET, CE_THRESHOLD, INTERVAL, ECN],
    stats: &[
        first(stat("count", "drops since this dropping state was entered")),
        stat("lastcount", "count when it was entered"),
        styled(stat("ldelay", "delay of the newest departure"), Style::Time),
        styled(stat("dropping", "in the dropping state"), Style::Flag),
        styled(stat("drop_next", "time until the next drop"), Style::Time),
        first(stat("maxpacket", "largest packet so far, bytes")),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("drop_overlimit", "packets dropped at the limit"),
        stat("ce_mark", "packets marked above `ce_threshold`"),
    ],
    initial: || Spec::single(1000, CodelParams::default()),
    ..Kind::BARE
};

pub(super) const FQ_CODEL: Kind = Kind {
    name: "fq_codel",
    summary: "flow queues in turn, sparse flows first, each with its own CoDel",
    source: "RFC 8290; tc-fq_codel(8)",
    example: "fq_codel limit 1001 target 5ms interval 100ms quantum 300 noecn",
    options: &[
        FLOW_LIMIT,
        FLOWS,
        quantum(Unit::Count),
        TARGET,
        CE_THRESHOLD,
        INTERVAL,
        MEMORY_LIMIT,
        when(ECN, When::Always, When::On),
        DROP_BATCH,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    absent: &[(
        "ce_threshold_selector",
        "`ce_threshold` applies to every ECN-capable packet",
    )],
    stats: &[
        first(stat("maxpacket", "largest packet so far, bytes")),
        stat(
            "drop_overlimit",
            "packets dropped at the packet or memory limit",
        ),
        stat("new_flow_count", "times that a flow became a new one"),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("ce_mark", "packets marked above `ce_threshold`"),
        stat("memory_used", "bytes held"),
        stat("drop_overmemory", "packets dropped at the memory limit"),
        first(stat("new_flows_len", "flows on the list of new ones")),
        stat("old_flows_len", "flows on the list of old ones"),
        BULK_FLOWS,
        WAY_INDIRECT_HITS,
        WAY_MISSES,
        WAY_COLLISIONS,
        ACK_DROPS,
    ],
    initial: || {
        let codel = CodelParams {
            ecn: true,
            ..CodelParams::default()
        };
        Spec::flows(FlowParams::default(), codel)
    },
    ..Kind::BARE
};
