//! The columns that identify rows: world, cell, seed, the parameters as numbers, and the options of
//! queues among them.

use crate::column::{Values, Words};
use crate::frame::Frame;
use crate::queue;
use indexmap::{IndexMap, IndexSet};
use sojourn_scenario::{Quantities, Quantity};
use sojourn_world::RunResult;
use std::iter::repeat_n;

/// A frame with the columns of identity, with so many rows for each run.
pub(crate) fn frame(results: &[RunResult], rows: &[usize]) -> Frame {
    let mut frame = Frame::default();
    let world = each(results, rows, |run| Some(run.world.as_str()));
    frame.push("world", "", "Where it ran.", Values::texts(world));
    let cells = cells(results);
    let meaning = "Number of the combination of parameters, the same in all worlds.";
    let numbers = each(results, rows, |run| cells[&run.params]).collect();
    frame.push("cell", "", meaning, Values::Whole(numbers));
    let seeds = each(results, rows, |run| run.seed).collect();
    let meaning = "Seed of the run's random numbers.";
    frame.push("seed", "", meaning, Values::Seed(seeds));
    let quantities = Quantities::default();
    let fields: IndexSet<&str> = results
        .iter()
        .flat_map(|run| &run.params)
        .map(|(field, _)| field.as_str())
        .collect();
    for field in fields {
        let quantity = quantities.of(field);
        let values = match quantity {
            Quantity::Text => {
                let texts = results.iter().filter_map(|run| value(run, field));
                let mut words = Words::ordered(texts);
                each(results, rows, |run| value(run, field)).for_each(|text| words.push(text));
                Values::Text(words)
            }
            Quantity::Switch => {
                let switch = |run: &_| value(run, field).and_then(|text| quantity.switch(text));
                Values::Switch(each(results, rows, switch).collect())
            }
            quantity => {
                let number =
                    |run: &_| value(run, field).map_or(f64::NAN, |text| quantity.number(text));
                Values::Number(each(results, rows, number).collect())
            }
        };
        let name = format!("{field}{}", quantity.suffix());
        frame.push(&name, quantity.unit(), "", values);
        if quantity == Quantity::Text && field.ends_with("qdisc") {
            options(&mut frame, results, rows, field);
        }
    }
    frame
}

/// The numbers among the options of a field's queues, as columns: those that some queue names.
/// A queue that has the option and does not name it has its default.
fn options(frame: &mut Frame, results: &[RunResult], rows: &[usize], field: &str) {
    let texts: IndexSet<&str> = results.iter().filter_map(|run| value(run, field)).collect();
    let named: IndexMap<&str, Quantity> = texts
        .iter()
        .flat_map(|text| queue::written(text))
        .map(|(name, (unit, _))| (name, unit))
        .collect();
    let all: IndexMap<&str, _> = texts
        .iter()
        .map(|text| (*text, queue::options(text)))
        .collect();
    for (name, unit) in named {
        let number = |run: &RunResult| {
            let options = value(run, field).and_then(|text| all.get(text));
            let option = options.and_then(|options| options.get(name));
            option.map_or(f64::NAN, |(_, number)| *number)
        };
        let name = format!("{field}.{name}{}", unit.suffix());
        let values = Values::Number(each(results, rows, number).collect());
        frame.push(&name, unit.unit(), "", values);
    }
}

fn value<'a>(run: &'a RunResult, field: &str) -> Option<&'a str> {
    let pair = run.params.iter().find(|(key, _)| key == field);
    pair.map(|(_, value)| value.as_str())
}

/// Of each run a value, in each of its rows.
fn each<'a, T: Clone>(
    results: &'a [RunResult],
    rows: &'a [usize],
    of: impl Fn(&'a RunResult) -> T,
) -> impl Iterator<Item = T> {
    let runs = results.iter().zip(rows);
    runs.flat_map(move |(run, rows)| repeat_n(of(run), *rows))
}

/// Equal parameters, equal numbers, from zero in the order of first occurrence.
fn cells(results: &[RunResult]) -> IndexMap<&Vec<(String, String)>, i64> {
    let mut cells = IndexMap::new();
    for run in results {
        let next = i64::try_from(cells.len()).unwrap_or(i64::MAX);
        cells.entry(&run.params).or_insert(next);
    }
    cells
}
