//! From a [`Report`] to what `tc -s qdisc show` and `tc -s -j qdisc show` print.
//!
//! Source: iproute2 6.1 `tc/tc_qdisc.c`, `tc/q_*.c`, `lib/json_print_math.c`; compared with the
//! program itself (see `tests/golden.rs`).

use super::dual;
use super::kinds::{kind, of};
use super::opt::{Json, Opt, Style, Unit, When};
use super::print::{plain, rate, significant, size, time};
use super::tins;
use crate::accounts::{Backlog, Counters};
use crate::change::OWN;
use crate::report::{Field, Place, Report, Value, int};
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use sojourn_units::Span;

/// The parameters of a spec with tc's names, order and units, and what is left out in tc left
/// out.
fn options(spec: &Spec) -> Vec<Field> {
    let kind = of(spec);
    let initial = (kind.initial)();
    let fields = |opt: &Opt| {
        let name = opt.json_name_in(spec);
        match (opt.told(spec, &initial), opt.json) {
            (Some(Value::Text(word)), Json::Parts(other)) => {
                let (value, mask) = parts(&word);
                Vec::from([int(name, value), int(other, mask)])
            }
            (Some(value), _) => Vec::from([Field::new(name, value)]),
            (None, _) => Vec::new(),
        }
    };
    kind.options.iter().flat_map(fields).collect()
}

/// Value and mask of a word such as `0x1/0x3`.
fn parts(word: &str) -> (u32, u32) {
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(0);
    let (value, mask) = word.split_once('/').unwrap_or((word, "0"));
    (number(value), number(mask))
}

impl Report {
    /// The options of a discipline with these parameters, as tc's JSON has them.
    pub fn options_of(spec: &Spec) -> Vec<Field> {
        options(spec)
    }

    /// The report of an instance: tc's common statistics, then its `own`.
    pub(crate) fn new(
        spec: Option<&Spec>,
        counters: &Counters,
        backlog: Backlog,
        own: Vec<Field>,
    ) -> Self {
        let mut stats = Vec::from([
            int("bytes", counters.dequeued.bytes),
            int("packets", counters.dequeued.packets),
            int("drops", counters.dropped.packets),
            int("overlimits", counters.overlimits),
            int("requeues", 0_u32),
            int("backlog", backlog.bytes),
            int("qlen", backlog.packets),
        ]);
        stats.extend(own);
        Self {
            kind: spec.map_or(OWN, Spec::name).into(),
            options: spec.map(options).unwrap_or_default(),
            stats,
            inner: None,
        }
    }

