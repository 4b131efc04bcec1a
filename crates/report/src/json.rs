//! Figures as JSON, and JSON as serde types with refusals that name the place.
//!
//! serde says what is wrong; [`Misplaced`] says it in our words and adds where it stands.

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};
use sojourn_world::RunResult;
use sojourn_world::figure::{Content, Distribution, Statistic};
use std::fmt;

/// A figure's value; null where there is none.
pub(crate) fn content(content: &Content<'_>) -> Value {
    match content {
        Content::Count(count) => json!(count),
        Content::Number(number) => json!(number),
        Content::Spread(spread) => {
            map(Statistic::ALL.map(|one| (one.name(), statistic(spread, one)))).into()
        }
    }
}

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

/// A statistic; null where there is none.
pub(crate) fn statistic(spread: &Distribution, statistic: Statistic) -> Value {
    match statistic {
        Statistic::Count => json!(spread.count),
        _ => json!(statistic.of(spread)),
    }
}

/// What is wrong with a value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Keys and numbers, the innermost first.
    path: Vec<String>,
    wrong: Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrong {
    Missing(String),
    Wants(String),
    Other(String),
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        path.reverse();
        let path = path.join(".");
        match &self.wrong {
            Wrong::Missing(key) if path.is_empty() => write!(f, "`{key}` is missing"),
            Wrong::Missing(key) => write!(f, "`{key}` is missing in `{path}`"),
            Wrong::Wants(what) => write!(f, "`{path}` should be {what}"),
            Wrong::Other(what) => write!(f, "`{path}` {what}"),
        }
    }
}

impl std::error::Error for Misplaced {}

impl From<Wrong> for Misplaced {
    fn from(wrong: Wrong) -> Self {
        let path = Vec::new();
        Self { path, wrong }
    }
}

impl Misplaced {
    fn inside(mut self, step: &impl ToString) -> Self {
        self.path.push(step.to_string());
        self
    }
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

impl Error for Misplaced {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Wrong::Other(message.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Wrong::Wants(wanted(expected)).into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unsigned(_) => Wrong::Other("is too large".to_owned()).into(),
            _ => Self::invalid_type(found, expected),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Wrong::Missing(field.to_owned()).into()
    }
}

/// Reads a value.
pub(crate) fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, Misplaced> {
    T::deserialize(Node(value))
}

#[derive(Clone, Copy)]
struct Node<'a>(&'a Value);

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Misplaced;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misplaced> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(on) => visitor.visit_bool(*on),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(whole), _) => visitor.visit_u64(whole),
                (None, Some(negative)) => visitor.visit_i64(negative),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(list) => visitor.visit_seq(Items(list.iter().enumerate())),
            Value::Object(map) => visitor.visit_map(Members(map.iter(), None)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misplaced> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misplaced> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Misplaced;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misplaced> {
        let item = self.0.next().map(|(number, value)| {
            seed.deserialize(Node(value))
                .map_err(|wrong| wrong.inside(&number))
        });
        item.transpose()
    }
}

/// What is left, and the member whose key was taken.
struct Members<'a>(serde_json::map::Iter<'a>, Option<(&'a str, &'a Value)>);

impl<'a> MapAccess<'a> for Members<'a> {
    type Error = Misplaced;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misplaced> {
        self.1 = self.0.next().map(|(key, value)| (key.as_str(), value));
        let key = self.1.map(|(key, _)| BorrowedStrDeserializer::new(key));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Misplaced> {
        let (key, value) = self.1.take().expect("a value is asked for after its key");
        seed.deserialize(Node(value))
            .map_err(|wrong| wrong.inside(&key))
    }
}

/// What a file says of its format, which is looked at before all else.
#[derive(Deserialize)]
pub(crate) struct Format {
    pub(crate) format: String,
}

/// A number; null stands for one that is not finite.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
