//! RED's row.

use super::common::{ecn, set_limit};
use crate::params::{Limit, RedLaw, RedParams, RedUnit, RedWeight};
use crate::red_wlog;
use crate::spec::{Part, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{
    Access, Amount, COUNT, Datum, Opt, RATE, SIZE, Unit, When, also, field, from, kept, opt,
    options, ours, plain, required, stats, when,
};
use alloc::format;
use alloc::string::ToString;

/// One of the lengths that are all in bytes or all in packets.
const fn length(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::BytesOrPackets, 1..=SIZE, access, meaning)
}

fn in_unit(unit: RedUnit, length: u64) -> Amount {
    match unit {
        RedUnit::Bytes => Amount::Number(length),
        RedUnit::Packets => Amount::Packets(length),
    }
}

/// An option that tc does not report.
const fn untold(opt: Opt) -> Opt {
    when(opt, When::Always, When::Never)
}

/// A switch that tc reports when it is off too.
const fn told(opt: Opt) -> Opt {
    when(opt, When::On, When::Always)
}

const LIMIT: Opt = length(
    "limit",
    Access {
        get: |spec| match *Limit::of(spec)? {
            Limit::Bytes(bytes) => Some(Amount::Number(bytes)),
            Limit::Packets(packets) => Some(Amount::Packets(packets)),
        },
        set: set_limit,
    },
    "hard limit of the queue",
);
const MIN: Opt = length(
    "min",
    kept!(
        RedParams;
        |red| Some(in_unit(red.unit, red.min));
        |red, amount| red.min = Datum::of(amount)
    ),
    "average length below which no packet is marked or dropped",
);
const MAX: Opt = length(
    "max",
    kept!(
        RedParams;
        |red| Some(in_unit(red.unit, red.max));
        |red, amount| red.max = Datum::of(amount)
    ),
    "average length at which `probability` is reached",
);
options! { RedParams;
    AVPKT: opt(Unit::Bytes, 1..=COUNT) avpkt, "mean size of a packet";
}
const BURST: Opt = opt(
    "burst",
    Unit::Count,
    1..=COUNT,
    kept!(
        RedParams;
        |red| match red.weight {
            RedWeight::Burst(burst) => burst.amount(),
            RedWeight::Exact(_) => None,
        };
        |red, amount| red.weight = RedWeight::Burst(Datum::of(amount))
    ),
    "packets that may pass at once before the average follows",
);
const WEIGHT: Opt = opt(
    "weight",
    Unit::Fraction,
    0..=1,
    kept!(
        RedParams;
        |red| match red.weight {
            RedWeight::Exact(weight) => weight.amount(),
            RedWeight::Burst(_) => None,
        };
        |red, amount| red.weight = RedWeight::Exact(Datum::of(amount))
    ),
    "weight of the newest sample in the average, as q_weight_ of ns-2",
);
options! { RedParams;
    PROBABILITY: fraction probability, "probability of a signal at `max`";
    BANDWIDTH: opt(Unit::Rate, 1..=RATE) bandwidth,
        "rate at which the average decays while the queue is idle";
    HARDDROP: switch(None) harddrop, "with `ecn`: still drop everything above `max`";
    ADAPTIVE: switch(None) adaptive, "adapt `probability` between 1 % and 50 %";
    NODROP: switch(None) nodrop, "with `ecn`: no early drop of packets that are not ECN-capable";
    GENTLE: switch(None) gentle,
        "from `max` to twice `max`, raise the probability to 1 step by step";
    WAIT: switch(None) wait,
        "never signal twice within 1/probability packets, as ns-2 and ns-3 do by default";
    SPARE: switch(None) spare,
        "never signal a packet that finds at most one packet in the queue, as ns-2 and ns-3 do";
    BYTEMODE: switch(None) bytemode,
        "`probability` holds for a packet of `avpkt` bytes, and grows with the size";
    WHOSE: opt(LAWS, 0..=RedLaw::WORDS.len() as u64 - 1) law,
        "meaning of `adaptive`: the paper's adapts; Linux's has no effect with today's tc";
}
const LAWS: Unit = Unit::Word(&RedLaw::WORDS);
const LAW: Opt = ours(when(WHOSE, When::Changed, When::Changed));

