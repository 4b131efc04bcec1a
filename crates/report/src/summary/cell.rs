//! A run as a summary has it: its keys and values in the format's order, for whoever writes them
//! down.

use serde_json::{Map, Value, json};
use sojourn_qdisc::{Field, Report, Value as QdiscValue};
use sojourn_world::figure::{Content, FlowResult, LinkResult, Part, Row, Statistic};
use sojourn_world::{Hop, RunResult, Stations};

/// A value of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf<'a> {
    /// A count.
    Whole(u64),
    /// A count that may be below zero.
    Signed(i64),
    /// A number; null where it is not finite.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(&'a str),
    /// An object without members.
    Object,
    /// Anything else.
    Value(&'a Value),
}

impl Leaf<'_> {
    /// Writes it as JSON.
    pub(super) fn write(self, to: &mut Vec<u8>) {
        let written = match self {
            Self::Whole(number) => serde_json::to_writer(to, &number),
            Self::Signed(number) => serde_json::to_writer(to, &number),
            Self::Number(number) => serde_json::to_writer(to, &number),
            Self::Flag(on) => serde_json::to_writer(to, &on),
            Self::Text(text) => serde_json::to_writer(to, text),
            Self::Object => serde_json::to_writer(to, &json!({})),
            Self::Value(value) => serde_json::to_writer(to, value),
        };
        written.expect("memory takes all that is written");
    }
}

/// Whoever writes a run down.
pub(super) trait Sink {
    /// An object begins under this key.
    fn begin(&mut self, key: &str);
    /// It ends.
    fn end(&mut self);
    /// A value.
    fn value(&mut self, key: &str, value: Leaf<'_>);
}

/// Writes a queue as `tc -s -j qdisc` prints it, without the device's fields.
pub(crate) fn qdisc(to: &mut Vec<u8>, report: &Report) {
    to.push(b'{');
    let mut text = Text { to, is_first: true };
    queue(report, &mut text);
    to.push(b'}');
}

/// Members as text.
struct Text<'a> {
    to: &'a mut Vec<u8>,
    /// Whether no member of the object has been written.
    is_first: bool,
}

impl Text<'_> {
    fn key(&mut self, key: &str) {
        if !self.is_first {
            self.to.push(b',');
        }
        self.is_first = false;
        Leaf::Text(key).write(self.to);
        self.to.push(b':');
    }
}

impl Sink for Text<'_> {
    fn begin(&mut self, key: &str) {
        self.key(key);
        self.to.push(b'{');
        self.is_first = true;
    }

    fn end(&mut self) {
        self.to.push(b'}');
        self.is_first = false;
    }

    fn value(&mut self, key: &str, value: Leaf<'_>) {
        self.key(key);
        value.write(self.to);
    }
}

/// Writes a run.
pub(super) fn cell(run: &RunResult, to: &mut dyn Sink) {
    to.value("world", Leaf::Text(run.world.as_str()));
    to.value("seed", Leaf::Whole(run.seed));
    object(to, "params", &run.params, |to, (field, value)| {
        to.value(field, Leaf::Text(value));
    });
    object(to, "links", &run.links, |to, (name, one)| {
        to.begin(name);
        link(one, to);
        to.end();
    });
    object(to, "flows", &run.flows, |to, (name, one)| {
        to.begin(name);
        flow(one, to);
        to.end();
    });
    to.begin("aggregate");
    figures(&run.aggregate, |_| true, to);
    to.end();
    let cost = &run.cost;
    to.begin("cost");
    to.value("events", Leaf::Whole(cost.events));
    to.value("bottleneck_packets", Leaf::Whole(cost.bottleneck_packets));
    to.value("cpu_s", Leaf::Number(cost.cpu_s));
    to.value("wall_s", Leaf::Number(cost.wall_s));
    to.value("peak_rss_bytes", Leaf::Whole(cost.peak_rss_bytes));
    to.end();
    to.value("digest", Leaf::Text(&format!("{:016x}", run.digest)));
    if let Some(radio) = &run.radio {
        to.begin("radio");
        stations(radio, to);
        to.end();
    }
    if let Some(program) = &run.program {
        to.value("program", Leaf::Text(program));
    }
}

