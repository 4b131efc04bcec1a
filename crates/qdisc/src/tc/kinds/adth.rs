//! ADTH's rows.

use super::common::LIMIT as QUEUE;
use super::flows::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, DROP_OVERLIMIT, DROP_OVERMEMORY, FLOW_LIMIT, FLOWS,
    ISOLATION, MEMORY_LIMIT, MEMORY_USED, NAT, NEW_FLOW_COUNT, NEW_FLOWS_LEN, OLD_FLOWS_LEN,
    WAY_COLLISIONS, WAY_INDIRECT_HITS, WAY_MISSES, quantum,
};
use crate::params::{AdthParams, End, FifoParams, FlowParams};
use crate::spec::{Part, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{
    Access, Amount, COUNT, Datum, Opt, Unit, When, first, from, opt, options, over, stats, when,
};
use alloc::format;
use alloc::string::ToString;
use sojourn_units::{Span, show_span};

const ENDS: Unit = Unit::Word(&["head", "tail"]);

impl Datum for End {
    fn amount(self) -> Option<Amount> {
        Some(Amount::Word(if self == Self::Head {
            "head"
        } else {
            "tail"
        }))
    }

    fn of(amount: Amount) -> Self {
        if amount.number() == 0 {
            Self::Head
        } else {
            Self::Tail
        }
    }
}

options! { AdthParams;
    TARGET: time target, "highest wanted nodal delay (queue and access to the link)";
    SAMPLING: time sampling,
        "interval of the limit's changes: a quarter of the target, at most half of it";
    MIN: opt(Unit::Packets, 1..=COUNT) min, "smallest limit";
    MAX: opt(Unit::Packets, 1..=COUNT) max, "largest limit of a flow";
    FMIN: fraction fmin, "smallest queue length factor";
    FMAX: opt(Unit::Fraction, 0..=100) fmax, "largest queue length factor";
    DROP: opt(ENDS, 0..=1) drop, "end at which packets above a new limit are dropped";
    FULL: opt(ENDS, 0..=1) full,
        "what a full queue drops: its oldest packet, or the one that arrives";
    PURGE: switch(Some("nopurge")) purge,
        "drop packets above a new limit at once; otherwise each arrival replaces one packet";
}
const SAMPLES: Opt = from(SAMPLING, "a quarter of `target`");
/// Of the queue, and of what moves below it.
const LIMIT: Opt = opt(
    "limit",
    Unit::Packets,
    1..=COUNT,
    Access {
        get: QUEUE.access.get,
        set: |spec, amount| {
            (QUEUE.access.set)(spec, amount);
            if let Some(adth) = AdthParams::of_mut(spec) {
                adth.max = u32::of(amount);
            }
        },
    },
    "largest number of packets, whatever the delay",
);
const PURGES: Opt = when(PURGE, When::Always, When::Words);
const OVER: Opt = from(
    over("`pfifo_head_drop` for `full head`, `pfifo` for `full tail`; must come last"),
    "pfifo",
);

/// The interval follows from the target; the ranges of factor and limit are ranges; `over` is
/// another word for `full` and `limit`.
fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    let Some(adth) = AdthParams::of_mut(spec) else {
        return Ok(());
    };
    if !given.has("sampling") {
        adth.sampling = Span::from_nanos((adth.target.as_nanos() / 4).max(1));
    }
    if adth.sampling > adth.target {
        return Err(given.wrong(
            "sampling",
            format!("`sampling` of {} is longer than `target`", given.kind.name),
            format!("it can be up to {}", show_span(adth.target)),
        ));
    }
    if adth.fmin > adth.fmax {
        return Err(given.wrong(
            "fmin",
            format!("`fmin` of {} is above `fmax`", given.kind.name),
            format!("it can be up to {}", adth.fmax),
        ));
    }
    if adth.min > adth.max {
        return Err(given.wrong(
            "min",
            format!("`min` of {} is above its limit", given.kind.name),
            format!("it can be up to {}", adth.max),
        ));
    }
    let (end, packets) = match &given.inner {
        None => return Ok(()),
        Some(Spec::Fifo(FifoParams::HeadDrop(packets))) => (End::Head, *packets),
        Some(Spec::Fifo(FifoParams::Packets(packets))) => (End::Tail, *packets),
        Some(other) => {
            return Err(given.wrong(
                "over",
                format!("adth does not bound {}", other.name()),
                "it can be pfifo or pfifo_head_drop".to_string(),
            ));
        }
    };
    adth.full = end;
    if !given.has("limit") && packets >= adth.min {
        (LIMIT.access.set)(spec, Amount::Number(packets.into()));
    }
    Ok(())
}

pub(super) const ADTH: Kind = Kind {
    name: "adth",
    summary: "adaptive dynamic threshold: moves a FIFO's limit to meet a target of node delay",
    source: "ADTH, queue management for delay-sensitive traffic over ad hoc radios; not in tc",
    example: "adth target 200ms sampling 50ms limit 1000 full head",
    options: &[
        LIMIT, TARGET, SAMPLES, MIN, FMIN, FMAX, DROP, FULL, PURGES, OVER,
    ],
    stats: stats! {
        [threshold: "limit in force, packets";
         factor as Float: "queue length factor";
         nodal_delay as Time: "mean nodal delay in the last interval with a packet that waited";
         mac_delay as Time: "mean time between departures while packets waited, in the same";
         throughput as Rate: "rate of departures in the last interval"]
        [purged: "packets dropped because the limit fell";
         drop_overlimit: "packets dropped because the queue was full"]
    },
    initial: || Spec::single(1000, AdthParams::default()),
    rules,
    derived: &[&["sampling"]],
    ..Kind::BARE
};

pub(super) const FQ_ADTH: Kind = Kind {
    name: "fq_adth",
    summary: "flow queues in turn, sparse flows first, each with its own ADTH",
    source: "RFC 8290; ADTH; not in tc",
    example: "fq_adth limit 10240 flows 1024 target 200ms sampling 50ms",
    options: &[
        FLOW_LIMIT,
        FLOWS,
        quantum(Unit::Bytes),
        TARGET,
        SAMPLES,
        MIN,
        MAX,
        FMIN,
        FMAX,
        DROP,
        FULL,
        PURGES,
        MEMORY_LIMIT,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    stats: stats! {
        ..first(DROP_OVERLIMIT), DROP_OVERMEMORY, NEW_FLOW_COUNT, MEMORY_USED, NEW_FLOWS_LEN,
        OLD_FLOWS_LEN, BULK_FLOWS, WAY_INDIRECT_HITS, WAY_MISSES, WAY_COLLISIONS, ACK_DROPS
    },
    initial: || Spec::flows(FlowParams::default(), AdthParams::default()),
    rules,
    derived: &[&["sampling"]],
    ..Kind::BARE
};
