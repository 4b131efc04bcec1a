//! The catalogue as text: `sojourn qdisc list` and `sojourn qdisc explain NAME`.

use super::error::SpecError;
use super::kind::Kind;
use super::kinds::{catalogue, kind};
use super::opt::{Amount, Initial, Opt, Unit};
use super::parse::{unknown_kind, without_command};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

/// All disciplines, a line each.
pub fn list() -> String {
    let width = catalogue()
        .iter()
        .map(|kind| kind.name.len())
        .max()
        .unwrap_or(0);
    catalogue().iter().fold(String::new(), |mut out, kind| {
        let _ = writeln!(out, "{:width$}  {}", kind.name, kind.summary);
        out
    })
}

/// All that there is to know about the discipline that a string begins with. With options behind
/// the name it says first what the whole string means, defaults included.
///
/// # Errors
/// When there is no such discipline, or the string is wrong; as those of a [`Spec`](crate::Spec).
pub fn explain(text: &str) -> Result<String, SpecError> {
    let words = without_command(text, false)?;
    let Some((name, rest)) = words.split_first() else {
        return text.parse().map(|spec: Spec| spec.to_string());
    };
    let known = kind(name.text).ok_or_else(|| unknown_kind(text, name, rest))?;
    if rest.is_empty() {
        return Ok(known.explain());
    }
    let spec: Spec = text.parse()?;
    Ok(format!("{text}\nmeans\n{spec}\n\n{}", known.explain()))
}

impl Kind {
    /// All that there is to know about the discipline: options with unit, range, default and
    /// meaning, and its statistics.
    pub fn explain(&self) -> String {
        let mut out = format!(
            "{}: {}\nSource: {}\nExample: {}\n",
            self.name, self.summary, self.source, self.example
        );
        out.push_str("\nOptions\n");
        for opt in self.options {
            let _ = write!(out, "  {:27} {}", usage(opt), opt.meaning);
            let _ = write!(out, "\n  {:28}{}", "", self.initial_of(opt));
            if let Some(range) = opt.range() {
                let _ = write!(out, "; {range}");
            }
            if !opt.aliases.is_empty() {
                let _ = write!(out, "; also `{}`", opt.aliases.join("`, `"));
            }
            if opt.is_length() {
                out.push_str("; before a link also a time or `2bdp`");
            }
            if opt.ours {
                out.push_str("; not in tc");
            }
            out.push('\n');
        }
        for (name, why) in self.absent {
            let _ = writeln!(out, "  {name:28}not in Sojourn: {why}");
        }
        if !self.stats.is_empty() {
            out.push_str("\nStatistics\n");
            for stat in self.stats {
                let _ = writeln!(out, "  {:28}{}", stat.name, stat.meaning);
            }
        }
        out
    }

    fn initial_of(&self, opt: &Opt) -> String {
        let amount = (opt.access.get)(&(self.initial)());
        match (opt.initial, amount, opt.unit) {
            (Initial::Required(_), ..) => "required".to_string(),
            (Initial::From(rule), ..) => format!("default: {rule}"),
            (Initial::Value, None | Some(Amount::Number(0)), Unit::Switch(_))
            | (Initial::Value, None, _) => "default off".to_string(),
            (Initial::Value, Some(_), Unit::Switch(_)) => "default on".to_string(),
            (Initial::Value, Some(amount), _) => format!("default {}", opt.written(amount)),
        }
    }
}

fn usage(opt: &Opt) -> String {
    let name = opt.name;
    match opt.unit {
        Unit::Packets => format!("{name} PACKETS"),
        Unit::Count | Unit::Mask => format!("{name} NUMBER"),
        Unit::Bytes | Unit::Signed(..) => format!("{name} BYTES"),
        Unit::BytesOrPackets => format!("{name} BYTES|PACKETSp"),
        Unit::Time => format!("{name} TIME"),
        Unit::TimeOrPackets => format!("{name} TIME|PACKETSp"),
        Unit::Rate => format!("{name} RATE"),
        Unit::Percent => format!("{name} PERCENT"),
        Unit::Fraction => format!("{name} FRACTION"),
        Unit::Choice(words) => words.join(" | "),
        Unit::Word(words) => format!("{name} {}", words.join("|")),
        Unit::Switch(Some(off)) => format!("{name} | {off}"),
        Unit::Switch(None) => name.to_string(),
        Unit::Discipline => format!("{name} DISCIPLINE ..."),
    }
}
