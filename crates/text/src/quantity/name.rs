//! Names: of cells and queues, of interfaces, addresses and groups of this machine, of DiffServ
//! code points.

use crate::problem::{Problem, Problems, suggestion};
use crate::read::{Read, short_name, wrong_type};
use crate::tree::{Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::net::SocketAddr;

quantity!(Dscp(u8): Copy, "dscp", {
    "description": "A DiffServ code point: 0 to 63, or its name.",
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": 63 },
        { "enum": DSCP_NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>() },
    ],
    "examples": ["EF", "CS1", 46],
});
quantity!(Name(String), "name", {
    "description": "A name: 1 to 64 of the characters a-z A-Z 0-9 - _.",
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{1,64}$",
});
quantity!(Device(String), "interface", {
    "description": "The name of a network interface: 1 to 15 characters, no blank and no slash.",
    "type": "string",
    "pattern": r"^[^\s/]{1,15}$",
    "examples": ["eth1"],
});
quantity!(Address(SocketAddr): Copy, "address", {
    "description": "An IP address of this machine and a port.",
    "type": "string",
    "pattern": r"^(\[[0-9a-fA-F:.]+\]|[0-9.]+):[0-9]{1,5}$",
    "examples": ["127.0.0.1:9817", "[::1]:9817"],
});
quantity!(Group(u32): Copy, "group", {
    "description": "A group of this machine: its name or number.",
    "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }],
    "examples": ["netdev"],
});

/// DiffServ code points by name: RFC 2474, 2597, 3246, 5865, 8622.
const DSCP_NAMES: &[(&str, u8)] = &[
    ("BE", 0),
    ("DF", 0),
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Read for Dscp {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let problem = match &node.value {
            Value::Integer(number @ 0..=63) => return Some(Self(*number as u8)),
            Value::Integer(number) => {
                let problem = Problem::new(
                    node.at,
                    path,
                    format!("{number} is not a DSCP (0 to 63, or a name such as \"EF\")"),
                );
                match number {
                    64..=255 if number % 4 == 0 => {
                        problem.help(format!("as a TOS byte that is DSCP {}", number / 4))
                    }
                    _ => problem,
                }
            }
            Value::Text(text) => {
                let known = DSCP_NAMES
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(text));
                if let Some((_, value)) = known {
                    return Some(Self(*value));
                }
                let names: Vec<_> = DSCP_NAMES.iter().map(|(name, _)| *name).collect();
                let message = format!("`{text}` is not the name of a DSCP");
                Problem::new(node.at, path, message).help(suggestion(text, &names))
            }
            _ => wrong_type(node, path, "a DSCP: 0 to 63, or a name such as \"EF\""),
        };
        problems.refuse(problem)
    }
}

impl Read for Name {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        short_name(node, path, problems).map(Self)
    }
}

impl Read for Device {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        /// `IFNAMSIZ` less the zero at its end.
        const LONGEST: usize = 15;
        let name = String::read(node, path, problems)?;
        let wrong = |c: char| c.is_whitespace() || c == '/' || c == '\0';
        let reserved = [".", ".."].contains(&name.as_str());
        if name.is_empty() || name.len() > LONGEST || name.contains(wrong) || reserved {
            let message = format!("`{name}` is not the name of an interface");
            let help = format!("1 to {LONGEST} characters, as `ip link` shows them");
            return problems.refuse(Problem::new(node.at, path, message).help(help));
        }
        Some(Self(name))
    }
}

impl Read for Address {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let text = String::read(node, path, problems)?;
        let Ok(address) = text.parse() else {
            let message = format!("`{text}` is not an address with a port");
            let problem = Problem::new(node.at, path, message);
            return problems.refuse(problem.help("for example \"127.0.0.1:9817\""));
        };
        Some(Self(address))
    }
}

/// The number of a group of this machine, by its name or number.
pub fn group(text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    // group(5): name, password, number, members.
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        fields.nth(1)?.parse().ok().filter(|_| name == text)
    })
}

impl Read for Group {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        if let Value::Integer(_) = node.value {
            return u32::read(node, path, problems).map(Self);
        }
        let name = String::read(node, path, problems)?;
        let message = format!("there is no group `{name}` on this machine");
        match group(&name) {
            Some(number) => Some(Self(number)),
            None => problems.refuse(Problem::new(node.at, path, message)),
        }
    }
}
