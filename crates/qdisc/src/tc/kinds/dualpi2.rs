//! DualPI2's row.

use crate::params::{DualDrop, DualLaw, DualMask, DualOverload, DualPi2Params};
use crate::spec::Spec;
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{
    Access, Amount, COUNT, Json, Opt, SIZE, Stat, Style, TIME, Unit, When, choice, field, first,
    from, json, kept, opt, options, ours, stat, styled, when,
};
use alloc::format;
use alloc::string::ToString;
use sojourn_units::Span;

/// Largest `alpha` and `beta` in Hz: in 1/256 Hz the kernel takes 31 bits.
const MOST_HZ: u64 = (1 << 23) - 1;

/// A weight: in Hz for people, kept in 1/256 Hz, to which it is cut as tc does.
const fn weight(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Fraction, 0..=MOST_HZ, access, meaning)
}

fn steps(amount: Amount) -> u32 {
    match amount {
        Amount::Fraction(hz) => (hz * 256.0) as u32,
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
    LIMIT: opt(Unit::Packets, 1..=COUNT) limit, "largest number of packets, in both queues \
        together";
    MEMLIMIT: opt(Unit::Bytes, 1..=SIZE) memlimit, "memory limit of both queues together";
    TARGET: opt(Unit::Time, 0..=TIME) target, "target delay of the C queue";
    TUPDATE: time tupdate, "interval of the probability's updates";
    STEP: opt(Unit::TimeOrPackets, 0..=COUNT) step_thresh,
        "delay, or packets behind it, above which every packet of the L queue is marked";
    MIN_QLEN: opt(Unit::Packets, 0..=COUNT) min_qlen_step,
        "packets that must wait in the L queue before the step marks";
    COUPLING: opt(Unit::Count, 1..=255) coupling_factor,
        "ratio of the L queue's probability to the base probability";
    PROTECTION: opt(Unit::Percent, 0..=100) classic_protection,
        "weight of the C queue while packets wait in both queues";
    SPLIT_GSO: switch(Some("no_split_gso")) split_gso, "cut super-packets into segments";
    WHOSE: opt(LAWS, 0..=DualLaw::WORDS.len() as u64 - 1) law,
        "rules for signals: Linux marks the L queue by a step and signals at random; RFC 9332 \
        marks it by a ramp, signals each n-th packet, and also signals in a short queue (its own \
        values are tupdate 15ms alpha 0.15 beta 3 min_qlen_step 1 classic_protection 6)";
    RAMP: time ramp, "with `law rfc9332`: delay of the L queue from which the ramp rises from 0";
    RAMP_RANGE: opt(Unit::Time, 0..=TIME) ramp_range,
        "with `law rfc9332`: delay in which it rises to 1";
}
const LAWS: Unit = Unit::Word(&DualLaw::WORDS);

const OVERLOAD: Opt = choice(
    "drop_on_overload",
    &DualOverload::WORDS,
    field!(DualPi2Params, overload),
    "when the L queue's probability would exceed 1: drops in both queues, or marks and a queue \
     that fills",
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
    "packets that enter the L queue: ECT(1) and CE, or all ECN-capable ones",
);

/// As iproute2: the round trips say what is steered to, how often and how hard.
const TYPICAL: Opt = rtt(
    "typical_rtt",
    "typical round-trip time: sets `target`, `tupdate`, `alpha` and `beta`, in their place",
);
const LONGEST: Opt = rtt(
    "max_rtt",
    "longest round-trip time, six times the typical one: sets the same options",
);

/// A round trip, of which nothing is kept.
const fn rtt(name: &'static str, meaning: &'static str) -> Opt {
    from(
        opt(name, Unit::Time, 1000..=TIME, Access::NONE, meaning),
        "none",
    )
}

fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    let Spec::DualPi2(dual) = spec else {
        return Ok(());
    };
    if dual.law == DualLaw::Rfc9332 && dual.at == DualDrop::Enqueue {
        return Err(given.wrong(
            "law",
            "`law rfc9332` of dualpi2 judges packets that leave, not those that arrive".to_string(),
            "leave `drop_enqueue` out".to_string(),
        ));
    }
    by_round_trips(given, dual)?;
    for (name, weight) in [("alpha", dual.alpha), ("beta", dual.beta)] {
        if weight == 0 {
            return Err(given.wrong(
                name,
                format!("`{name}` of dualpi2 is too small: it is kept in 1/256 Hz, cut to 0"),
                "give 0.00390625 or more".to_string(),
            ));
        }
    }
    Ok(())
}

