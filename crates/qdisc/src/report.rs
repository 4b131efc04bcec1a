//! Parameters and statistics as data, before they become `tc -s` text or JSON.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sojourn_units::Span;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count, a size, or a time in the unit that tc prints in JSON.
    Int(i64),
    /// A fraction or a probability.
    Float(f64),
    /// On or off.
    Bool(bool),
    /// A word.
    Text(String),
    /// Several groups of fields, such as CAKE's tins.
    Groups(Vec<Vec<Field>>),
}

/// A named value; names are those of `tc -s -j`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// tc's name.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: Value,
}

/// What `tc -s -j qdisc` prints for one instance, without the device's own fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The discipline's name.
    pub kind: Cow<'static, str>,
    /// Its parameters.
    pub options: Vec<Field>,
    /// Common and special statistics, flat as tc prints them.
    pub stats: Vec<Field>,
    /// The discipline below, which tc lists as a child.
    pub inner: Option<Box<Report>>,
}

/// Where an instance stands, for [`Report::tc_text`] and [`Report::tc_json`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The device; None leaves it out, as `tc qdisc show dev X` does.
    pub dev: Option<&'a str>,
    /// Major number of the handle: `0x8001` prints as `8001:`.
    pub handle: u16,
}

impl Field {
    pub(crate) const fn new(name: &'static str, value: Value) -> Self {
        let name = Cow::Borrowed(name);
        Self { name, value }
    }

    pub(crate) const fn switch(name: &'static str, on: bool) -> Self {
        Self::new(name, Value::Bool(on))
    }

    /// The field with its number below zero.
    pub(crate) fn negated(mut self) -> Self {
        if let Value::Int(number) = &mut self.value {
            *number = -*number;
        }
        self
    }
}

/// A number; above 2⁶³ it stays there.
pub(crate) fn int(name: &'static str, number: impl Into<u64>) -> Field {
    let number = i64::try_from(number.into()).unwrap_or(i64::MAX);
    Field::new(name, Value::Int(number))
}

/// A time, in tc's microseconds.
pub(crate) fn micros(name: &'static str, span: Span) -> Field {
    int(name, span.as_micros())
}

pub(crate) const fn float(name: &'static str, number: f64) -> Field {
    Field::new(name, Value::Float(number))
}

pub(crate) fn text(name: &'static str, word: &str) -> Field {
    Field::new(name, Value::Text(word.to_string()))
}
