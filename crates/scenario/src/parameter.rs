//! What a parameter of a cell is as a number: which quantity its field holds, by the format, and
//! how its text reads.
//!
//! Not here: what the value means to a world (see `resolve`).

use crate::problem::{Origin, Problems};
use crate::quantity::{Bytes, Duration, Length, LinkSpeed, Probability};
use crate::read::Read;
use crate::reference::scenario;
use crate::tree::{Node, Value as TreeValue};
use serde_json::Value;

/// What a field of the format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time; as a number milliseconds.
    Time,
    /// A rate; as a number bit/s, infinite for `unlimited`.
    Rate,
    /// A size; as a number bytes.
    Size,
    /// A length; as a number metres.
    Length,
    /// A probability; as a number a share of one.
    Probability,
    /// A number without a unit.
    Number,
    /// `true` or `false`.
    Switch,
    /// Words: a queue, a name, or a field that the format does not know.
    Text,
}

/// The format, once read as a document, answers for any number of fields.
#[derive(Debug)]
pub struct Quantities(Value);

impl Default for Quantities {
    fn default() -> Self {
        Self(scenario())
    }
}

impl Quantities {
    /// What the field with this path holds, such as `dumbbell.down.rate`.
    pub fn of(&self, path: &str) -> Quantity {
        let mut nodes = vec![&self.0];
        for part in path.split('.') {
            nodes = nodes
                .into_iter()
                .flat_map(|n| self.below(n, part))
                .collect();
        }
        let mut kinds = nodes.into_iter().flat_map(|node| self.kinds(node));
        match kinds.next() {
            // Apps share the names of fields, and may mean different things by them.
            Some(first) if kinds.all(|kind| kind == first) => first,
            _ => Quantity::Text,
        }
    }

    /// What a node of the schema points to.
    fn target<'a>(&'a self, node: &'a Value) -> (Option<&'a str>, &'a Value) {
        let name = node["$ref"].as_str().and_then(|to| to.rsplit('/').next());
        (name, name.map_or(node, |name| &self.0["$defs"][name]))
    }

    /// The choices of a node, or itself.
    fn choices(node: &Value) -> Vec<&Value> {
        let of = |key: &str| node[key].as_array();
        let lists = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(of);
        let all: Vec<&Value> = lists.flatten().collect();
        if all.is_empty() { vec![node] } else { all }
    }

    /// Where `part` leads below a node: a key of a table, or any name in a list of tables.
    fn below<'a>(&'a self, node: &'a Value, part: &str) -> Vec<&'a Value> {
        let (_, node) = self.target(node);
        let step = |node: &'a Value| match (&node["properties"][part], &node["items"]) {
            (Value::Null, Value::Null) => None,
            (Value::Null, items) => Some(items),
            (property, _) => Some(property),
        };
        Self::choices(node).into_iter().filter_map(step).collect()
    }

    fn kinds(&self, node: &Value) -> Vec<Quantity> {
        let (name, node) = self.target(node);
        let named = match name {
            Some("time") => Some(Quantity::Time),
            Some("rate" | "link-rate") => Some(Quantity::Rate),
            Some("size") => Some(Quantity::Size),
            Some("length") => Some(Quantity::Length),
            Some("probability" | "loss" | "chance") => Some(Quantity::Probability),
            _ => None,
        };
        let plain = |node: &Value| match node["type"].as_str() {
            Some("integer" | "number") => Quantity::Number,
            Some("boolean") => Quantity::Switch,
            _ => Quantity::Text,
        };
        let choices = || Self::choices(node).into_iter().map(plain).collect();
        named.map_or_else(choices, |kind| vec![kind])
    }
}

