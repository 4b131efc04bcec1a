//! Values with a unit or a meaning of their own: times, rates, sizes, probabilities, queues, names.
//!
//! A time or a rate must carry its unit: in tc's notation a bare time is microseconds and a bare
//! rate is bit/s, and nobody who writes `duration = 60` means sixty microseconds.

use crate::problem::{Origin, Problem, Problems};
use crate::queue::QueueWords;
use crate::read::{Read, wrong_type};
use crate::tree::{Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_line::{Chance, Loss, NotNetem, Reorder};
use sojourn_units::{
    Rate, Span, Unit, UnitError, parse_rate, parse_size, parse_span, rate_in_bytes,
};
use std::borrow::Cow;
use std::str::FromStr;

/// Gives a type its JSON Schema.
macro_rules! schema {
    ($type:ident, $name:literal, $($schema:tt)+) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($($schema)+)
            }
        }
    };
}

/// Declares a quantity around what it is, with its JSON Schema; the schema's description is the
/// type's.
macro_rules! quantity {
    ($type:ident($Inner:ty) $(: $Derive:ident)?, $name:literal, {
        "description": $about:literal,
        $($schema:tt)+
    }) => {
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq $(, $Derive)?)]
        pub struct $type(pub $Inner);

        schema!($type, $name, { "description": $about, $($schema)+ });
    };
}

mod name;

pub use name::{Address, Device, Dscp, Group, Name, group};

