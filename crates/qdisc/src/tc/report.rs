//! From a [`Report`] to what `tc -s qdisc show` and `tc -s -j qdisc show` print.
//!
//! Source: iproute2 6.1 `tc/tc_qdisc.c`, `tc/q_*.c`, `lib/json_print_math.c`; compared with the
//! program itself (see `tests/golden.rs`).

use super::catalogue::{Style, Unit, kind};
use super::show::percent;
use crate::params::{CodelParams, FlowParams, GspParams, PieParams, RedParams, RedUnit, TbfParams};
use crate::report::{Field, Place, Report, Value, int, micros};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use sojourn_units::Span;

/// The parameters of a spec with tc's names, order and units, and what is left out in tc left
/// out.
pub(crate) fn options(spec: &Spec) -> Vec<Field> {
    let mut fields = Vec::new();
    match spec {
        Spec::Pfifo { limit } | Spec::PfifoHeadDrop { limit } => fields.push(int("limit", *limit)),
        Spec::Bfifo { limit } => fields.push(int("limit", *limit)),
        Spec::Red(red) => red_options(&mut fields, red),
        Spec::Codel { limit, codel } => {
            fields.push(int("limit", *limit));
            codel_options(&mut fields, codel);
            when(&mut fields, "ecn", codel.ecn);
        }
        Spec::Cobalt { limit, cobalt } => fields.extend([
            int("limit", *limit),
            micros("target", cobalt.target),
            micros("interval", cobalt.interval),
            Field::switch("ecn", cobalt.ecn),
        ]),
        Spec::Cake(cake) => super::cake::options(&mut fields, cake),
        Spec::Pie { limit, pie } => {
            fields.push(int("limit", *limit));
            pie_options(&mut fields, pie);
            pie_switches(&mut fields, pie);
        }
        Spec::Gsp { limit, gsp } => {
            fields.push(int("limit", *limit));
            gsp_options(&mut fields, gsp);
            when(&mut fields, "ecn", gsp.ecn);
        }
        Spec::FqCodel { flows, codel } => {
            flow_options(&mut fields, flows);
            quantum(&mut fields, flows);
            codel_options(&mut fields, codel);
            fields.push(int("memory_limit", flows.memory_limit));
            when(&mut fields, "ecn", codel.ecn);
            fields.push(int("drop_batch", flows.drop_batch));
            super::parts::options(&mut fields, flows.parts);
        }
        Spec::FqPie { flows, pie } => {
            flow_options(&mut fields, flows);
            pie_options(&mut fields, pie);
            quantum(&mut fields, flows);
            fields.push(int("memory_limit", flows.memory_limit));
            fields.push(int("ecn_prob", percent(pie.ecn_limit)));
            pie_switches(&mut fields, pie);
            super::parts::options(&mut fields, flows.parts);
        }
        Spec::FqGsp { flows, gsp } => {
            flow_options(&mut fields, flows);
            quantum(&mut fields, flows);
            gsp_options(&mut fields, gsp);
            fields.push(int("memory_limit", flows.memory_limit));
            when(&mut fields, "ecn", gsp.ecn);
            super::parts::options(&mut fields, flows.parts);
        }
        Spec::Steer { steer, .. } => {
            // As tc's rates: byte/s.
            fields.extend(steer.rate.map(|rate| int("rate", rate.bytes_per_sec())));
            fields.push(int("util", steer.util));
            fields.push(micros("delay", steer.delay));
            if steer.ceiling < 100 {
                fields.push(int("ceiling", steer.ceiling));
            }
        }
        Spec::Htb { htb, .. } => {
            // tc's JSON has rates in byte/s.
            fields.push(int("rate", htb.rate.bytes_per_sec()));
            fields.push(int("burst", htb.burst));
        }
        Spec::Tbf { tbf, inner } => tbf_options(&mut fields, tbf, inner),
    }
    fields
}

/// A switch that tc prints only when it is on.
fn when(fields: &mut Vec<Field>, name: &'static str, on: bool) {
    if on {
        fields.push(Field::switch(name, true));
    }
}