/// What is not given follows from what is, as in iproute2.
fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    let unit = unit(given)?;
    if unit == RedUnit::Bytes && !given.has("avpkt") {
        return Err(given.missing("avpkt", "avpkt 1000"));
    }
    let limit = given.number("limit").unwrap_or(0);
    let Some(red) = RedParams::of_mut(spec) else {
        return Ok(());
    };
    let least = given.number("min");
    red.unit = unit;
    red.max = given.number("max").unwrap_or_else(|| match least {
        Some(min) => min.saturating_mul(3),
        None => limit / 4,
    });
    red.min = least.unwrap_or(red.max / 3);
    if red.min > red.max || red.min == 0 {
        let (name, what) = match (least, red.min) {
            (None, 0) => ("limit", "is too small for the default of `min`".to_string()),
            (_, min) => ("max", format!("must not be below `min`, which is {min}")),
        };
        return Err(given.wrong(
            name,
            format!("`{name}` of red {what}"),
            "give `min` and `max` with 0 < min <= max".to_string(),
        ));
    }
    let mean = match unit {
        RedUnit::Bytes => u64::from(red.avpkt),
        RedUnit::Packets => 1,
    };
    red.weight = weight(given, red, mean)?;
    // As in the kernel.
    if red.nodrop && !red.ecn {
        return Err(given.wrong(
            "nodrop",
            "`nodrop` of red has no meaning without `ecn`".to_string(),
            "give `ecn` too, or leave `nodrop` out".to_string(),
        ));
    }
    Ok(())
}

/// The unit of the first of `limit`, `min` and `max`, to which the others must keep.
fn unit(given: &Given<'_>) -> Result<RedUnit, SpecError> {
    let mut unit = None;
    for name in ["limit", "min", "max"] {
        let this = match given.find(name) {
            Some((Amount::Packets(_), _)) => RedUnit::Packets,
            Some(_) => RedUnit::Bytes,
            None => continue,
        };
        if *unit.get_or_insert(this) != this {
            return Err(given.wrong(
                name,
                format!("`{name}` is in another unit than the options before it"),
                "give `limit`, `min` and `max` all in bytes or all in packets (`5p`)".to_string(),
            ));
        }
    }
    Ok(unit.unwrap_or(RedUnit::Bytes))
}

fn weight(given: &Given<'_>, red: &RedParams, mean: u64) -> Result<RedWeight, SpecError> {
    match (given.has("weight"), given.has("burst")) {
        (true, false) => return Ok(red.weight),
        (true, true) => {
            return Err(given.wrong(
                "weight",
                "`weight` and `burst` say the same thing in two ways".to_string(),
                "give one of them".to_string(),
            ));
        }
        (false, _) => {}
    }
    let initial = (2 * u128::from(red.min) + u128::from(red.max)) / (3 * u128::from(mean));
    let burst = match red.weight {
        RedWeight::Burst(burst) if given.has("burst") => burst,
        _ => u32::try_from(initial).unwrap_or(u32::MAX),
    };
    let packets = red.min as f64 / mean as f64;
    if red_wlog(packets, burst).is_some() {
        return Ok(RedWeight::Burst(burst));
    }
    Err(if f64::from(burst) < packets {
        given.wrong(
            "burst",
            format!("`burst` of red is too small: {burst} packets"),
            format!("it must be at least min/avpkt: {}", red.min.div_ceil(mean)),
        )
    } else {
        given.wrong(
            "min",
            "`min` of red is too small: it is not above one mean packet".to_string(),
            format!("it must be more than avpkt, for example {}", mean * 5),
        )
    })
}

pub(super) const RED: Kind = Kind {
    name: "red",
    summary: "random early detection: signals by the average length of the queue",
    source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; tc-red(8)",
    linux: Some("sch_red"),
    example: "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive \
              bandwidth 10Mbit",
    options: &[
        required(LIMIT, "limit 400000"),
        from(MIN, "max / 3"),
        from(MAX, "3 min if min is given, else limit / 4"),
        from(
            plain(untold(AVPKT)),
            "500, as in ns-2, with a limit in packets; required with one in bytes",
        ),
        from(untold(BURST), "(2 min + max) / (3 avpkt)"),
        ours(from(untold(WEIGHT), "`burst`")),
        untold(PROBABILITY),
        untold(BANDWIDTH),
        told(ecn(None, field!(RedParams, ecn))),
        told(HARDDROP),
        also(told(ADAPTIVE), &["adaptative"]),
        told(NODROP),
        ours(GENTLE),
        ours(WAIT),
        ours(SPARE),
        ours(BYTEMODE),
        LAW,
    ],
    absent: &[("qevent", "there are no filter blocks to hand packets to")],
    stats: stats! {
        [marked: "packets marked early";
         early: "packets dropped early";
         pdrop: "packets dropped at the limit";
         other: "packets dropped for other reasons"]
    },
    initial: || Spec::Single {
        limit: Limit::Bytes(0),
        policy: RedParams::default().into(),
    },
    rules,
    moved: &[("adaptive", "ecn")],
    derived: &[
        &["limit"],
        &["min"],
        &["max"],
        &["avpkt"],
        &["burst", "weight"],
    ],
    ..Kind::BARE
};
