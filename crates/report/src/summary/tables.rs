//! Many runs as tables: a key stands once for all runs that have the same keys, not in each of
//! them, and one without a value in any of them stands in no row.

use super::cell::{Leaf, Sink, cell};
use crate::parallel::in_order;
use serde_json::{Value, json};
use sojourn_world::RunResult;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};

/// Runs whose rows are made or read at once.
pub(super) const CHUNK: usize = 64;
/// The column of a run's number among all, and its path.
pub(super) const RUN: &str = "run";

/// What a run consists of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Begin(String),
    End,
    Value(String),
}

/// Runs that have the same keys in the same order.
struct Table {
    steps: Vec<Step>,
    /// Whether any run has a value, by the number of the key.
    has_value: Vec<bool>,
    runs: Vec<usize>,
}

/// Writes the tables of `results`, a list.
pub(super) fn write(to: &mut dyn Write, results: &[RunResult]) -> io::Result<()> {
    to.write_all(b"[")?;
    for (number, table) in survey(results).iter().enumerate() {
        let gap: &[u8] = if number > 0 { b",\n" } else { b"\n" };
        to.write_all(gap)?;
        table.write(to, results)?;
    }
    to.write_all(b"\n  ]")
}

fn is_null(value: &Leaf<'_>) -> bool {
    matches!(value, Leaf::Number(number) if !number.is_finite())
}

/// Which tables there are.
fn survey(results: &[RunResult]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut known = BTreeMap::new();
    let make = |chunk: usize| {
        let first = chunk * CHUNK;
        survey_of(first, &results[first..results.len().min(first + CHUNK)])
    };
    let taken = in_order(results.len().div_ceil(CHUNK), make, |made| {
        for part in made {
            if let Some(&number) = known.get(&part.steps) {
                let table: &mut Table = &mut tables[number];
                table.runs.extend(part.runs);
                merge(&mut table.has_value, &part.has_value);
            } else {
                known.insert(part.steps.clone(), tables.len());
                tables.push(part);
            }
        }
        Ok::<_, Infallible>(())
    });
    match taken {
        Ok(()) => tables,
    }
}

/// The tables of some runs, the number of the first of which is `first`.
fn survey_of(first: usize, results: &[RunResult]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut known = BTreeMap::new();
    let mut last = 0;
    for (number, run) in (first..).zip(results) {
        // Mostly it has the keys of the one before.
        let is_alike = tables
            .get_mut(last)
            .is_some_and(|table| Compared::with(table, run));
        if !is_alike {
            let mut steps = Vec::new();
            cell(run, &mut steps);
            last = *known.entry(steps).or_insert_with_key(|steps| {
                let keys = steps.iter().filter(|step| matches!(step, Step::Value(_)));
                tables.push(Table {
                    has_value: vec![false; keys.count()],
                    steps: steps.clone(),
                    runs: Vec::new(),
                });
                tables.len() - 1
            });
            Compared::with(&mut tables[last], run);
        }
        tables[last].runs.push(number);
    }
    tables
}

/// Adds which keys have values.
fn merge(has_value: &mut [bool], more: &[bool]) {
    for (has, more) in has_value.iter_mut().zip(more) {
        *has |= more;
    }
}

impl Sink for Vec<Step> {
    fn begin(&mut self, key: &str) {
        self.push(Step::Begin(key.to_owned()));
    }

    fn end(&mut self) {
        self.push(Step::End);
    }

    fn value(&mut self, key: &str, _: Leaf<'_>) {
        self.push(Step::Value(key.to_owned()));
    }
}

/// A run beside the keys of a table.
struct Compared<'a> {
    steps: std::slice::Iter<'a, Step>,
    is_same: bool,
    has_value: Vec<bool>,
}

impl Compared<'_> {
    /// Whether the run has the table's keys. If so, the table knows of its values.
    fn with(table: &mut Table, run: &RunResult) -> bool {
        let mut compared = Compared {
            steps: table.steps.iter(),
            is_same: true,
            has_value: Vec::with_capacity(table.has_value.len()),
        };
        cell(run, &mut compared);
        let is_same = compared.is_same && compared.steps.next().is_none();
        if is_same {
            merge(&mut table.has_value, &compared.has_value);
        }
        is_same
    }
}

impl Sink for Compared<'_> {
    fn begin(&mut self, key: &str) {
        let is_next = matches!(self.steps.next(), Some(Step::Begin(known)) if known == key);
        self.is_same &= is_next;
    }

    fn end(&mut self) {
        self.is_same &= self.steps.next() == Some(&Step::End);
    }

    fn value(&mut self, key: &str, value: Leaf<'_>) {
        let is_next = matches!(self.steps.next(), Some(Step::Value(known)) if known == key);
        self.is_same &= is_next;
        self.has_value.push(!is_null(&value));
    }
}

impl Table {
    /// The paths of its keys.
    fn paths(&self) -> Vec<Vec<&str>> {
        let (mut paths, mut path) = (Vec::new(), Vec::new());
        for step in &self.steps {
            match step {
                Step::Begin(key) => path.push(key.as_str()),
                Step::End => drop(path.pop()),
                Step::Value(key) => {
                    let own = path.iter().copied().chain([key.as_str()]);
                    paths.push(own.collect());
                }
            }
        }
        paths
    }

    fn write(&self, to: &mut dyn Write, results: &[RunResult]) -> io::Result<()> {
        let paths = self.paths();
        let there = || paths.iter().zip(&self.has_value);
        let columns = there().filter(|(_, has)| **has);
        let columns: Value = std::iter::once(json!(RUN))
            .chain(columns.map(|(path, _)| json!(path.join("."))))
            .collect();
        let empty: Value = there()
            .enumerate()
            .filter(|(_, (_, has))| !**has)
            .map(|(number, _)| json!(number))
            .collect();
        let paths = json!(paths);
        write!(
            to,
            "    {{\n      \"columns\": {columns},\n      \"paths\": {paths},\n      \
             \"empty\": {empty},\n      \"rows\": ["
        )?;
        let chunks: Vec<&[usize]> = self.runs.chunks(CHUNK).collect();
        let make = |chunk: usize| {
            let mut rows = Vec::new();
            for number in chunks[chunk] {
                let gap: &[u8] = if *number == self.runs[0] {
                    b"\n["
                } else {
                    b",\n["
                };
                rows.extend_from_slice(gap);
                let _ = write!(rows, "{number}");
                let mut row = Written {
                    to: rows,
                    has_value: self.has_value.iter(),
                };
                cell(&results[*number], &mut row);
                rows = row.to;
                rows.push(b']');
            }
            rows
        };
        in_order(chunks.len(), make, |rows| to.write_all(&rows))?;
        to.write_all(b"\n      ]\n    }")
    }
}

/// A row that is written.
struct Written<'a> {
    to: Vec<u8>,
    has_value: std::slice::Iter<'a, bool>,
}

impl Sink for Written<'_> {
    fn begin(&mut self, _: &str) {}

    fn end(&mut self) {}

    fn value(&mut self, _: &str, value: Leaf<'_>) {
        if self.has_value.next() != Some(&true) {
            return;
        }
        self.to.push(b',');
        value.write(&mut self.to);
    }
}
