//! An option: its name and unit, where a spec keeps it, and where it is shown. The rows are in
//! `kinds`.

use crate::params::{
    CeSelector, CodelLaw, DualDrop, DualLaw, DualMask, DualOverload, PieLaw, RedLaw, StepThreshold,
};
use crate::report::Value;
use crate::spec::Spec;
use crate::{AckFilter, DiffServ, Framing, Isolation};
use alloc::string::ToString;
use core::ops::RangeInclusive;
use sojourn_units::{Rate, Span};

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
    pub(super) access: Access,
    /// When a spec's string has it.
    pub(super) shown: When,
    /// When tc's report has it, and how.
    pub(super) told: When,
    pub(super) json: Json,
    /// The string of a spec has it without a unit.
    pub(super) plain: bool,
    /// It may be given more than once.
    pub(super) repeats: bool,
}

/// tc keeps packet counts in 32 bits.
pub(super) const COUNT: u64 = u32::MAX as u64;
/// 1 TiB: above any queue, and exact in the notation's arithmetic.
pub(super) const SIZE: u64 = 1 << 40;
/// tc keeps times in 32 bits of microseconds.
pub(super) const TIME: u64 = u32::MAX as u64 * 1000;
/// 1000 Tbit/s: above any link, and exact in the notation's arithmetic.
pub(super) const RATE: u64 = 1_000_000_000_000_000;

/// What follows the name of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of packets: `1000` or `1000p`.
    Packets,
    /// A bare number.
    Count,
    /// A bare number that is shown in hexadecimal.
    Mask,
    /// A size in bytes: `1514`, `32Mb`.
    Bytes,
    /// A size in bytes, or in packets with a `p` (RED).
    BytesOrPackets,
    /// A time: `5ms`.
    Time,
    /// A time, or packets with a `p` (DualPI2's step).
    TimeOrPackets,
    /// A rate: `20mbit`.
    Rate,
    /// A whole number of percent.
    Percent,
    /// A number above 0 and up to the largest value.
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
    /// It must be given, for example so.
    Required(&'static str),
    /// A value of its own: [`Kind::default_of`](crate::Kind::default_of).
    Value,
    /// Follows from others, as this says.
    From(&'static str),
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

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    /// In the unit's base; of a choice its place, of a switch 0 or 1.
    Number(u64),
    /// RED's packets; its bytes are a `Number`.
    Packets(u64),
    /// A fraction.
    Fraction(f64),
    /// A number that may be below zero.
    Signed(i32),
    /// A word in the place of a number.
    Word(&'static str),
}

/// Where an option's value is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) get: fn(&Spec) -> Option<Amount>,
    pub(super) set: fn(&mut Spec, Amount),
}

impl Access {
    /// Kept nowhere: rules look at it.
    pub(super) const NONE: Self = Self {
        get: |_| None,
        set: |_, _| {},
    };
}

/// When an option is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Whenever it has a value.
    Always,
    /// The same, and tc's text has the word for off too.
    Words,
    /// When that is not the default.
    Changed,
    /// When it is not zero or off.
    On,
    /// Not at all.
    Never,
}

