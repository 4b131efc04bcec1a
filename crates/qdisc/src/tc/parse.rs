//! From a string to a [`Spec`].

use super::error::{SpecError, nearest};
use super::kind::{Given, Kind, end_of, error, missing};
use super::kinds::{ELSEWHERE, catalogue, kind};
use super::netem;
use super::opt::{Amount, Opt, Unit};
use super::reading::Reader;
use super::word::{Word, words};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;
use sojourn_units::{UnitError, is_unit, parse_rate, parse_size, parse_span};

impl FromStr for Spec {
    type Err = SpecError;

    /// Reads a discipline in the language of `tc qdisc add`: its name and options in any
    /// order, with tc's units and defaults. A pasted `tc qdisc add dev eth0 root handle 1:`
    /// in front is skipped.
    ///
    /// # Errors
    /// [`SpecError`] says what is wrong, where, and what would be right.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        whole(text, None, &mut Reader::default())
    }
}

/// A discipline from a string, laid over the one that runs.
pub(super) fn whole(
    text: &str,
    running: Option<&Spec>,
    reader: &mut Reader,
) -> Result<Spec, SpecError> {
    let words = without_command(text, reader.as_tc)?;
    spec(text, &words, DEEPEST, running, reader)
}

/// The words from the discipline's name on, without where `tc` would put it.
pub(super) fn without_command(text: &str, as_tc: bool) -> Result<Vec<Word<'_>>, SpecError> {
    let mut words: Vec<Word<'_>> = words(text).collect();
    if as_tc {
        // A log has its own words before the command.
        let is_tc = |word: &Word<'_>| word.text.rsplit('/').next() == Some("tc");
        let start = words.iter().position(is_tc).map_or(0, |place| place + 1);
        words.drain(..start);
    }
    let command = words.len() - skip_command(text, &words)?.len();
    words.drain(..command);
    // The line of `tc qdisc show`: the handle and its place stand after the name.
    if words.get(1).is_some_and(|word| word.text.ends_with(':')) {
        let place = words.len() - 1 - skip_command(text, &words[1..])?.len();
        words.drain(1..=place);
    }
    Ok(words)
}

/// Most disciplines inside one another; what makes sense has four (`tbf over htb over steer over
/// fq_codel`).
const DEEPEST: usize = 8;

/// Skips `tc qdisc add dev X root handle N:`, `8001: root refcnt 2` and the like.
fn skip_command<'a, 'w>(text: &str, words: &'w [Word<'a>]) -> Result<&'w [Word<'a>], SpecError> {
    let mut rest = words;
    while let [word, tail @ ..] = rest {
        rest = match word.text {
            "sudo" | "tc" | "qdisc" | "add" | "replace" | "change" | "root" => tail,
            handle if handle.ends_with(':') => tail,
            "dev" | "handle" | "parent" | "refcnt" => {
                let [_, after @ ..] = tail else {
                    let what = format!("`{}` needs a value", word.text);
                    let wanted = "leave it out, or name the discipline after it";
                    return Err(missing(text, what).want(wanted.to_string()));
                };
                after
            }
            "stab" => {
                let what = "`stab` is not in Sojourn".to_string();
                let wanted = "give its `overhead` and `mpu` to cake or tbf, and `linklayer atm` as \
                              `atm` (cake) or as it is (tbf)";
                return Err(error(text, word.at(), what).want(wanted.to_string()));
            }
            _ => break,
        };
    }
    Ok(rest)
}

fn names() -> String {
    let names: Vec<&str> = catalogue().iter().map(|kind| kind.name).collect();
    names.join(", ")
}

