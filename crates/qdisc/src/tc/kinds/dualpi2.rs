//! DualPI2's row.

use crate::params::{DualDrop, DualMask, DualOverload, DualPi2Params};
use crate::spec::Spec;
use crate::tc::kind::Kind;
use crate::tc::opt::{
    Access, Amount, COUNT, Json, Opt, SIZE, Stat, Style, TIME, Unit, When, choice, field, first,
    from, json, kept, opt, options, stat, styled, when,
};

/// Largest `alpha` and `beta` in Hz: in 1/256 Hz the kernel takes 31 bits.
const MOST_HZ: u64 = (1 << 23) - 1;

/// A weight: in Hz for people, kept in 1/256 Hz, to which it is cut as tc does.
const fn weight(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Fraction, (0, MOST_HZ), access, meaning)
}

fn steps(amount: Amount) -> u32 {
    match amount {
        Amount::Fraction(hz) => ((hz * 256.0) as u32).max(1),
        other => other.number() as u32,
    }
}

const ALPHA: Opt = weight(
    "alpha",
    kept!(
        DualPi2Params;
        |dual| Some(Amount::Fraction(f64::from(dual.alpha) / 256.0));
        |dual, amount| dual.alpha = steps(amount)
    ),
    "weight of the delay's deviation, in Hz, to 1/256",
);
const BETA: Opt = weight(
    "beta",
    kept!(
        DualPi2Params;
        |dual| Some(Amount::Fraction(f64::from(dual.beta) / 256.0));
        |dual, amount| dual.beta = steps(amount)
    ),
    "weight of the delay's trend, in Hz, to 1/256",
);
options! { DualPi2Params;
    LIMIT: opt(Unit::Packets, (1, COUNT)) limit, "packets held at most, in both queues";
    MEMLIMIT: opt(Unit::Bytes, (1, SIZE)) memlimit, "memory held at most, in both queues";
    TARGET: opt(Unit::Time, (0, TIME)) target, "delay of the C queue that is steered to";
    TUPDATE: time tupdate, "interval of the probability's updates";
    STEP: opt(Unit::TimeOrPackets, (0, COUNT)) step_thresh,
        "delay, or packets behind it, above which each packet of the L queue is marked";
    MIN_QLEN: opt(Unit::Packets, (0, COUNT)) min_qlen_step,
        "packets that must wait in the L queue for that";
    COUPLING: opt(Unit::Count, (1, 255)) coupling_factor,
        "by how much the L queue's probability is above the base one";
    PROTECTION: opt(Unit::Percent, (0, 100)) classic_protection,
        "the C queue's weight while both queues wait";
    SPLIT_GSO: switch(Some("no_split_gso")) split_gso, "cut super-packets into segments";
}

const OVERLOAD: Opt = choice(
    "drop_on_overload",
    &DualOverload::WORDS,
    field!(DualPi2Params, overload),
    "what happens where the L queue's probability would be above 1: drops in both queues, or marks \
     and a queue that fills",
);
const AT: Opt = choice(
    "drop_dequeue",
    &DualDrop::WORDS,
    field!(DualPi2Params, at),
    "where packets are dropped and marked by the probability",
);
const MASK: Opt = choice(
    "l4s_ect",
    &DualMask::WORDS,
    field!(DualPi2Params, mask),
    "what goes into the L queue: ECT(1) and CE, or all that is ECN-capable",
);

/// In the order and with the names of tc's JSON; its text has underscores.
const STATS: &[Stat] = &[
    first(styled(stat("prob", "base probability"), Style::Float)),
    styled(stat("delay-c", "wait of the C queue's head"), Style::Time),
    styled(stat("delay-l", "wait of the L queue's head"), Style::Time),
    first(stat("pkts-in-c", "packets taken into the C queue")),
    stat("pkts-in-l", "packets taken into the L queue"),
    stat("maxq", "most packets that an arrival found, in both queues"),
    first(stat(
        "ecn-mark",
        "packets marked, by the probability or the step",
    )),
    stat("step-mark", "packets marked by the step"),
    first(stat(
        "credit",
        "credit of the C queue; up to zero the L queue is served",
    )),
    first(stat("memory-used", "memory held")),
    stat("max-memory-used", "most memory held so far"),
    stat("memory-limit", "memory held at most"),
];

pub(super) const DUALPI2: Kind = Kind {
    name: "dualpi2",
    summary: "two queues under one controller: classic traffic, and L4S with a shallow step",
    source: "RFC 9332; tc-dualpi2(8)",
    linux: Some("sch_dualpi2"),
    example: "dualpi2 limit 10000 target 15ms step_thresh 1ms coupling_factor 2",
    options: &[
        LIMIT,
        when(
            json(
                from(MEMLIMIT, "limit packets of twice the MTU"),
                Json::Named("memory-limit"),
            ),
            When::Always,
            When::Changed,
        ),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        json(
            STEP,
            Json::TimeOrPackets("step-thresh-us", "step-thresh-pkts"),
        ),
        json(MIN_QLEN, Json::Named("min-qlen-step")),
        json(COUPLING, Json::Named("coupling")),
        json(
            OVERLOAD,
            Json::Words("drop-overload", &["drop", "overflow"]),
        ),
        json(
            AT,
            Json::Words("drop-early", &["drop-dequeue", "drop-enqueue"]),
        ),
        json(PROTECTION, Json::Named("c-protection")),
        json(MASK, Json::Words("ecn-mask", &["l4s-ect", "any-ect"])),
        json(
            when(SPLIT_GSO, When::Words, When::Words),
            Json::Named("split-gso"),
        ),
    ],
    stats: STATS,
    initial: || Spec::DualPi2(DualPi2Params::default()),
    ..Kind::BARE
};
