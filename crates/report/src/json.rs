//! Figures as JSON, and JSON as serde types with refusals that name the place.
//!
//! serde says what is wrong; [`Misplaced`] says it in our words and adds where it stands.

use crate::error::Damage;
use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use sojourn_world::RunResult;
use std::fmt;

/// An object of such members.
pub(crate) fn map<K: AsRef<str>, V: Into<Value>>(
    members: impl IntoIterator<Item = (K, V)>,
) -> Map<String, Value> {
    let members = members.into_iter();
    members
        .map(|(key, value)| (key.as_ref().to_owned(), value.into()))
        .collect()
}

/// A run's parameters.
pub(crate) fn params(run: &RunResult) -> Map<String, Value> {
    map(run.params.iter().map(|(key, value)| (key, value.as_str())))
}

/// What is wrong with a value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Keys and numbers with dots between.
    path: String,
    wrong: Wrong,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, wrong } = self;
        match wrong {
            Wrong::Missing(_) if path.is_empty() => write!(f, "{wrong}"),
            Wrong::Missing(_) => write!(f, "{wrong} in `{path}`"),
            Wrong::Wants(_) | Wrong::Other(_) => write!(f, "`{path}` {wrong}"),
        }
    }
}

impl std::error::Error for Misplaced {}

impl Misplaced {
    /// A member of the file itself that is not there.
    pub(crate) fn missing(key: &str) -> Self {
        Self {
            path: String::new(),
            wrong: Wrong::Missing(key.to_owned()),
        }
    }

    /// The same, in a value that stands at a path.
    pub(crate) fn below(self, path: &str) -> Self {
        let path = match self.path.as_str() {
            "" => path.to_owned(),
            own => format!("{path}.{own}"),
        };
        Self { path, ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Wrong {
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("should be {0}")]
    Wants(String),
    #[error("{0}")]
    Other(String),
}

/// serde's names for what it expects, in words.
fn wanted(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    let words = match expected.as_str() {
        "u64" | "u32" => "a whole number, not negative",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        structure if structure.starts_with("struct ") => "an object",
        other => other,
    };
    words.to_owned()
}

impl Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Wants(wanted(expected))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unsigned(_) => Self::Other("is too large".to_owned()),
            _ => Self::invalid_type(found, expected),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field.to_owned())
    }
}

/// Reads a value.
pub(crate) fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, Misplaced> {
    serde_path_to_error::deserialize(Node(value)).map_err(|error| {
        let steps = error.path().iter().filter_map(|step| match step {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        Misplaced {
            path: steps.collect::<Vec<_>>().join("."),
            wrong: error.into_inner(),
        }
    })
}

#[derive(Clone, Copy)]
struct Node<'a>(&'a Value);

impl<'de> IntoDeserializer<'de, Wrong> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(on) => visitor.visit_bool(*on),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(whole), _) => visitor.visit_u64(whole),
                (None, Some(negative)) => visitor.visit_i64(negative),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(list) => visitor.visit_seq(SeqDeserializer::new(list.iter().map(Node))),
            Value::Object(map) => {
                let members = map.iter().map(|(key, value)| (key.as_str(), Node(value)));
                visitor.visit_map(MapDeserializer::new(members))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// What a file says of its format, which is looked at before all else.
#[derive(Deserialize)]
pub(crate) struct Format {
    pub(crate) format: String,
}

/// Reads that alone: the rest must be JSON, and is passed over.
pub(crate) fn head(text: &str) -> Result<Format, Damage> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<String>,
    }
    let Head { format } = serde_json::from_str(text)?;
    format
        .map(|format| Format { format })
        .ok_or_else(|| Misplaced::missing("format").into())
}

/// A number; null stands for one that is not finite.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
