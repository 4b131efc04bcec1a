//! A discipline: its row in the catalogue, the options that a string gives to it, and what is said
//! of wrong ones.

use super::error::SpecError;
use super::opt::{Amount, Initial, Opt, Stat, Unit};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use sojourn_units::{Span, shortened};

/// Characters of a complaint; it may quote words of any length.
const MOST_SAID: usize = 300;

/// A discipline: its name, where it comes from, its options and statistics.
#[derive(Debug)]
pub struct Kind {
    /// tc's name.
    pub name: &'static str,
    /// What it does, in a sentence without a full stop.
    pub summary: &'static str,
    /// RFC, paper or manual page.
    pub source: &'static str,
    /// Linux's module for it; None when Linux has no such queue.
    pub linux: Option<&'static str>,
    /// A string that one would really use.
    pub example: &'static str,
    /// Options, in the order in which tc prints them.
    pub options: &'static [Opt],
    /// tc's options that Sojourn refuses, and why.
    pub absent: &'static [(&'static str, &'static str)],
    /// Statistics beyond those that every discipline has, in tc's order.
    pub stats: &'static [Stat],
    /// The discipline when no option is given; what must be given is zero.
    pub(super) initial: fn() -> Spec,
    /// The rules between options, once each is set.
    pub(super) rules: fn(&Given<'_>, &mut Spec) -> Result<(), SpecError>,
    /// Options that a spec's string has before others than tc: each, and the one it precedes.
    pub(super) moved: &'static [(&'static str, &'static str)],
    /// Other words of tc's for those of a choice.
    pub(super) synonyms: &'static [(&'static str, &'static str)],
    /// Options that tc refuses to take twice; of others the last one counts there.
    pub(super) once: &'static [&'static str],
    /// What `rules` derives options from: when words are laid over a running discipline, each of
    /// these groups is as it runs unless one of the group is given.
    pub(super) derived: &'static [&'static [&'static str]],
    /// Resets what the given options say anew as a whole, before they are laid over what runs.
    pub(super) renew: fn(&Given<'_>, &mut Spec),
}

impl Kind {
    /// A row with nothing in it: no options, no rules.
    pub(super) const BARE: Self = Self {
        name: "",
        summary: "",
        source: "",
        linux: None,
        example: "",
        options: &[],
        absent: &[],
        stats: &[],
        initial: || Spec::pfifo(1000),
        rules: |_, _| Ok(()),
        moved: &[],
        synonyms: &[],
        once: &[],
        derived: &[],
        renew: |_, _| {},
    };

    /// The option called `word`, and whether `word` switches it on (or names it) rather than
    /// off.
    pub fn option(&self, word: &str) -> Option<(&'static Opt, bool)> {
        let word = self.meant(word);
        self.options.iter().find_map(|opt| match opt.unit {
            Unit::Choice(words) => words.contains(&word).then_some((opt, true)),
            Unit::Switch(Some(off)) if off == word => Some((opt, false)),
            _ if opt.name == word || opt.aliases.contains(&word) => Some((opt, true)),
            _ => None,
        })
    }

    /// The word of a choice that `word` is another name for; `word` itself if it is none.
    pub(super) fn meant<'a>(&self, word: &'a str) -> &'a str {
        let other = self.synonyms.iter().find(|(other, _)| *other == word);
        other.map_or(word, |(_, meant)| meant)
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

    /// What `opt` is when not given, as one would write it; None when it has no value then.
    pub fn default_of(&self, opt: &Opt) -> Option<String> {
        let amount = (opt.access.get)(&(self.initial)());
        amount.map(|amount| opt.with_name(amount))
    }

    /// The option of a field of tc's report.
    pub(super) fn told(&self, field: &str) -> Option<&'static Opt> {
        let named = self.options.iter().find(|opt| opt.is_told_as(field));
        named.or_else(|| self.option(field).map(|(opt, _)| opt))
    }
}

