//! Subscribers of a bridge: sites above one another, circuits below them, and the addresses of
//! each circuit. From our own file (`own.rs`), or LibreQoS's two (`libreqos.rs`).
//!
//! Not here: the tree of rates itself (see `qdisc`), and who looks at frames (see `live`).

mod libreqos;
mod own;
mod prefix;
mod settle;

use crate::problem::Problems;
use crate::read::{Fields, Read, wrong_type};
use crate::text::read_text;
use crate::tree::{Node, Value};
use prefix::Prefix;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_qdisc::{Spec, TreeClass, TreeSpec};
use sojourn_units::Rate;
use std::borrow::Cow;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Most bytes of a file of subscribers: some hundred thousand circuits.
const MOST_BYTES: u64 = 64 << 20;

/// Who is behind a bridge, and what each may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscribers {
    /// Each after the one above it.
    sites: Vec<Site>,
    circuits: Vec<Circuit>,
}

/// Something that several circuits go through.
#[derive(Clone, Debug, PartialEq)]
struct Site {
    name: String,
    /// By its number.
    parent: Option<u32>,
    /// Up and down.
    rates: [Rate; 2],
}

/// A circuit: what a subscriber pays for.
#[derive(Clone, Debug, PartialEq)]
struct Circuit {
    name: String,
    /// The site, by its number.
    parent: Option<u32>,
    /// What it has for itself, up and down.
    least: [Rate; 2],
    /// What it may have, up and down.
    most: [Rate; 2],
    /// Its queues, where they are others than usual.
    queues: [Option<Spec>; 2],
    prefixes: Vec<Prefix>,
}

impl Subscribers {
    /// Whether a text means to be a file of subscribers.
    pub fn is_meant(text: &str) -> bool {
        Node::of_file("", text)
            .is_ok_and(|(tree, _)| tree.has("circuit") && !tree.has("pair") && !tree.has("format"))
    }

    /// Reads a text in our own format; `name` is shown in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let read = own::read(name, text, &mut problems);
        Self::whole(read, problems)
    }

    /// Reads the texts of LibreQoS's `ShapedDevices.csv` and, if there is one, `network.json`, each
    /// with the name that is shown in messages.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn parse_libreqos(
        devices: (&str, &str),
        network: Option<(&str, &str)>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let read = libreqos::read(devices, network, &mut problems);
        Self::whole(read, problems)
    }

    fn whole(read: Option<Self>, mut problems: Problems) -> Result<Self, Problems> {
        match read {
            Some(read) if problems.is_empty() => Ok(read),
            _ => {
                problems.sort();
                Err(problems)
            }
        }
    }

    /// Reads the files, whose paths are seen from `base`; none when something is wrong in them,
    /// which is added to `problems`.
    ///
    /// # Errors
    /// Why a file cannot be read, with its name.
    pub(crate) fn load(
        files: &SubscriberFiles,
        base: &Path,
        problems: &mut Problems,
    ) -> Result<Option<Self>, String> {
        let text = |file: &str| {
            let path = base.join(file);
            let name = path.display().to_string();
            match read_text(&path, MOST_BYTES) {
                Ok(text) => Ok((name, text)),
                Err(error) => Err(format!("{name} {error}")),
            }
        };
        Ok(match files {
            SubscriberFiles::Own(file) => {
                let (name, text) = text(file)?;
                own::read(&name, &text, problems)
            }
            SubscriberFiles::Libreqos { devices, network } => {
                let (name, devices) = text(devices)?;
                let network = match network {
                    Some(network) => Some(text(network)?),
                    None => None,
                };
                let network = network.as_ref().map(|(name, text)| (&**name, &**text));
                libreqos::read((&name, &devices), network, problems)
            }
        })
    }

    /// Sites and circuits.
    pub fn counts(&self) -> (usize, usize) {
        (self.sites.len(), self.circuits.len())
    }

    /// The tree of rates of one direction (0: up, 1: down). Circuits without a queue of their own
    /// have `queue`, and so have packets that are nobody's.
    ///
    /// # Errors
    /// When it is too deep, or has too many kinds of queues.
    pub fn tree(&self, direction: usize, queue: &Spec) -> Result<Arc<TreeSpec>, String> {
        let mut queues = vec![queue.clone()];
        let mut number = |wanted: &Option<Spec>| {
            let wanted = wanted.as_ref().unwrap_or(queue);
            let known = queues.iter().position(|known| known == wanted);
            known.unwrap_or_else(|| {
                queues.push(wanted.clone());
                queues.len() - 1
            })
        };
        let sites = self.sites.iter().map(|site| TreeClass {
            name: site.name.as_str().into(),
            parent: site.parent,
            rate: site.rates[direction],
            ceil: Some(site.rates[direction]),
            queue: None,
        });
        let circuits = self.circuits.iter().map(|circuit| TreeClass {
            name: circuit.name.as_str().into(),
            parent: circuit.parent,
            rate: circuit.least[direction],
            ceil: Some(circuit.most[direction]),
            queue: u16::try_from(number(&circuit.queues[direction])).ok(),
        });
        let classes = sites.chain(circuits).collect();
        let tree = TreeSpec::new(classes, queues);
        tree.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Every address of a circuit: how many of its bits count, and the number that the tree knows
    /// the circuit's packets by.
    pub fn prefixes(&self) -> impl Iterator<Item = (IpAddr, u8, u32)> + '_ {
        let first = self.sites.len() as u32 + 1;
        let circuits = (first..).zip(&self.circuits);
        circuits.flat_map(|(number, circuit)| {
            let prefixes = circuit.prefixes.iter();
            prefixes.map(move |prefix| (prefix.address, prefix.len, number))
        })
    }
}

/// Where a pair's subscribers stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubscriberFiles {
    /// Our own format.
    Own(String),
    /// LibreQoS's.
    Libreqos {
        devices: String,
        network: Option<String>,
    },
}

impl JsonSchema for SubscriberFiles {
    fn schema_name() -> Cow<'static, str> {
        "subscriber-files".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A file of subscribers, or LibreQoS's two. Paths are seen from the file \
                            that says so.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "devices": {
                            "description": "LibreQoS's `ShapedDevices.csv`.",
                            "type": "string",
                        },
                        "network": {
                            "description": "LibreQoS's `network.json`. Default: no sites.",
                            "type": "string",
                        },
                    },
                    "required": ["devices"],
                    "additionalProperties": false,
                },
            ],
            "examples": ["subscribers.toml"],
        })
    }
}

impl Read for SubscriberFiles {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(file) => Some(Self::Own(file.clone())),
            Value::Table(_) => {
                let fields = Fields::open(node, path, &["devices", "network"], problems)?;
                let devices = fields.field("devices", problems);
                let network = fields.field("network", problems);
                Some(Self::Libreqos {
                    devices: devices?,
                    network: network?,
                })
            }
            _ => {
                let problem = wrong_type(node, path, "a path, or a table with `devices`");
                let help = "for example \"subscribers.toml\", or { devices = \
                            \"ShapedDevices.csv\", network = \"network.json\" }";
                problems.refuse(problem.help(help))
            }
        }
    }
}

#[cfg(test)]
mod tests;
