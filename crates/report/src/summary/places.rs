//! Rows of a table of many runs, read without a tree of values: the first row is read as any run is
//! and shows what the runs of the table have. Values of the others go to their places in copies of
//! it.
//!
//! A row that does not fit is left to the slow way, which names what is wrong with it.

use super::cell::Leaf;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use sojourn_qdisc::{Report, Value as QdiscValue};
use sojourn_world::figure::{
    Aggregate, Content, Distribution, FlowResult, LinkResult, Part, Row, Statistic,
};
use sojourn_world::{Cost, RunResult, WorldName};
use std::collections::BTreeSet;
use std::fmt;

/// Where the values of a table's rows go.
pub(super) struct Places {
    /// A run of the table.
    first: RunResult,
    /// For each column after the run's number.
    columns: Vec<Place>,
    spreads: Vec<Spread>,
}

/// Where a value goes.
enum Place {
    /// To nobody.
    Unread,
    /// An object that is empty in all runs.
    Empty,
    World,
    Seed,
    Digest,
    Program,
    Param(usize),
    Link(usize, Figure<LinkResult>),
    Flow(usize, Figure<FlowResult>),
    Aggregate(Figure<Aggregate>),
    App(usize),
    Elastic(usize),
    /// Of a link's queue, which is so many queues below the first.
    Queue(usize, usize, InQueue),
    Count(fn(&mut Cost) -> &mut u64),
    Seconds(fn(&mut Cost) -> &mut f64),
}

/// A figure, or a statistic of one that is a distribution.
struct Figure<T: 'static> {
    row: &'static Row<T>,
    statistic: Option<Statistic>,
}

/// A value in the report of a queue.
enum InQueue {
    Kind,
    Option(usize),
    Statistic(usize),
}

/// A distribution of each run.
enum Spread {
    Link(usize, &'static Row<LinkResult>),
    Flow(usize, &'static Row<FlowResult>),
}

impl Places {
    /// Those of a table whose keys have these paths, those of `empty` no values, and whose first
    /// row is `first`. None where a run has what only the slow way reads.
    pub(super) fn of(paths: &[Vec<String>], empty: &[usize], first: &RunResult) -> Option<Self> {
        let all: BTreeSet<_> = paths.iter().collect();
        if all.len() < paths.len() || first.radio.is_some() {
            return None;
        }
        let mut places = Self {
            first: first.clone(),
            columns: Vec::with_capacity(paths.len()),
            spreads: Vec::new(),
        };
        for (number, path) in paths.iter().enumerate() {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let place = place(&path, first)?;
            match &place {
                Place::Link(link, figure) if figure.statistic == Some(Statistic::Count) => {
                    places.spreads.push(Spread::Link(*link, figure.row));
                }
                Place::Flow(flow, figure) if figure.statistic == Some(Statistic::Count) => {
                    places.spreads.push(Spread::Flow(*flow, figure.row));
                }
                _ => {}
            }
            if !empty.contains(&number) {
                places.columns.push(place);
            }
        }
        // What has no value in any row is not a number.
        for spread in &places.spreads {
            let spread = spread.of(&mut places.first)?;
            for statistic in Statistic::ALL {
                if statistic != Statistic::Count {
                    statistic.set(spread, f64::NAN);
                }
            }
        }
        Some(places)
    }

    /// The run of a row, and its number; none where the row does not fit.
    pub(super) fn read(&self, row: &str) -> Option<(u64, RunResult)> {
        let mut from = serde_json::Deserializer::from_str(row);
        let read = from.deserialize_seq(Values(self)).ok()?;
        from.end().ok()?;
        Some(read)
    }
}

impl Spread {
    fn of<'a>(&self, run: &'a mut RunResult) -> Option<&'a mut Distribution> {
        match self {
            Self::Link(link, row) => row.slot(&mut run.links[*link].1)?.spread(),
            Self::Flow(flow, row) => row.slot(&mut run.flows[*flow].1)?.spread(),
        }
    }
}

