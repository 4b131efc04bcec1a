//! `[[reference]]`: values measured elsewhere, in CSV files beside the study.
//!
//! The first line names the columns: axes of the study, and the quantities that `unit` gives a
//! unit. A column `seed` tells repetitions apart for people. Lines that begin with `#` say what
//! they like.

use super::{Reader, Written, keys};
use crate::claims::{Column, Measurement, Recorded, Unit};
use crate::files::Files;
use crate::format::REFERENCE;
use sojourn_scenario::problem::{Origin, suggestion};
use sojourn_scenario::read::{Fields, join, wrong_type};
use sojourn_scenario::tree::{Node, Value};

/// Numbers repetitions, and nothing else.
const SEED: &str = "seed";

/// A `[[reference]]` of the study.
struct Plan {
    name: Written,
    file: Written,
    source: String,
    unit: Node,
    path: String,
}

/// What a column of the file is.
enum Meaning {
    Axis(usize),
    /// Index of the quantity, and what its numbers are multiplied with.
    Quantity(usize, f64),
    Ignored,
}

/// A quantity with unit and factor, and where these were given. Of one quantity alone the column's
/// name is left open.
struct Given {
    name: Option<String>,
    unit: Unit,
    factor: f64,
    at: Origin,
}

impl Reader {
    /// Reads all tables of reference values.
    pub(super) fn recorded(&mut self, top: &Fields<'_>, files: &dyn Files) {
        let plans = self.list(top, "reference", |reader, node, path| {
            keys!(reader, node, path, REFERENCE; name, file, source, unit);
            Some(Plan {
                name: name?,
                file: file?,
                source: source?,
                unit: unit?,
                path: path.to_owned(),
            })
        });
        for plan in plans {
            let mut known = self.words.recorded.iter();
            if known.any(|other| other.name == plan.name.text) {
                let message = format!("another reference has the name `{}`", plan.name.text);
                self.add(plan.name.at, &plan.path, message, None);
                continue;
            }
            let shown = files.shown(&plan.file.text);
            match files.read(&plan.file.text) {
                Ok(text) => {
                    self.table_of_values(&plan, &shown, &text);
                    self.files.push((plan.file.text, text));
                }
                Err(message) => {
                    let message = format!("{shown} {message}");
                    self.add(plan.file.at, &join(&plan.path, "file"), message, None);
                }
            }
        }
    }

    fn table_of_values(&mut self, plan: &Plan, shown: &str, text: &str) {
        let source = self.problems.add_file(shown, text);
        let mut recorded = Recorded {
            name: plan.name.text.clone(),
            source: plan.source.clone(),
            file: shown.to_owned(),
            axes: Vec::new(),
            columns: Vec::new(),
            rows: Vec::new(),
        };
        let units = self.units(plan);
        let mut lines = lines(text, source);
        let Some(head) = lines.next() else {
            let message = "is empty; its first line names the columns".to_owned();
            self.add(Origin::new(source, 0..0), "", message, None);
            return;
        };
        let meanings = self.columns(&head, units, plan, &mut recorded);
        let rows = lines.filter_map(|line| self.row(&line, &meanings, recorded.columns.len()));
        recorded.rows = rows.collect();
        self.words.recorded.push(recorded);
    }

    /// The quantities by their columns' names.
    fn units(&mut self, plan: &Plan) -> Vec<Given> {
        let path = join(&plan.path, "unit");
        let list: Vec<(Option<String>, &Node)> = match &plan.unit.value {
            Value::Text(_) => vec![(None, &plan.unit)],
            Value::Table(entries) => {
                let entries = entries.iter();
                entries
                    .map(|entry| (Some(entry.key.clone()), &entry.node))
                    .collect()
            }
            _ => {
                let wanted = "a unit, or a table with a unit for each column";
                self.problems.add(wrong_type(&plan.unit, &path, wanted));
                Vec::new()
            }
        };
        let given = list.into_iter().filter_map(|(name, node)| {
            let Some((unit, factor)) = Unit::given(&node.text) else {
                let message = format!("`{}` is not a unit", node.text);
                let help = suggestion(&node.text, &Unit::given_names());
                return self.refuse(node.at, &path, message, Some(help));
            };
            let at = node.at;
            Some(Given {
                name,
                unit,
                factor,
                at,
            })
        });
        given.collect()
    }

