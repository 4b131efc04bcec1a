//! The rows of the catalogue.
//!
//! Sources: iproute2 `tc/q_*.c` and `man/man8/tc-*.8` for names, units and defaults; the RFC or
//! paper named in each row for meanings.

mod gsp;
mod htb;
mod red;
mod steer;
mod tbf;

use super::catalogue::{Initial, Kind, Opt, Stat, Style, Unit};
use super::parts::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, ISOLATION, NAT, WAY_COLLISIONS, WAY_INDIRECT_HITS,
    WAY_MISSES,
};
use Initial::{From, Is, Off, On};
use gsp::{FQ_GSP, GSP};
use htb::HTB;
use red::RED;
use steer::STEER;
use tbf::TBF;

/// tc keeps packet counts in 32 bits.
const COUNT: u64 = u32::MAX as u64;
/// 1 TiB: above any queue, and exact in the notation's arithmetic.
pub(super) const SIZE: u64 = 1 << 40;
/// tc keeps times in 32 bits of microseconds.
pub(super) const TIME: u64 = u32::MAX as u64 * 1000;
/// 1000 Tbit/s: above any link, and exact in the notation's arithmetic.
pub(super) const RATE: u64 = 1_000_000_000_000_000;

pub(super) const fn opt(
    name: &'static str,
    unit: Unit,
    range: (u64, u64),
    initial: Initial,
    meaning: &'static str,
) -> Opt {
    Opt {
        name,
        aliases: &[],
        unit,
        min: range.0,
        max: range.1,
        initial,
        meaning,
        ours: false,
    }
}

pub(super) const fn switch(
    name: &'static str,
    off: Option<&'static str>,
    initial: Initial,
    meaning: &'static str,
) -> Opt {
    opt(name, Unit::Switch(off), (0, 1), initial, meaning)
}

pub(super) const fn also(mut opt: Opt, aliases: &'static [&'static str]) -> Opt {
    opt.aliases = aliases;
    opt
}

pub(super) const fn ours(mut opt: Opt) -> Opt {
    opt.ours = true;
    opt
}

pub(super) const fn stat(name: &'static str, meaning: &'static str) -> Stat {
    Stat {
        name,
        style: Style::Plain,
        first: false,
        meaning,
    }
}

pub(super) const fn styled(mut stat: Stat, style: Style) -> Stat {
    stat.style = style;
    stat
}

pub(super) const fn first(mut stat: Stat) -> Stat {
    stat.first = true;
    stat
}

pub(super) const fn packet_limit(initial: &'static str) -> Opt {
    opt(
        "limit",
        Unit::Packets,
        (1, COUNT),
        Is(initial),
        "packets held at most",
    )
}

pub(super) const CODEL_TARGET: Opt = opt(
    "target",
    Unit::Time,
    (1, TIME),
    Is("5ms"),
    "standing delay that is acceptable",
);
pub(super) const CODEL_INTERVAL: Opt = opt(
    "interval",
    Unit::Time,
    (1, TIME),
    Is("100ms"),
    "time in which the delay must fall below the target once; a worst-case RTT",
);
const CE_THRESHOLD: Opt = opt(
    "ce_threshold",
    Unit::Time,
    (1, TIME),
    Off,
    "mark every ECN-capable packet that waited longer than this",
);
const PIE_TARGET: Opt = opt(
    "target",
    Unit::Time,
    (1, TIME),
    Is("15ms"),
    "delay that the controller steers to (QDELAY_REF)",
);
const TUPDATE: Opt = opt(
    "tupdate",
    Unit::Time,
    (1, TIME),
    Is("15ms"),
    "interval of the probability's updates (T_UPDATE)",
);
const ALPHA: Opt = opt(
    "alpha",
    Unit::Count,
    (0, 32),
    Is("2"),
    "weight of the delay's deviation, in 1/16 Hz",
);
const BETA: Opt = opt(
    "beta",
    Unit::Count,
    (0, 32),
    Is("20"),
    "weight of the delay's trend, in 1/16 Hz",
);
const ECN_PROB: Opt = opt(
    "ecn_prob",
    Unit::Percent,
    (1, 99),
    Is("10"),
    "probability up to which ECN-capable packets are marked rather than dropped",
);
const BYTEMODE: Opt = switch(
    "bytemode",
    Some("nobytemode"),
    Off,
    "scale the probability by the packet's size",
);
const DQ_RATE_ESTIMATOR: Opt = switch(
    "dq_rate_estimator",
    Some("no_dq_rate_estimator"),
    Off,
    "estimate the delay from the departure rate instead of time stamps",
);
const ECN: Opt = switch("ecn", Some("noecn"), Off, ECN_MEANING);
pub(super) const ECN_ON: Opt = switch("ecn", Some("noecn"), On, ECN_MEANING);
const ECN_MEANING: &str = "mark ECN-capable packets instead of dropping them";
const FLOWS: Opt = opt(
    "flows",
    Unit::Count,
    (1, 65_536),
    Is("1024"),
    "queues into which flows are hashed",
);
const fn quantum(unit: Unit) -> Opt {
    opt(
        "quantum",
        unit,
        (256, COUNT),
        From("the link's MTU with its header"),
        "bytes that a queue may send in its turn",
    )
}
const MEMORY_LIMIT: Opt = opt(
    "memory_limit",
    Unit::Bytes,
    (1, SIZE),
    Is("32Mb"),
    "bytes held at most",
);

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "pfifo",
        summary: "first in, first out; a full queue drops what arrives",
        source: "tc-pfifo(8)",
        example: "pfifo limit 1000",
        options: &[packet_limit("1000")],
        absent: &[],
        stats: &[],
    },
    Kind {
        name: "bfifo",
        summary: "first in, first out with a limit in bytes",
        source: "tc-bfifo(8)",
        example: "bfifo limit 256kb",
        options: &[opt(
            "limit",
            Unit::Bytes,
            (1, SIZE),
            Is("1514000"),
            "bytes held at most",
        )],
        absent: &[],
        stats: &[],
    },
    Kind {
        name: "pfifo_head_drop",
        summary: "first in, first out; a full queue drops its oldest packet",
        source: "tc-pfifo(8)",
        example: "pfifo_head_drop limit 1000",
        options: &[packet_limit("1000")],
        absent: &[],
        stats: &[],
    },
    RED,
    CODEL,
    super::cake::COBALT,
    PIE,
    GSP,
    FQ_CODEL,
    FQ_PIE,
    FQ_GSP,
    STEER,
    super::cake::CAKE,
    HTB,
    TBF,
];