fn codel_options(fields: &mut Vec<Field>, codel: &CodelParams) {
    fields.push(micros("target", codel.target));
    if let Some(threshold) = codel.ce_threshold {
        fields.push(micros("ce_threshold", threshold));
    }
    fields.push(micros("interval", codel.interval));
}

fn pie_options(fields: &mut Vec<Field>, pie: &PieParams) {
    fields.extend([
        micros("target", pie.target),
        micros("tupdate", pie.tupdate),
        int("alpha", pie.alpha),
        int("beta", pie.beta),
    ]);
}

fn gsp_options(fields: &mut Vec<Field>, gsp: &GspParams) {
    fields.extend([
        micros("threshold", gsp.threshold),
        micros("interval", gsp.interval),
        int("alpha", gsp.alpha),
        micros("tau", gsp.tau),
        micros("min_interval", gsp.min_interval),
    ]);
}

fn pie_switches(fields: &mut Vec<Field>, pie: &PieParams) {
    when(fields, "ecn", pie.ecn);
    when(fields, "bytemode", pie.bytemode);
    when(fields, "dq_rate_estimator", pie.dq_rate_estimator);
}

fn flow_options(fields: &mut Vec<Field>, flows: &FlowParams) {
    fields.extend([int("limit", flows.limit), int("flows", flows.flows)]);
}

fn quantum(fields: &mut Vec<Field>, flows: &FlowParams) {
    fields.extend(flows.quantum.map(|bytes| int("quantum", bytes)));
}

fn red_options(fields: &mut Vec<Field>, red: &RedParams) {
    for (name, length) in [("limit", red.limit), ("min", red.min), ("max", red.max)] {
        fields.push(match red.unit {
            RedUnit::Bytes => int(name, length),
            // tc knows no packets here; a bare number would mean bytes.
            RedUnit::Packets => Field {
                name: name.into(),
                value: Value::Text(format!("{length}p")),
            },
        });
    }
    // Unlike the others, RED's are there as false too.
    for (name, on) in [
        ("ecn", red.ecn),
        ("harddrop", red.harddrop),
        ("adaptive", red.adaptive),
        ("nodrop", red.nodrop),
    ] {
        fields.push(Field::switch(name, on));
    }
    when(fields, "gentle", red.gentle);
    when(fields, "wait", red.wait);
    when(fields, "spare", red.spare);
    when(fields, "bytemode", red.bytemode);
}

fn tbf_options(fields: &mut Vec<Field>, tbf: &TbfParams, inner: &Spec) {
    // tc's JSON has rates in byte/s.
    fields.push(int("rate", tbf.rate.bytes_per_sec()));
    fields.push(int("burst", tbf.burst));
    if let Some(peak) = tbf.peakrate {
        fields.push(int("peakrate", peak.bytes_per_sec()));
        fields.extend(tbf.mtu.map(|bytes| int("minburst", bytes)));
    }
    if let Spec::Bfifo { limit } = *inner {
        fields.push(match latency(tbf, limit) {
            Some(latency) => micros("lat", latency),
            None => int("limit", limit),
        });
    }
    if tbf.overhead != 0 {
        fields.push(Field {
            name: "overhead".into(),
            value: Value::Int(i64::from(tbf.overhead)),
        });
    }
}

/// Longest time that a packet waits: for what the limit has above a full bucket. None when the
/// limit is below both buckets.
fn latency(tbf: &TbfParams, limit: u64) -> Option<Span> {
    let rate = limit
        .checked_sub(tbf.burst)
        .map(|bytes| tbf.rate.time_for(bytes));
    let peak = tbf.peakrate.zip(tbf.mtu).and_then(|(peak, mtu)| {
        let bytes = limit.checked_sub(mtu)?;
        Some(peak.time_for(bytes))
    });
    rate.max(peak)
}

impl Report {
    /// One JSON object: `kind`, `options`, the statistics flat beside them, and the discipline
    /// below as `inner`. Without what only a device has: see [`Report::tc_json`].
    pub fn json(&self) -> String {
        let mut out = String::from("{\"kind\":");
        json_text(&mut out, &self.kind);
        self.json_body(&mut out);
        if let Some(inner) = &self.inner {
            out.push_str(",\"inner\":");
            out.push_str(&inner.json());
        }
        out.push('}');
        out
    }