quantity!(Duration(Span): Copy, "time", {
    "description": "A time with its unit: s, ms, us or ns. The number 0 needs none.",
    "anyOf": [
        { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*([mun]?s|(m|u|n)?secs?)\s*$" },
        { "const": 0 },
    ],
    "examples": ["40ms", "1.5s", "250us"],
});
quantity!(Speed(Rate): Copy, "rate", {
    "description": "A rate with its unit: bit, kbit, mbit, gbit, tbit (powers of 1000; also Mbit/s \
                    and so on), kibit and so on (1024), bps, kbps and so on (bytes per second, as \
                    in tc).",
    "type": "string",
    "pattern": r"^\s*[0-9]*\.?[0-9]+\s*([kKmMgGtT]i?)?([bB][iI][tT](/[sS])?|[bB][pP][sS])\s*$",
    "examples": ["12mbit", "1.5mbit", "10gbit"],
});
quantity!(LinkSpeed(Option<Rate>): Copy, "link-rate", {
    "description": "A rate as `12mbit`, or `unlimited` for a link that sends in no time.",
    "type": "string",
    "pattern":
        r"^\s*([0-9]*\.?[0-9]+\s*([kKmMgGtT]i?)?([bB][iI][tT](/[sS])?|[bB][pP][sS])|unlimited)\s*$",
    "examples": ["12mbit", "10gbit", "unlimited"],
});
quantity!(ChangedSpeed(NewRate): Copy, "changed-rate", {
    "description": "A rate as `12mbit`; `down` or `0bit` for a link that sends nothing and whose \
                    queue holds what comes, and `up` for the rate that it had before that; \
                    `unlimited`.",
    "type": "string",
    "pattern":
        concat!(
            r"^\s*([0-9]*\.?[0-9]+\s*([kKmMgGtT]i?)?([bB][iI][tT](/[sS])?|[bB][pP][sS])",
            r"|unlimited|down|up)\s*$",
        ),
    "examples": ["12mbit", "down", "up"],
});
quantity!(Bytes(u64): Copy, "size", {
    "description": "Bytes as an integer, or a string with a unit: b, kb, mb, gb (powers of \
                    1024, as in tc).",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*[a-zA-Z]*\s*$" },
    ],
    "examples": [1500, "64kb", "10mb"],
});
quantity!(Probability(f64): Copy, "probability", {
    "description": "A probability: a string in per cent, up to `100%`, or a bare fraction below 1.",
    "anyOf": [
        { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*%$" },
        { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
    ],
    "examples": ["1%", 0.01],
});
quantity!(LossWords(Loss): Copy, "loss", {
    "description": "Which packets are lost: a share as `1%` or 0.01, or in netem's words \
                    `gemodel P R 1-H 1-K` (Gilbert and Elliott's model, losses in bursts), each \
                    with its name before it or without: P and R are the chances to go to the bad \
                    state and back (default of R: 100% less P), 1-H and 1-K those of loss in the \
                    bad state (default 100%) and in the good one (default 0%). \
                    `state P13 P31 P32 P23 P14` is netem's model of four states: bursts begin with \
                    P13 and end with P31 (default 100% less P13); in them packets are received \
                    after P32 (default 0%) until P23 (default 100%), and P14 (default 0%) loses \
                    one alone outside.",
    "anyOf": [
        { "type": "string",
          "pattern": r"^\s*(random\s+)?[0-9]*\.?[0-9]+\s*%(\s+[0-9]*\.?[0-9]+%)?\s*$" },
        { "type": "string", "pattern": r"^\s*gemodel(\s+(p|r|1-h|1-k)|\s+[0-9]*\.?[0-9]+%)+\s*$" },
        { "type": "string",
          "pattern": r"^\s*state(\s+(p13|p31|p32|p23|p14)|\s+[0-9]*\.?[0-9]+%)+\s*$" },
        { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
    ],
    "examples": ["1%", 0.01, "gemodel p 1% r 10% 1-h 70% 1-k 0.1%", "state 1% 20% 10% 50% 0.5%"],
});
quantity!(ChanceWords(Chance): Copy, "chance", {
    "description": "A share of packets as `1%` or 0.01, or with the correlation of netem's draws, \
                    `1% 25%`: with it the share is not the first number.",
    "anyOf": [
        { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*%(\s+[0-9]*\.?[0-9]+%)?\s*$" },
        { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
    ],
    "examples": ["1%", "1% 25%"],
});
quantity!(ReorderWords(Reorder): Copy, "reorder", {
    "description": "`true` or `false`, or in netem's words which packets pass the link's delay \
                    and jitter by: `SHARE [CORRELATION] [gap N]`, with the chance of the share \
                    each that follows N - 1 delayed ones.",
    "anyOf": [
        { "type": "boolean" },
        { "type": "string",
          "pattern": r"^\s*[0-9]*\.?[0-9]+%(\s+[0-9]*\.?[0-9]+%)?(\s+gap\s+[1-9][0-9]*)?\s*$" },
    ],
    "examples": [true, "25% 50%", "100% gap 5"],
});
quantity!(Factor(f64): Copy, "factor", {
    "description": "A number from 0 to 1000.",
    "type": "number",
    "minimum": 0,
    "maximum": 1000,
    "examples": [0.5],
});
quantity!(Length(f64): Copy, "length", {
    "description": "A length with its unit: m or km.",
    "type": "string",
    "pattern": r"^\s*-?[0-9]*\.?[0-9]+\s*k?m\s*$",
    "examples": ["25m", "1.2km"],
});
quantity!(Queue(QueueWords), "qdisc", {
    "description": "A queue discipline in tc's words, with tc's units and defaults: \
                    one of docs/disciplines.md. Its `limit` may also be a time, what the link \
                    sends in it, or a number of bandwidth-delay products.",
    "type": "string",
    "examples": ["pfifo limit 490", "fq_codel", "pie target 20ms ecn", "pfifo limit 2bdp"],
});
quantity!(Seeds(Vec<u64>), "seeds", {
    "description": "How many seeds (1, 2, 3 and so on), or a list of them.",
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": 10_000 },
        { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1,
          "uniqueItems": true },
    ],
    "examples": [5, [1, 7, 42]],
});

/// What a link's rate becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRate {
    /// This one; none for `unlimited`, zero for `down`.
    Is(Option<Rate>),
    /// What it was before it went down.
    Before,
}

/// When the receiver acknowledges: `true`, `false` or the longest delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDelay {
    /// TCP's default, or no delay at all.
    Switch(bool),
    /// Longest delay.
    After(Span),
}

schema!(AckDelay, "delayed-ack", {
    "description": "`true`: every second segment or after 40 to 200 ms; `false`: every segment at \
                    once; or the longest delay.",
    "anyOf": [
        { "type": "boolean" },
        { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*([mun]?s|(m|u|n)?secs?)\s*$" },
    ],
    "examples": [false, "40ms"],
});

/// How marks are told: `false`, `true` (RFC 3168) or `accecn` (RFC 9768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnWord {
    /// RFC 3168's ECN, or none.
    Switch(bool),
    /// AccECN.
    Accurate,
}

schema!(EcnWord, "ecn", {
    "description": "`false`: none; `true`: RFC 3168; `accecn`: RFC 9768.",
    "anyOf": [{ "type": "boolean" }, { "enum": ["accecn"] }],
    "examples": [true, "accecn"],
});

/// A quantity in a string; a bare number only gets a suggestion of how to write it.
fn with_unit<T>(
    node: &Node,
    path: &str,
    problems: &mut Problems,
    example: &str,
    parse: fn(&str) -> Result<T, UnitError>,
) -> Option<T> {
    let problem = match &node.value {
        Value::Text(text) => match parse(text) {
            Ok(value) => return Some(value),
            Err(error) if error.lacks_unit() => {
                Problem::new(node.at, path, format!("`{text}` needs a unit"))
                    .help(format!("for example \"{example}\""))
            }
            Err(error) => Problem::new(node.at, path, error.to_string()),
        },
        Value::Integer(_) | Value::Float(_) => {
            Problem::new(node.at, path, format!("`{}` needs a unit", node.text))
                .help(format!("write a string, for example \"{example}\""))
        }
        _ => wrong_type(node, path, &format!("a string such as \"{example}\"")),
    };
    problems.refuse(problem)
}

impl Read for Duration {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match node.value {
            // Nothing is nothing in any unit.
            Value::Integer(0) => Some(Self(Span::ZERO)),
            _ => with_unit(node, path, problems, "40ms", parse_span).map(Self),
        }
    }
}

/// Warns of a rate in tc's `bps`, which are bytes, and elsewhere bits.
pub(crate) fn warn_of_bytes(text: &str, at: Origin, path: &str, problems: &mut Problems) {
    let Some(rate) = rate_in_bytes(text) else {
        return;
    };
    let text = text.trim();
    let bits = format!("{}bit", text[..text.len() - 3].to_ascii_lowercase());
    let message = format!(
        "`{text}` is {}: `bps` are bytes per second here, as in tc",
        Unit::Bps.show(rate.as_bps() as f64)
    );
    problems.warn(Problem::new(at, path, message).help(format!("for bits write `{bits}`")));
}

impl Read for Speed {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let rate = with_unit(node, path, problems, "12mbit", parse_rate)?;
        if let Value::Text(text) = &node.value {
            warn_of_bytes(text, node.at, path, problems);
        }
        if rate.is_zero() {
            let mut problem = Problem::new(node.at, path, "must be above zero");
            if path.ends_with("rate") {
                let help = "an outage is a `[[change]]` of the link with `rate = \"down\"`, and \
                            later one with `rate = \"up\"`";
                problem = problem.help(help);
            }
            return problems.refuse(problem);
        }
        Some(Self(rate))
    }
}