/// What tc's JSON has of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Json {
    /// Its name and value.
    Same,
    /// Another name.
    Named(&'static str),
    /// A name for a time, and another one for packets.
    TimeOrPackets(&'static str, &'static str),
    /// Its name for what is before the stroke of its word, and this one for what is behind.
    Parts(&'static str),
    /// Another name, and words of its own for those of a choice.
    Words(&'static str, &'static [&'static str]),
    /// Another name, and a value of its own.
    Made(&'static str, fn(&Spec) -> Option<Value>),
}

/// A value that an option may set and show.
pub(super) trait Datum: Sized {
    /// For an option's string.
    fn amount(self) -> Option<Amount>;
    /// From an option's string, which has been found to be in range.
    fn of(amount: Amount) -> Self;
}

/// [`Datum`] for what a whole number stands for.
macro_rules! number {
    ($type:ty, $value:ident => $to:expr, $number:ident => $from:expr) => {
        impl Datum for $type {
            fn amount(self) -> Option<Amount> {
                let $value = self;
                Some(Amount::Number($to))
            }

            fn of(amount: Amount) -> Self {
                let $number = amount.number();
                $from
            }
        }
    };
}

number!(u64, value => value, number => number);
number!(u32, value => u64::from(value), number => number as u32);
number!(bool, value => u64::from(value), number => number == 1);
number!(Span, value => value.as_nanos(), number => Self::from_nanos(number));
number!(Rate, value => value.as_bps(), number => Self::from_bps(number));
number!(Isolation, value => value as u64, number => Self::ALL[number as usize]);
number!(AckFilter, value => value as u64, number => Self::ALL[number as usize]);
number!(DualOverload, value => value as u64, number => Self::ALL[number as usize]);
number!(DualDrop, value => value as u64, number => Self::ALL[number as usize]);
number!(DualMask, value => value as u64, number => Self::ALL[number as usize]);
number!(DiffServ, value => value as u64, number => Self::ALL[number as usize]);
number!(Framing, value => value as u64, number => Self::ALL[number as usize]);

/// [`Datum`] for what stands for itself: one of several words.
macro_rules! word {
    ($($type:ty),+) => {
        $(impl Datum for $type {
            fn amount(self) -> Option<Amount> {
                Some(Amount::Word(self.word()))
            }

            fn of(amount: Amount) -> Self {
                Self::ALL[amount.number() as usize]
            }
        })+
    };
}

word!(CeSelector, CodelLaw, DualLaw, PieLaw, RedLaw);

impl Datum for StepThreshold {
    fn amount(self) -> Option<Amount> {
        Some(match self {
            Self::Time(time) => Amount::Number(time.as_nanos()),
            Self::Packets(packets) => Amount::Packets(packets.into()),
        })
    }

    fn of(amount: Amount) -> Self {
        match amount {
            Amount::Packets(packets) => Self::Packets(packets as u32),
            other => Self::Time(Datum::of(other)),
        }
    }
}

impl Datum for f64 {
    fn amount(self) -> Option<Amount> {
        Some(Amount::Fraction(self))
    }

    fn of(amount: Amount) -> Self {
        match amount {
            Amount::Fraction(fraction) => fraction,
            other => other.number() as Self,
        }
    }
}

impl Datum for i32 {
    fn amount(self) -> Option<Amount> {
        Some(Amount::Signed(self))
    }

    fn of(amount: Amount) -> Self {
        match amount {
            Amount::Signed(number) => number,
            other => (other.number() as u32).cast_signed(),
        }
    }
}

impl<T: Datum> Datum for Option<T> {
    fn amount(self) -> Option<Amount> {
        self.and_then(T::amount)
    }

    fn of(amount: Amount) -> Self {
        Some(T::of(amount))
    }
}

impl Amount {
    /// The whole number; zero for what is none.
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Number(number) | Self::Packets(number) => number,
            Self::Fraction(_) | Self::Signed(_) | Self::Word(_) => 0,
        }
    }

    const fn is_on(self) -> bool {
        !matches!(self, Self::Number(0) | Self::Signed(0))
    }
}

/// Where a part of a spec keeps an option: how it is taken from there, and how it is set.
macro_rules! kept {
    ($part:ty; |$from:ident| $get:expr; |$to:ident, $amount:ident| $set:expr) => {
        $crate::tc::opt::Access {
            get: |spec| {
                let $from = <$part as $crate::spec::Part>::of(spec)?;
                $get
            },
            set: |spec, $amount| {
                if let Some($to) = <$part as $crate::spec::Part>::of_mut(spec) {
                    $set;
                }
            },
        }
    };
}

/// The option that is one field of a part of a spec.
macro_rules! field {
    ($part:ty, $($field:ident).+) => {
        $crate::tc::opt::kept!(
            $part;
            |part| $crate::tc::opt::Datum::amount(part.$($field).+);
            |part, amount| part.$($field).+ = $crate::tc::opt::Datum::of(amount)
        )
    };
}

/// A table of options that are each one field of a part of a spec: how each is made, the field, its
/// name where that is another one, and its meaning.
macro_rules! options {
    ($part:ty; $($vis:vis $name:ident: $make:ident $(($($extra:expr),+))?
        $($field:ident).+ $(as $tc:literal)?, $meaning:literal;)+) => {
        $($vis const $name: $crate::tc::opt::Opt = $crate::tc::opt::$make(
            $crate::tc::opt::named!($($field).+ $(as $tc)?),
            $($($extra,)+)?
            $crate::tc::opt::field!($part, $($field).+),
            $meaning,
        );)+
    };
}

/// tc's name of a field: its own, or the one given.
macro_rules! named {
    ($field:ident) => {
        stringify!($field)
    };
    ($($field:ident).+ as $tc:literal) => {
        $tc
    };
}

/// The statistics of a discipline, line by line as `tc -s` prints them.
macro_rules! stats {
    ($([$first:ident $(as $style:ident)?: $meaning:literal
        $(; $name:ident $(as $other:ident)?: $what:literal)*])* $(..$($more:expr),+)?) => {
        &[
            $($crate::tc::opt::first($crate::tc::opt::stats!(@ $first $(as $style)?: $meaning)),
            $($crate::tc::opt::stats!(@ $name $(as $other)?: $what),)*)*
            $($($more),+)?
        ]
    };
    (@ $name:ident as $style:ident: $meaning:literal) => {
        $crate::tc::opt::styled(
            $crate::tc::opt::stat(stringify!($name), $meaning),
            $crate::tc::opt::Style::$style,
        )
    };
    (@ $name:ident: $meaning:literal) => {
        $crate::tc::opt::stat(stringify!($name), $meaning)
    };
}
pub(super) use {field, kept, named, options, stats};

pub(super) const fn opt(
    name: &'static str,
    unit: Unit,
    range: RangeInclusive<u64>,
    access: Access,
    meaning: &'static str,
) -> Opt {
    Opt {
        name,
        aliases: &[],
        unit,
        min: *range.start(),
        max: *range.end(),
        initial: Initial::Value,
        meaning,
        ours: false,
        access,
        shown: When::Always,
        told: When::Always,
        json: Json::Same,
        plain: false,
        repeats: false,
    }
}

/// The discipline that holds the packets; the rest of the string.
pub(super) const fn over(meaning: &'static str) -> Opt {
    opt("over", Unit::Discipline, 0..=0, Access::NONE, meaning)
}

pub(super) const fn time(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Time, 1..=TIME, access, meaning)
}

pub(super) const fn size(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Bytes, 1..=SIZE, access, meaning)
}

