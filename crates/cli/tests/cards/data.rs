//! A card as the tree keeps it: a line for each case, values in four digits.

use crate::common;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const FORMAT: &str = "sojourn-cards/1";
const SEEDS: &str = "10";
/// As a number.
pub(crate) const ALL_SEEDS: u64 = 10;
/// Digits that are kept.
const DIGITS: i32 = 4;

/// What is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Queue,
    Control,
}

impl Subject {
    pub(crate) const ALL: [Self; 2] = [Self::Queue, Self::Control];

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("queue", "--qdisc"),
            Self::Control => ("control", "--cc"),
        }
    }

    pub(crate) fn folder(self) -> PathBuf {
        sojourn_tidy::root().join("cards").join(self.words().0)
    }
}

/// A card.
#[derive(Debug)]
pub(crate) struct CardData {
    kind: Subject,
    /// Of the file.
    pub(crate) name: String,
    /// What was given to `--qdisc` or `--cc`.
    pub(crate) spec: String,
    /// By name: see [`case`].
    cases: Map<String, Value>,
}

/// A mean over the seeds, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    /// None of one run.
    pub(crate) ci95: Option<f64>,
    /// Runs that have a value.
    pub(crate) runs: u64,
}

impl CardData {
    /// What the program says now: of all cases, or of those named.
    pub(crate) fn run(kind: Subject, name: &str, spec: &str, cases: &[&str]) -> Self {
        let (_, option) = kind.words();
        let mut words = vec!["evaluate", "--json", "--quiet", option, spec];
        words.extend(["--seeds", SEEDS]);
        words.extend(cases.iter().flat_map(|case| ["--case", case]));
        let output = common::sojourn(&words, Path::new("."));
        assert!(output.status.success(), "{words:?}: {output:?}");
        let card: Value = serde_json::from_slice(&output.stdout).expect("the card is JSON");
        let cells = card["cells"].as_array().expect("a list");
        let same = |a: &Value, b: &Value| a["case"] == b["case"];
        let cases = cells.chunk_by(same).map(|cells| {
            let name = cells[0]["case"].as_str().expect("a name");
            (name.to_owned(), case(cells))
        });
        Self {
            kind,
            name: name.to_owned(),
            spec: spec.to_owned(),
            cases: cases.collect(),
        }
    }

    /// That of the tree.
    pub(crate) fn read(kind: Subject, name: &str, spec: &str) -> Result<Self, String> {
        let (folder, option) = kind.words();
        let path = kind.folder().join(format!("{name}.json"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Err(format!(
                "{name} has no card: `make cards` writes cards/{folder}/{name}.json, which is \
                 `sojourn evaluate {option} '{spec}' --seeds {SEEDS}`"
            ));
        };
        let cases = Self::parse(&path, &text)?;
        Ok(Self {
            kind,
            name: name.to_owned(),
            spec: spec.to_owned(),
            cases,
        })
    }

    /// The cases of a card's text, whose digest says that nobody has edited them.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Map<String, Value>, String> {
        let told = |problem: &str| format!("{}: {problem}; `make cards`", path.display());
        let card: Value = serde_json::from_str(text).map_err(|e| told(&e.to_string()))?;
        let Some(cases) = card["cases"].as_object() else {
            return Err(told("no `cases`"));
        };
        if card["digest"] != digest(cases) {
            return Err(told("the digest is not that of the cases"));
        }
        Ok(cases.clone())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.kind.folder().join(format!("{}.json", self.name))
    }

    /// The file: a line for each cell.
    pub(crate) fn text(&self) -> String {
        let (_, option) = self.kind.words();
        let spec = &self.spec;
        let command = format!("sojourn evaluate {option} '{spec}' --seeds {SEEDS}");
        let cases = self.cases.iter().map(|(name, case)| {
            let cells: Vec<_> = case["cells"]
                .as_array()
                .expect("it was made so")
                .iter()
                .map(|cell| format!("   {cell}"))
                .collect();
            format!(
                "  {}: {{\n   \"source\": {}, \"measures\": {}, \"cells\": [\n{}\n   ]\n  }}",
                json!(name),
                case["source"],
                case["measures"],
                cells.join(",\n")
            )
        });
        let cases: Vec<_> = cases.collect();
        format!(
            "{{\n \"format\": {},\n \"command\": {},\n \"world\": \"sim\",\n \"digest\": {},\n \
             \"cases\": {{\n{}\n }}\n}}\n",
            json!(FORMAT),
            json!(command),
            digest(&self.cases),
            cases.join(",\n")
        )
    }