    /// What the columns mean.
    fn columns(
        &mut self,
        head: &[Written],
        mut units: Vec<Given>,
        plan: &Plan,
        recorded: &mut Recorded,
    ) -> Vec<Meaning> {
        let mut meanings = Vec::new();
        for field in head {
            let axes = self.words.axis_names();
            let named = |given: &Given| given.name.as_ref().is_none_or(|n| *n == field.text);
            meanings.push(
                if let Some(axis) = axes.iter().position(|name| *name == field.text) {
                    recorded.axes.push(axis);
                    Meaning::Axis(axis)
                } else if field.text == SEED {
                    Meaning::Ignored
                } else if let Some(given) = units.iter().position(named) {
                    let Given {
                        name, unit, factor, ..
                    } = units.remove(given);
                    let name = name.unwrap_or_default();
                    recorded.columns.push(Column { name, unit });
                    Meaning::Quantity(recorded.columns.len() - 1, factor)
                } else {
                    let left = units.iter().filter_map(|given| given.name.as_deref());
                    let known: Vec<&str> = axes.iter().copied().chain(left).collect();
                    let message = format!(
                        "column `{}` is not an axis of the study, and `unit` has none for it",
                        field.text
                    );
                    let help = suggestion(&field.text, &known);
                    self.add(field.at, "", message, Some(help));
                    Meaning::Ignored
                },
            );
        }
        for Given { name, at, .. } in units {
            let message = match name {
                Some(name) => format!("{} has no column `{name}`", recorded.file),
                None => format!("{} has no column with values", recorded.file),
            };
            self.add(at, &join(&plan.path, "unit"), message, None);
        }
        meanings
    }

    fn row(
        &mut self,
        line: &[Written],
        meanings: &[Meaning],
        columns: usize,
    ) -> Option<Measurement> {
        let (fields, named) = (line.len(), meanings.len());
        if fields != named {
            let message = format!("{fields} fields, but the first line names {named}");
            return self.refuse(line[0].at, "", message, None);
        }
        let mut row = Measurement {
            key: Vec::new(),
            values: vec![f64::NAN; columns],
        };
        for (field, meaning) in line.iter().zip(meanings) {
            match meaning {
                Meaning::Ignored => {}
                Meaning::Axis(axis) => row.key.push(self.value_of(*axis, field, "")?),
                // A measurement that is missing is none that is wrong.
                Meaning::Quantity(..) if field.text.is_empty() => {}
                Meaning::Quantity(column, factor) => match field.text.parse::<f64>() {
                    Ok(value) if value.is_finite() => row.values[*column] = value * factor,
                    _ => {
                        let message = format!("`{}` is not a number", field.text);
                        self.add(field.at, "", message, None);
                    }
                },
            }
        }
        Some(row)
    }
}

/// The lines of a file that are neither empty nor remarks, in fields.
fn lines(text: &str, source: usize) -> impl Iterator<Item = Vec<Written>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let line = line.trim_end();
        let says_nothing = line.is_empty() || line.starts_with('#');
        (!says_nothing).then(|| fields(line, at, source))
    })
}

/// The fields between the commas; in `"` a field may hold commas.
fn fields(line: &str, start: usize, source: usize) -> Vec<Written> {
    let mut fields = Vec::new();
    let mut from = 0;
    loop {
        let rest = &line[from..];
        let lead = rest.len() - rest.trim_start().len();
        let quoted = rest[lead..].strip_prefix('"');
        let close = quoted.and_then(|inner| inner.find('"'));
        let behind = close.map_or(0, |close| lead + close + 2);
        let comma = rest[behind..].find(',').map(|comma| comma + behind);
        let field = &rest[..comma.unwrap_or(rest.len())];
        let text = field.trim().trim_matches('"');
        let begin = start + from + lead.min(field.len());
        fields.push(Written {
            text: text.to_owned(),
            at: Origin::new(source, begin..begin + field.trim().len().max(1)),
        });
        match comma {
            Some(comma) => from += comma + 1,
            None => return fields,
        }
    }
}
