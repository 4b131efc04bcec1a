//! Parameters and statistics as data, before they become `tc -s` text or JSON.

use alloc::string::String;
use alloc::vec::Vec;

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
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// What `tc -s -j qdisc` prints for one instance, without the device's own fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The discipline's name.
    pub kind: &'static str,
    /// Its parameters.
    pub options: Vec<Field>,
    /// Common and special statistics, flat as tc prints them.
    pub stats: Vec<Field>,
}