/// The place of a path's value.
fn place(path: &[&str], run: &RunResult) -> Option<Place> {
    let place = match path {
        ["world"] => Place::World,
        ["seed"] => Place::Seed,
        ["digest"] => Place::Digest,
        ["program"] => Place::Program,
        ["params" | "links" | "flows"] => Place::Empty,
        ["params", field] => Place::Param(run.params.iter().position(|(name, _)| name == field)?),
        ["links", name, rest @ ..] => {
            let link = run.links.iter().position(|(known, _)| known == name)?;
            match rest {
                ["qdisc", rest @ ..] => in_queue(rest, link, &run.links[link].1.qdisc, 0)?,
                _ => figure(rest, |figure| Place::Link(link, figure))?,
            }
        }
        ["flows", name, rest @ ..] => {
            let flow = run.flows.iter().position(|(known, _)| known == name)?;
            match rest {
                ["app"] => Place::App(flow),
                ["elastic"] => Place::Elastic(flow),
                _ => figure(rest, |figure| Place::Flow(flow, figure))?,
            }
        }
        ["aggregate", rest @ ..] => figure(rest, Place::Aggregate)?,
        ["cost", key] => match *key {
            "events" => Place::Count(|cost| &mut cost.events),
            "bottleneck_packets" => Place::Count(|cost| &mut cost.bottleneck_packets),
            "peak_rss_bytes" => Place::Count(|cost| &mut cost.peak_rss_bytes),
            "cpu_s" => Place::Seconds(|cost| &mut cost.cpu_s),
            "wall_s" => Place::Seconds(|cost| &mut cost.wall_s),
            _ => Place::Unread,
        },
        _ => return None,
    };
    Some(place)
}

/// The place of the figure that has these keys below a part; none where they are no figure's.
fn figure<T: Part>(path: &[&str], of: impl FnOnce(Figure<T>) -> Place) -> Option<Place> {
    let (key, statistic) = match path {
        [key] => (key, None),
        [key, statistic] => (key, Some(Statistic::named(statistic)?)),
        _ => return None,
    };
    let Some(row) = T::rows().find(|row| row.figure.key == *key) else {
        return Some(Place::Unread);
    };
    let is_held = row.slot(&mut T::default()).is_some();
    Some(if is_held {
        of(Figure { row, statistic })
    } else {
        Place::Unread
    })
}

fn in_queue(path: &[&str], link: usize, report: &Report, depth: usize) -> Option<Place> {
    let position = |fields: &[sojourn_qdisc::Field], key: &str| {
        let place = fields.iter().position(|field| field.name == key)?;
        let is_plain = !matches!(fields[place].value, QdiscValue::Groups(_));
        is_plain.then_some(place)
    };
    let place = match path {
        ["kind"] => InQueue::Kind,
        ["options"] => return Some(Place::Empty),
        ["options", key] => InQueue::Option(position(&report.options, key)?),
        ["inner", rest @ ..] => return in_queue(rest, link, report.inner.as_ref()?, depth + 1),
        [key] => InQueue::Statistic(position(&report.stats, key)?),
        _ => return None,
    };
    Some(Place::Queue(link, depth, place))
}

impl Place {
    /// Puts a value there. None when it does not fit.
    fn put(&self, run: &mut RunResult, value: Leaf<'_>) -> Option<()> {
        match (self, value) {
            (Self::Unread, _) | (Self::Empty, Leaf::Object) => {}
            (Self::World, Leaf::Text(text)) => {
                if run.world.as_str() != text {
                    run.world = WorldName::parse(text)?;
                }
            }
            (Self::Seed, Leaf::Whole(number)) => run.seed = number,
            (Self::Digest, Leaf::Text(text)) => run.digest = u64::from_str_radix(text, 16).ok()?,
            (Self::Program, Leaf::Text(text)) => {
                let program = run.program.get_or_insert_default();
                text.clone_into(program);
            }
            (Self::Program, Leaf::Number(_)) => run.program = None,
            (Self::Param(place), Leaf::Text(text)) => text.clone_into(&mut run.params[*place].1),
            (Self::Link(link, figure), value) => figure.put(&mut run.links[*link].1, &value)?,
            (Self::Flow(flow, figure), value) => figure.put(&mut run.flows[*flow].1, &value)?,
            (Self::Aggregate(figure), value) => figure.put(&mut run.aggregate, &value)?,
            (Self::App(flow), Leaf::Text(text)) => {
                let app = &mut run.flows[*flow].1.app;
                if *app != text {
                    *app = text.to_owned().into();
                }
            }
            (Self::Elastic(flow), Leaf::Flag(on)) => run.flows[*flow].1.elastic = on,
            (Self::Queue(link, depth, place), value) => {
                let mut report = &mut run.links[*link].1.qdisc;
                for _ in 0..*depth {
                    report = report.inner.as_mut()?;
                }
                place.put(report, &value)?;
            }
            (Self::Count(count), Leaf::Whole(number)) => *count(&mut run.cost) = number,
            (Self::Seconds(seconds), value) => *seconds(&mut run.cost) = number(&value)?,
            _ => return None,
        }
        Some(())
    }
}