/// An object of such members.
fn object<T>(to: &mut dyn Sink, key: &str, members: &[T], member: impl Fn(&mut dyn Sink, &T)) {
    if members.is_empty() {
        to.value(key, Leaf::Object);
        return;
    }
    to.begin(key);
    for one in members {
        member(to, one);
    }
    to.end();
}

fn stations(radio: &Stations, to: &mut dyn Sink) {
    let hop = |hop: &Hop| {
        let Hop {
            from,
            to,
            frames,
            packets,
        } = hop;
        json!({ "from": from, "to": to, "frames": frames, "packets": packets })
    };
    let places = radio.places.iter().map(|place| json!([place.x, place.y]));
    to.value("range_m", Leaf::Number(radio.range));
    to.value("sense_m", Leaf::Number(radio.sense));
    to.value("places_m", Leaf::Value(&places.collect()));
    to.value("hops", Leaf::Value(&radio.hops.iter().map(hop).collect()));
}

/// The figures of a part that are wanted, by their keys.
fn figures<T: Part>(part: &T, wanted: fn(&Row<T>) -> bool, to: &mut dyn Sink) {
    for row in T::rows().filter(|row| wanted(row)) {
        let key = row.figure.key;
        match row.content(part) {
            None => {}
            Some(Content::Count(count)) => to.value(key, Leaf::Whole(count)),
            Some(Content::Number(number)) => to.value(key, Leaf::Number(number)),
            Some(Content::Spread(spread)) => {
                to.begin(key);
                for one in Statistic::ALL {
                    let value = match one {
                        Statistic::Count => Leaf::Whole(spread.count),
                        _ => Leaf::Number(one.of(spread)),
                    };
                    to.value(one.name(), value);
                }
                to.end();
            }
        }
    }
}

fn link(link: &LinkResult, to: &mut dyn Sink) {
    figures(link, |row| !row.is_later, to);
    to.begin("qdisc");
    queue(&link.qdisc, to);
    to.end();
    // Format 1 promises the keys before in this order.
    figures(link, |row| row.is_later, to);
}

fn flow(flow: &FlowResult, to: &mut dyn Sink) {
    figures(flow, |_| true, to);
    to.value("app", Leaf::Text(&flow.app));
    to.value("elastic", Leaf::Flag(flow.elastic));
}

fn queue(report: &Report, to: &mut dyn Sink) {
    to.value("kind", Leaf::Text(&report.kind));
    object(to, "options", &report.options, field);
    for one in &report.stats {
        field(to, one);
    }
    if let Some(inner) = &report.inner {
        to.begin("inner");
        queue(inner, to);
        to.end();
    }
}

fn field(to: &mut dyn Sink, field: &Field) {
    let groups;
    let value = match &field.value {
        QdiscValue::Int(number) => Leaf::Signed(*number),
        QdiscValue::Float(number) => Leaf::Number(*number),
        QdiscValue::Bool(on) => Leaf::Flag(*on),
        QdiscValue::Text(text) => Leaf::Text(text),
        QdiscValue::Groups(list) => {
            groups = groups_of(list);
            Leaf::Value(&groups)
        }
    };
    to.value(&field.name, value);
}

fn groups_of(list: &[Vec<Field>]) -> Value {
    let value = |value: &QdiscValue| match value {
        QdiscValue::Int(number) => json!(number),
        QdiscValue::Float(number) => json!(number),
        QdiscValue::Bool(on) => json!(on),
        QdiscValue::Text(text) => json!(text),
        QdiscValue::Groups(list) => groups_of(list),
    };
    let group = |fields: &Vec<Field>| {
        let members = fields
            .iter()
            .map(|field| (field.name.to_string(), value(&field.value)));
        Value::from(members.collect::<Map<_, _>>())
    };
    list.iter().map(group).collect()
}
