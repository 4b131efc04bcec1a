//! What sites and circuits are called.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_text::problem::{Problem, Problems};
use sojourn_text::read::Read;
use sojourn_text::tree::Node;
use std::borrow::Cow;

/// A name for people: terminals and metrics show it as it is.
#[derive(Clone, Debug)]
pub(crate) struct Label(pub(super) String);

impl Label {
    /// Longest name, in characters.
    const LONGEST: usize = 128;

    /// What is wrong with a text as a name, and what would be right.
    pub(super) fn complaint(text: &str) -> Option<(String, String)> {
        let message = if text.is_empty() {
            "is empty".to_owned()
        } else if let Some(control) = text.chars().find(|c| c.is_control()) {
            format!(
                "the control character {} in a name",
                control.escape_unicode()
            )
        } else if text.chars().nth(Self::LONGEST).is_some() {
            format!("a name of {} characters", text.chars().count())
        } else {
            return None;
        };
        let help = format!(
            "1 to {} characters, none of them a control character",
            Self::LONGEST
        );
        Some((message, help))
    }
}

impl JsonSchema for Label {
    fn schema_name() -> Cow<'static, str> {
        "label".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What people call it: 1 to 128 characters, none of them a control \
                            character.",
            "type": "string",
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]{1,128}$",
        })
    }
}

impl Read for Label {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let text = String::read(node, path, problems)?;
        match Self::complaint(&text) {
            None => Some(Self(text)),
            Some((message, help)) => {
                problems.refuse(Problem::new(node.at, path, message).help(help))
            }
        }
    }
}