/// A number; one that is not finite where there is none.
fn number(value: &Leaf<'_>) -> Option<f64> {
    match *value {
        Leaf::Whole(number) => Some(number as f64),
        Leaf::Signed(number) => Some(number as f64),
        Leaf::Number(number) => Some(number),
        Leaf::Flag(_) | Leaf::Text(_) | Leaf::Object | Leaf::Value(_) => None,
    }
}

impl<T: Part> Figure<T> {
    fn put(&self, part: &mut T, value: &Leaf<'_>) -> Option<()> {
        let slot = self.row.slot(part)?;
        match (self.statistic, slot.content(), value) {
            (None, Content::Count(_), Leaf::Whole(count)) => slot.fill(Content::Count(*count)),
            (None, Content::Number(_), value) => slot.fill(Content::Number(number(value)?)),
            (Some(Statistic::Count), Content::Spread(_), Leaf::Whole(count)) => {
                slot.spread()?.count = *count;
            }
            (Some(Statistic::Count), ..) => return None,
            (Some(statistic), Content::Spread(_), value) => {
                statistic.set(slot.spread()?, number(value)?);
            }
            _ => return None,
        }
        Some(())
    }
}

impl InQueue {
    fn put(&self, report: &mut Report, value: &Leaf<'_>) -> Option<()> {
        let field = match (self, value) {
            (Self::Kind, Leaf::Text(text)) => {
                if report.kind != *text {
                    report.kind = (*text).to_owned().into();
                }
                return Some(());
            }
            (Self::Kind, _) => return None,
            (Self::Option(place), _) => &mut report.options[*place],
            (Self::Statistic(place), _) => &mut report.stats[*place],
        };
        field.value = match *value {
            Leaf::Whole(number) => match i64::try_from(number) {
                Ok(number) => QdiscValue::Int(number),
                Err(_) => QdiscValue::Float(number as f64),
            },
            Leaf::Signed(number) => QdiscValue::Int(number),
            Leaf::Number(number) => QdiscValue::Float(number),
            Leaf::Flag(on) => QdiscValue::Bool(on),
            Leaf::Text(text) => QdiscValue::Text(text.to_owned()),
            Leaf::Object | Leaf::Value(_) => return None,
        };
        Some(())
    }
}

/// The values of a row.
struct Values<'a>(&'a Places);

impl<'de> Visitor<'de> for Values<'_> {
    type Value = (u64, RunResult);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<Self::Value, A::Error> {
        let short = || A::Error::custom("a row that is too short");
        let number = row.next_element()?.ok_or_else(short)?;
        let mut run = self.0.first.clone();
        for place in &self.0.columns {
            let value = match place {
                Place::Unread => row.next_element::<IgnoredAny>()?.map(drop),
                _ => row.next_element_seed(Put {
                    place,
                    run: &mut run,
                })?,
            };
            value.ok_or_else(short)?;
        }
        if row.next_element::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("a row that is too long"));
        }
        for spread in &self.0.spreads {
            let spread = spread.of(&mut run).ok_or_else(short)?;
            if spread.count == 0 {
                *spread = Distribution::default();
            }
        }
        Ok((number, run))
    }
}

/// A value on its way.
struct Put<'a> {
    place: &'a Place,
    run: &'a mut RunResult,
}

impl Put<'_> {
    fn put<E: Error>(self, value: Leaf<'_>) -> Result<(), E> {
        let put = self.place.put(self.run, value);
        put.ok_or_else(|| E::custom("a value that does not fit"))
    }
}

impl<'de> DeserializeSeed<'de> for Put<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Put<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.put(Leaf::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.put(Leaf::Signed(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.put(Leaf::Number(number))
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<(), E> {
        self.put(Leaf::Flag(on))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.put(Leaf::Text(text))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.put(Leaf::Number(f64::NAN))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        match map.next_key::<IgnoredAny>()? {
            None => self.put(Leaf::Object),
            Some(_) => Err(A::Error::custom("an object with members")),
        }
    }
}
