//! Names of cells for people: what differs between them, and no more.

use sojourn_world::RunResult;
use std::collections::BTreeMap;

/// The parameters that occur, in the order of their first occurrence.
pub(crate) fn fields(results: &[RunResult]) -> Vec<&str> {
    let mut fields: Vec<&str> = Vec::new();
    for (field, _) in results.iter().flat_map(|run| &run.params) {
        if !fields.contains(&field.as_str()) {
            fields.push(field);
        }
    }
    fields
}

/// For every run the number of its cell: equal parameters, equal numbers, from zero in the
/// order of first occurrence.
pub(crate) fn cell_numbers(results: &[RunResult]) -> Vec<usize> {
    let mut known = BTreeMap::new();
    results
        .iter()
        .map(|run| {
            let next = known.len();
            *known.entry(&run.params).or_insert(next)
        })
        .collect()
}

/// Parameters on one line: `queue=pie rtt=40ms`; quoted where a value holds a space.
pub(crate) fn params_text(params: &[(String, String)]) -> String {
    let pairs = params.iter().map(|(key, value)| {
        if value.contains([' ', '"']) || value.is_empty() {
            format!("{key}={value:?}")
        } else {
            format!("{key}={value}")
        }
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// For every cell number a label of the parameters that differ between cells: the bare value
/// when it is one, `field value` otherwise.
pub(crate) fn cell_labels(results: &[RunResult]) -> Vec<String> {
    let fields = fields(results);
    let value = |run: &RunResult, field: &str| {
        let pair = run.params.iter().find(|(key, _)| key == field);
        pair.map(|(_, value)| value.clone())
    };
    let varying: Vec<&str> = fields
        .into_iter()
        .filter(|field| {
            let first = results.first().and_then(|run| value(run, field));
            results.iter().any(|run| value(run, field) != first)
        })
        .collect();
    let mut labels = BTreeMap::new();
    for (run, number) in results.iter().zip(cell_numbers(results)) {
        labels.entry(number).or_insert_with(|| match &varying[..] {
            [] => "all".to_owned(),
            [one] => value(run, one).unwrap_or_else(|| "default".to_owned()),
            many => {
                let parts = many.iter().filter_map(|field| {
                    let short = short(field, many);
                    value(run, field).map(|value| format!("{short} {value}"))
                });
                parts.collect::<Vec<_>>().join(" · ")
            }
        });
    }
    labels.into_values().collect()
}

/// The last part of a field's path, or the whole path where two fields end alike.
fn short<'a>(field: &'a str, all: &[&str]) -> &'a str {
    fn last(path: &str) -> &str {
        path.rsplit('.').next().unwrap_or(path)
    }
    let alike = all.iter().filter(|other| last(other) == last(field));
    if alike.count() > 1 {
        field
    } else {
        last(field)
    }
}
