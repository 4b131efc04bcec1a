//! A queue's report read back from tc's JSON (`tc -s -j qdisc`), which is also what the kernel
//! module tells of a queue.

use serde_json::Value as Json;
use sojourn_qdisc::{Field, Report, Value};
use std::borrow::Cow;

/// What says where a queue is, and nothing of what it does.
const PLACE: [&str; 7] = [
    "kind", "handle", "parent", "root", "dev", "options", "refcnt",
];

/// The report of one queue, without those below it.
pub fn read(queue: &Json) -> Report {
    let fields = |json: &Json| -> Vec<Field> {
        let map = json.as_object().into_iter().flatten();
        map.filter(|(name, _)| !PLACE.contains(&name.as_str()))
            .filter_map(|(name, value)| field(name, value))
            .collect()
    };
    Report {
        kind: queue["kind"].as_str().unwrap_or_default().to_owned().into(),
        options: fields(&queue["options"]),
        stats: fields(queue),
        inner: None,
    }
}

/// The report of a queue and of those below it, which follow it in the array.
pub(crate) fn read_all(queues: &[Json]) -> Option<Report> {
    let mut below = None;
    for queue in queues.iter().rev() {
        below = Some(Report {
            inner: below.map(Box::new),
            ..read(queue)
        });
    }
    below
}

fn field(name: &str, json: &Json) -> Option<Field> {
    let value = match json {
        Json::Bool(on) => Value::Bool(*on),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64()?),
        },
        Json::Array(groups) => Value::Groups(
            (groups.iter())
                .filter_map(Json::as_object)
                .map(|group| group.iter().filter_map(|(n, v)| field(n, v)).collect())
                .collect(),
        ),
        // tc has this switch of DualPI2 without a value where it is on.
        Json::Null if name == "split-gso" => Value::Bool(true),
        Json::Null | Json::Object(_) => return None,
    };
    let name = Cow::Owned(name.to_owned());
    Some(Field { name, value })
}
