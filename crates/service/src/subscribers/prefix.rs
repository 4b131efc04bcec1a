//! Addresses and prefixes.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_text::problem::{Origin, Problem, Problems};
use sojourn_text::read::{Read, wrong_type};
use sojourn_text::tree::{Node, Value};
use std::borrow::Cow;
use std::net::IpAddr;

/// The first bits of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    /// Zero behind its first `len` bits.
    pub(super) address: IpAddr,
    pub(super) len: u8,
}

impl Prefix {
    /// Reads `100.64.0.1`, `100.64.0.0/24`, `2001:db8::/56`, `::ffff:100.64.0.1`; and whether bits
    /// behind the prefix were set.
    pub(super) fn parse(text: &str) -> Option<(Self, bool)> {
        let (address, len) = match text.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let len = match len {
            Some(len) => len.trim().parse().ok().filter(|len| *len <= longest)?,
            None => longest,
        };
        // No packet bears an IPv4 address in the form of IPv6 (RFC 4291, 2.5.5.2).
        let (address, len) = match address.to_canonical() {
            IpAddr::V4(inner) if longest == 128 && len >= 96 => (inner.into(), len - 96),
            _ => (address, len),
        };
        let first = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                IpAddr::V4((address.to_bits() & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                IpAddr::V6((address.to_bits() & mask).into())
            }
        };
        let prefix = Self {
            address: first,
            len,
        };
        Some((prefix, first != address))
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// The addresses of a circuit in our own format, each with its place.
#[derive(Clone, Debug)]
pub(crate) struct Addresses(pub(super) Vec<(Prefix, Origin)>);

impl JsonSchema for Addresses {
    fn schema_name() -> Cow<'static, str> {
        "addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Addresses and prefixes, of IPv4 and IPv6; a prefix has no bits behind \
                            its length.",
            "type": "array",
            "items": {
                "type": "string",
                "pattern": concat!(
                    r"^\s*([0-9]{1,3}(\.[0-9]{1,3}){3}\s*(/\s*[0-9]{1,2})?",
                    r"|[0-9a-fA-F]*:[0-9a-fA-F:.]*\s*(/\s*[0-9]{1,3})?)\s*$",
                ),
            },
            "minItems": 1,
            "examples": [["100.64.0.1", "2001:db8:1::/56"]],
        })
    }
}

impl Read for Addresses {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let example = "for example [\"100.64.0.1\", \"2001:db8:1::/56\"]";
        let Value::Array(items) = &node.value else {
            let problem = wrong_type(node, path, "an array of addresses and prefixes");
            return problems.refuse(problem.help(example));
        };
        if items.is_empty() {
            return problems.refuse(Problem::new(node.at, path, "has no address").help(example));
        }
        let read: Vec<_> = items
            .iter()
            .map(|item| {
                let text = String::read(item, path, problems)?;
                let problem = match Prefix::parse(&text) {
                    Some((prefix, false)) => return Some((prefix, item.at)),
                    Some((prefix, true)) => {
                        let message = format!("`{text}` has bits behind its prefix");
                        Problem::new(item.at, path, message).help(format!("`{prefix}`"))
                    }
                    None => {
                        let message = format!("`{text}` is neither an address nor a prefix");
                        Problem::new(item.at, path, message).help(example)
                    }
                };
                problems.refuse(problem)
            })
            .collect();
        read.into_iter().collect::<Option<_>>().map(Self)
    }
}