/// A discipline, and at most so many below it. What its words do not name stays as in `running`,
/// if that is of the same kind.
fn spec(
    text: &str,
    words: &[Word<'_>],
    deepest: usize,
    running: Option<&Spec>,
    reader: &mut Reader,
) -> Result<Spec, SpecError> {
    let Some((name, rest)) = words.split_first() else {
        let error = missing(text, "the discipline is missing".to_string());
        return Err(error.want(format!("it is one of {}", names())));
    };
    let Some(below) = deepest.checked_sub(1) else {
        let what = format!("more than {DEEPEST} disciplines inside one another");
        return Err(error(text, name.at(), what).want("leave out some".to_string()));
    };
    let Some(kind) = kind(name.text) else {
        return Err(unknown_kind(text, name, rest));
    };
    let path = reader.path;
    reader.path = path.map(|path| path.through(kind, rest));
    let running = running.filter(|running| running.name() == kind.name);
    let inner = running.and_then(Spec::inner);
    let mut given = Given::new(text, kind);
    given.read(rest, below, inner.as_ref(), reader)?;
    reader.path = path;
    given.spec(running)
}

/// The error of an unknown discipline's name, with the words that follow it.
pub(super) fn unknown_kind(text: &str, name: &Word<'_>, rest: &[Word<'_>]) -> SpecError {
    let word = name.text;
    if word == "netem" {
        let words: Vec<&str> = rest.iter().map(|word| word.text).collect();
        let what = "`netem` is not a queue here: every link does what it does".to_string();
        return error(text, name.at(), what).want(netem::translated(&words));
    }
    if word.starts_with("python:") {
        let what = format!("`{word}` is a Python class, which this command does not load");
        return error(text, name.at(), what).want(
            "`sojourn run`, `check`, `evaluate` and `reproduce` and the Python package do, in the \
                 simulator"
                .to_string(),
        );
    }
    if word.starts_with("rust:") {
        let what = format!("`{word}` is an AQM of a library, which this command does not load");
        let who = "`sojourn run`, `check`, `evaluate` and `reproduce` do, in the simulator";
        return error(text, name.at(), what).want(who.to_string());
    }
    if let Some(&there) = ELSEWHERE.iter().find(|&&known| known == word) {
        return error(text, name.at(), format!("`{there}` is not in Sojourn yet"))
            .want(format!("there are {}", names()));
    }
    let near = nearest(word, catalogue().iter().map(|kind| kind.name));
    error(text, name.at(), format!("unknown discipline `{word}`"))
        .want(format!("there are {}", names()))
        .suggest(near)
}

impl<'a> Given<'a> {
    /// Nothing is given yet.
    const fn new(text: &'a str, kind: &'static Kind) -> Self {
        Self {
            text,
            kind,
            options: Vec::new(),
            inner: None,
            as_tc: false,
        }
    }