impl Quantity {
    /// What the name of a column with such numbers ends with; empty where there is no unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Time => "_ms",
            Self::Rate => "_bps",
            Self::Size => "_bytes",
            Self::Length => "_m",
            Self::Probability | Self::Number | Self::Switch | Self::Text => "",
        }
    }

    /// The unit of such numbers, as in results; empty where there is none.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time => "ms",
            Self::Rate => "bit/s",
            Self::Size => "bytes",
            Self::Length => "m",
            Self::Probability | Self::Number | Self::Switch | Self::Text => "",
        }
    }

    /// The number that a parameter's text stands for; NaN where there is none.
    pub fn number(self, text: &str) -> f64 {
        let node = Node::of_argument(text, Origin::NOWHERE);
        let number = match self {
            Self::Time => read::<Duration>(&node).map(|time| time.0.as_millis_f64()),
            Self::Rate => read::<LinkSpeed>(&node)
                .map(|rate| rate.0.map_or(f64::INFINITY, |rate| rate.as_bps() as f64)),
            Self::Size => read::<Bytes>(&node).map(|size| size.0 as f64),
            Self::Length => read::<Length>(&node).map(|length| length.0),
            Self::Probability => read::<Probability>(&node).map(|share| share.0),
            Self::Number => match node.value {
                TreeValue::Integer(number) => Some(number as f64),
                TreeValue::Float(number) => Some(number),
                _ => None,
            },
            Self::Switch | Self::Text => None,
        };
        number.unwrap_or(f64::NAN)
    }

    /// Whether a parameter's text says `true` or `false`; none when it does neither.
    pub fn switch(self, text: &str) -> Option<bool> {
        text.parse().ok().filter(|_| self == Self::Switch)
    }
}

/// A value that has been checked when its cell was made.
fn read<T: Read>(node: &Node) -> Option<T> {
    T::read(node, "", &mut Problems::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_hold_what_the_format_says() {
        let quantities = Quantities::default();
        for (path, quantity) in [
            ("dumbbell.rtt", Quantity::Time),
            ("dumbbell.down.rate", Quantity::Rate),
            ("dumbbell.access", Quantity::Rate),
            ("dumbbell.qdisc", Quantity::Text),
            ("dumbbell.nat", Quantity::Switch),
            ("flow.any-name.dscp", Quantity::Text),
            ("flow.upload.count", Quantity::Number),
            ("flow.upload.tcp.cc", Quantity::Text),
            ("flow.upload.tcp.mss", Quantity::Size),
            ("flow.upload.app.interval", Quantity::Time),
            ("radio.range", Quantity::Length),
            ("dumbbell.loss", Quantity::Probability),
            // A word or a time.
            ("tcp.delayed_ack", Quantity::Text),
            ("setting", Quantity::Text),
            ("dumbbell.rtt.more", Quantity::Text),
        ] {
            assert_eq!(quantities.of(path), quantity, "{path}");
        }
    }

    #[test]
    fn texts_become_numbers_with_the_unit_of_the_suffix() {
        for (quantity, text, number) in [
            (Quantity::Time, "20ms", 20.0),
            (Quantity::Time, "1.5s", 1500.0),
            (Quantity::Time, "0", 0.0),
            (Quantity::Rate, "12mbit", 12e6),
            (Quantity::Rate, "1kbps", 8000.0),
            (Quantity::Rate, "unlimited", f64::INFINITY),
            (Quantity::Size, "64kb", 65_536.0),
            (Quantity::Size, "1500", 1500.0),
            (Quantity::Length, "1.2km", 1200.0),
            (Quantity::Probability, "1%", 0.01),
            (Quantity::Probability, "0.25", 0.25),
            (Quantity::Number, "36", 36.0),
            (Quantity::Number, "-0.5", -0.5),
        ] {
            let ours = quantity.number(text);
            assert!(ours.to_bits() == number.to_bits(), "{text}: {ours}");
        }
        assert!(Quantity::Time.number("fast").is_nan());
        assert!(Quantity::Text.number("5").is_nan());
        assert_eq!(Quantity::Switch.switch("true"), Some(true));
        assert_eq!(Quantity::Text.switch("true"), None);
    }
}
