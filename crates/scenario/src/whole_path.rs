//! Field paths that begin in the middle: `qdisc` for `dumbbell.qdisc`, `upload.app` for
//! `flow.upload.app`.

use crate::format::tcp::TcpTable;
use crate::format::{DumbbellTable, FlowTable, LinkTable, NodeTable, RadioTable, ScenarioFile};
use crate::problem::{Origin, Problem, suggestion};
use crate::tree::{Node, Value};
use sojourn_text::hop::HopTable;

/// Most whole paths that are named.
const MOST_NAMED: usize = 6;

/// The problem of a path, written at `at`, that does not begin with a key of a scenario.
pub(crate) fn wrong_beginning(tree: &Node, path: &str, at: Origin) -> Option<Problem> {
    let known = ScenarioFile::KEYS.concat();
    let first = path.split('.').next().unwrap_or_default();
    if known.contains(&first) || first.is_empty() {
        return None;
    }
    let mut whole = whole_paths(tree, path, first);
    let help = match whole.len() {
        0 => suggestion(first, &known),
        1 => format!("write the whole path: `{}`", whole[0]),
        count => {
            whole.truncate(MOST_NAMED);
            let more = if count > MOST_NAMED {
                " and others"
            } else {
                ""
            };
            format!("write a whole path: `{}`{more}", whole.join("`, `"))
        }
    };
    let message = format!("`{first}` is not a key of a scenario");
    Some(Problem::new(at, path, message).help(help))
}

/// Every path that ends with this one, whose first key is `first`.
fn whole_paths(tree: &Node, path: &str, first: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut below = |above: String, keys: &[&str]| {
        if keys.contains(&first) {
            found.push(format!("{above}.{path}"));
        }
    };
    let has = |key: &str| tree.get(key).is_some();
    if has("dumbbell") {
        below("dumbbell".into(), &DumbbellTable::KEYS.concat());
        for way in ["up", "down"].map(|way| format!("dumbbell.{way}")) {
            below(way, &HopTable::KEYS.concat());
        }
    }
    if has("radio") {
        below("radio".into(), &RadioTable::KEYS.concat());
    }
    below("tcp".into(), &TcpTable::KEYS.concat());
    for (list, keys) in [
        ("link", LinkTable::KEYS),
        ("node", NodeTable::KEYS),
        ("flow", FlowTable::KEYS),
    ] {
        let items = tree.get(list).map(|entry| &entry.node.value);
        let Some(Value::Array(items)) = items else {
            continue;
        };
        for item in items {
            let Some(name) = item.text_at("name") else {
                continue;
            };
            if name == first {
                below(list.into(), &[first]);
            }
            below(format!("{list}.{name}"), &keys.concat());
            let app = item.get("app").map(|entry| &entry.node.value);
            if let Some(Value::Table(entries)) = app {
                let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                below(format!("{list}.{name}.app"), &keys);
            }
        }
    }
    found
}
