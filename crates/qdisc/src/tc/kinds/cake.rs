//! The rows of CAKE, alone and on several queues: bare words in any order.
//!
//! Source: iproute2 `tc/q_cake.c`, `tc-cake(8)`.

use crate::params::{CakeMqParams, CakeParams, CeSelector};
use crate::report::Value;
use crate::spec::{Part, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{
    Amount, Datum, Json, Opt, RATE, Stat, TIME, Unit, When, choice, from, json, kept, opt, options,
    ours, repeats, stat, stats, switch, when,
};
use crate::{AckFilter, DiffServ, Framing, Isolation, LinkLayer, WORKERS};
use alloc::format;
use alloc::string::ToString;
use sojourn_units::{Rate, Span};

/// tc's presets for `rtt`, in microseconds.
const PRESETS: [(&str, u64); 8] = [
    ("internet", 100_000),
    ("datacentre", 100),
    ("lan", 1000),
    ("metro", 10_000),
    ("regional", 30_000),
    ("oceanic", 300_000),
    ("satellite", 1_000_000),
    ("interplanetary", 1_000_000_000),
];

/// tc counts in bytes per second; what is below one is unlimited.
const LEAST: Rate = Rate::from_bps(8);

const BANDWIDTH: Opt = opt(
    "bandwidth",
    Unit::Rate,
    0..=RATE,
    kept!(
        CakeParams;
        |cake| cake.bandwidth.amount().or(Some(Amount::Word("unlimited")));
        |cake, amount| {
            cake.bandwidth = Some(Rate::of(amount)).filter(|rate| *rate >= LEAST);
            cake.autorate = false;
        }
    ),
    "rate of the shaper",
);
const UNLIMITED: Opt = switch(
    "unlimited",
    None,
    kept!(
        CakeParams;
        |_cake| None;
        |cake, _amount| (cake.bandwidth, cake.autorate) = (None, false)
    ),
    "no shaper: the link below holds packets back",
);
options! { CakeParams;
    AUTORATE: switch(None) autorate as "autorate-ingress",
        "follow the rate at which packets arrive";
    TINS_BY: choice(&DiffServ::WORDS) diffserv as "diffserv3",
        "tins by DSCP; a tin keeps its priority up to its share of the rate";
    ISOLATION: choice(&Isolation::WORDS) isolation as "triple-isolate",
        "what a flow is, and between which hosts the rate is shared before their flows";
    NAT: switch(Some("nonat")) nat,
        "use the addresses inside a network address translation, where the world knows them";
    WASH: switch(Some("nowash")) wash, "clear the DSCP of every packet";
    INGRESS: switch(Some("egress")) ingress,
        "with `ingress`, packets have crossed the link already, so dropped ones count too";
    ACKS: choice(&AckFilter::WORDS) ack_filter as "no-ack-filter",
        "drop ACKs that a newer ACK replaces";
    SPLIT_GSO: switch(Some("no-split-gso")) split_gso as "split-gso",
        "cut super-packets into their segments";
    RTT: opt(Unit::Time, 1000..=TIME) rtt,
        "round-trip time that the AQM is tuned for; its target is a twentieth";
}
options! { CakeParams;
    CE_THRESHOLD: time ce_threshold,
        "mark every ECN-capable packet that waited longer than this, beside COBALT's signals";
}
/// Nothing without a threshold, as of fq_codel.
const CE_SELECTOR: Opt = opt(
    "ce_threshold_selector",
    Unit::Word(&CeSelector::WORDS),
    0..=CeSelector::WORDS.len() as u64 - 1,
    kept!(
        CakeParams;
        |cake| match (cake.ce_threshold, cake.ce_selector) {
            (None, _) | (_, CeSelector::All) => None,
            (_, selector) => selector.amount(),
        };
        |cake, amount| cake.ce_selector = Datum::of(amount)
    ),
    "packets that `ce_threshold` marks, by value and mask of the ECN field: all, ECT(1) (L4S) or \
     ECT(0)",
);
options! { CakeMqParams;
    QUEUES: opt(Unit::Count, 1..=WORKERS as u64) queues,
        "number of queues for the flows; in Linux, that of the device";
}
const RTT_BY_NAME: Opt = choice(
    "internet",
    &first_of(PRESETS),
    kept!(
        CakeParams;
        |_cake| None;
        |cake, amount| cake.rtt = Span::from_micros(PRESETS[amount.number() as usize].1)
    ),
    "`rtt` by name, 100us to 1000s",
);
const LINK: Opt = choice(
    "raw",
    &LinkLayer::WORDS,
    kept!(
        CakeParams;
        |cake| cake.link.raw.then_some(Amount::Word("raw"));
        |cake, amount| cake.link.apply(LinkLayer::WORDS[amount.number() as usize])
    ),
    "overhead of common links; words may follow each other, and overheads add up",
);
/// tc shows it where the header of the link does not count.
const CELLS: Opt = choice(
    "noatm",
    &Framing::WORDS,
    kept!(
        CakeParams;
        |cake| {
            let is_shown = !cake.link.raw || cake.link.framing != Framing::None;
            cake.link.framing.amount().filter(|_| is_shown)
        };
        |cake, amount| cake.link.framing = Datum::of(amount)
    ),
    "cells of the link: 48 bytes in 53 or 64 in 65",
);
options! { CakeParams;
    OVERHEAD: opt(Unit::Signed(-64, 256), 0..=0) link.overhead as "overhead",
        "bytes added to each packet, from its network header";
    MPU: opt(Unit::Count, 0..=256) link.mpu as "mpu", "smallest size of a packet on the link";
    MEMLIMIT: size memlimit,
        "memory limit; above it the longest queue of all tins drops its head";
    FWMARK: opt(Unit::Mask, 0..=u32::MAX as u64) fwmark,
        "bits of the firewall mark that select a tin; 1 is the first tin shown";
}

/// The names of a table.
const fn first_of<const N: usize>(table: [(&'static str, u64); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = table[i].0;
        i += 1;
    }
    names
}

/// A switch that tc shows on and off.
const fn both(opt: Opt) -> Opt {
    when(opt, When::Always, When::Words)
}

/// A number that is shown unless it is zero.
const fn on(opt: Opt) -> Opt {
    when(opt, When::On, When::On)
}

fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    if given.has("unlimited") && given.has("bandwidth") && !given.as_tc {
        return Err(given.wrong(
            "unlimited",
            "`bandwidth` and `unlimited` contradict each other".to_string(),
            "give one of them".to_string(),
        ));
    }
    let is_too_slow = |bits: u64| bits > 0 && bits < LEAST.as_bps();
    if given.number("bandwidth").is_some_and(is_too_slow) && !given.as_tc {
        return Err(given.wrong(
            "bandwidth",
            "`bandwidth` of cake is below a byte per second".to_string(),
            "give 8bit at least, or `unlimited` for no shaper".to_string(),
        ));
    }
    // As in tc, whose later words switch it off.
    if given.has("autorate-ingress")
        && !given.as_tc
        && CakeParams::of(spec).is_some_and(|cake| !cake.autorate)
    {
        return Err(given.wrong(
            "autorate-ingress",
            "a rate after `autorate-ingress` switches it off".to_string(),
            "give `autorate-ingress` last, or leave it out".to_string(),
        ));
    }
    // As in tc, `overhead` counts from the network header unless there is a `raw`.
    let Some(cake) = CakeParams::of_mut(spec) else {
        return Ok(());
    };
    if cake.ce_threshold.is_none() {
        cake.ce_selector = CeSelector::All;
    }
    let mut words = overhead_words(given);
    if let Some(first) = words.next() {
        cake.link.raw = first == "raw" || words.any(|word| word == "raw");
    }
    Ok(())
}

/// The words given that set the overhead of a packet.
fn overhead_words<'a>(given: &'a Given<'_>) -> impl Iterator<Item = &'static str> + 'a {
    let words = given
        .options
        .iter()
        .filter_map(|(opt, amount, _)| match opt.name {
            "raw" => Some(LinkLayer::WORDS[amount.number() as usize]),
            "overhead" => Some(opt.name),
            _ => None,
        });
    words.filter(|word| *word != "via-ethernet")
}

