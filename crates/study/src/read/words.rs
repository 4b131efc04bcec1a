//! The words of a study: its axes, sets and definitions.

use super::{Raw, Reader, Written};
use crate::claims::{Axis, AxisValue, Set};
use sojourn_scenario::problem::{Origin, suggestion};
use sojourn_scenario::read::{Fields, Read, join, wrong_type};
use sojourn_scenario::tree::{Entry, Node, Value};
use sojourn_world::ByWorld;

impl Reader {
    fn entries(&mut self, top: &Fields<'_>, key: &str) -> Vec<Entry> {
        let table: Option<Option<Raw>> = top.field(key, &mut self.problems);
        let Some(Raw(node)) = table.flatten() else {
            return Vec::new();
        };
        self.table_of(&node, key)
    }

    fn table_of(&mut self, node: &Node, path: &str) -> Vec<Entry> {
        if let Value::Table(entries) = &node.value {
            return entries.clone();
        }
        self.problems.add(wrong_type(node, path, "a table"));
        Vec::new()
    }

    /// Axes and sets.
    pub(super) fn axes(&mut self, top: &Fields<'_>) {
        for entry in self.entries(top, "axes") {
            let values = match &entry.node.value {
                Value::Text(field) => self.swept(field, &entry),
                _ => self.axis_values(&entry),
            };
            self.words.axes.push(Axis {
                name: entry.key,
                values,
            });
        }
        for entry in self.entries(top, "sets") {
            let axes: Vec<&str> = self.words.axes.iter().map(|a| a.name.as_str()).collect();
            let Some(axis) = axes.iter().position(|name| *name == entry.key) else {
                let help = suggestion(&entry.key, &axes);
                let message = format!("no axis is named `{}`", entry.key);
                self.add(entry.at, "sets", message, Some(help));
                continue;
            };
            for set in self.table_of(&entry.node, &join("sets", &entry.key)) {
                self.set(axis, &set);
            }
        }
    }

    /// Quantities under a name.
    pub(super) fn definitions(&mut self, top: &Fields<'_>) {
        for entry in self.entries(top, "define") {
            let path = join("define", &entry.key);
            let Some(written) = Written::read(&entry.node, &path, &mut self.problems) else {
                continue;
            };
            let read = crate::claims::quantity(&written.text, &self.words);
            if let Some(expr) = self.understood(read, &written, &path) {
                self.words.definitions.push((entry.key, expr));
            }
        }
    }

    /// The values that a field takes in the scenarios' sweeps.
    fn swept(&mut self, field: &str, entry: &Entry) -> Vec<AxisValue> {
        let mut values: Vec<AxisValue> = Vec::new();
        let axes = || self.settings.iter().flat_map(|s| &s.scenario().info.axes);
        for value in axes().filter(|a| a.field == field).flat_map(|a| &a.values) {
            if values.iter().all(|known| known.name != *value) {
                values.push(AxisValue {
                    name: value.clone(),
                    params: vec![(field.to_owned(), vec![value.clone()])],
                });
            }
        }
        if values.is_empty() {
            let known: Vec<&str> = axes().map(|axis| axis.field.as_str()).collect();
            let help = suggestion(field, &known);
            let message = format!("no scenario of the study sweeps `{field}`");
            self.add(entry.node.at, "axes", message, Some(help));
        }
        values
    }

    /// `{ codel = { "dumbbell.up.qdisc" = "codel" } }`
    fn axis_values(&mut self, entry: &Entry) -> Vec<AxisValue> {
        let path = join("axes", &entry.key);
        let values = self.table_of(&entry.node, &path);
        values
            .into_iter()
            .map(|value| {
                let path = join(&path, &value.key);
                let mut params = Vec::new();
                for param in self.table_of(&value.node, &path) {
                    flatten(&param, "", &mut params);
                }
                AxisValue {
                    name: value.key,
                    params,
                }
            })
            .collect()
    }

    /// What the scenario of a further world sweeps must be known from the setting's first scenario
    /// or from an axis: a slip of the pen would make cells that no check ever finds.
    pub(super) fn sweeps_of_others(&mut self, places: &[ByWorld<Origin>]) {
        let mut problems = Vec::new();
        let settings = places.iter().zip(&self.settings);
        let swept = settings.flat_map(|(places, setting)| {
            let places = places.iter();
            places.map(move |(world, at)| (*at, setting, setting.scenarios.get(world)))
        });
        for (at, setting, scenario) in swept {
            for axis in scenario.iter().flat_map(|scenario| &scenario.info.axes) {
                let first = setting.scenario().info.axes.iter();
                let first = first.filter(|other| other.field == axis.field);
                let named = self.words.axes.iter().flat_map(|axis| &axis.values);
                let params = named.flat_map(|value| &value.params);
                let params = params.filter(|(field, _)| *field == axis.field);
                let known: Vec<&str> = first
                    .flat_map(|axis| &axis.values)
                    .chain(params.flat_map(|(_, values)| values))
                    .map(String::as_str)
                    .collect();
                for value in &axis.values {
                    if !known.contains(&value.as_str()) {
                        let message = format!(
                            "its sweep gives `{}` the value `{value}`, which no axis and no \
                             other scenario of {} has",
                            axis.field, setting.name
                        );
                        problems.push((at, message, suggestion(value, &known)));
                    }
                }
            }
        }
        for (at, message, help) in problems {
            self.add(at, "setting", message, Some(help));
        }
    }

    fn set(&mut self, axis: usize, set: &Entry) {
        let path = format!("sets.{}.{}", self.words.axes[axis].name, set.key);
        let list = <Vec<Raw>>::read(&set.node, &path, &mut self.problems);
        let mut values = Vec::new();
        for Raw(node) in list.unwrap_or_default() {
            let known = &self.words.axes[axis].values;
            if let Some(value) = known.iter().position(|value| value.name == node.text) {
                values.push(value);
                continue;
            }
            let names: Vec<&str> = known.iter().map(|v| v.name.as_str()).collect();
            let help = suggestion(&node.text, &names);
            let name = &self.words.axes[axis].name;
            let message = format!("axis `{name}` has no value `{}`", node.text);
            self.add(node.at, &path, message, Some(help));
        }
        self.words.sets.push(Set {
            name: set.key.clone(),
            axis,
            values,
        });
    }
}

/// `"tcp.cc" = "reno"` and `tcp.cc = "reno"` mean the same.
fn flatten(entry: &Entry, above: &str, params: &mut Vec<(String, Vec<String>)>) {
    let path = join(above, &entry.key);
    match &entry.node.value {
        Value::Table(entries) => {
            for entry in entries {
                flatten(entry, &path, params);
            }
        }
        Value::Array(items) => {
            let texts = items.iter().map(|item| item.text.clone());
            params.push((path, texts.collect()));
        }
        _ => params.push((path, vec![entry.node.text.clone()])),
    }
}
