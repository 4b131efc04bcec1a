//! The words of a study: its axes, sets and definitions.

use super::{Reader, Written};
use crate::claims::{Axis, AxisValue, Set};
use indexmap::IndexSet;
use sojourn_scenario::problem::{Origin, suggestion};
use sojourn_scenario::read::{Fields, Read, join, wrong_type};
use sojourn_scenario::tree::{Entry, Node, Value};
use sojourn_world::ByWorld;

impl Reader {
    fn entries(&mut self, top: &Fields<'_>, key: &str) -> Vec<Entry> {
        let table: Option<Option<Node>> = top.field(key, &mut self.problems);
        table
            .flatten()
            .map_or_else(Vec::new, |node| self.table_of(&node, key))
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
            let axes = self.words.axis_names();
            if let Some(axis) = axes.iter().position(|name| *name == entry.key) {
                for set in self.table_of(&entry.node, &join("sets", &entry.key)) {
                    self.set(axis, &set);
                }
                continue;
            }
            let help = suggestion(&entry.key, &axes);
            let message = format!("no axis is named `{}`", entry.key);
            self.add(entry.at, "sets", message, Some(help));
        }
    }

    /// Quantities under a name.
    pub(super) fn definitions(&mut self, top: &Fields<'_>) {
        for entry in self.entries(top, "define") {
            let path = join("define", &entry.key);
            let written = Written::read(&entry.node, &path, &mut self.problems);
            let expr = written.and_then(|written| {
                let read = crate::claims::quantity(&written.text, &self.words);
                self.understood(read, &written, &path)
            });
            self.words
                .definitions
                .extend(expr.map(|expr| (entry.key, expr)));
        }
    }

    /// The values that a field takes in the scenarios' sweeps.
    fn swept(&mut self, field: &str, entry: &Entry) -> Vec<AxisValue> {
        let axes = || self.settings.iter().flat_map(|s| &s.scenario().info.axes);
        let values = axes()
            .filter(|a| a.field == field)
            .flat_map(|a| &a.values)
            .collect::<IndexSet<_>>()
            .into_iter();
        let value = |value: &String| AxisValue {
            name: value.clone(),
            params: vec![(field.to_owned(), vec![value.clone()])],
        };
        let values: Vec<AxisValue> = values.map(value).collect();
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
        let values = self.table_of(&entry.node, &path).into_iter();
        let value = |value: Entry| {
            let mut params = Vec::new();
            for param in self.table_of(&value.node, &join(&path, &value.key)) {
                flatten(&param, "", &mut params);
            }
            let name = value.key;
            AxisValue { name, params }
        };
        values.map(value).collect()
    }

    /// Takes down which links and flows there are, and looks at those that the study means where a
    /// figure names none.
    pub(super) fn links_and_flows(&mut self, top: &Fields<'_>) {
        let mut links = IndexSet::new();
        let mut flows = IndexSet::new();
        let scenarios = self.settings.iter().flat_map(|it| it.scenarios.iter());
        for cell in scenarios.flat_map(|(_, scenario)| &scenario.cells) {
            let interfaces = cell.network.interfaces.iter();
            links.extend(interfaces.map(|interface| interface.name.as_str()));
            flows.extend(cell.flows.iter().map(|flow| flow.name.as_str()));
        }
        let owned = |names: IndexSet<&str>| names.into_iter().map(str::to_owned).collect();
        (self.words.links, self.words.flows) = (owned(links), owned(flows));
        for key in ["link", "flow"] {
            // A problem with its form has been told.
            let Some(entry) = top.get(key) else { continue };
            let Value::Text(text) = &entry.node.value else {
                continue;
            };
            let (is_there, known) = match key {
                "link" => (self.words.has_link(text), &self.words.links),
                _ => (self.words.has_flow(text), &self.words.flows),
            };
            if !is_there {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let message = format!("no scenario has a {key} `{text}`");
                let help = suggestion(text, &known);
                self.add(entry.node.at, key, message, Some(help));
            }
        }
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
                let first = setting
                    .scenario()
                    .info
                    .axes
                    .iter()
                    .filter(|other| other.field == axis.field);
                let named = self.words.axes.iter().flat_map(|axis| &axis.values);
                let params = named
                    .flat_map(|value| &value.params)
                    .filter(|(field, _)| *field == axis.field);
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
        let list = <Vec<Node>>::read(&set.node, &path, &mut self.problems)
            .unwrap_or_default()
            .into_iter();
        let values = list
            .filter_map(|Node { text, at, .. }| self.value_of(axis, &Written { text, at }, &path))
            .collect();
        self.words.sets.push(Set {
            name: set.key.clone(),
            axis,
            values,
        });
    }

    /// The value of an axis that a word names.
    pub(super) fn value_of(&mut self, axis: usize, word: &Written, path: &str) -> Option<usize> {
        let axis = &self.words.axes[axis];
        let found = axis.value(&word.text);
        if found.is_none() {
            let message = format!("axis `{}` has no value `{}`", axis.name, word.text);
            let help = suggestion(&word.text, &axis.value_names());
            self.add(word.at, path, message, Some(help));
        }
        found
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
