//! TBF's row.

use crate::params::{FifoParams, TbfParams};
use crate::report::Value;
use crate::spec::{Part, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{
    Access, Amount, Json, Opt, SIZE, TIME, Unit, When, also, from, json, kept, opt, options, ours,
    over, plain, required, when,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use sojourn_units::{Span, show_rate, show_size};

options! { TbfParams;
    RATE_OF_TOKENS: rate rate, "rate of the bucket's tokens";
    BURST: size burst, "size of the bucket; longer packets are dropped";
    PEAKRATE: rate peakrate, "rate of a second, small bucket";
    MTU: size mtu, "size of the second bucket; longer packets are dropped";
}
/// A bucket holds what its bytes are on the link, with `overhead` and cells.
const FULL: Json = Json::Made("burst", |spec| {
    let tbf = TbfParams::of(spec)?;
    Some(int(tbf.size(tbf.burst)))
});
/// tc reports it beside a peak rate only.
const MINBURST: Json = Json::Made("minburst", |spec| {
    let tbf = TbfParams::of(spec).filter(|tbf| tbf.peakrate.is_some())?;
    tbf.mtu.map(|mtu| int(tbf.size(mtu)))
});
const LIMIT: Opt = {
    let meaning = "bytes waiting for tokens at most";
    let access = Access {
        get: |spec| limit(spec).map(Amount::Number),
        ..Access::NONE
    };
    let told = Json::Made("limit", |spec| match latency(spec) {
        Some(_) => None,
        None => limit(spec).map(int),
    });
    json(opt("limit", Unit::Bytes, 1..=SIZE, access, meaning), told)
};
/// What tc reports of a limit, in its own unit.
const LATENCY: Opt = {
    let meaning = "time that a packet waits for tokens at most; sets the limit";
    let opt = opt("latency", Unit::Time, 1..=TIME, Access::NONE, meaning);
    let told = Json::Made("lat", |spec| latency(spec).map(Span::as_micros).map(int));
    json(opt, told)
};
options! { TbfParams;
    MPU: opt(Unit::Bytes, 0..=65_535) mpu, "smallest size that a packet is charged with";
    OVERHEAD: opt(Unit::Bytes, 0..=65_535) overhead,
        "bytes added to each packet before it is charged";
}
const LINKLAYER: Opt = opt(
    "linklayer",
    Unit::Word(&LAYERS),
    0..=2,
    kept!(
        TbfParams;
        |tbf| Some(Amount::Word(LAYERS[usize::from(tbf.atm)]));
        |tbf, amount| tbf.atm = amount.number() > 0
    ),
    "framing of the link below: with atm (or adsl) 53 bytes are charged for each 48 begun",
);
const LAYERS: [&str; 3] = ["ethernet", "atm", "adsl"];
const OVER: Opt =
    over("the discipline that holds the packets, instead of `limit` or `latency`; must come last");

fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Bytes that a plain shaper holds.
fn limit(spec: &Spec) -> Option<u64> {
    let Spec::Tbf { inner, .. } = spec else {
        return None;
    };
    match **inner {
        Spec::Fifo(FifoParams::Bytes(limit)) => Some(limit),
        _ => None,
    }
}

/// Longest time that a packet waits: for what the limit has above a full bucket. None when the
/// limit is below both buckets.
fn latency(spec: &Spec) -> Option<Span> {
    let (tbf, limit) = (TbfParams::of(spec)?, limit(spec)?);
    let above = |bucket: u64| limit.checked_sub(bucket);
    let rate = above(tbf.size(tbf.burst)).map(|bytes| tbf.rate.time_for(bytes));
    let peak = tbf
        .peakrate
        .zip(tbf.mtu)
        .and_then(|(peak, mtu)| above(tbf.size(mtu)).map(|bytes| peak.time_for(bytes)));
    rate.max(peak)
}

/// tc's rule: what comes at the rate in `latency`, and a full bucket; the least of both
/// buckets.
fn waiting_bytes(tbf: &TbfParams, latency: Span) -> u64 {
    let bytes = tbf.rate.bytes_in(latency).saturating_add(tbf.burst);
    match (tbf.peakrate, tbf.mtu) {
        (Some(peak), Some(mtu)) => bytes.min(peak.bytes_in(latency).saturating_add(mtu)),
        _ => bytes,
    }
}

fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    let tbf = TbfParams::of(spec).copied().unwrap_or_default();
    if tbf.peakrate.is_some() && tbf.mtu.is_none() {
        return Err(given.missing("mtu", "mtu 1540"));
    }
    if tbf.peakrate.is_some_and(|peak| peak <= tbf.rate) {
        return Err(given.wrong(
            "peakrate",
            format!(
                "`peakrate` is not above `rate`, which is {}",
                show_rate(tbf.rate)
            ),
            "the second bucket bounds how fast a full first one is sent".to_string(),
        ));
    }
    let inner = Box::new(inner(given, &tbf)?);
    *spec = Spec::Tbf { tbf, inner };
    Ok(())
}

fn inner(given: &Given<'_>, tbf: &TbfParams) -> Result<Spec, SpecError> {
    let limit = given.number("limit");
    let latency = given.span("latency");
    match (limit, latency, &given.inner) {
        (Some(limit), None, None) => Ok(Spec::bfifo(limit)),
        (None, Some(latency), None) => {
            let limit = waiting_bytes(tbf, latency);
            if limit > LIMIT.max {
                return Err(given.wrong(
                    "latency",
                    format!("`latency` gives a limit of {}", show_size(limit)),
                    format!("at most {} can wait", show_size(LIMIT.max)),
                ));
            }
            Ok(Spec::bfifo(limit))
        }
        (None, None, Some(inner)) => Ok(inner.clone()),
        (None, None, None) => Err(given.lacks(
            "limit",
            "tbf needs `limit`, `latency` or `over`".to_string(),
            "for example `latency 50ms` or `over fq_codel`".to_string(),
        )),
        (Some(_), Some(_), _) => Err(given.wrong(
            "latency",
            "tbf cannot have both `limit` and `latency`".to_string(),
            "give one of them".to_string(),
        )),
        (_, latency, Some(_)) => {
            let name = latency.map_or("limit", |_| "latency");
            Err(given.wrong(
                name,
                format!("tbf cannot have both `{name}` and `over`"),
                "the discipline after `over` has its own limit".to_string(),
            ))
        }
    }
}

pub(super) const TBF: Kind = Kind {
    name: "tbf",
    summary: "token bucket: limits another discipline to a rate",
    source: "tc-tbf(8)",
    linux: Some("sch_tbf"),
    example: "tbf rate 20mbit burst 5kb latency 50ms",
    options: &[
        required(RATE_OF_TOKENS, "rate 20mbit"),
        also(
            json(required(BURST, "burst 5kb"), FULL),
            &["buffer", "maxburst"],
        ),
        PEAKRATE,
        also(
            json(from(MTU, "none; required with `peakrate`"), MINBURST),
            &["minburst"],
        ),
        from(LIMIT, "`latency`"),
        also(from(LATENCY, "`limit`"), &["lat"]),
        plain(when(MPU, When::On, When::Never)),
        plain(when(OVERHEAD, When::On, When::On)),
        when(LINKLAYER, When::Changed, When::Changed),
        ours(from(OVER, "a bfifo with tbf's limit")),
    ],
    initial: || Spec::Tbf {
        tbf: TbfParams::default(),
        inner: Box::new(Spec::bfifo(0)),
    },
    rules,
    moved: &[
        ("mpu", "limit"),
        ("overhead", "limit"),
        ("linklayer", "limit"),
    ],
    once: &[
        "rate", "burst", "peakrate", "mtu", "limit", "latency", "mpu", "overhead",
    ],
    derived: &[&["limit", "latency", "over"]],
    ..Kind::BARE
};