    /// The report of a queue under a policy, which is listed below what moves its target: the
    /// target in force, and the statistics of that.
    pub(crate) fn policed(
        spec: Option<&Spec>,
        counters: &Counters,
        backlog: Backlog,
        own: Vec<Field>,
        steering: Option<(Span, Vec<Field>)>,
    ) -> Self {
        let Some((target, statistics)) = steering else {
            return Self::new(spec, counters, backlog, own);
        };
        let mut below = spec.and_then(Spec::unsteered);
        if let Some(configured) = below.as_mut().and_then(Spec::target_mut) {
            *configured = target;
        }
        Self {
            inner: Some(Box::new(Self::new(below.as_ref(), counters, backlog, own))),
            ..Self::new(spec, counters, backlog, statistics)
        }
    }
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
            out.push_str(if level > 0 { "," } else { "" });
            out.push_str("{\"kind\":");
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
        for field in &self.options {
            let opt = kind(&self.kind).and_then(|kind| kind.told(&field.name));
            if let Some(text) = text_option(field, opt) {
                let _ = write!(out, "{text} ");
            }
        }
        // tc's fifo is the only one without a space at the end.
        if self.kind.contains("fifo") {
            out.truncate(out.trim_end().len());
        }
        out.push('\n');
    }

    fn text_stats(&self, out: &mut String) {
        let common = |name| tins::number(&self.stats, name).unsigned_abs();
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
        if self.kind.starts_with("cake") {
            tins::text_stats(out, &self.stats);
            return;
        }
        if self.kind == "dualpi2" {
            dual::text_stats(out, &self.stats);
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
            *out += stat.name;
            let _ = match (&field.value, stat.style) {
                (_, Style::Flag) => Ok(()),
                (Value::Int(number), Style::Time) => write!(out, " {}", time(*number)),
                (Value::Int(bytes), Style::Rate) => write!(out, " {}", rate(bytes.unsigned_abs())),
                (Value::Float(number), Style::Float) => {
                    write!(out, " {}", significant(*number, 6))
                }
                (value, _) => write!(out, " {}", plain(value)),
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

/// How tc's text has an option.
fn text_option(field: &Field, opt: Option<&'static Opt>) -> Option<String> {
    let name = &*field.name;
    let unit = opt.map(|opt| opt.unit);
    let value = match (&field.value, unit) {
        (Value::Bool(on), Some(Unit::Switch(off))) => {
            let told = opt.filter(|opt| *on || opt.told == When::Words)?;
            return Some(String::from(if *on { told.name } else { off? }));
        }
        (Value::Bool(on), _) => return on.then(|| String::from(name)),
        // What JSON has as two numbers is one word here, at the first.
        (Value::Int(number), Some(Unit::Word(words))) => {
            let is_it = |word: &&&str| i64::from(parts(word).0) == *number;
            let is_first = opt.is_some_and(|opt| opt.name == name);
            return words
                .iter()
                .find(is_it)
                .filter(|_| is_first)
                .map(|word| format!("{name} {word}"));
        }
        // A switch that JSON names by its word.
        (Value::Text(word), Some(Unit::Switch(_))) => return Some(word.clone()),
        (Value::Text(word), Some(Unit::Choice(words))) => {
            let own = match opt.map(|opt| opt.json) {
                Some(Json::Words(_, own)) => own.iter().position(|own| own == word),
                _ => None,
            };
            return Some(own.map_or_else(|| word.clone(), |place| String::from(words[place])));
        }
        (Value::Text(word), Some(Unit::Mask)) if word == "0" => return None,
        (Value::Int(number), Some(Unit::Packets)) => format!("{number}p"),
        (Value::Int(number), Some(Unit::Bytes)) if name == "memory-limit" => format!("{number}B"),
        (Value::Int(number), Some(Unit::Bytes | Unit::BytesOrPackets)) if name != "overhead" => {
            size(number.unsigned_abs())
        }
        (Value::Int(number), Some(Unit::TimeOrPackets)) if name.ends_with("-pkts") => {
            format!("{number}p")
        }
        (Value::Int(number), Some(Unit::Time | Unit::TimeOrPackets)) => time(*number),
        (Value::Int(number), Some(Unit::Percent)) if name == "c-protection" => {
            format!("{number}%")
        }
        (Value::Float(number), _) if matches!(name, "alpha" | "beta") => format!("{number:.6}"),
        (Value::Int(number), Some(Unit::Rate)) => rate(number.unsigned_abs()),
        (value, _) => plain(value),
    };
    // Only tc's JSON has another name.
    let name = match opt.map(|opt| (opt.json, opt.name)) {
        Some((Json::Named(_) | Json::TimeOrPackets(..), name)) => name,
        _ => name,
    };
    Some(format!("{name} {value}"))
}

/// Name of DualPI2's `split_gso` in tc's JSON.
const SPLIT_GSO: &str = "split-gso";

fn json_fields(out: &mut String, fields: &[Field]) {
    // tc has DualPI2's switch without a value, or not at all.
    let is_told = |field: &&Field| field.name != SPLIT_GSO || field.value != Value::Bool(false);
    for (index, field) in fields.iter().filter(is_told).enumerate() {
        if index > 0 {
            out.push(',');
        }
        json_text(out, &field.name);
        out.push(':');
        match &field.value {
            Value::Int(number) => *out += &number.to_string(),
            Value::Float(number) if number.is_finite() => *out += &number.to_string(),
            Value::Float(_) => out.push_str("null"),
            Value::Bool(_) if field.name == SPLIT_GSO => out.push_str("null"),
            Value::Bool(on) => *out += &on.to_string(),
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
