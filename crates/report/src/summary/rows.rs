//! Reads the tables of a summary of many runs.

use super::places::Places;
use super::read::{Cell, Found};
use super::tables::{CHUNK, RUN};
use crate::error::Damage;
use crate::json;
use crate::parallel::in_order;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sojourn_world::RunResult;
use std::fmt;

/// The tables, whose runs go to their places.
pub(super) struct Tables<'a>(pub(super) &'a mut Found);

impl<'de> DeserializeSeed<'de> for Tables<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tables<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of `tables`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut runs = Vec::new();
        for number in 0.. {
            let table = Table {
                found: &mut *self.0,
                number,
                runs: &mut runs,
            };
            if list.next_element_seed(table)?.is_none() {
                break;
            }
        }
        runs.sort_by_key(|(place, _)| *place);
        self.0.results = Some(runs.into_iter().map(|(_, run)| run).collect());
        Ok(())
    }
}

/// Runs with their places among all.
type Placed = Vec<(u64, RunResult)>;

/// One of the tables.
struct Table<'a> {
    found: &'a mut Found,
    number: usize,
    runs: &'a mut Placed,
}

impl<'de> DeserializeSeed<'de> for Table<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Table<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table: an object with `paths`, `empty` and `rows`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut paths, mut empty) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), &paths, &empty) {
                ("paths", ..) => paths = Some(map.next_value::<Vec<Vec<String>>>()?),
                ("empty", ..) => empty = Some(map.next_value::<Vec<usize>>()?),
                ("rows", Some(paths), Some(empty)) => map.next_value_seed(Rows {
                    found: &mut *self.found,
                    table: self.number,
                    keys: Keys { paths, empty },
                    runs: &mut *self.runs,
                })?,
                ("rows", ..) => {
                    let expected = "`paths` and `empty` before `rows`";
                    return Err(A::Error::custom(format_args!(
                        "a table should have {expected}"
                    )));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A key of a run, after the one before.
struct Step {
    /// How many objects end before it.
    ends: usize,
    /// The objects that begin before it.
    begins: Vec<String>,
    key: String,
    has_value: bool,
}

fn plan(paths: &[Vec<String>], empty: &[usize]) -> Vec<Step> {
    let mut around: &[String] = &[];
    let mut steps = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let Some((key, objects)) = path.split_last() else {
            continue;
        };
        let same = around
            .iter()
            .zip(objects)
            .take_while(|(a, b)| a == b)
            .count();
        steps.push(Step {
            ends: around.len() - same,
            begins: objects[same..].to_vec(),
            key: key.clone(),
            has_value: !empty.contains(&number),
        });
        around = objects;
    }
    steps
}

/// The keys of a table.
#[derive(Clone, Copy)]
struct Keys<'a> {
    paths: &'a [Vec<String>],
    /// Those without a value, by their numbers.
    empty: &'a [usize],
}

/// The rows of a table.
struct Rows<'a> {
    found: &'a mut Found,
    table: usize,
    keys: Keys<'a>,
    runs: &'a mut Placed,
}

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of `rows`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = list.next_element::<&RawValue>()? {
            rows.push(row);
        }
        let (table, Keys { paths, empty }) = (self.table, self.keys);
        let plan = plan(paths, empty);
        let slow = |number: usize| {
            let place = format!("tables.{table}.rows.{number}");
            run_of(rows[number].get(), &plan, &place)
        };
        let first = rows.first().and_then(|_| slow(0).ok());
        let places = first.and_then(|(_, first)| Places::of(paths, empty, &first));
        // What takes long is done on all processors.
        let make = |chunk: usize| {
            let start = chunk * CHUNK;
            let numbers = start..rows.len().min(start + CHUNK);
            let runs = numbers.map(|number| {
                let read = |places: &Places| places.read(rows[number].get());
                places
                    .as_ref()
                    .and_then(read)
                    .map_or_else(|| slow(number), Ok)
            });
            runs.collect::<Result<Placed, Damage>>()
        };
        let read = in_order(rows.len().div_ceil(CHUNK), make, |runs| {
            self.runs.extend(runs?);
            Ok(())
        });
        read.map_err(|damage| self.found.refuse(damage))
    }
}

/// The run of a row, with its number; the row is at `place` in the file.
fn run_of(row: &str, plan: &[Step], place: &str) -> Result<(u64, RunResult), Damage> {
    let row = serde_json::from_str::<Vec<Value>>(row)?;
    let Some((run, values)) = whole(row, plan) else {
        let columns = plan.iter().filter(|step| step.has_value).count() + 1;
        return Err(Damage::Json(Error::custom(format_args!(
            "`{place}` should be a list of {columns} values, `{RUN}` first"
        ))));
    };
    match json::read::<Cell>(&values) {
        Ok(cell) => Ok((run, cell.into())),
        Err(wrong) => Err(wrong.below(place).into()),
    }
}

/// The number of a run, and the run as it stands in a summary of few.
fn whole(row: Vec<Value>, plan: &[Step]) -> Option<(u64, Value)> {
    let mut row = row.into_iter();
    let number = row.next()?.as_u64()?;
    let mut own = Map::new();
    let mut around: Vec<(Map<String, Value>, &str)> = Vec::new();
    let end = |own: &mut Map<String, Value>, around: &mut Vec<(Map<String, Value>, &str)>| {
        if let Some((outer, key)) = around.pop() {
            let inner = std::mem::replace(own, outer);
            own.insert(key.to_owned(), inner.into());
        }
    };
    for step in plan {
        for _ in 0..step.ends {
            end(&mut own, &mut around);
        }
        for key in &step.begins {
            around.push((std::mem::take(&mut own), key));
        }
        let value = if step.has_value {
            row.next()?
        } else {
            Value::Null
        };
        own.insert(step.key.clone(), value);
    }
    while !around.is_empty() {
        end(&mut own, &mut around);
    }
    row.next().is_none().then_some((number, own.into()))
}
