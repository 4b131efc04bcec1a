//! `[[reference]]`: values measured elsewhere, in CSV files beside the study.
//!
//! The first line names the columns: axes of the study, and the quantities that `unit` gives a
//! unit. A column `seed` tells repetitions apart for people. Lines that begin with `#` say what
//! they like.

use super::{Raw, Reader, Written};
use crate::claims::{Column, Recorded, Row, Unit};
use crate::files::Files;
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

/// A field of a line and where it stands.
struct Field {
    text: String,
    at: Origin,
}

impl Reader {
    /// Reads all tables of reference values.
    pub(super) fn recorded(&mut self, top: &Fields<'_>, files: &dyn Files) {
        let plans = self.list(top, "reference", |reader, node, path| {
            let known = ["name", "file", "source", "unit"];
            let fields = Fields::open(node, path, &known, &mut reader.problems)?;
            let name = fields.field("name", &mut reader.problems);
            let file = fields.field("file", &mut reader.problems);
            let source = fields.field("source", &mut reader.problems);
            let unit: Option<Raw> = fields.field("unit", &mut reader.problems);
            Some(Plan {
                name: name?,
                file: file?,
                source: source?,
                unit: unit?.0,
                path: path.to_owned(),
            })
        });
        for plan in plans {
            if self
                .words
                .recorded
                .iter()
                .any(|other| other.name == plan.name.text)
            {
                let message = format!("another reference has the name `{}`", plan.name.text);
                self.add(plan.name.at, &plan.path, message, None);
                continue;
            }
            match files.read(&plan.file.text) {
                Ok(text) => {
                    self.table_of_values(&plan, &files.shown(&plan.file.text), &text);
                    self.files.push((plan.file.text, text));
                }
                Err(message) => {
                    let message = format!("{} {message}", files.shown(&plan.file.text));
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
        let rows: Vec<Row> = lines
            .filter_map(|line| self.row(&line, &meanings, &recorded))
            .collect();
        recorded.rows = rows;
        self.words.recorded.push(recorded);
    }

    /// The quantities by their columns' names, with unit and factor; of one quantity alone the
    /// name is left open.
    fn units(&mut self, plan: &Plan) -> Vec<(Option<String>, Unit, f64, Origin)> {
        let path = join(&plan.path, "unit");
        let list: Vec<(Option<String>, Node)> = match &plan.unit.value {
            Value::Text(_) => vec![(None, plan.unit.clone())],
            Value::Table(entries) => {
                let entries = entries.iter();
                entries
                    .map(|entry| (Some(entry.key.clone()), entry.node.clone()))
                    .collect()
            }
            _ => {
                let wanted = "a unit, or a table with a unit for each column";
                self.problems.add(wrong_type(&plan.unit, &path, wanted));
                Vec::new()
            }
        };
        let mut units = Vec::new();
        for (name, node) in list {
            if let Some((unit, factor)) = Unit::given(&node.text) {
                units.push((name, unit, factor, node.at));
            } else {
                let message = format!("`{}` is no unit", node.text);
                let help = suggestion(&node.text, &Unit::given_names());
                self.add(node.at, &path, message, Some(help));
            }
        }
        units
    }

    /// What the columns mean.
    fn columns(
        &mut self,
        head: &[Field],
        mut units: Vec<(Option<String>, Unit, f64, Origin)>,
        plan: &Plan,
        recorded: &mut Recorded,
    ) -> Vec<Meaning> {
        let mut meanings = Vec::new();
        for field in head {
            let axes: Vec<&str> = self.words.axes.iter().map(|a| a.name.as_str()).collect();
            let named = |name: &Option<String>| name.as_ref().is_none_or(|n| *n == field.text);
            if let Some(axis) = axes.iter().position(|name| *name == field.text) {
                recorded.axes.push(axis);
                meanings.push(Meaning::Axis(axis));
            } else if field.text == SEED {
                meanings.push(Meaning::Ignored);
            } else if let Some(unit) = units.iter().position(|(name, ..)| named(name)) {
                let (name, unit, factor, _) = units.remove(unit);
                meanings.push(Meaning::Quantity(recorded.columns.len(), factor));
                let name = name.unwrap_or_default();
                recorded.columns.push(Column { name, unit });
            } else {
                let known = axes.iter().copied();
                let left = units.iter().filter_map(|(name, ..)| name.as_deref());
                let known: Vec<&str> = known.chain(left).collect();
                let message = format!(
                    "column `{}` is no axis of the study, and `unit` has none for it",
                    field.text
                );
                let help = suggestion(&field.text, &known);
                self.add(field.at, "", message, Some(help));
                meanings.push(Meaning::Ignored);
            }
        }
        for (name, .., at) in units {
            let message = match name {
                Some(name) => format!("{} has no column `{name}`", recorded.file),
                None => format!("{} has no column with values", recorded.file),
            };
            self.add(at, &join(&plan.path, "unit"), message, None);
        }
        meanings
    }

    fn row(&mut self, line: &[Field], meanings: &[Meaning], recorded: &Recorded) -> Option<Row> {
        if line.len() != meanings.len() {
            let message = format!(
                "{} fields, but the first line names {}",
                line.len(),
                meanings.len()
            );
            self.add(line[0].at, "", message, None);
            return None;
        }
        let mut row = Row {
            key: Vec::new(),
            values: vec![f64::NAN; recorded.columns.len()],
        };
        for (field, meaning) in line.iter().zip(meanings) {
            match meaning {
                Meaning::Ignored => {}
                Meaning::Axis(axis) => row.key.push(self.value_of(*axis, field)?),
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

    fn value_of(&mut self, axis: usize, field: &Field) -> Option<usize> {
        let axis = &self.words.axes[axis];
        let mut values = axis.values.iter();
        let found = values.position(|value| value.name == field.text);
        if found.is_none() {
            let known: Vec<&str> = axis.values.iter().map(|v| v.name.as_str()).collect();
            let message = format!("axis `{}` has no value `{}`", axis.name, field.text);
            let help = suggestion(&field.text, &known);
            self.add(field.at, "", message, Some(help));
        }
        found
    }
}

/// The lines of a file that are neither empty nor remarks, in fields.
fn lines(text: &str, source: usize) -> impl Iterator<Item = Vec<Field>> {
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
fn fields(line: &str, start: usize, source: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut from = 0;
    loop {
        let rest = &line[from..];
        let lead = rest.len() - rest.trim_start().len();
        let quoted = rest[lead..].strip_prefix('"');
        let close = quoted.and_then(|inner| inner.find('"'));
        let comma = match close {
            Some(close) => rest[lead + close + 2..]
                .find(',')
                .map(|c| c + lead + close + 2),
            None => rest.find(','),
        };
        let field = &rest[..comma.unwrap_or(rest.len())];
        let text = field.trim().trim_matches('"');
        let begin = start + from + lead.min(field.len());
        fields.push(Field {
            text: text.to_owned(),
            at: Origin::new(source, begin..begin + field.trim().len().max(1)),
        });
        match comma {
            Some(comma) => from += comma + 1,
            None => return fields,
        }
    }
}
