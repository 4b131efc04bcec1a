//! A format's JSON Schema, and its reference as Markdown tables, made from the schema.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// A document as text, pretty-printed, with a newline at its end.
pub fn pretty(document: &Value) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a schema is plain JSON");
    text.push('\n');
    text
}

/// The schema (draft 2020-12) of a format with this name and title.
pub fn document<T: JsonSchema>(id: &str, title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let id = format!("https://sojourn.invalid/{id}.schema.json");
    schema.insert("$id".into(), id.into());
    schema.insert("title".into(), title.into());
    let mut document = schema.to_value();
    drop_null(&mut document);
    document
}

/// TOML has no null: a key that may be absent is not one that may be null.
fn drop_null(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_null),
        Value::Object(object) => {
            if let Some(Value::Array(names)) = object.get_mut("type") {
                names.retain(|name| name != "null");
                if let [only] = &names[..] {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| option["type"] != "null");
                if let [Value::Object(only)] = &options[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            object.values_mut().for_each(drop_null);
        }
        _ => {}
    }
}

/// The tables of a reference: heading, and where the table stands in the schema.
pub type Sections = [(&'static str, &'static str)];

/// The keys of these tables of a format.
pub fn tables(document: &Value, sections: &Sections) -> String {
    let mut out = String::new();
    for (heading, name) in sections {
        let table = match *name {
            "" => document,
            name => &document["$defs"][name],
        };
        keys(&mut out, document, heading, table);
    }
    out
}

/// One table of keys, below its heading.
pub fn keys(out: &mut String, document: &Value, heading: &str, table: &Value) {
    let text = table["description"].as_str().unwrap_or_default();
    let _ = write!(out, "### {heading}\n\n{}\n", one_line(text));
    let none = Map::new();
    let properties = table["properties"].as_object().unwrap_or(&none);
    let required = |key: &str| {
        let list = table["required"].as_array();
        list.is_some_and(|list| list.iter().any(|name| name == key))
    };
    if properties.keys().any(|key| key != "kind") {
        out.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
    }
    for (key, schema) in properties.iter().filter(|(key, _)| *key != "kind") {
        let mark = if required(key) { " (required)" } else { "" };
        let kind = kind(document, schema);
        let meaning = one_line(schema["description"].as_str().unwrap_or_default());
        let _ = writeln!(out, "| `{key}`{mark} | {kind} | {meaning} |");
    }
    out.push('\n');
}

/// What a value is, in a word or a list of words.
fn kind(document: &Value, schema: &Value) -> String {
    for list in ["anyOf", "oneOf"] {
        if let Some(options) = schema[list].as_array() {
            let mut kinds: Vec<String> = options
                .iter()
                .map(|option| kind(document, option))
                .collect();
            kinds.dedup();
            return kinds.join(", ");
        }
    }
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or(target);
        let definition = &document["$defs"][name];
        let words = definition["oneOf"]
            .as_array()
            .or(definition["enum"].as_array());
        // A choice of words is best shown as the words.
        if let Some(words) = words.filter(|_| definition["type"] == "string" || name != "App") {
            let words: Vec<String> = words
                .iter()
                .filter_map(|word| word["const"].as_str().or(word.as_str()))
                .map(|word| format!("`\"{word}\"`"))
                .collect();
            if !words.is_empty() {
                return words.join(", ");
            }
        }
        return match name {
            "App" => "traffic model".into(),
            _ => name
                .trim_end_matches("Table")
                .to_lowercase()
                .replace('_', " "),
        };
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("`\"{word}\"`");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => {
            format!("list of {}", kind(document, &schema["items"]))
        }
        Value::String(name) => name.clone(),
        _ => "value".into(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
