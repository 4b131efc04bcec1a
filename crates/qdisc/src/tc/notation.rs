//! How the value of an option is written, and what is said of the values that it may have.

use super::opt::{Amount, Opt, Unit};
use alloc::format;
use alloc::string::{String, ToString};
use sojourn_units::{Rate, Span, show_rate, show_size, show_span};

impl Opt {
    /// The value as one would write it.
    pub(super) fn written(&self, amount: Amount) -> String {
        match (amount, self.unit) {
            (Amount::Number(on), Unit::Switch(off)) => match off {
                Some(off) if on == 0 => off.to_string(),
                _ => self.name.to_string(),
            },
            (Amount::Number(place), Unit::Choice(words)) => words[place as usize].to_string(),
            (Amount::Number(number), _) if self.plain => number.to_string(),
            (Amount::Number(number), unit) => show(unit, number),
            (Amount::Packets(packets), _) => format!("{packets}p"),
            (Amount::Fraction(fraction), _) => fraction.to_string(),
            (Amount::Signed(number), _) => number.to_string(),
            (Amount::Word(word), _) => word.to_string(),
        }
    }

    /// The value with the option's name, where it needs one.
    pub(super) fn with_name(&self, amount: Amount) -> String {
        let written = self.written(amount);
        match self.unit {
            Unit::Switch(_) | Unit::Choice(_) => written,
            _ => format!("{} {written}", self.name),
        }
    }

    /// The range of an option that has numbers as values.
    pub(super) fn range(&self) -> Option<String> {
        match self.unit {
            Unit::Word(_) | Unit::Switch(_) | Unit::Choice(_) | Unit::Discipline => None,
            Unit::Signed(least, most) => Some(format!("{least} to {most}")),
            Unit::Fraction => Some(format!("above 0, up to {}", self.max)),
            // Masks, percentages and counts as plain numbers.
            Unit::Mask | Unit::Percent => Some(format!("{} to {}", self.min, self.max)),
            unit => Some(format!(
                "{} to {}",
                show(unit, self.min),
                show(unit, self.max)
            )),
        }
    }

    /// What the option's value may be, as the end of a sentence.
    pub(super) fn wanted(&self) -> String {
        let (min, max) = (self.min, self.max);
        let example = |example: &str| format!(", for example `{} {example}`", self.name);
        match self.unit {
            Unit::Packets => format!("a number of packets{}", example("1000")),
            Unit::Count | Unit::Mask => format!("a whole number, {min} to {max}"),
            Unit::Bytes => format!("a size with b, kb, mb or gb{}", example("64kb")),
            Unit::BytesOrPackets => {
                let size = "a size with b, kb, mb or gb, or packets with p";
                format!("{size}{}", example("64kb"))
            }
            Unit::Time => format!("a time with s, ms, us or ns{}", example("5ms")),
            Unit::TimeOrPackets => {
                let time = "a time with s, ms, us or ns, or packets with p";
                format!("{time}{}", example("1ms"))
            }
            Unit::Rate => format!("a rate with bit, kbit, mbit or gbit{}", example("20mbit")),
            Unit::Percent => format!("a number of percent, {min} to {max}"),
            Unit::Fraction => format!("a number above 0 and up to {max}{}", example("0.02")),
            Unit::Word(words) => format!("one of {}", words.join(", ")),
            Unit::Signed(least, most) => format!("a whole number, {least} to {most}"),
            Unit::Switch(_) | Unit::Choice(_) => "nothing".to_string(),
            Unit::Discipline => "a discipline".to_string(),
        }
    }
}

fn show(unit: Unit, number: u64) -> String {
    match unit {
        Unit::Bytes | Unit::BytesOrPackets => show_size(number),
        Unit::Time | Unit::TimeOrPackets => show_span(Span::from_nanos(number)),
        Unit::Rate => show_rate(Rate::from_bps(number)),
        Unit::Percent => format!("{number}%"),
        Unit::Mask => format!("{number:#x}"),
        _ => number.to_string(),
    }
}
