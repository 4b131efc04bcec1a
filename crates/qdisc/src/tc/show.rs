//! From a [`Spec`] to a string that reads back as the same.

use crate::params::{
    CodelParams, FlowParams, GspParams, PieParams, RedParams, RedUnit, RedWeight, TbfParams,
};
use crate::spec::Spec;
use alloc::format;
use alloc::string::String;
use core::fmt;
use sojourn_units::{show_rate, show_size, show_span};

impl Spec {
    /// tc's name of the discipline.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pfifo { .. } => "pfifo",
            Self::Bfifo { .. } => "bfifo",
            Self::PfifoHeadDrop { .. } => "pfifo_head_drop",
            Self::Red(_) => "red",
            Self::Codel { .. } => "codel",
            Self::Cobalt { .. } => "cobalt",
            Self::Cake(_) => "cake",
            Self::Pie { .. } => "pie",
            Self::Gsp { .. } => "gsp",
            Self::FqCodel { .. } => "fq_codel",
            Self::FqPie { .. } => "fq_pie",
            Self::FqGsp { .. } => "fq_gsp",
            Self::Steer { .. } => "steer",
            Self::Htb { .. } => "htb",
            Self::Tbf { .. } => "tbf",
        }
    }
}

impl fmt::Display for Spec {
    /// The discipline as `tc` would take it, in tc's order of options: all that has a
    /// default is written out, switches only when they differ from it.
    #[expect(clippy::too_many_lines, reason = "an arm for each discipline")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Pfifo { limit } | Self::PfifoHeadDrop { limit } => write!(f, " limit {limit}"),
            Self::Bfifo { limit } => write!(f, " limit {}", show_size(*limit)),
            Self::Red(red) => show_red(f, red),
            Self::Codel { limit, codel } => {
                write!(f, " limit {limit}")?;
                show_codel(f, codel)?;
                show_switch(f, codel.ecn, " ecn")
            }
            Self::Cobalt { limit, cobalt } => {
                let target = show_span(cobalt.target);
                let interval = show_span(cobalt.interval);
                write!(f, " limit {limit} target {target} interval {interval}")?;
                f.write_str(if cobalt.ecn { " ecn" } else { " noecn" })
            }
            Self::Cake(cake) => super::cake::show(f, cake),
            Self::Pie { limit, pie } => {
                write!(f, " limit {limit}")?;
                show_pie(f, pie)?;
                if percent(pie.ecn_limit) != 10 {
                    write!(f, " ecn_prob {}", percent(pie.ecn_limit))?;
                }
                show_pie_switches(f, pie)
            }
            Self::Gsp { limit, gsp } => {
                write!(f, " limit {limit}")?;
                show_gsp(f, gsp)?;
                show_switch(f, gsp.ecn, " ecn")
            }
            Self::FqCodel { flows, codel } => {
                show_flows(f, flows)?;
                show_codel(f, codel)?;
                write!(f, " memory_limit {}", show_size(flows.memory_limit))?;
                f.write_str(if codel.ecn { " ecn" } else { " noecn" })?;
                write!(f, " drop_batch {}", flows.drop_batch)?;
                super::parts::show(f, flows.parts)
            }
            Self::FqPie { flows, pie } => {
                show_flows(f, flows)?;
                show_pie(f, pie)?;
                write!(f, " memory_limit {}", show_size(flows.memory_limit))?;
                write!(f, " ecn_prob {}", percent(pie.ecn_limit))?;
                show_pie_switches(f, pie)?;
                super::parts::show(f, flows.parts)
            }
            Self::FqGsp { flows, gsp } => {
                show_flows(f, flows)?;
                show_gsp(f, gsp)?;
                write!(f, " memory_limit {}", show_size(flows.memory_limit))?;
                show_switch(f, gsp.ecn, " ecn")?;
                super::parts::show(f, flows.parts)
            }
            Self::Steer { steer, inner } => {
                if let Some(rate) = steer.rate {
                    write!(f, " rate {}", show_rate(rate))?;
                }
                write!(f, " util {}% delay {}", steer.util, show_span(steer.delay))?;
                if steer.ceiling < 100 {
                    write!(f, " ceiling {}%", steer.ceiling)?;
                }
                write!(f, " over {inner}")
            }
            Self::Htb { htb, inner } => {
                let (rate, burst) = (show_rate(htb.rate), show_size(htb.burst));
                write!(f, " rate {rate} burst {burst} over {inner}")
            }
            Self::Tbf { tbf, inner } => {
                show_tbf(f, tbf)?;
                match **inner {
                    Self::Bfifo { limit } => write!(f, " limit {}", show_size(limit)),
                    ref other => write!(f, " over {other}"),
                }
            }
        }
    }
}