    /// What `tc -s -j qdisc show` prints: an array with this discipline and those below.
    pub fn tc_json(&self, place: Place<'_>) -> String {
        let mut out = String::from("[");
        for (level, report) in self.levels().enumerate() {
            out.push_str(if level == 0 {
                "{\"kind\":"
            } else {
                ",{\"kind\":"
            });
            json_text(&mut out, &report.kind);
            let _ = write!(out, ",\"handle\":\"{:x}:\"", handle(place, level));
            if let Some(dev) = place.dev {
                out.push_str(",\"dev\":");
                json_text(&mut out, dev);
            }
            match level.checked_sub(1) {
                None => out.push_str(",\"root\":true,\"refcnt\":2"),
                Some(above) => {
                    let _ = write!(out, ",\"parent\":\"{:x}:1\"", handle(place, above));
                }
            }
            report.json_body(&mut out);
            out.push('}');
        }
        out.push(']');
        out
    }

    /// What `tc -s qdisc show` prints, with a line feed at the end.
    pub fn tc_text(&self, place: Place<'_>) -> String {
        let mut out = String::new();
        for (level, report) in self.levels().enumerate() {
            let _ = write!(out, "qdisc {} {:x}: ", report.kind, handle(place, level));
            if let Some(dev) = place.dev {
                let _ = write!(out, "dev {dev} ");
            }
            match level.checked_sub(1) {
                None => out.push_str("root refcnt 2 "),
                Some(above) => {
                    let _ = write!(out, "parent {:x}:1 ", handle(place, above));
                }
            }
            report.text_options(&mut out);
            report.text_stats(&mut out);
        }
        out
    }

    /// This discipline and those below.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |report| report.inner.as_deref())
    }

    fn json_body(&self, out: &mut String) {
        out.push_str(",\"options\":{");
        json_fields(out, &self.options);
        out.push('}');
        if !self.stats.is_empty() {
            out.push(',');
            json_fields(out, &self.stats);
        }
    }

    fn text_options(&self, out: &mut String) {
        if self.kind == "cake" {
            super::cake::text_options(out, &self.options);
            return;
        }
        for field in &self.options {
            let unit = kind(&self.kind).and_then(|kind| kind.option(&field.name));
            let value = match (&field.value, unit.map(|(opt, _)| opt.unit)) {
                (Value::Bool(false), _) => continue,
                (Value::Bool(true), _) => {
                    let _ = write!(out, "{} ", field.name);
                    continue;
                }
                // A bare word, from the parts of CAKE.
                (Value::Text(word), _) if matches!(&*field.name, "flowmode" | "ack-filter") => {
                    let _ = write!(out, "{word} ");
                    continue;
                }
                (Value::Int(number), Some(Unit::Packets)) => format!("{number}p"),
                (Value::Int(number), Some(Unit::Bytes | Unit::BytesOrPackets))
                    if field.name != "overhead" =>
                {
                    size(number.unsigned_abs())
                }
                (Value::Int(number), Some(Unit::Time)) => time(*number),
                (Value::Int(number), Some(Unit::Rate)) => rate(number.unsigned_abs()),
                (value, _) => plain(value),
            };
            let _ = write!(out, "{} {value} ", field.name);
        }
        // tc's fifo is the only one without a space at the end.
        if self.kind.contains("fifo") {
            out.truncate(out.trim_end().len());
        }
        out.push('\n');
    }

    fn text_stats(&self, out: &mut String) {
        let common = |name: &str| {
            let field = self.stats.iter().find(|field| field.name == name);
            match field.map(|field| &field.value) {
                Some(Value::Int(number)) => number.unsigned_abs(),
                _ => 0,
            }
        };
        let requeues = common("requeues");
        let _ = write!(
            out,
            " Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {requeues}) \n \
             backlog {} {}p requeues {requeues}\n",
            common("bytes"),
            common("packets"),
            common("drops"),
            common("overlimits"),
            size(common("backlog")),
            common("qlen"),
        );
        if self.kind == "cake" {
            super::cake::text_stats(out, &self.stats);
            return;
        }
        let own = kind(&self.kind).map_or(&[][..], |kind| kind.stats);
        let mut is_inside = false;
        for stat in own {
            let Some(field) = self.stats.iter().find(|field| field.name == stat.name) else {
                continue;
            };
            let gap = match (stat.first, is_inside) {
                (true, true) => "\n  ",
                (true, false) => "  ",
                (false, _) => " ",
            };
            out.push_str(gap);
            is_inside = true;
            let _ = match (&field.value, stat.style) {
                (_, Style::Flag) => write!(out, "{}", stat.name),
                (Value::Int(number), Style::Time) => {
                    write!(out, "{} {}", stat.name, time(*number))
                }
                (Value::Int(number), Style::Rate) => {
                    write!(out, "{} {}", stat.name, rate(number.unsigned_abs()))
                }
                (Value::Float(number), Style::Float) => {
                    write!(out, "{} {}", stat.name, significant(*number, 6))
                }
                (value, _) => write!(out, "{} {}", stat.name, plain(value)),
            };
        }
        if is_inside {
            out.push_str(if self.kind == "red" { " \n" } else { "\n" });
        }
    }
}