    /// Names of its cases.
    pub(crate) fn cases(&self) -> Vec<&str> {
        self.cases.keys().map(String::as_str).collect()
    }

    pub(crate) fn case(&self, name: &str) -> &Value {
        &self.cases[name]
    }

    /// A measure of the cell that has these values; of the first with `""`. None where the cell
    /// has none.
    ///
    /// # Panics
    /// When the case has no such cell.
    pub(crate) fn measure(&self, case: &str, with: &str, measure: &str) -> Option<Mean> {
        let case = self.case(case);
        let cells = case["cells"].as_array().expect("a list");
        let found = cells.iter().find(|cell| with.is_empty() || cell[0] == with);
        let cell = found.unwrap_or_else(|| panic!("no cell `{with}`: {case:#}"));
        let measures = case["measures"].as_array().expect("a list");
        let named = |it: &Value| it.as_str().is_some_and(|it| it.starts_with(measure));
        let place = measures.iter().position(named)?;
        let value = &cell[place + 1];
        Some(Mean {
            value: value[0].as_f64()?,
            ci95: value[1].as_f64(),
            runs: value[2].as_u64().unwrap_or(ALL_SEEDS),
        })
    }
}

/// A case of cells that have what `sojourn-card/1` says: the source, the measures with their units,
/// and for each cell what it was run with and mean, interval and, where not all have a value, the
/// number of runs, in the measures' order.
fn case(cells: &[Value]) -> Value {
    let of = |cell: &Value| cell["measures"].as_object().expect("an object").clone();
    let mut measures: Vec<(String, Value)> = Vec::new();
    for (name, measure) in cells.iter().flat_map(of) {
        if measures.iter().all(|(other, _)| *other != name) {
            measures.push((name, measure["unit"].clone()));
        }
    }
    let row = |cell: &Value| {
        let with = cell["params"]
            .as_object()
            .expect("an object")
            .iter()
            .map(|(field, value)| {
                let field = field.rsplit('.').next().expect("a part");
                format!("{field} {}", value.as_str().expect("a text"))
            })
            .collect::<Vec<_>>()
            .join(", ");
        let own = of(cell);
        let values = measures.iter().map(|(name, _)| {
            own.get(name).map_or(Value::Null, |measure| {
                let (mean, ci95) = (&measure["mean"], &measure["ci95"]);
                // Seeds that all say the same differ by what sums lose.
                let all_say = |ci95: f64| ci95 <= 1e-9 * mean.as_f64().unwrap_or(0.0).abs();
                let is_noise = ci95.as_f64().is_some_and(all_say);
                let ci95 = if is_noise { json!(0) } else { rounded(ci95) };
                match measure["n"].as_u64() {
                    Some(ALL_SEEDS) => json!([rounded(mean), ci95]),
                    _ => json!([rounded(mean), ci95, measure["n"]]),
                }
            })
        });
        std::iter::once(json!(with))
            .chain(values)
            .collect::<Vec<_>>()
    };
    let named = |(name, unit): &(String, Value)| match unit.as_str() {
        Some("") | None => json!(name),
        Some(unit) => json!(format!("{name} [{unit}]")),
    };
    json!({
        "source": cells[0]["source"],
        "measures": measures.iter().map(named).collect::<Vec<_>>(),
        "cells": cells.iter().map(row).collect::<Vec<_>>(),
    })
}

/// In the digits that are kept.
fn rounded(value: &Value) -> Value {
    let Some(value) = value.as_f64() else {
        return Value::Null;
    };
    let text = format!("{value:.*e}", DIGITS as usize - 1);
    let value: f64 = text.parse().expect("a number");
    // Whole numbers as such: 42, not 42.0.
    if value.fract() == 0.0 && value.abs() < 1e9 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

/// FNV-1a of the cases' text, in hexadecimal digits.
fn digest(cases: &Map<String, Value>) -> Value {
    let text = serde_json::to_string(cases).expect("it is JSON");
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    json!(format!("{digest:016x}"))
}