const CODEL: Kind = Kind {
    name: "codel",
    summary: "controlled delay: drops at the head while a standing delay exceeds the target",
    source: "RFC 8289; tc-codel(8)",
    example: "codel limit 1000 target 5ms interval 100ms ecn",
    options: &[
        packet_limit("1000"),
        CODEL_TARGET,
        CE_THRESHOLD,
        CODEL_INTERVAL,
        ECN,
    ],
    absent: &[],
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
};

const PIE: Kind = Kind {
    name: "pie",
    summary: "proportional integral controller enhanced: drops at random to hold a delay",
    source: "RFC 8033; tc-pie(8)",
    example: "pie limit 1000 target 15ms tupdate 15ms ecn",
    options: &[
        packet_limit("1000"),
        PIE_TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ours(ECN_PROB),
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
    ],
    absent: &[],
    stats: &[
        first(styled(stat("prob", "probability of a drop"), Style::Float)),
        styled(stat("delay", "delay that the controller sees"), Style::Time),
        stat("avg_dq_rate", "estimated departure rate, byte/s"),
        first(stat("pkts_in", "packets queued")),
        stat("overlimit", "packets dropped at the limit"),
        stat("dropped", "packets dropped at random"),
        stat("maxq", "longest queue so far, packets"),
        stat("ecn_mark", "packets marked instead of dropped"),
    ],
};

const FQ_CODEL: Kind = Kind {
    name: "fq_codel",
    summary: "flow queues in turn, sparse flows first, each with its own CoDel",
    source: "RFC 8290; tc-fq_codel(8)",
    example: "fq_codel limit 1001 target 5ms interval 100ms quantum 300 noecn",
    options: &[
        packet_limit("10240"),
        FLOWS,
        // tc reads and prints a bare number here, and a size in fq_pie.
        quantum(Unit::Count),
        CODEL_TARGET,
        CE_THRESHOLD,
        CODEL_INTERVAL,
        MEMORY_LIMIT,
        ECN_ON,
        opt(
            "drop_batch",
            Unit::Count,
            (1, COUNT),
            Is("64"),
            "packets dropped at most at once from the fattest queue",
        ),
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
};

const FQ_PIE: Kind = Kind {
    name: "fq_pie",
    summary: "flow queues in turn, sparse flows first, each with its own PIE",
    source: "RFC 8033 and RFC 8290; tc-fq_pie(8)",
    example: "fq_pie limit 10240 flows 1024 target 15ms tupdate 15ms ecn",
    options: &[
        packet_limit("10240"),
        FLOWS,
        PIE_TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        quantum(Unit::Bytes),
        MEMORY_LIMIT,
        ECN_PROB,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    absent: &[],
    stats: &[
        first(stat("pkts_in", "packets queued")),
        stat("overlimit", "packets dropped at the packet limit"),
        stat("overmemory", "packets dropped at the memory limit"),
        stat("dropped", "packets dropped at random"),
        stat("ecn_mark", "packets marked instead of dropped"),
        first(stat("new_flow_count", "times that a flow became a new one")),
        stat("new_flows_len", "flows on the list of new ones"),
        stat("old_flows_len", "flows on the list of old ones"),
        stat("memory_used", "bytes held"),
        BULK_FLOWS,
        WAY_INDIRECT_HITS,
        WAY_MISSES,
        WAY_COLLISIONS,
        ACK_DROPS,
    ],
};

/// Disciplines of Linux that are not here (yet).
pub(super) const ELSEWHERE: &[&str] = &[
    "bpf",
    "cake_mq",
    "cbs",
    "choke",
    "clsact",
    "drr",
    "dualpi2",
    "etf",
    "ets",
    "fq",
    "gred",
    "hfsc",
    "hhf",
    "ingress",
    "mq",
    "mqprio",
    "multiq",
    "netem",
    "noqueue",
    "pfifo_fast",
    "plug",
    "prio",
    "qfq",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "teql0",
    "cbq",
    "atm",
    "dsmark",
    "rr",
];
