//! The tins of a queue's report, with their names.

use sojourn_qdisc::{DiffServ, Field, Report, Value};

/// A tin as tc shows it.
pub(crate) struct Tin<'a> {
    /// tc's name of it.
    pub(crate) name: &'static str,
    fields: &'a [Field],
}

impl Tin<'_> {
    /// A number of it, by tc's name.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        let found = self.fields.iter().find(|field| field.name == name);
        match found.map(|field| &field.value) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }
}

/// The tins of a queue in tc's order; none where it has none.
pub(crate) fn tins_of(report: &Report) -> Vec<Tin<'_>> {
    let tins = report
        .stats
        .iter()
        .find_map(|field| match &field.value {
            Value::Groups(tins) if field.name == "tins" => Some(tins.as_slice()),
            _ => None,
        })
        .unwrap_or_default();
    let mode = DiffServ::ALL.iter().find(|mode| mode.tins() == tins.len());
    let names = mode.map_or(&[][..], |mode| mode.names());
    let named = names.iter().zip(tins);
    named.map(|(name, fields)| Tin { name, fields }).collect()
}
