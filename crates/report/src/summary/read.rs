//! Reads a summary back, figures by the list. Cumulative distributions and series stay empty.

use super::rows::Tables;
use super::{FORMAT, TABLES};
use crate::error::Damage;
use crate::json::{self, number};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use sojourn_qdisc::{Field, Report, Value as QdiscValue};
use sojourn_world::figure::{
    Aggregate, Content, Distribution, FlowResult, LinkResult, Part, Row, Statistic,
};
use sojourn_world::{Axis, Cost, Hop, Place, RunResult, ScenarioInfo, Shard, Stations, WorldName};
use std::fmt;
use std::marker::PhantomData;

/// What a summary holds.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) info: ScenarioInfo,
    pub(crate) results: Vec<RunResult>,
}

/// Reads a summary, a run at a time: as values of JSON they are many times as large. The error
/// names the key and what should stand there.
pub(crate) fn read(text: &[u8]) -> Result<Summary, Damage> {
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let walked = reader
        .deserialize_map(Walked(&mut found))
        .and_then(|()| reader.end());
    if let Some(damage) = found.damage {
        return Err(damage);
    }
    walked?;
    let missing = |key: &str| json::Misplaced::missing(key);
    if !found.has_format {
        return Err(missing("format").into());
    }
    let results = found.results.ok_or_else(|| missing("cells"))?;
    let head = Value::Object(found.head);
    let file: Head = json::read(&head)?;
    let info = ScenarioInfo {
        name: file.scenario,
        title: file.title,
        description: file.description,
        version: file.version,
        axes: file.axes.into_iter().map(|axis| axis.0).collect(),
        source: file.source,
        shard: file.shard.map(|shard| shard.0),
    };
    Ok(Summary { info, results })
}

/// What has been read of a summary.
#[derive(Default)]
pub(super) struct Found {
    has_format: bool,
    pub(super) results: Option<Vec<RunResult>>,
    /// Its other members.
    head: Map<String, Value>,
    /// What ended the reading, where it was not JSON.
    damage: Option<Damage>,
}

impl Found {
    /// Ends the reading.
    pub(super) fn refuse<E: Error>(&mut self, damage: Damage) -> E {
        self.damage = Some(damage);
        E::custom("refused")
    }
}

/// The summary itself.
struct Walked<'a>(&'a mut Found);

impl<'de> Visitor<'de> for Walked<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a summary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "format" => {
                    let format: String = map.next_value()?;
                    if ![FORMAT, TABLES].contains(&format.as_str()) {
                        let expected = FORMAT;
                        return Err(self.0.refuse(Damage::Format { format, expected }));
                    }
                    self.0.has_format = true;
                }
                "cells" => map.next_value_seed(Cells(&mut *self.0))?,
                "tables" => map.next_value_seed(Tables(&mut *self.0))?,
                "over_seeds" => drop(map.next_value::<IgnoredAny>()?),
                _ => {
                    let value = map.next_value()?;
                    self.0.head.insert(key, value);
                }
            }
        }
        Ok(())
    }
}

/// Its runs.
struct Cells<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Cells<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of runs as `cells`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut results = Vec::new();
        while let Some(value) = list.next_element::<Value>()? {
            match json::read::<Cell>(&value) {
                Ok(cell) => results.push(RunResult::from(cell)),
                Err(wrong) => {
                    let wrong = wrong.below(&format!("cells.{}", results.len()));
                    return Err(self.0.refuse(wrong.into()));
                }
            }
        }
        self.0.results = Some(results);
        Ok(())
    }
}

/// All but the runs.
#[derive(Deserialize)]
struct Head {
    scenario: String,
    version: u32,
    title: String,
    description: String,
    axes: Vec<AxisHere>,
    source: Option<String>,
    shard: Option<ShardHere>,
}

#[derive(Deserialize)]
#[serde(remote = "Shard")]
struct ShardFile {
    number: usize,
    of: usize,
    runs: usize,
}