/// What iproute2 makes of round trips, in its microseconds.
fn by_round_trips(given: &Given<'_>, dual: &mut DualPi2Params) -> Result<(), SpecError> {
    let micros = |name| given.number(name).map(|nanos: u64| nanos / 1000);
    let (name, typical, longest) = match (micros("typical_rtt"), micros("max_rtt")) {
        (None, None) => return Ok(()),
        (Some(typical), Some(longest)) => ("max_rtt", typical, longest),
        (Some(typical), None) => ("typical_rtt", typical, typical.saturating_mul(6)),
        (None, Some(longest)) => ("max_rtt", (longest / 6).max(1), longest),
    };
    if typical > longest {
        return Err(given.wrong(
            "typical_rtt",
            "`typical_rtt` of dualpi2 is above `max_rtt`".to_string(),
            "give the longer one as `max_rtt`".to_string(),
        ));
    }
    if let Some(set) = ["target", "tupdate", "alpha", "beta"]
        .into_iter()
        .find(|set| given.has(set))
    {
        return Err(given.wrong(
            set,
            format!("`{set}` of dualpi2 stands beside `{name}`, which sets it too"),
            format!("leave `{set}` out, which tc would ignore here, or `{name}`"),
        ));
    }
    let tupdate = typical.min(longest / 3).max(1);
    dual.target = Span::from_micros(typical);
    dual.tupdate = Span::from_micros(tupdate);
    // tc's tenths are of single precision.
    let (tenth, three) = (f64::from(0.1_f32), f64::from(0.3_f32));
    let (tupdate, longest) = (tupdate as f64, longest as f64);
    let weight = |hz: f64| (hz * 256.0) as u32;
    dual.alpha = weight(tupdate / longest / longest * 1e6 * tenth);
    dual.beta = weight(three / longest * 1e6);
    if dual.alpha == 0 || dual.beta == 0 {
        return Err(given.wrong(
            name,
            format!("`{name}` of dualpi2 is too long: alpha or beta would be cut to 0"),
            "a round trip of 4.26 s at most goes, a typical one of 0.71 s".to_string(),
        ));
    }
    Ok(())
}

/// In the order and with the names of tc's JSON; its text has underscores.
const STATS: &[Stat] = &[
    first(styled(stat("prob", "base probability"), Style::Float)),
    styled(stat("delay-c", "delay of the C queue's head"), Style::Time),
    styled(stat("delay-l", "delay of the L queue's head"), Style::Time),
    first(stat("pkts-in-c", "packets taken into the C queue")),
    stat("pkts-in-l", "packets taken into the L queue"),
    stat(
        "maxq",
        "largest number of packets that an arrival found, in both queues",
    ),
    first(stat(
        "ecn-mark",
        "packets marked, by the probability or the step",
    )),
    stat("step-mark", "packets marked by the step"),
    first(stat(
        "credit",
        "credit of the C queue; up to zero the L queue is served",
    )),
    first(stat("memory-used", "memory used")),
    stat("max-memory-used", "largest memory used so far"),
    stat("memory-limit", "memory limit"),
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
        TYPICAL,
        LONGEST,
        ours(when(WHOSE, When::Changed, When::Changed)),
        ours(when(RAMP, When::Changed, When::Changed)),
        ours(when(RAMP_RANGE, When::Changed, When::Changed)),
    ],
    stats: STATS,
    initial: || Spec::DualPi2(DualPi2Params::default()),
    rules,
    ..Kind::BARE
};
