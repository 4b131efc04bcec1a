//! The types of the catalogue, and how to look things up in it. The rows are in `kinds`.

use super::kinds::KINDS;

/// A discipline: its name, where it comes from, its options and statistics.
#[derive(Debug)]
pub struct Kind {
    /// tc's name.
    pub name: &'static str,
    /// What it does, in a sentence without a full stop.
    pub summary: &'static str,
    /// RFC, paper or manual page.
    pub source: &'static str,
    /// A string that one would really use.
    pub example: &'static str,
    /// Options, in the order in which tc prints them.
    pub options: &'static [Opt],
    /// tc's options that Sojourn refuses, and why.
    pub absent: &'static [(&'static str, &'static str)],
    /// Statistics beyond those that every discipline has, in tc's order.
    pub stats: &'static [Stat],
}

/// An option of a discipline.
#[derive(Debug)]
pub struct Opt {
    /// tc's name.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub unit: Unit,
    /// Least value, in the unit's base (packets, bytes, ns, bit/s, percent).
    pub min: u64,
    /// Largest value, in the same base.
    pub max: u64,
    /// What it is when not given.
    pub initial: Initial,
    /// What it does, in a phrase.
    pub meaning: &'static str,
    /// Not in tc: an extension of ours.
    pub ours: bool,
}

/// What follows the name of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of packets: `1000` or `1000p`.
    Packets,
    /// A bare number.
    Count,
    /// A size in bytes: `1514`, `32Mb`.
    Bytes,
    /// A size in bytes, or in packets with a `p` (RED).
    BytesOrPackets,
    /// A time: `5ms`; bare numbers are microseconds.
    Time,
    /// A rate: `20mbit`; bare numbers are bit/s.
    Rate,
    /// A whole number of percent.
    Percent,
    /// A number above 0 and up to 1.
    Fraction,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Nothing: the option is one of these words itself.
    Choice(&'static [&'static str]),
    /// A whole number in this range, maybe below zero.
    Signed(i32, i32),
    /// Nothing: the name switches it on, and this other name, if any, off.
    Switch(Option<&'static str>),
    /// The rest of the string is another discipline.
    Discipline,
}

/// The value of an option that is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// It must be given.
    Required,
    /// As one would write it.
    Is(&'static str),
    /// Follows from others, as this says.
    From(&'static str),
    /// Off.
    Off,
    /// On.
    On,
}

/// A statistic that only this discipline has.
#[derive(Debug)]
pub struct Stat {
    /// tc's name in text and JSON.
    pub name: &'static str,
    /// How `tc -s` prints it; JSON has the plain number (times in µs).
    pub style: Style,
    /// Whether `tc -s` begins a line with it.
    pub first: bool,
    /// What it counts.
    pub meaning: &'static str,
}

/// How `tc -s` prints a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// A time given in microseconds: `5ms`.
    Time,
    /// A rate given in byte/s: `20Mbit`.
    Rate,
    /// Only its name, when true.
    Flag,
    /// As C's `%g`.
    Float,
}

/// All disciplines, in the order in which they are listed.
pub fn catalogue() -> &'static [Kind] {
    KINDS
}

/// The discipline called `name`.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl Kind {
    /// The option called `word`, and whether `word` switches it on (or names it) rather than
    /// off.
    pub fn option(&self, word: &str) -> Option<(&'static Opt, bool)> {
        self.options.iter().find_map(|opt| {
            if let Unit::Choice(words) = opt.unit {
                words.contains(&word).then_some((opt, true))
            } else if opt.name == word || opt.aliases.contains(&word) {
                Some((opt, true))
            } else if opt.unit == Unit::Switch(Some(static_off(opt, word)?)) {
                Some((opt, false))
            } else {
                None
            }
        })
    }

    /// Every word that may stand where an option is expected.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().flat_map(|opt| {
            let off = match opt.unit {
                Unit::Switch(off) => off,
                _ => None,
            };
            let words = match opt.unit {
                Unit::Choice(words) => words,
                _ => core::slice::from_ref(&opt.name),
            };
            words.iter().copied().chain(off)
        })
    }
}

fn static_off(opt: &Opt, word: &str) -> Option<&'static str> {
    match opt.unit {
        Unit::Switch(Some(off)) if off == word => Some(off),
        _ => None,
    }
}