#[derive(Deserialize)]
struct ShardHere(#[serde(with = "ShardFile")] Shard);

#[derive(Deserialize)]
#[serde(remote = "Axis")]
struct AxisFile {
    field: String,
    values: Vec<String>,
}

#[derive(Deserialize)]
struct AxisHere(#[serde(with = "AxisFile")] Axis);

#[derive(Deserialize)]
pub(super) struct Cell {
    #[serde(deserialize_with = "world")]
    world: WorldName,
    seed: u64,
    params: IndexMap<String, String>,
    links: IndexMap<String, Figures<LinkResult>>,
    flows: IndexMap<String, Figures<FlowResult>>,
    aggregate: Figures<Aggregate>,
    #[serde(with = "CostFile")]
    cost: Cost,
    #[serde(deserialize_with = "digest")]
    digest: u64,
    radio: Option<RadioHere>,
    program: Option<String>,
}

#[derive(Deserialize)]
struct RadioHere {
    range_m: f64,
    sense_m: f64,
    places_m: Vec<[f64; 2]>,
    hops: Vec<HopHere>,
}

#[derive(Deserialize)]
struct HopHere(#[serde(with = "HopFile")] Hop);

#[derive(Deserialize)]
#[serde(remote = "Hop")]
struct HopFile {
    from: usize,
    to: usize,
    frames: u64,
    packets: u64,
}

impl From<RadioHere> for Stations {
    fn from(radio: RadioHere) -> Self {
        let places = radio.places_m.into_iter();
        Self {
            range: radio.range_m,
            sense: radio.sense_m,
            places: places.map(|[x, y]| Place { x, y }).collect(),
            hops: radio.hops.into_iter().map(|hop| hop.0).collect(),
        }
    }
}

impl From<Cell> for RunResult {
    fn from(cell: Cell) -> Self {
        fn parts<T>(named: IndexMap<String, Figures<T>>) -> Vec<(String, T)> {
            let parts = named.into_iter();
            parts.map(|(name, figures)| (name, figures.0)).collect()
        }
        Self {
            world: cell.world,
            seed: cell.seed,
            params: cell.params.into_iter().collect(),
            links: parts(cell.links),
            flows: parts(cell.flows),
            aggregate: cell.aggregate.0,
            cost: cell.cost,
            digest: cell.digest,
            radio: cell.radio.map(Stations::from),
            program: cell.program,
        }
    }
}

fn world<'de, D: Deserializer<'de>>(deserializer: D) -> Result<WorldName, D::Error> {
    let name = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format_args!("is `{name}`, which is not a world"));
    WorldName::parse(&name).ok_or_else(wrong)
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| D::Error::custom("should be a hexadecimal number");
    u64::from_str_radix(&text, 16).map_err(wrong)
}

#[derive(Deserialize)]
#[serde(remote = "Cost")]
struct CostFile {
    events: u64,
    bottleneck_packets: u64,
    #[serde(deserialize_with = "number")]
    cpu_s: f64,
    #[serde(deserialize_with = "number")]
    wall_s: f64,
    peak_rss_bytes: u64,
}

/// A distribution without its points.
struct Spread(Distribution);

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Statistics).map(Self)
    }
}

struct Statistics;

impl<'de> Visitor<'de> for Statistics {
    type Value = Distribution;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distribution, A::Error> {
        let mut spread = Distribution::default();
        let mut missing = Statistic::ALL.map(Statistic::name).to_vec();
        while let Some(key) = map.next_key::<String>()? {
            match Statistic::named(&key) {
                Some(Statistic::Count) => spread.count = map.next_value()?,
                Some(one) => one.set(
                    &mut spread,
                    map.next_value::<Option<_>>()?.unwrap_or(f64::NAN),
                ),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
            missing.retain(|name| *name != key);
        }
        match missing.last() {
            Some(name) => Err(A::Error::missing_field(name)),
            None => Ok(spread),
        }
    }
}

/// A part of a result, read by the rows of its list.
struct Figures<T>(T);

/// What stands in a part besides figures.
trait Beside: Part {
    /// Its keys.
    const KEYS: &'static [&'static str];