impl Read for LinkSpeed {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(word) if word == "unlimited" => Some(Self(None)),
            _ => Speed::read(node, path, problems).map(|speed| Self(Some(speed.0))),
        }
    }
}

impl Read for ChangedSpeed {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let word = match &node.value {
            Value::Text(word) => word.trim(),
            _ => "",
        };
        // With a unit, as every rate.
        let has_unit = word.ends_with(|c: char| c.is_ascii_alphabetic());
        let is_none = || has_unit && parse_rate(word).is_ok_and(Rate::is_zero);
        Some(Self(match word {
            "up" => NewRate::Before,
            "down" => NewRate::Is(Some(Rate::ZERO)),
            _ if is_none() => NewRate::Is(Some(Rate::ZERO)),
            _ => NewRate::Is(LinkSpeed::read(node, path, problems)?.0),
        }))
    }
}

impl Read for Bytes {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Integer(_) => u64::read(node, path, problems).map(Self),
            Value::Text(text) => match parse_size(text) {
                Ok(bytes) => Some(Self(bytes)),
                Err(error) => problems.refuse(Problem::new(node.at, path, error.to_string())),
            },
            _ => {
                let wanted = "bytes as an integer, or a string such as \"10mb\"";
                problems.refuse(wrong_type(node, path, wanted))
            }
        }
    }
}

impl Read for Probability {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let value = match &node.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|number| number.trim_end().parse::<f64>().ok())
                .map(|percent| percent / 100.0),
            _ => None,
        };
        let problem = match value {
            Some(value) if (0.0..1.0).contains(&value) => return Some(Self(value)),
            // Who writes a bare 1 may mean one per cent.
            Some(1.0) if node.text.contains('%') => return Some(Self(1.0)),
            Some(value) => {
                let what = "is not a probability: 0% to 100%, or a fraction below 1";
                let problem = Problem::new(node.at, path, format!("`{}` {what}", node.text));
                if value >= 1.0 && !node.text.contains('%') {
                    problem.help(format!("for {value} per cent write \"{value}%\""))
                } else {
                    problem
                }
            }
            None => wrong_type(
                node,
                path,
                "a probability: a string such as \"1%\", or 0.01",
            ),
        };
        problems.refuse(problem)
    }
}

/// Whether a value is words of netem's, and not a share alone.
fn netem_words(node: &Node) -> Option<&str> {
    let Value::Text(text) = &node.value else {
        return None;
    };
    let share = text.trim().strip_suffix('%').unwrap_or(text);
    let is_share = share.trim().parse::<f64>().is_ok();
    (!is_share).then_some(text)
}

/// What netem's words mean.
fn in_words<T: FromStr<Err = NotNetem>>(
    text: &str,
    node: &Node,
    path: &str,
    problems: &mut Problems,
) -> Option<T> {
    let problem = |error: NotNetem| problems.add(Problem::new(node.at, path, error.to_string()));
    text.parse().map_err(problem).ok()
}