    /// The options of a discipline, below which at most so many others stand; `inner` is the one
    /// that runs below it.
    fn read(
        &mut self,
        words: &[Word<'a>],
        below: usize,
        inner: Option<&Spec>,
        reader: &mut Reader,
    ) -> Result<(), SpecError> {
        let kind = self.kind;
        self.as_tc = reader.as_tc;
        let mut rest = words;
        while let Some((word, tail)) = rest.split_first() {
            let known = kind.option(word.text);
            let (opt, on) = known.ok_or_else(|| self.unknown_option(word))?;
            if self.has(opt.name) && !opt.repeats {
                if !reader.as_tc || kind.once.contains(&opt.name) {
                    return Err(self.twice(opt, word));
                }
                self.forget(opt, word, reader);
            }
            rest = tail;
            let (amount, at) = match opt.unit {
                Unit::Choice(words) => {
                    let meant = kind.meant(word.text);
                    let chosen = words.iter().position(|other| *other == meant);
                    (Amount::Number(chosen.unwrap_or(0) as u64), word.at())
                }
                Unit::Switch(_) => (Amount::Number(on.into()), word.at()),
                // As in the line of `tc qdisc show`: a word of its own.
                Unit::Rate
                    if tail.first().is_some_and(|next| next.text == "unlimited")
                        && kind.option("unlimited").is_some() =>
                {
                    continue;
                }
                Unit::Discipline => {
                    self.inner = Some(spec(self.text, tail, below, inner, reader)?);
                    rest = &[];
                    (Amount::Number(0), word.at())
                }
                _ => {
                    let Some((value, tail)) = tail.split_first() else {
                        let end = end_of(self.text);
                        return Err(self.no_value(opt, end..end));
                    };
                    if kind.option(value.text).is_some() {
                        return Err(self.no_value(opt, value.at()));
                    }
                    let (value, tail) = self.with_unit(value, tail);
                    rest = tail;
                    (self.amount(opt, &value, reader)?, value.at())
                }
            };
            self.options.push((opt, amount, at));
        }
        Ok(())
    }

    /// Takes an option that is given again as tc does: the later one counts.
    fn forget(&mut self, opt: &Opt, word: &Word<'_>, reader: &mut Reader) {
        if let Some(place) = self
            .options
            .iter()
            .position(|(own, ..)| own.name == opt.name)
        {
            let (_, amount, _) = self.options.remove(place);
            let (before, now) = (opt.with_name(amount), word.text);
            reader.note(format!("`{before}` is overridden: `{now}` comes later"));
        }
    }

    /// A value with its unit, which may stand behind a blank: `20 Mbit/s`.
    fn with_unit<'w>(&self, value: &Word<'a>, rest: &'w [Word<'a>]) -> (Word<'a>, &'w [Word<'a>]) {
        let is_bare = value.text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        match rest.split_first() {
            Some((unit, rest)) if is_bare && is_unit(unit.text) => {
                let end = unit.at().end;
                let text = &self.text[value.at().start..end];
                let start = value.at().start;
                (Word { text, start }, rest)
            }
            _ => (*value, rest),
        }
    }

    fn twice(&self, opt: &Opt, word: &Word<'_>) -> SpecError {
        let what = match opt.unit {
            Unit::Switch(Some(off)) => format!("`{}` or `{off}` is given twice", opt.name),
            Unit::Choice(words) => {
                let words = words.join(", ");
                format!("`{}` is one too many of {words}", word.text)
            }
            _ => format!("`{}` is given twice", opt.name),
        };
        let wanted = "which one is meant? Leave out the other".to_string();
        error(self.text, word.at(), what).of(opt.name).want(wanted)
    }

    fn unknown_option(&self, word: &Word<'_>) -> SpecError {
        let (kind, text) = (self.kind, word.text);
        if let Some((_, why)) = kind.absent.iter().find(|(name, _)| *name == text) {
            let what = format!("`{text}` of {} is not in Sojourn", kind.name);
            return error(self.text, word.at(), what).want((*why).to_string());
        }
        let options: Vec<&str> = kind.words().collect();
        let what = format!("`{text}` is not an option of {}", kind.name);
        if let Some(meant) = kind.meant_by(text) {
            return error(self.text, word.at(), what).want(meant);
        }
        error(self.text, word.at(), what)
            .want(format!("it has {}", options.join(", ")))
            .suggest(nearest(text, kind.words()))
    }

    fn no_value(&self, opt: &Opt, at: Range<usize>) -> SpecError {
        let what = format!("`{}` needs a value", opt.name);
        error(self.text, at, what).of(opt.name).want(opt.wanted())
    }

    fn amount(
        &self,
        opt: &'static Opt,
        value: &Word<'_>,
        reader: &mut Reader,
    ) -> Result<Amount, SpecError> {
        let text = value.text;
        let at = || value.at();
        let bad = |what: String| error(self.text, at(), what).of(opt.name).want(opt.wanted());
        let unreadable = || bad(format!("`{text}` is not what `{}` takes", opt.name));
        if let Some(length) = self.length(opt, value, reader.path) {
            return length;
        }
        reader.note_bytes(opt, text);
        if let Some(number) = reader.bare(opt, text) {
            self.in_range(opt, number, value)?;
            return Ok(Amount::Number(number));
        }
        let unfit = |error: UnitError| {
            if error.lacks_unit() {
                bad(format!("`{} {text}` needs a unit", opt.name))
            } else {
                unreadable()
            }
        };
        if text.ends_with('%') && matches!(opt.unit, Unit::Rate) {
            return Err(bad(format!(
                "`{}` cannot be {text}: the rate of the link is not known here",
                opt.name
            )));
        }
        let number = match opt.unit {
            Unit::Packets => count(text.strip_suffix('p').unwrap_or(text)),
            Unit::Count | Unit::Mask => count(text),
            Unit::Percent => count(text.strip_suffix('%').unwrap_or(text)),
            // tc takes `burst 5kb/8`: the cell of a rate table, which nobody uses any more.
            Unit::Bytes => parse_size(without_cell(opt, text)).ok(),
            Unit::BytesOrPackets => match text.strip_suffix('p') {
                Some(packets) => {
                    let packets = count(packets).ok_or_else(unreadable)?;
                    self.in_range(opt, packets, value)?;
                    return Ok(Amount::Packets(packets));
                }
                None => parse_size(text).ok(),
            },
            Unit::TimeOrPackets if text.ends_with('p') => {
                let packets = count(text.trim_end_matches('p')).ok_or_else(unreadable)?;
                self.in_range(opt, packets, value)?;
                return Ok(Amount::Packets(packets));
            }
            Unit::Time | Unit::TimeOrPackets => Some(parse_span(text).map_err(unfit)?.as_nanos()),
            Unit::Rate => Some(parse_rate(text).map_err(unfit)?.as_bps()),
            Unit::Signed(least, most) => {
                let number: i32 = text.parse().map_err(|_| unreadable())?;
                if (least..=most).contains(&number) {
                    return Ok(Amount::Signed(number));
                }
                return Err(bad(too(number < least, opt, value)));
            }
            Unit::Fraction => {
                let fraction = fraction(text, opt.max).ok_or_else(unreadable)?;
                return Ok(Amount::Fraction(fraction));
            }
            Unit::Word(words) => words
                .iter()
                .position(|word| *word == text)
                .map(|place| place as u64),
            Unit::Switch(_) | Unit::Choice(_) | Unit::Discipline => None,
        };
        let number = number.ok_or_else(unreadable)?;
        self.in_range(opt, number, value)?;
        Ok(Amount::Number(number))
    }

    pub(super) fn in_range(
        &self,
        opt: &Opt,
        number: u64,
        value: &Word<'_>,
    ) -> Result<(), SpecError> {
        if (opt.min..=opt.max).contains(&number) {
            return Ok(());
        }
        let what = too(number < opt.min, opt, value);
        let wanted = format!("it can be {}", opt.range().unwrap_or_default());
        Err(error(self.text, value.at(), what).of(opt.name).want(wanted))
    }
}

