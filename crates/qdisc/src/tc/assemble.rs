//! From the options given to the parameters of each discipline: tc's defaults and the rules
//! that join several options.

use super::error::SpecError;
use super::parse::{Amount, Given, end_of, error};
use crate::params::{
    CobaltParams, CodelParams, FlowParams, GspParams, HtbParams, PieParams, RedParams, RedUnit,
    RedWeight, SteerParams, TbfParams,
};
use crate::red_wlog;
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use sojourn_units::{Rate, Span, show_size, show_span};

impl Given<'_> {
    pub(super) fn codel(&self, ecn: bool) -> CodelParams {
        let initial = CodelParams::default();
        CodelParams {
            target: self.span("target").unwrap_or(initial.target),
            interval: self.span("interval").unwrap_or(initial.interval),
            ecn: self.switch("ecn", ecn),
            ce_threshold: self.span("ce_threshold"),
        }
    }

    pub(super) fn cobalt(&self) -> CobaltParams {
        let initial = CobaltParams::default();
        CobaltParams {
            target: self.span("target").unwrap_or(initial.target),
            interval: self.span("interval").unwrap_or(initial.interval),
            ecn: self.switch("ecn", initial.ecn),
            ..initial
        }
    }

    pub(super) fn pie(&self) -> PieParams {
        let initial = PieParams::default();
        PieParams {
            target: self.span("target").unwrap_or(initial.target),
            tupdate: self.span("tupdate").unwrap_or(initial.tupdate),
            alpha: self.count("alpha", initial.alpha),
            beta: self.count("beta", initial.beta),
            ecn: self.switch("ecn", initial.ecn),
            ecn_limit: self
                .number("ecn_prob")
                .map_or(initial.ecn_limit, |percent| percent as f64 / 100.0),
            bytemode: self.switch("bytemode", initial.bytemode),
            dq_rate_estimator: self.switch("dq_rate_estimator", initial.dq_rate_estimator),
        }
    }

    pub(super) fn gsp(&self) -> Result<GspParams, SpecError> {
        let initial = GspParams::default();
        let interval = self.span("interval").unwrap_or(initial.interval);
        let min_interval = self.span("min_interval");
        if min_interval.is_some_and(|least| least > interval) {
            return Err(self.wrong(
                "min_interval",
                format!(
                    "`min_interval` of {} is longer than `interval`",
                    self.kind.name
                ),
                format!("it can be up to {}", show_span(interval)),
            ));
        }
        Ok(GspParams {
            threshold: self.span("threshold").unwrap_or(initial.threshold),
            interval,
            alpha: self.count("alpha", initial.alpha),
            tau: self.span("tau").unwrap_or(initial.tau),
            min_interval: min_interval.unwrap_or(initial.min_interval).min(interval),
            ecn: self.switch("ecn", initial.ecn),
        })
    }

    pub(super) fn steer(self) -> Result<Spec, SpecError> {
        let initial = SteerParams::default();
        let steer = SteerParams {
            rate: self.number("rate").map(Rate::from_bps),
            util: self.count("util", initial.util),
            delay: self.span("delay").unwrap_or(initial.delay),
            ceiling: self.count("ceiling", initial.ceiling),
        };
        if steer.ceiling < steer.util {
            return Err(self.wrong(
                "ceiling",
                format!("`ceiling` is below `util`, which is {} %", steer.util),
                format!("it can be {} to 100 %", steer.util),
            ));
        }
        let mut inner = self.inner.clone().unwrap_or(Spec::Gsp {
            limit: 1000,
            gsp: GspParams::default(),
        });
        if inner.target_mut().is_none() {
            return Err(self.wrong(
                "over",
                format!("{} has no delay target to steer", inner.name()),
                "it can be codel, pie, gsp, fq_codel, fq_pie or fq_gsp".to_string(),
            ));
        }
        Ok(Spec::Steer {
            steer,
            inner: Box::new(inner),
        })
    }

    pub(super) fn flows(&self) -> FlowParams {
        let initial = FlowParams::default();
        FlowParams {
            limit: self.count("limit", initial.limit),
            flows: self.count("flows", initial.flows),
            quantum: self.number("quantum").map(|bytes| bytes as u32),
            memory_limit: self.number("memory_limit").unwrap_or(initial.memory_limit),
            drop_batch: self.count("drop_batch", initial.drop_batch),
            parts: self.parts(),
        }
    }

    pub(super) fn red(&self) -> Result<RedParams, SpecError> {
        let unit = self.red_unit()?;
        let Some(limit) = self.number("limit") else {
            return Err(self.missing("limit", "limit 400000"));
        };
        let avpkt = match (self.number("avpkt"), unit) {
            (Some(bytes), _) => bytes as u32,
            (None, RedUnit::Packets) => 500,
            (None, RedUnit::Bytes) => return Err(self.missing("avpkt", "avpkt 1000")),
        };
        let least = self.number("min");
        let max = self.number("max").unwrap_or_else(|| match least {
            Some(min) => min.saturating_mul(3),
            None => limit / 4,
        });
        let min = least.unwrap_or(max / 3);
        if min > max || min == 0 {
            let (name, what) = match (least, min) {
                (None, 0) => ("limit", "is too small for the default of `min`".to_string()),
                _ => ("max", format!("must not be below `min`, which is {min}")),
            };
            return Err(self.wrong(
                name,
                format!("`{name}` of red {what}"),
                "give `min` and `max` with 0 < min <= max".to_string(),
            ));
        }
        let mean = match unit {
            RedUnit::Bytes => u64::from(avpkt),
            RedUnit::Packets => 1,
        };
        Ok(RedParams {
            unit,
            limit,
            min,
            max,
            avpkt,
            weight: self.red_weight(min, max, mean)?,
            probability: self.fraction("probability").unwrap_or(0.02),
            bandwidth: Rate::from_bps(self.number("bandwidth").unwrap_or(10_000_000)),
            adaptive: self.switch("adaptive", false),
            ecn: self.switch("ecn", false),
            harddrop: self.switch("harddrop", false),
            nodrop: self.switch("nodrop", false),
            gentle: self.switch("gentle", false),
            wait: self.switch("wait", false),
            spare: self.switch("spare", false),
            bytemode: self.switch("bytemode", false),
        })
    }

    /// The unit of the first of `limit`, `min` and `max`, to which the others must keep.
    fn red_unit(&self) -> Result<RedUnit, SpecError> {
        let mut unit = None;
        for name in ["limit", "min", "max"] {
            let this = match self.find(name) {
                Some((Amount::Packets(_), _)) => RedUnit::Packets,
                Some(_) => RedUnit::Bytes,
                None => continue,
            };
            if *unit.get_or_insert(this) != this {
                return Err(self.wrong(
                    name,
                    format!("`{name}` is in another unit than the options before it"),
                    "give `limit`, `min` and `max` all in bytes or all in packets (`5p`)"
                        .to_string(),
                ));
            }
        }
        Ok(unit.unwrap_or(RedUnit::Bytes))
    }

    fn red_weight(&self, min: u64, max: u64, mean: u64) -> Result<RedWeight, SpecError> {
        if let Some(weight) = self.fraction("weight") {
            return match self.find("burst") {
                None => Ok(RedWeight::Exact(weight)),
                Some(_) => Err(self.wrong(
                    "weight",
                    "`weight` and `burst` say the same thing in two ways".to_string(),
                    "give one of them".to_string(),
                )),
            };
        }
        let initial = (2 * u128::from(min) + u128::from(max)) / (3 * u128::from(mean));
        let burst = match self.number("burst") {
            Some(burst) => burst as u32,
            None => u32::try_from(initial).unwrap_or(u32::MAX),
        };
        let packets = min as f64 / mean as f64;
        if red_wlog(packets, burst).is_some() {
            return Ok(RedWeight::Burst(burst));
        }
        Err(if f64::from(burst) < packets {
            self.wrong(
                "burst",
                format!("`burst` of red is too small: {burst} packets"),
                format!("it must be at least min/avpkt: {}", min.div_ceil(mean)),
            )
        } else {
            self.wrong(
                "min",
                "`min` of red is too small: it is not above one mean packet".to_string(),
                format!("it must be more than avpkt, for example {}", mean * 5),
            )
        })
    }

    pub(super) fn htb(self) -> Result<Spec, SpecError> {
        let Some(rate) = self.number("rate").map(Rate::from_bps) else {
            return Err(self.missing("rate", "rate 20mbit"));
        };
        let burst = self.number("burst").unwrap_or(HtbParams::BURST);
        let htb = HtbParams { rate, burst };
        let inner = Box::new(self.inner.unwrap_or(Spec::Pfifo { limit: 1000 }));
        Ok(Spec::Htb { htb, inner })
    }

    pub(super) fn tbf(self) -> Result<Spec, SpecError> {
        let Some(rate) = self.number("rate").map(Rate::from_bps) else {
            return Err(self.missing("rate", "rate 20mbit"));
        };
        let Some(burst) = self.number("burst") else {
            return Err(self.missing("burst", "burst 5kb"));
        };
        let peakrate = self.number("peakrate").map(Rate::from_bps);
        let mtu = self.number("mtu");
        if peakrate.is_some() && mtu.is_none() {
            return Err(self.missing("mtu", "mtu 1540"));
        }
        let mpu = self.count("mpu", 0);
        if u64::from(mpu) > burst {
            return Err(self.wrong(
                "mpu",
                "`mpu` is larger than `burst`: no packet could pass".to_string(),
                format!("it can be 0 to {burst}"),
            ));
        }
        let tbf = TbfParams {
            rate,
            burst,
            peakrate,
            mtu,
            mpu,
            overhead: self.count("overhead", 0).cast_signed(),
        };
        let inner = Box::new(self.tbf_inner(&tbf)?);
        Ok(Spec::Tbf { tbf, inner })
    }

    fn tbf_inner(&self, tbf: &TbfParams) -> Result<Spec, SpecError> {
        let limit = self.number("limit");
        let latency = self.span("latency");
        match (limit, latency, &self.inner) {
            (Some(limit), None, None) => Ok(Spec::Bfifo { limit }),
            (None, Some(latency), None) => {
                let limit = waiting_bytes(tbf, latency);
                let max = self
                    .kind
                    .option("limit")
                    .map_or(u64::MAX, |(opt, _)| opt.max);
                if limit > max {
                    return Err(self.wrong(
                        "latency",
                        format!("`latency` gives a limit of {}", show_size(limit)),
                        format!("at most {} can wait", show_size(max)),
                    ));
                }
                Ok(Spec::Bfifo { limit })
            }
            (None, None, Some(inner)) => Ok(inner.clone()),
            (None, None, None) => {
                let end = end_of(self.text);
                Err(error(
                    self.text,
                    end..end,
                    "tbf needs `limit`, `latency` or `over`".to_string(),
                )
                .of("limit")
                .want("for example `latency 50ms` or `over fq_codel`".to_string()))
            }
            (Some(_), Some(_), _) => Err(self.wrong(
                "latency",
                "tbf cannot have both `limit` and `latency`".to_string(),
                "give one of them".to_string(),
            )),
            (Some(_), None, Some(_)) => Err(self.over_and("limit")),
            (None, Some(_), Some(_)) => Err(self.over_and("latency")),
        }
    }

    fn over_and(&self, name: &'static str) -> SpecError {
        self.wrong(
            name,
            format!("tbf cannot have both `{name}` and `over`"),
            "the discipline after `over` has its own limit".to_string(),
        )
    }
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
