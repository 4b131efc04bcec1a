//! `summary.json`: the figures of every run, format `sojourn-summary/1`; of more than [`MOST`] runs
//! as tables, format `sojourn-summary/2`.
//!
//! Source: the formats are ours; the keys under `qdisc` are those of `tc -s -j qdisc`.
//! Not here: distributions' points and series (see [`crate::table`]).

mod cell;
mod indented;
mod places;
mod read;
mod rows;
mod tables;

pub(crate) use cell::qdisc;
pub(crate) use read::{Summary, read};

use crate::seeds;
use cell::{Leaf, Sink};
use indented::Indented;
use serde_json::{Value, json};
use sojourn_world::{RunResult, ScenarioInfo, Shard};
use std::io;

/// The format's name and version.
pub const FORMAT: &str = "sojourn-summary/1";
/// The format of many runs.
pub(crate) const TABLES: &str = "sojourn-summary/2";
/// Most runs that stand in a summary each with its keys.
const MOST: usize = 1000;

/// The summary of `results` as indented JSON with a newline at its end.
pub fn summary_json(info: &ScenarioInfo, results: &[RunResult]) -> String {
    let mut text = Vec::new();
    write(&mut text, info, results).expect("memory takes all that is written");
    String::from_utf8(text).expect("JSON is text")
}

/// The same, written bit by bit.
pub(crate) fn write(
    mut to: impl io::Write,
    info: &ScenarioInfo,
    results: &[RunResult],
) -> io::Result<()> {
    let axes: Vec<Value> = info
        .axes
        .iter()
        .map(|axis| json!({ "field": axis.field, "values": axis.values }))
        .collect();
    let shard = info
        .shard
        .as_ref()
        .map(|Shard { number, of, runs }| json!({ "number": number, "of": of, "runs": runs }));
    if results.len() > MOST {
        return write_tables(&mut to, info, results, axes, shard);
    }
    let mut root = Indented::new(&mut to);
    root.value("format", Leaf::Text(FORMAT));
    root.value("scenario", Leaf::Text(&info.name));
    root.value("version", Leaf::Whole(info.version.into()));
    root.objects("cells", results, cell::cell);
    let over_seeds = seeds::over_seeds(results).into();
    root.value("over_seeds", Leaf::Value(&over_seeds));
    root.value("title", Leaf::Text(&info.title));
    root.value("description", Leaf::Text(&info.description));
    root.value("axes", Leaf::Value(&axes.into()));
    root.value("source", Leaf::Value(&json!(info.source)));
    if let Some(shard) = &shard {
        root.value("shard", Leaf::Value(shard));
    }
    root.finish()
}

/// The same as tables.
fn write_tables(
    to: &mut dyn io::Write,
    info: &ScenarioInfo,
    results: &[RunResult],
    axes: Vec<Value>,
    shard: Option<Value>,
) -> io::Result<()> {
    let mut members = vec![
        ("format", json!(TABLES)),
        ("scenario", json!(info.name)),
        ("version", json!(info.version)),
        ("title", json!(info.title)),
        ("description", json!(info.description)),
        ("axes", axes.into()),
        ("source", json!(info.source)),
    ];
    members.extend(shard.map(|shard| ("shard", shard)));
    to.write_all(b"{\n")?;
    for (key, value) in members {
        writeln!(to, "  \"{key}\": {value},")?;
    }
    to.write_all(b"  \"tables\": ")?;
    tables::write(to, results)?;
    to.write_all(b"\n}\n")
}