impl Read for LossWords {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match netem_words(node) {
            Some(text) => in_words(text, node, path, problems).map(Self),
            None => Probability::read(node, path, problems).map(|share| Self(share.0.into())),
        }
    }
}

impl Read for ChanceWords {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match netem_words(node) {
            Some(text) => in_words(text, node, path, problems).map(Self),
            None => Probability::read(node, path, problems).map(|share| Self(share.0.into())),
        }
    }
}

impl Read for ReorderWords {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Bool(true) => Some(Self(Reorder::Allowed)),
            Value::Bool(false) => Some(Self(Reorder::Never)),
            Value::Text(text) => in_words(text, node, path, problems).map(Self),
            _ => {
                let wanted = "`true`, `false`, or netem's words such as \"25% 50% gap 5\"";
                problems.refuse(wrong_type(node, path, wanted))
            }
        }
    }
}

impl Read for Factor {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let value = match &node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return problems.refuse(wrong_type(node, path, "a number")),
        };
        if !(0.0..=1000.0).contains(&value) {
            let message = format!("`{}` is not a number from 0 to 1000", node.text);
            return problems.refuse(Problem::new(node.at, path, message));
        }
        Some(Self(value))
    }
}

impl Read for Length {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let example = "for example \"25m\"";
        let problem = match &node.value {
            Value::Text(text) => {
                let text = text.trim();
                let (number, unit) = match (text.strip_suffix("km"), text.strip_suffix('m')) {
                    (Some(number), _) => (number, 1000.0),
                    (None, Some(number)) => (number, 1.0),
                    (None, None) => (text, f64::NAN),
                };
                let metres = number.trim_end().parse::<f64>().map(|number| number * unit);
                match metres {
                    Ok(metres) if metres.is_finite() && metres.abs() <= 1e6 => {
                        return Some(Self(metres));
                    }
                    Ok(metres) if metres.is_nan() => {
                        Problem::new(node.at, path, format!("`{text}` needs a unit")).help(example)
                    }
                    Ok(_) => Problem::new(node.at, path, "must be within 1000 km"),
                    Err(_) => Problem::new(node.at, path, format!("`{text}` is not a length"))
                        .help(example),
                }
            }
            Value::Integer(_) | Value::Float(_) => {
                Problem::new(node.at, path, format!("`{}` needs a unit", node.text)).help(example)
            }
            _ => wrong_type(node, path, "a string such as \"25m\""),
        };
        problems.refuse(problem)
    }
}

impl Seeds {
    /// Most seeds of one scenario.
    pub const MOST: u64 = 10_000;
}

impl Read for Seeds {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let problem = match &node.value {
            Value::Integer(count) if (1..=Self::MOST).contains(&count.cast_unsigned()) => {
                return Some(Self((1..=count.cast_unsigned()).collect()));
            }
            Value::Integer(_) => {
                let message = format!("must be a number of seeds from 1 to {}", Self::MOST);
                Problem::new(node.at, path, message)
            }
            Value::Array(items) if items.is_empty() => {
                Problem::new(node.at, path, "at least one seed is needed")
            }
            Value::Array(items) if items.len() as u64 > Self::MOST => {
                let message = format!("{} are more than {} seeds", items.len(), Self::MOST);
                Problem::new(node.at, path, message)
            }
            Value::Array(items) => {
                let seeds = Vec::<u64>::read(node, path, problems)?;
                let twice = (1..seeds.len()).find(|&i| seeds[..i].contains(&seeds[i]));
                match twice {
                    None => return Some(Self(seeds)),
                    Some(i) => {
                        let message = format!("seed {} is listed twice", seeds[i]);
                        Problem::new(items[i].at, path, message)
                    }
                }
            }
            _ => wrong_type(node, path, "a number of seeds, or a list of them"),
        };
        problems.refuse(problem)
    }
}

impl Read for EcnWord {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Bool(on) => Some(Self::Switch(*on)),
            Value::Text(word) if word == "accecn" => Some(Self::Accurate),
            _ => {
                let wanted = "`true` (RFC 3168), `false`, or \"accecn\" (RFC 9768)";
                problems.refuse(wrong_type(node, path, wanted))
            }
        }
    }
}

impl Read for AckDelay {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Bool(on) => Some(Self::Switch(*on)),
            Value::Text(_) => {
                Duration::read(node, path, problems).map(|delay| Self::After(delay.0))
            }
            _ => {
                let wanted = "`true`, `false`, or the longest delay such as \"40ms\"";
                problems.refuse(wrong_type(node, path, wanted))
            }
        }
    }
}