impl Kind {
    /// What was probably meant by a value that stands where an option's name should: `cake 20mbit`.
    fn meant_by(&self, text: &str) -> Option<String> {
        let unit = match (parse_rate(text), parse_span(text)) {
            (Ok(rate), _) if !rate.is_zero() => Unit::Rate,
            (_, Ok(span)) if !span.is_zero() => Unit::Time,
            _ => return None,
        };
        let fits: Vec<String> = self
            .options
            .iter()
            .filter(|opt| opt.unit == unit)
            .map(|opt| format!("`{} {text}`", opt.name))
            .collect();
        match &*fits {
            [] => None,
            [one] => Some(format!("did you mean {one}?")),
            several => Some(format!("did you mean one of {}?", several.join(", "))),
        }
    }
}

fn too(is_small: bool, opt: &Opt, value: &Word<'_>) -> String {
    let what = if is_small { "small" } else { "large" };
    format!("`{} {}` is too {what}", opt.name, value.text)
}

fn without_cell<'a>(opt: &Opt, text: &'a str) -> &'a str {
    match text.split_once('/') {
        Some((size, cell)) if matches!(opt.name, "burst" | "mtu") && count(cell).is_some() => size,
        _ => text,
    }
}

/// A number as tc reads it: decimal, or hexadecimal after `0x`.
fn count(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would take a sign.
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

fn fraction(text: &str, most: u64) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|c| c.is_ascii_digit() || b".eE-".contains(&c));
    let value: f64 = text.parse().ok().filter(|_| plain)?;
    (value > 0.0 && value <= most as f64).then_some(value)
}