/// tc adds the overheads of its words up from zero, whatever runs.
fn renew(given: &Given<'_>, spec: &mut Spec) {
    if let Some(cake) = CakeParams::of_mut(spec)
        && overhead_words(given).next().is_some()
    {
        cake.link.overhead = 0;
    }
}

/// In tc's order.
const OPTIONS: [Opt; COUNT] = [
    from(BANDWIDTH, "unlimited"),
    UNLIMITED,
    json(
        AUTORATE,
        Json::Made("autorate", |spec| {
            let word = || Value::Text("autorate-ingress".to_string());
            CakeParams::of(spec)?.autorate.then(word)
        }),
    ),
    json(TINS_BY, Json::Named("diffserv")),
    json(ISOLATION, Json::Named("flowmode")),
    both(NAT),
    both(WASH),
    when(INGRESS, When::On, When::Always),
    json(
        ACKS,
        Json::Words("ack-filter", &["disabled", "enabled", "aggressive"]),
    ),
    json(both(SPLIT_GSO), Json::Named("split_gso")),
    RTT,
    RTT_BY_NAME,
    repeats(json(
        LINK,
        Json::Made("raw", |spec| {
            Some(Value::Bool(CakeParams::of(spec)?.link.raw))
        }),
    )),
    json(
        CELLS,
        Json::Made("atm", |spec| {
            let link = CakeParams::of(spec)?.link;
            let word = link.framing.word().to_string();
            let is_told = !link.raw || link.framing != Framing::None;
            is_told.then_some(Value::Text(word))
        }),
    ),
    from(OVERHEAD, "0"),
    on(MPU),
    from(MEMLIMIT, "4 times rate and rtt, at least 4Mb"),
    // As text, and zero without a prefix: tc's way.
    json(
        on(from(FWMARK, "0: only the DSCP selects")),
        Json::Made("fwmark", |spec| {
            let mask = match CakeParams::of(spec)?.fwmark {
                0 => "0".to_string(),
                mask => format!("{mask:#x}"),
            };
            Some(Value::Text(mask))
        }),
    ),
    ours(when(CE_THRESHOLD, When::Changed, When::Changed)),
    ours(when(CE_SELECTOR, When::Changed, When::Changed)),
];
/// The same of `cake_mq`.
const MQ_OPTIONS: [Opt; COUNT] = {
    let mut options = OPTIONS;
    options[AUTORATE_AT] = ours(QUEUES);
    options
};
/// Where the option is that no queue alone could follow.
const AUTORATE_AT: usize = 2;
/// How many there are.
const COUNT: usize = 20;

