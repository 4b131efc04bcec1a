//! A tree as a TOML file again: values first, then a section for each table and each list of
//! tables; what is in these stands inline.
//!
//! Not here: comments and the file's own layout, which a tree does not keep.

use crate::tree::{Entry, Node, Value};
use std::fmt::Write as _;

/// Longest list that stands on one line.
const WIDE: usize = 96;

impl Node {
    /// The file of a root table.
    pub fn to_toml(&self) -> String {
        let Value::Table(entries) = &self.value else {
            return inline(self);
        };
        let mut text = String::new();
        let (sections, values): (Vec<_>, Vec<_>) = entries.iter().partition(|e| is_section(e));
        for entry in values {
            line(&mut text, entry);
        }
        for Entry { key, node, .. } in sections {
            let (tables, ends) = match &node.value {
                Value::Array(items) => (&items[..], ["[[", "]]"]),
                _ => (std::slice::from_ref(node), ["[", "]"]),
            };
            for table in tables {
                let [open, close] = ends;
                let _ = writeln!(text, "\n{open}{}{close}", key_text(key));
                if let Value::Table(entries) = &table.value {
                    for entry in entries {
                        line(&mut text, entry);
                    }
                }
            }
        }
        text
    }
}

/// Whether an entry has sections of its own.
fn is_section(entry: &Entry) -> bool {
    match &entry.node.value {
        Value::Array(items) => !items.is_empty() && items.iter().all(Node::is_table),
        _ => entry.node.is_table(),
    }
}

fn line(text: &mut String, entry: &Entry) {
    let (key, value) = (key_text(&entry.key), inline(&entry.node));
    let _ = match &entry.node.value {
        Value::Array(items) if key.len() + value.len() > WIDE => {
            let items = items.iter().map(|item| format!("    {},\n", inline(item)));
            writeln!(text, "{key} = [\n{}]", items.collect::<String>())
        }
        _ => writeln!(text, "{key} = {value}"),
    };
}

/// A key, in quotes where it needs them.
fn key_text(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) {
        return key.to_owned();
    }
    quoted(key)
}

fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Bool(truth) => truth.to_string(),
        Value::Date => node.text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(entries) if entries.is_empty() => "{}".into(),
        Value::Table(entries) => {
            let entries = entries
                .iter()
                .map(|it| format!("{} = {}", key_text(&it.key), inline(&it.node)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a tree says, without the places at which it says it.
    fn said(node: &Node) -> String {
        let mut inner = String::new();
        match &node.value {
            Value::Table(entries) => {
                for entry in entries {
                    let _ = write!(inner, "{:?}:{} ", entry.key, said(&entry.node));
                }
            }
            Value::Array(items) => inner.extend(items.iter().map(|item| said(item) + " ")),
            value => inner = format!("{value:?}"),
        }
        format!("{}({inner})", node.value.kind())
    }

    fn tree(text: &str) -> Node {
        Node::of_file("a.toml", text).expect("it is TOML").0
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let text = r#"
            name = "a \"b\" \\ c"
            lines = """
            one
              two	tab"""
            numbers = [1, -2, 3.5, 1e-7, inf]
            empty = []
            on = true
            when = 2026-11-27
            none = {}
            [dumbbell]
            rtt = "40ms"
            up = { rate = "1mbit", "odd key" = { deep = [{ a = 1 }, 2] } }
            [sweep]
            dumbbell.qdisc = ["pfifo limit 490", "codel"]
            "tcp.cc" = ["cubic"]
            [[flow]]
            name = "x"
            [[flow]]
            name = "y"
            tcp.cc = "reno"
        "#;
        let read = tree(text);
        let again = tree(&read.to_toml());
        // Values come before sections; here they stand so already.
        assert_eq!(said(&again), said(&read));
        assert_eq!(again.to_toml(), read.to_toml());
    }

    #[test]
    fn sections_stand_below_the_values() {
        let read = tree("[[flow]]\nname = \"x\"\n[dumbbell]\nup = { rate = \"1mbit\" }\n[tcp]\n");
        assert_eq!(
            read.to_toml(),
            "\n[[flow]]\nname = \"x\"\n\n[dumbbell]\nup = { rate = \"1mbit\" }\n\n[tcp]\n"
        );
        let long: Vec<String> = (0..30).map(|n| format!("\"{n:04}\"")).collect();
        let read = tree(&format!("list = [{}]\nlast = 1", long.join(", ")));
        let text = read.to_toml();
        assert!(text.starts_with("list = [\n    \"0000\",\n"), "{text}");
        assert_eq!(said(&tree(&text)), said(&read));
    }
}
