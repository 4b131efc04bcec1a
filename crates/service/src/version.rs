//! The version that the files of a bridge and of its subscribers begin with.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_text::problem::{Problem, Problems};
use sojourn_text::read::{Read, wrong_type};
use sojourn_text::tree::{Node, Value};
use std::borrow::Cow;

/// The only version so far.
const VERSION: i64 = 1;

/// The number of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version;

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The version of the format.", "const": VERSION })
    }
}

impl Read for Version {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let problem = match node.value {
            Value::Integer(VERSION) => return Some(Self),
            Value::Integer(other) => {
                let message = format!("{other} is not a version that this program reads");
                Problem::new(node.at, path, message)
            }
            _ => wrong_type(node, path, "an integer"),
        };
        problems.refuse(problem.help(format!("for example `version = {VERSION}`")))
    }
}