/// The options given to one discipline.
pub(super) struct Given<'a> {
    pub(super) text: &'a str,
    pub(super) kind: &'static Kind,
    /// In the order of the string, and where each value stands.
    pub(super) options: Vec<(&'static Opt, Amount, Range<usize>)>,
    /// The discipline after `over`.
    pub(super) inner: Option<Spec>,
    /// Whether it is read as tc does: of options that contradict each other the last one counts.
    pub(super) as_tc: bool,
}

impl Given<'_> {
    /// The discipline: its initial values or those of one that runs, those given, and the rules
    /// between them.
    pub(super) fn spec(&mut self, running: Option<&Spec>) -> Result<Spec, SpecError> {
        if let Some(running) = running {
            return self.laid_over(running);
        }
        for opt in self.kind.options {
            if let Initial::Required(example) = opt.initial
                && self.find(opt.name).is_none()
            {
                return Err(self.missing(opt.name, example));
            }
        }
        self.onto((self.kind.initial)())
    }

    /// A discipline of the same kind that runs, with the given options as they are given.
    fn laid_over(&mut self, running: &Spec) -> Result<Spec, SpecError> {
        let end = end_of(self.text);
        let kept: Vec<_> = self
            .kind
            .derived
            .iter()
            .filter(|group| !group.iter().any(|name| self.has(name)))
            .flat_map(|group| group.iter())
            .filter_map(|name| {
                let (opt, _) = self.kind.option(name)?;
                Some((opt, (opt.access.get)(running)?, end..end))
            })
            .collect();
        let over = self
            .kind
            .derived
            .iter()
            .find(|group| group.contains(&"over"));
        if let Some(group) = over
            && self.inner.is_none()
            && !group.iter().any(|name| self.has(name))
            && kept.iter().all(|(opt, ..)| !group.contains(&opt.name))
        {
            self.inner = running.inner();
        }
        self.options.extend(kept);
        let mut spec = running.clone();
        (self.kind.renew)(self, &mut spec);
        self.onto(spec)
    }

    fn onto(&self, mut spec: Spec) -> Result<Spec, SpecError> {
        for (opt, amount, _) in &self.options {
            (opt.access.set)(&mut spec, *amount);
        }
        (self.kind.rules)(self, &mut spec)?;
        Ok(spec)
    }

    pub(super) fn find(&self, name: &str) -> Option<(Amount, Range<usize>)> {
        let found = self.options.iter().find(|(opt, ..)| opt.name == name);
        found.map(|(_, amount, at)| (*amount, at.clone()))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.find(name).map(|(amount, _)| amount.number())
    }

    pub(super) fn span(&self, name: &str) -> Option<Span> {
        self.number(name).map(Span::from_nanos)
    }

    pub(super) fn missing(&self, name: &'static str, example: &str) -> SpecError {
        let what = format!("{} needs `{name}`", self.kind.name);
        self.lacks(name, what, format!("for example `{example}`"))
    }

    /// Something is missing at the end of the string.
    pub(super) fn lacks(&self, name: &'static str, what: String, wanted: String) -> SpecError {
        missing(self.text, what).of(name).want(wanted)
    }

    pub(super) fn wrong(&self, name: &'static str, what: String, wanted: String) -> SpecError {
        let end = end_of(self.text);
        let at = self.find(name).map_or(end..end, |(_, at)| at);
        error(self.text, at, what).of(name).want(wanted)
    }
}

/// Where something that is missing would stand: after the last word.
pub(super) fn end_of(text: &str) -> usize {
    text.trim_end().len()
}

/// Something is missing there.
pub(super) fn missing(text: &str, what: String) -> SpecError {
    error(text, end_of(text)..end_of(text), what)
}

#[allow(clippy::needless_pass_by_value, reason = "callers make it for this")]
pub(super) fn error(text: &str, at: Range<usize>, what: String) -> SpecError {
    SpecError {
        text: text.to_string(),
        at,
        what: shortened(&what, MOST_SAID),
        field: None,
        wanted: None,
        suggestion: None,
    }
}

impl SpecError {
    pub(super) fn of(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    pub(super) fn want(mut self, wanted: String) -> Self {
        self.wanted = Some(wanted);
        self
    }

    pub(super) fn suggest(mut self, suggestion: Option<&'static str>) -> Self {
        self.suggestion = suggestion;
        self
    }
}
