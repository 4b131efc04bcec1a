//! PIE's rows.

use super::common::{LIMIT, ecn};
use super::flows::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, FLOW_LIMIT, FLOWS, ISOLATION, MEMORY_LIMIT,
    MEMORY_USED, NAT, NEW_FLOW_COUNT, NEW_FLOWS_LEN, OLD_FLOWS_LEN, WAY_COLLISIONS,
    WAY_INDIRECT_HITS, WAY_MISSES, quantum,
};
use crate::params::{FlowParams, PieLaw, PieParams};
use crate::spec::{Part, Spec};
use crate::tc::kind::Kind;
use crate::tc::opt::{
    Access, Amount, Opt, Unit, When, field, opt, options, ours, plain, stats, when,
};

options! { PieParams;
    TARGET: time target, "target delay of the controller (QDELAY_REF)";
    TUPDATE: time tupdate, "interval of the probability's updates (T_UPDATE)";
    ALPHA: opt(Unit::Count, 0..=32) alpha, "weight of the delay's deviation, in 1/16 Hz";
    BETA: opt(Unit::Count, 0..=32) beta, "weight of the delay's trend, in 1/16 Hz";
}
const ECN_PROB: Opt = {
    let access = Access {
        // A whole number of percent.
        get: |spec| {
            let percent = PieParams::of(spec)?.ecn_limit * 100.0 + 0.5;
            Some(Amount::Number(percent as u64))
        },
        set: |spec, amount| {
            if let Some(pie) = PieParams::of_mut(spec) {
                pie.ecn_limit = amount.number() as f64 / 100.0;
            }
        },
    };
    let meaning = "probability up to which ECN-capable packets are marked rather than dropped";
    plain(opt("ecn_prob", Unit::Percent, 1..=99, access, meaning))
};
const ECN: Opt = ecn(Some("noecn"), field!(PieParams, ecn));
options! { PieParams;
    BYTEMODE: switch(Some("nobytemode")) bytemode, "scale the probability by the packet's size";
    DQ_RATE_ESTIMATOR: switch(Some("no_dq_rate_estimator")) dq_rate_estimator,
        "estimate the delay from the departure rate instead of time stamps";
    WHOSE: opt(LAWS, 0..=PieLaw::WORDS.len() as u64 - 1) law,
        "measuring and burst allowance: FreeBSD's dummynet has no extra growth above 250 ms";
}
const LAWS: Unit = Unit::Word(&PieLaw::WORDS);
const LAW: Opt = ours(when(WHOSE, When::Changed, When::Changed));

pub(super) const PIE: Kind = Kind {
    name: "pie",
    summary: "proportional integral controller enhanced: drops at random to hold a delay",
    source: "RFC 8033; tc-pie(8)",
    linux: Some("sch_pie"),
    example: "pie limit 1000 target 15ms tupdate 15ms ecn",
    options: &[
        LIMIT,
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ours(when(ECN_PROB, When::Changed, When::Never)),
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        LAW,
    ],
    stats: stats! {
        [prob as Float: "probability of a drop";
         delay as Time: "delay that the controller sees";
         avg_dq_rate: "estimated departure rate, byte/s"]
        [pkts_in: "packets queued";
         overlimit: "packets dropped at the limit";
         dropped: "packets dropped at random";
         maxq: "longest queue so far, packets";
         ecn_mark: "packets marked instead of dropped"]
    },
    initial: || Spec::single(1000, PieParams::default()),
    ..Kind::BARE
};

pub(super) const FQ_PIE: Kind = Kind {
    name: "fq_pie",
    summary: "flow queues in turn, sparse flows first, each with its own PIE",
    source: "RFC 8033 and RFC 8290; tc-fq_pie(8)",
    linux: Some("sch_fq_pie"),
    example: "fq_pie limit 10240 flows 1024 target 15ms tupdate 15ms ecn",
    options: &[
        FLOW_LIMIT,
        FLOWS,
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        quantum(Unit::Bytes),
        MEMORY_LIMIT,
        ECN_PROB,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        LAW,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    stats: stats! {
        [pkts_in: "packets queued";
         overlimit: "packets dropped at the packet limit";
         overmemory: "packets dropped at the memory limit";
         dropped: "packets dropped at random";
         ecn_mark: "packets marked instead of dropped"]
        ..NEW_FLOW_COUNT, NEW_FLOWS_LEN, OLD_FLOWS_LEN, MEMORY_USED, BULK_FLOWS,
        WAY_INDIRECT_HITS, WAY_MISSES, WAY_COLLISIONS, ACK_DROPS
    },
    initial: || Spec::flows(FlowParams::default(), PieParams::default()),
    moved: &[("quantum", "target")],
    ..Kind::BARE
};