/// tc's other word for a mode.
const SYNONYMS: &[(&str, &str)] = &[("diffserv", "diffserv4")];

/// What `tc -s` has of either kind, and what else.
macro_rules! own_stats {
    ($($more:ident)?) => {
        stats! {
            [memory_used: "largest memory used so far, bytes";
             memory_limit: "memory limit, bytes";
             capacity_estimate: "rate of the shaper, or of arrivals with autorate-ingress";
             min_network_size: "smallest packet before compensation";
             max_network_size: "largest packet before compensation";
             min_adj_size: "smallest packet on the link";
             max_adj_size: "largest packet on the link";
             avg_hdr_offset: "bytes before the network header"]
            ..TINS $(, $more)?
        }
    };
}

pub(super) const CAKE: Kind = Kind {
    name: "cake",
    summary: "shaper without bursts, DiffServ tins, host-fair flow queues and COBALT in one",
    source: "Piece of CAKE (2018); tc-cake(8)",
    linux: Some("sch_cake"),
    example: "cake bandwidth 20mbit diffserv4 docsis ack-filter",
    options: &OPTIONS,
    stats: own_stats!(),
    initial: || Spec::Cake(CakeParams::default()),
    rules,
    synonyms: SYNONYMS,
    once: &["internet"],
    renew,
    ..Kind::BARE
};

pub(super) const CAKE_MQ: Kind = Kind {
    name: "cake_mq",
    summary: "cake on several queues, one for each core, that share its rate by their needs",
    source: "tc-cake_mq(8), Linux 7.0",
    example: "cake_mq queues 4 bandwidth 1gbit",
    options: &MQ_OPTIONS,
    absent: &[(
        "autorate-ingress",
        "leave it out: no queue sees all arrivals; Linux refuses it too",
    )],
    stats: own_stats!(PARTS),
    initial: || Spec::CakeMq {
        mq: CakeMqParams::default(),
        cake: CakeParams::default(),
    },
    rules,
    synonyms: SYNONYMS,
    once: &["internet"],
    renew,
    ..Kind::BARE
};

const PARTS: Stat = stat(
    "queues",
    "for each queue: share_rate (its part of the rate), bytes, packets, drops, backlog, qlen",
);

const TINS: Stat = stat(
    "tins",
    "for each tin: threshold_rate, delays (peak, average, base), packets, bytes, ways, drops, \
     marks, flows, quantum",
);
