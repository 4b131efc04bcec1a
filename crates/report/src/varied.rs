//! What was varied: the swept fields, those that change together taken as one.
//!
//! `[[sweep.zip]]` writes one choice into several fields, such as the queues of both directions. A
//! field that another one settles cannot be chosen alone, so the two are one part of the sweep,
//! with one name and one short value.

use crate::labels;
use indexmap::IndexSet;
use sojourn_world::RunResult;
use std::collections::BTreeSet;

/// One independent part of a sweep: a field, or several that change together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varied<'a> {
    /// Its fields, in the order of the sweep.
    pub fields: Vec<&'a str>,
    /// For each run its value: that of the field, or one short text for all its fields.
    pub values: Vec<String>,
}

impl<'a> Varied<'a> {
    fn of(fields: &[&Field<'a>]) -> Self {
        Self {
            fields: fields.iter().map(|field| field.name).collect(),
            values: texts(fields),
        }
    }

    /// Its name for people: `dumbbell.qdisc`, or `link.{up,down}.qdisc` for several fields.
    pub fn name(&self) -> String {
        name(&self.fields)
    }

    /// Whether its values are queues.
    pub fn is_queue(&self) -> bool {
        self.fields.iter().any(|field| field.ends_with("qdisc"))
    }
}

/// The cells of some runs: equal parameters, equal cells, in the order of their first run.
pub(crate) struct Cells<'a> {
    /// Their parameters.
    pub(crate) params: Vec<&'a [(String, String)]>,
    /// For each run the number of its cell.
    pub(crate) numbers: Vec<usize>,
}

impl<'a> Cells<'a> {
    pub(crate) fn of(results: &'a [RunResult]) -> Self {
        let mut cells = IndexSet::new();
        let mut numbers: Vec<usize> = Vec::with_capacity(results.len());
        for run in results {
            let params = run.params.as_slice();
            // Mostly it is that of the run before.
            let last = numbers.last().copied();
            let same = last.filter(|last| cells.get_index(*last) == Some(&params));
            numbers.push(same.unwrap_or_else(|| cells.insert_full(params).0));
        }
        Self {
            params: cells.into_iter().collect(),
            numbers,
        }
    }
}

/// What was varied in `results`, in the order of the sweep.
pub fn varied(results: &[RunResult]) -> Vec<Varied<'_>> {
    let cells = Cells::of(results);
    let mut parts = varied_cells(&cells.params);
    for part in &mut parts {
        let numbers = cells.numbers.iter();
        part.values = numbers.map(|cell| part.values[*cell].clone()).collect();
    }
    parts
}

/// What was varied between cells, with a value for each cell.
pub(crate) fn varied_cells<'a>(cells: &[&'a [(String, String)]]) -> Vec<Varied<'a>> {
    let params = cells.iter().flat_map(|params| params.iter());
    let names: IndexSet<&str> = params.map(|(name, _)| name.as_str()).collect();
    let fields: Vec<Field<'_>> = names
        .into_iter()
        .map(|name| Field::new(cells, name))
        .filter(Field::differs)
        .collect();
    let mut part_of: Vec<usize> = (0..fields.len()).collect();
    for (index, field) in fields.iter().enumerate() {
        for other in 0..index {
            if field.is_tied_to(&fields[other]) {
                let (from, to) = (part_of[index], part_of[other]);
                let (from, to) = (from.max(to), from.min(to));
                part_of
                    .iter_mut()
                    .filter(|part| **part == from)
                    .for_each(|part| *part = to);
            }
        }
    }
    let parts: IndexSet<usize> = part_of.iter().copied().collect();
    let fields_of = |part: usize| {
        let fields = fields
            .iter()
            .zip(&part_of)
            .filter(move |(_, of)| **of == part);
        fields.map(|(field, _)| field).collect::<Vec<_>>()
    };
    let parts = parts.into_iter().map(fields_of);
    parts.map(|fields| Varied::of(&fields)).collect()
}

/// A field that differs between cells.
struct Field<'a> {
    name: &'a str,
    /// Its value in each cell.
    values: Vec<&'a str>,
}