pub(super) const fn rate(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Rate, 8..=RATE, access, meaning)
}

pub(super) const fn fraction(name: &'static str, access: Access, meaning: &'static str) -> Opt {
    opt(name, Unit::Fraction, 0..=1, access, meaning)
}

/// A switch, which is shown when it is on.
pub(super) const fn switch(
    name: &'static str,
    off: Option<&'static str>,
    access: Access,
    meaning: &'static str,
) -> Opt {
    let opt = opt(name, Unit::Switch(off), 0..=1, access, meaning);
    when(opt, When::On, When::On)
}

/// A value that is one of `words`, without a name.
pub(super) const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    access: Access,
    meaning: &'static str,
) -> Opt {
    let opt = opt(name, Unit::Choice(words), 0..=0, access, meaning);
    from(opt, name)
}

/// What gives a row another value in one field.
macro_rules! with {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty)?):
        $row:ident.$field:ident = $value:expr;)+) => {
        $($(#[$doc])*
        pub(super) const fn $name(mut row: $row $(, $arg: $type)?) -> $row {
            row.$field = $value;
            row
        })+
    };
}

with! {
    /// The same option, kept elsewhere.
    at(access: Access): Opt.access = access;
    also(aliases: &'static [&'static str]): Opt.aliases = aliases;
    ours(): Opt.ours = true;
    required(example: &'static str): Opt.initial = Initial::Required(example);
    from(rule: &'static str): Opt.initial = Initial::From(rule);
    json(json: Json): Opt.json = json;
    plain(): Opt.plain = true;
    repeats(): Opt.repeats = true;
    styled(style: Style): Stat.style = style;
    first(): Stat.first = true;
}

/// When a spec's string has it, and when tc's report does.
pub(super) const fn when(mut opt: Opt, shown: When, told: When) -> Opt {
    opt.shown = shown;
    opt.told = told;
    opt
}

pub(super) const fn stat(name: &'static str, meaning: &'static str) -> Stat {
    Stat {
        name,
        style: Style::Plain,
        first: false,
        meaning,
    }
}

impl Opt {
    /// Its value in `spec`, if it is one to show `when`.
    pub(super) fn value(&self, spec: &Spec, when: When, initial: &Spec) -> Option<Amount> {
        let amount = (self.access.get)(spec);
        amount.filter(|amount| match when {
            When::Always | When::Words => true,
            When::Changed => (self.access.get)(initial) != Some(*amount),
            When::On => amount.is_on(),
            When::Never => false,
        })
    }

    /// Its name in tc's JSON.
    pub(super) const fn json_name(&self) -> &'static str {
        match self.json {
            Json::Same | Json::Parts(_) => self.name,
            Json::Named(name)
            | Json::Words(name, _)
            | Json::Made(name, _)
            | Json::TimeOrPackets(name, _) => name,
        }
    }

    /// Its name in tc's JSON with the value that it has in a spec.
    pub(super) fn json_name_in(&self, spec: &Spec) -> &'static str {
        match (self.json, (self.access.get)(spec)) {
            (Json::TimeOrPackets(_, packets), Some(Amount::Packets(_))) => packets,
            _ => self.json_name(),
        }
    }

    /// Whether a field of tc's JSON is it.
    pub(super) fn is_told_as(&self, field: &str) -> bool {
        let other = match self.json {
            Json::TimeOrPackets(_, other) | Json::Parts(other) => other,
            _ => self.json_name(),
        };
        self.json_name() == field || other == field
    }

    /// Its value in tc's JSON: rates in byte/s, times in microseconds.
    pub(super) fn told(&self, spec: &Spec, initial: &Spec) -> Option<Value> {
        if let Json::Made(_, value) = self.json {
            return value(spec);
        }
        let int = |number| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        Some(match (self.value(spec, self.told, initial)?, self.unit) {
            (Amount::Number(nanos), Unit::Time | Unit::TimeOrPackets) => int(nanos / 1000),
            (Amount::Packets(packets), Unit::TimeOrPackets) => int(packets),
            (Amount::Number(bits), Unit::Rate) => int(bits / 8),
            (Amount::Number(on), Unit::Switch(_)) => Value::Bool(on == 1),
            (Amount::Number(place), Unit::Choice(words)) => {
                let words = match self.json {
                    Json::Words(_, words) => words,
                    _ => words,
                };
                Value::Text(words[place as usize].to_string())
            }
            (Amount::Number(number), _) => int(number),
            // tc knows no packets here; a bare number would mean bytes.
            (Amount::Packets(packets), _) => Value::Text(alloc::format!("{packets}p")),
            (Amount::Fraction(fraction), _) => Value::Float(fraction),
            (Amount::Signed(number), _) => Value::Int(number.into()),
            (Amount::Word(word), _) => Value::Text(word.to_string()),
        })
    }
}