    /// Takes the value of one of them.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

impl Beside for LinkResult {
    const KEYS: &'static [&'static str] = &["qdisc"];

    fn take<'de, A: MapAccess<'de>>(&mut self, _: &str, map: &mut A) -> Result<(), A::Error> {
        self.qdisc = map.next_value::<Queue>()?.into();
        Ok(())
    }
}

impl Beside for FlowResult {
    const KEYS: &'static [&'static str] = &["app", "elastic"];

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "app" => self.app = map.next_value::<String>()?.into(),
            _ => self.elastic = map.next_value()?,
        }
        Ok(())
    }
}

impl Beside for Aggregate {
    const KEYS: &'static [&'static str] = &[];

    fn take<'de, A: MapAccess<'de>>(&mut self, _: &str, map: &mut A) -> Result<(), A::Error> {
        map.next_value::<IgnoredAny>().map(drop)
    }
}

impl<'de, T: Beside> Deserialize<'de> for Figures<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Walk(PhantomData)).map(Self)
    }
}

struct Walk<T>(PhantomData<T>);

impl<'de, T: Beside> Visitor<'de> for Walk<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut part = T::default();
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(row) = T::rows().find(|row| row.figure.key == key) {
                fill(row, &mut part, &mut map)?;
            } else if T::KEYS.contains(&key.as_str()) {
                part.take(&key, &mut map)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            seen.push(key);
        }
        let figures = T::rows()
            .filter(|row| row.is_expected())
            .map(|row| row.figure.key);
        let mut expected = figures.chain(T::KEYS.iter().copied());
        match expected.find(|key| !seen.iter().any(|seen| seen == key)) {
            Some(key) => Err(A::Error::missing_field(key)),
            None => Ok(part),
        }
    }
}

/// Takes a figure's value, of the kind that its place holds.
fn fill<'de, T: Part, A: MapAccess<'de>>(
    row: &Row<T>,
    part: &mut T,
    map: &mut A,
) -> Result<(), A::Error> {
    let Some(slot) = row.slot(part) else {
        return map.next_value::<IgnoredAny>().map(drop);
    };
    let spread;
    let content = match slot.content() {
        Content::Count(_) => Content::Count(map.next_value()?),
        Content::Number(_) => Content::Number(map.next_value::<Option<f64>>()?.unwrap_or(f64::NAN)),
        Content::Spread(_) => {
            spread = map.next_value::<Spread>()?.0;
            match spread.count {
                0 => return Ok(()),
                _ => Content::Spread(&spread),
            }
        }
    };
    slot.fill(content);
    Ok(())
}

/// A queue's report.
#[derive(Deserialize)]
struct Queue {
    kind: String,
    options: IndexMap<String, QueueValue>,
    inner: Option<Box<Queue>>,
    #[serde(flatten)]
    stats: IndexMap<String, QueueValue>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "should be a value or a list of groups")]
enum QueueValue {
    None(()),
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Groups(Vec<IndexMap<String, QueueValue>>),
}

impl From<Queue> for Report {
    fn from(queue: Queue) -> Self {
        Self {
            kind: queue.kind.into(),
            options: fields(queue.options),
            stats: fields(queue.stats),
            inner: queue.inner.map(|inner| Box::new((*inner).into())),
        }
    }
}

fn fields(group: IndexMap<String, QueueValue>) -> Vec<Field> {
    let value = |value| match value {
        QueueValue::None(()) => QdiscValue::Float(f64::NAN),
        QueueValue::Bool(on) => QdiscValue::Bool(on),
        QueueValue::Int(number) => QdiscValue::Int(number),
        QueueValue::Float(number) => QdiscValue::Float(number),
        QueueValue::Text(text) => QdiscValue::Text(text),
        QueueValue::Groups(groups) => QdiscValue::Groups(groups.into_iter().map(fields).collect()),
    };
    let fields = group.into_iter().map(|(name, found)| Field {
        name: name.into(),
        value: value(found),
    });
    fields.collect()
}