impl<'a> Field<'a> {
    fn new(cells: &[&'a [(String, String)]], name: &'a str) -> Self {
        let value = |params: &&'a [(String, String)]| labels::value(params, name);
        let known = cells.iter().map(value);
        Self {
            name,
            values: known.map(|value| value.unwrap_or("default")).collect(),
        }
    }

    fn differs(&self) -> bool {
        self.values.iter().any(|value| value != &self.values[0])
    }

    /// Whether one of the two settles the other: each value of the one occurs with a single value
    /// of the other.
    fn is_tied_to(&self, other: &Self) -> bool {
        let count = |values: &[&str]| values.iter().collect::<BTreeSet<_>>().len();
        let pairs: BTreeSet<_> = self.values.iter().zip(&other.values).collect();
        pairs.len() == count(&self.values).max(count(&other.values))
    }
}

/// For each cell one text of all fields; different combinations have different texts.
fn texts(fields: &[&Field<'_>]) -> Vec<String> {
    let cells = fields.first().map_or(0, |field| field.values.len());
    let of = |cell: usize| -> Vec<&str> { fields.iter().map(|field| field.values[cell]).collect() };
    let combinations: IndexSet<Vec<&str>> = (0..cells).map(of).collect();
    let short: IndexSet<String> = combinations.iter().map(|values| value(values)).collect();
    let short_is_unique = short.len() == combinations.len();
    let text = |cell| {
        let values = of(cell);
        if short_is_unique {
            value(&values)
        } else {
            values.join(" / ")
        }
    };
    (0..cells).map(text).collect()
}

/// `cake bandwidth 8mbit / 40mbit ingress`: what the values have in common stands once.
fn value(values: &[&str]) -> String {
    let parts: Vec<Vec<&str>> = values
        .iter()
        .map(|value| value.split(' ').collect())
        .collect();
    let Some((start, middles, end)) = in_common(&parts) else {
        return values[0].to_owned();
    };
    if middles.iter().any(|middle| middle.is_empty()) {
        return values.join(" / ");
    }
    let middles: Vec<String> = middles.iter().map(|middle| middle.join(" ")).collect();
    let middle = middles.join(" / ");
    let words = start
        .iter()
        .copied()
        .chain([middle.as_str()])
        .chain(end.iter().copied());
    words.collect::<Vec<_>>().join(" ")
}

/// `link.{up,down}.qdisc`, as a shell would expand it; `a.rate / b.limit` of fields that have
/// nothing in common.
fn name(fields: &[&str]) -> String {
    let parts: Vec<Vec<&str>> = fields
        .iter()
        .map(|field| field.split('.').collect())
        .collect();
    let Some((start, middles, end)) = in_common(&parts) else {
        return fields.first().copied().unwrap_or_default().to_owned();
    };
    if (start.is_empty() && end.is_empty()) || middles.iter().any(|middle| middle.is_empty()) {
        return fields.join(" / ");
    }
    let middles: Vec<String> = middles.iter().map(|middle| middle.join(".")).collect();
    let middle = format!("{{{}}}", middles.join(","));
    let words = start
        .iter()
        .copied()
        .chain([middle.as_str()])
        .chain(end.iter().copied());
    words.collect::<Vec<_>>().join(".")
}

/// What lists of words have in common at their start, what they have each, and what in common at
/// their end; none when they are equal.
type InCommon<'a, 'b> = (&'a [&'b str], Vec<&'a [&'b str]>, &'a [&'b str]);

fn in_common<'a, 'b>(lists: &'a [Vec<&'b str>]) -> Option<InCommon<'a, 'b>> {
    let (first, others) = lists.split_first()?;
    if others.iter().all(|other| other == first) {
        return None;
    }
    let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
    let start = (0..shortest)
        .take_while(|&i| others.iter().all(|other| other[i] == first[i]))
        .count();
    let from_end = |list: &[&'b str], i: usize| list[list.len() - 1 - i];
    let end = (0..shortest - start)
        .take_while(|&i| {
            others
                .iter()
                .all(|other| from_end(other, i) == from_end(first, i))
        })
        .count();
    let middle = |list: &'a Vec<&'b str>| &list[start..list.len() - end];
    Some((
        &first[..start],
        lists.iter().map(middle).collect(),
        &first[first.len() - end..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::tests::run;

    fn results(fields: &[&str], cells: &[&[&str]]) -> Vec<RunResult> {
        let params = |values: &&[&str]| -> RunResult {
            let pairs = fields.iter().copied().zip(values.iter().copied());
            run(&pairs.collect::<Vec<_>>())
        };
        cells.iter().map(params).collect()
    }

    fn parts(fields: &[&str], cells: &[&[&str]]) -> Vec<(String, Vec<String>)> {
        let results = results(fields, cells);
        let parts = varied(&results).into_iter();
        parts.map(|part| (part.name(), part.values)).collect()
    }

    #[test]
    fn zipped_fields_are_one_part() {
        let found = parts(
            &["link.up.qdisc", "link.down.qdisc", "rtt"],
            &[
                &["pfifo", "pfifo", "1ms"],
                &[
                    "cake bandwidth 8mbit",
                    "cake bandwidth 40mbit ingress",
                    "1ms",
                ],
                &[
                    "htb rate 9mbit over fq_codel",
                    "htb rate 45mbit over fq_codel",
                    "1ms",
                ],
            ],
        );
        let values = [
            "pfifo",
            "cake bandwidth 8mbit / 40mbit ingress",
            "htb rate 9mbit / 45mbit over fq_codel",
        ];
        assert_eq!(
            found,
            [(
                "link.{up,down}.qdisc".to_owned(),
                values.map(str::to_owned).to_vec()
            )]
        );
    }

    #[test]
    fn independent_fields_are_parts_of_their_own() {
        let found = parts(
            &["q", "rate", "limit"],
            &[
                &["pie", "10mbit", "100"],
                &["pie", "20mbit", "200"],
                &["red", "10mbit", "100"],
                &["red", "20mbit", "200"],
            ],
        );
        assert_eq!(found[0].0, "q");
        assert_eq!(found[0].1, ["pie", "pie", "red", "red"]);
        assert_eq!(found[1].0, "rate / limit");
        assert_eq!(found[1].1[..2], ["10mbit / 100", "20mbit / 200"]);
        assert_eq!(found.len(), 2);
    }

    /// One upload queue stands with two download queues: the download's settles the upload's.
    #[test]
    fn a_field_that_another_one_settles_is_part_of_that() {
        let cells: &[&[&str]] = &[
            &["pfifo", "pfifo"],
            &["cake", "cake nat"],
            &["cake", "cake wash"],
        ];
        let found = parts(&["up.qdisc", "down.qdisc"], cells);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, ["pfifo", "cake / cake nat", "cake / cake wash"]);
    }

    #[test]
    fn different_combinations_have_different_texts() {
        // Both would be `red 1 / 2`.
        let found = parts(
            &["a", "b"],
            &[&["red 1", "red 2"], &["red 1 / 2", "red 1 / 2"]],
        );
        assert_eq!(found[0].1, ["red 1 / red 2", "red 1 / 2 / red 1 / 2"]);
        assert_eq!(varied(&[]), []);
    }
}
