//! The format of `study.toml` as JSON Schema.

use super::{Form, Key, STUDY, Table, Variant};
use crate::claims::Unit;
use serde_json::{Map, Value, json};
use sojourn_world::WorldName;

/// The format of a study's file as JSON Schema (draft 2020-12), pretty-printed, with a newline at
/// its end. `worlds` are those that a file may name, the first that of the key `scenario`.
pub fn schema(worlds: &[WorldName]) -> String {
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sojourn.invalid/study-1.schema.json",
        "title": "Sojourn study",
    });
    if let (Value::Object(document), Value::Object(table)) = (&mut document, table(&STUDY, worlds))
    {
        document.extend(table);
    }
    let mut text = serde_json::to_string_pretty(&document).expect("a schema is plain JSON");
    text.push('\n');
    text
}

fn table(table: &Table, worlds: &[WorldName]) -> Value {
    let mut properties = properties(table.keys.iter(), worlds);
    if table.by_world {
        for world in worlds.iter().skip(1) {
            let meaning = format!("File beside the study, for the {world} world.");
            let value = json!({ "description": meaning, "type": "string" });
            properties.insert(world.to_string(), value);
        }
    }
    object(table.about, &properties, &needed(table.keys.iter()))
}

fn kind(kind: &Variant, worlds: &[WorldName]) -> Value {
    let keys = || kind.keys.iter().copied().flatten();
    let mut properties = properties(keys(), worlds);
    let mut needed = needed(keys());
    if let Some(word) = kind.word {
        properties.insert("kind".into(), json!({ "const": word }));
        needed.push("kind");
    }
    object(kind.about, &properties, &needed)
}

fn object(about: &str, properties: &Map<String, Value>, needed: &[&str]) -> Value {
    json!({
        "description": about,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": needed,
    })
}

fn needed<'a>(keys: impl Iterator<Item = &'a Key>) -> Vec<&'a str> {
    keys.filter(|key| key.needed).map(|key| key.name).collect()
}

fn properties<'a>(keys: impl Iterator<Item = &'a Key>, worlds: &[WorldName]) -> Map<String, Value> {
    let properties = keys.map(|key| {
        let mut value = form(&key.form, worlds);
        value["description"] = key.meaning.into();
        (key.name.to_owned(), value)
    });
    properties.collect()
}

fn form(wanted: &Form, worlds: &[WorldName]) -> Value {
    match wanted {
        Form::Text => json!({ "type": "string" }),
        Form::Like(pattern) => json!({ "type": "string", "pattern": pattern }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Count => json!({ "type": "integer", "minimum": 1 }),
        Form::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Form::World => {
            let names: Vec<&str> = worlds.iter().map(WorldName::as_str).collect();
            json!({ "enum": names })
        }
        Form::Unit => {
            // Counts and ratios have none.
            let mut names = Unit::given_names().to_vec();
            names.push("");
            json!({ "enum": names })
        }
        Form::List(of) => json!({ "type": "array", "items": form(of, worlds) }),
        Form::Named(of) => json!({ "type": "object", "additionalProperties": form(of, worlds) }),
        Form::Table(of) => table(of, worlds),
        Form::Kinds(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(|one| kind(one, worlds)).collect();
            json!({ "oneOf": kinds })
        }
        Form::Either(forms) => {
            let forms: Vec<Value> = forms.iter().map(|one| form(one, worlds)).collect();
            json!({ "anyOf": forms })
        }
        Form::Fields => json!({ "type": "object" }),
    }
}
