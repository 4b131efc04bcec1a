//! `summary.json`: the figures of every run, format `sojourn-summary/1`.
//!
//! Source: the format is ours; the keys under `qdisc` are those of `tc -s -j qdisc`.
//! Not here: distributions' points and series (see [`crate::table`]).

mod read;

pub(crate) use read::{Summary, read};

use crate::{json, seeds};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use sojourn_qdisc::{Field, Report, Value as QdiscValue};
use sojourn_world::figure::{FlowResult, LinkResult, Part, Row};
use sojourn_world::{Hop, RunResult, ScenarioInfo, Shard, Stations};
use std::io;

/// The format's name and version.
pub const FORMAT: &str = "sojourn-summary/1";

/// The summary of `results` as indented JSON with a newline at its end.
pub fn summary_json(info: &ScenarioInfo, results: &[RunResult]) -> String {
    let mut text = Vec::new();
    write(&mut text, info, results).expect("memory takes all that is written");
    String::from_utf8(text).expect("JSON is text")
}

/// The runs, which become JSON one at a time: as values they are many times as large.
struct Cells<'a>(&'a [RunResult]);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(cell))
    }
}

/// The root, with its members in the format's order.
#[derive(Serialize)]
struct Root<'a> {
    format: &'a str,
    scenario: &'a str,
    version: u32,
    cells: Cells<'a>,
    over_seeds: Vec<Value>,
    title: &'a str,
    description: &'a str,
    axes: Vec<Value>,
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<Value>,
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
    let shard = info.shard.as_ref();
    let root = Root {
        format: FORMAT,
        scenario: &info.name,
        version: info.version,
        cells: Cells(results),
        over_seeds: seeds::over_seeds(results),
        title: &info.title,
        description: &info.description,
        axes,
        source: info.source.as_deref(),
        shard: shard
            .map(|Shard { number, of, runs }| json!({ "number": number, "of": of, "runs": runs })),
    };
    serde_json::to_writer_pretty(&mut to, &root)?;
    to.write_all(b"\n")
}

fn cell(run: &RunResult) -> Value {
    let mut cell = json!({
        "world": run.world.as_str(),
        "seed": run.seed,
        "params": json::params(run),
        "links": json::map(run.links.iter().map(|(name, l)| (name, link(l)))),
        "flows": json::map(run.flows.iter().map(|(name, f)| (name, flow(f)))),
        "aggregate": figures(&run.aggregate, |_| true),
        "cost": {
            "events": run.cost.events,
            "bottleneck_packets": run.cost.bottleneck_packets,
            "cpu_s": run.cost.cpu_s,
            "wall_s": run.cost.wall_s,
            "peak_rss_bytes": run.cost.peak_rss_bytes,
        },
        "digest": format!("{:016x}", run.digest),
    });
    if let Some(radio) = &run.radio {
        cell["radio"] = stations(radio);
    }
    if let Some(program) = &run.program {
        cell["program"] = json!(program);
    }
    cell
}

fn stations(radio: &Stations) -> Value {
    let hop = |hop: &Hop| {
        let Hop {
            from,
            to,
            frames,
            packets,
        } = hop;
        json!({ "from": from, "to": to, "frames": frames, "packets": packets })
    };
    json!({
        "range_m": radio.range,
        "sense_m": radio.sense,
        "places_m": radio.places.iter().map(|place| [place.x, place.y]).collect::<Vec<_>>(),
        "hops": radio.hops.iter().map(hop).collect::<Vec<_>>(),
    })
}

/// The figures of a part that are wanted, by their keys.
fn figures<T: Part>(part: &T, wanted: fn(&Row<T>) -> bool) -> Map<String, Value> {
    let rows = T::rows().filter(|row| wanted(row));
    json::map(rows.filter_map(|row| Some((row.figure.key, json::content(&row.content(part)?)))))
}

fn link(l: &LinkResult) -> Value {
    let mut map = figures(l, |row| !row.is_later);
    map.insert("qdisc".to_owned(), qdisc(&l.qdisc));
    // Format 1 promises the keys before in this order.
    map.extend(figures(l, |row| row.is_later));
    map.into()
}

fn flow(f: &FlowResult) -> Value {
    let mut map = figures(f, |_| true);
    map.insert("app".to_owned(), json!(f.app));
    map.insert("elastic".to_owned(), json!(f.elastic));
    map.into()
}

/// One instance as `tc -s -j qdisc` prints it, without the device's fields.
pub(crate) fn qdisc(report: &Report) -> Value {
    let mut map = Map::new();
    map.insert("kind".to_owned(), json!(report.kind));
    map.insert("options".to_owned(), fields(&report.options).into());
    map.extend(fields(&report.stats));
    if let Some(inner) = &report.inner {
        map.insert("inner".to_owned(), qdisc(inner));
    }
    map.into()
}

fn fields(fields: &[Field]) -> Map<String, Value> {
    let value = |field: &Field| match &field.value {
        QdiscValue::Int(i) => json!(i),
        QdiscValue::Float(x) => json!(x),
        QdiscValue::Bool(b) => json!(b),
        QdiscValue::Text(text) => json!(text),
        QdiscValue::Groups(groups) => groups.iter().map(|g| self::fields(g)).collect(),
    };
    json::map(fields.iter().map(|field| (&field.name, value(field))))
}