/// A child's handle follows its parent's.
fn handle(place: Place<'_>, level: usize) -> usize {
    usize::from(place.handle) + level
}

fn plain(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => significant(*number, 6),
        Value::Bool(on) => on.to_string(),
        Value::Text(text) => text.clone(),
        // Groups have lines of their own in tc: see `cake`.
        Value::Groups(groups) => groups.len().to_string(),
    }
}

fn json_fields(out: &mut String, fields: &[Field]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        json_text(out, &field.name);
        out.push(':');
        match &field.value {
            Value::Int(number) => {
                let _ = write!(out, "{number}");
            }
            Value::Float(number) if number.is_finite() => {
                let _ = write!(out, "{number}");
            }
            Value::Float(_) => out.push_str("null"),
            Value::Bool(on) => {
                let _ = write!(out, "{on}");
            }
            Value::Text(text) => json_text(out, text),
            Value::Groups(groups) => {
                out.push('[');
                for (index, group) in groups.iter().enumerate() {
                    out.push_str(if index > 0 { ",{" } else { "{" });
                    json_fields(out, group);
                    out.push('}');
                }
                out.push(']');
            }
        }
    }
}

/// A JSON string (RFC 8259 section 7).
fn json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A size as tc prints it: in a larger unit when that is nearly exact.
pub(super) fn size(bytes: u64) -> String {
    for (unit, factor, slack) in [
        ("Gb", 1_u64 << 30, 1024),
        ("Mb", 1 << 20, 1024),
        ("Kb", 1 << 10, 16),
    ] {
        // C's rint: to the nearest, halves to the even one.
        let whole = libm::rint(bytes as f64 / factor as f64);
        if bytes >= factor && libm::fabs(whole * factor as f64 - bytes as f64) < f64::from(slack) {
            return format!("{}{unit}", significant(whole, 6));
        }
    }
    format!("{bytes}b")
}

/// A time given in microseconds as tc prints it: three digits of seconds or milliseconds.
pub(super) fn time(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let size = micros.unsigned_abs();
    match size {
        0..1000 => format!("{sign}{size}us"),
        1000..1_000_000 => format!("{sign}{}ms", significant(size as f64 / 1e3, 3)),
        _ => format!("{sign}{}s", significant(size as f64 / 1e6, 3)),
    }
}

/// A rate given in byte/s as tc prints it: five digits or so of bits.
pub(super) fn rate(bytes: u64) -> String {
    let mut rest = bytes.saturating_mul(8);
    let mut units = ["", "K", "M", "G", "T"].into_iter();
    let mut unit = units.next();
    for larger in units {
        if rest < 1000 || (!rest.is_multiple_of(1000) && rest < 1_000_000) {
            break;
        }
        rest /= 1000;
        unit = Some(larger);
    }
    format!("{rest}{}bit", unit.unwrap_or_default())
}

/// As C's `%.{digits}g`.
fn significant(number: f64, digits: i32) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let after = usize::try_from(digits - 1).unwrap_or(0);
    let scientific = format!("{number:.after$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits).contains(&exponent) {
        let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{number:.places$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}