fn show_switch(f: &mut fmt::Formatter<'_>, on: bool, word: &str) -> fmt::Result {
    if on { f.write_str(word) } else { Ok(()) }
}

/// `ecn_prob` of a limit; [`PieParams::ecn_limit`] is a whole number of percent.
pub(crate) fn percent(limit: f64) -> u32 {
    (limit * 100.0 + 0.5) as u32
}

fn show_codel(f: &mut fmt::Formatter<'_>, codel: &CodelParams) -> fmt::Result {
    write!(f, " target {}", show_span(codel.target))?;
    if let Some(threshold) = codel.ce_threshold {
        write!(f, " ce_threshold {}", show_span(threshold))?;
    }
    write!(f, " interval {}", show_span(codel.interval))
}

fn show_pie(f: &mut fmt::Formatter<'_>, pie: &PieParams) -> fmt::Result {
    write!(
        f,
        " target {} tupdate {} alpha {} beta {}",
        show_span(pie.target),
        show_span(pie.tupdate),
        pie.alpha,
        pie.beta
    )
}

fn show_pie_switches(f: &mut fmt::Formatter<'_>, pie: &PieParams) -> fmt::Result {
    show_switch(f, pie.ecn, " ecn")?;
    show_switch(f, pie.bytemode, " bytemode")?;
    show_switch(f, pie.dq_rate_estimator, " dq_rate_estimator")
}

fn show_gsp(f: &mut fmt::Formatter<'_>, gsp: &GspParams) -> fmt::Result {
    write!(
        f,
        " threshold {} interval {} alpha {} tau {} min_interval {}",
        show_span(gsp.threshold),
        show_span(gsp.interval),
        gsp.alpha,
        show_span(gsp.tau),
        show_span(gsp.min_interval)
    )
}

fn show_flows(f: &mut fmt::Formatter<'_>, flows: &FlowParams) -> fmt::Result {
    write!(f, " limit {} flows {}", flows.limit, flows.flows)?;
    match flows.quantum {
        Some(quantum) => write!(f, " quantum {quantum}"),
        None => Ok(()),
    }
}

fn show_red(f: &mut fmt::Formatter<'_>, red: &RedParams) -> fmt::Result {
    let length = |length: u64| -> String {
        match red.unit {
            RedUnit::Bytes => show_size(length),
            RedUnit::Packets => format!("{length}p"),
        }
    };
    write!(
        f,
        " limit {} min {} max {} avpkt {}",
        length(red.limit),
        length(red.min),
        length(red.max),
        red.avpkt
    )?;
    match red.weight {
        RedWeight::Burst(burst) => write!(f, " burst {burst}")?,
        RedWeight::Exact(weight) => write!(f, " weight {weight}")?,
    }
    write!(
        f,
        " probability {} bandwidth {}",
        red.probability,
        show_rate(red.bandwidth)
    )?;
    show_switch(f, red.adaptive, " adaptive")?;
    show_switch(f, red.ecn, " ecn")?;
    show_switch(f, red.harddrop, " harddrop")?;
    show_switch(f, red.nodrop, " nodrop")?;
    show_switch(f, red.gentle, " gentle")?;
    show_switch(f, red.wait, " wait")?;
    show_switch(f, red.spare, " spare")?;
    show_switch(f, red.bytemode, " bytemode")
}

fn show_tbf(f: &mut fmt::Formatter<'_>, tbf: &TbfParams) -> fmt::Result {
    write!(
        f,
        " rate {} burst {}",
        show_rate(tbf.rate),
        show_size(tbf.burst)
    )?;
    if let Some(peakrate) = tbf.peakrate {
        write!(f, " peakrate {}", show_rate(peakrate))?;
    }
    if let Some(mtu) = tbf.mtu {
        write!(f, " mtu {}", show_size(mtu))?;
    }
    if tbf.mpu != 0 {
        write!(f, " mpu {}", tbf.mpu)?;
    }
    if tbf.overhead != 0 {
        write!(f, " overhead {}", tbf.overhead)?;
    }
    Ok(())
}
