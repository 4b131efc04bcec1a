//! Subscribers of a bridge: sites above one another, circuits below them, and the addresses of
//! each circuit. From our own file (`own.rs`), or LibreQoS's two (`libreqos.rs`).
//!
//! Not here: the tree of rates itself (see `qdisc`), and what sees frames (see `bridge`).

mod label;
mod libreqos;
mod model;
mod own;
mod prefix;
mod settle;

use model::Circuit;
pub use model::{NamedText, Subscribers, Unshaped};
pub(crate) use own::SubscribersTable;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_qdisc::{Spec, TreeClass, TreeSpec};
use sojourn_text::problem::Problems;
use sojourn_text::read::{Fields, Read, wrong_type};
use sojourn_text::tree::{Node, Value};
use sojourn_text::{Unreadable, read_any_text, read_text};
use sojourn_units::Rate;
use std::borrow::Cow;
use std::iter;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Most bytes of a file of subscribers: some hundred thousand circuits.
const MOST_BYTES: u64 = 64 << 20;

impl Subscribers {
    /// Whether a text means to be a file of subscribers.
    pub fn is_meant(text: &str) -> bool {
        let ours = ["circuit", "site"];
        let others = ["pair", "format"];
        Node::of_file("", text).is_ok_and(|(tree, _)| {
            ours.iter().any(|key| tree.has(key)) && !others.iter().any(|key| tree.has(key))
        })
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

    /// Reads the texts of LibreQoS's `ShapedDevices.csv` and, if there is one, `network.json`.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn parse_libreqos(
        devices: NamedText<'_>,
        network: Option<NamedText<'_>>,
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
        let text = |file: &str, read: fn(&Path, u64) -> Result<String, Unreadable>| {
            let path = base.join(file);
            let name = path.display().to_string();
            match read(&path, MOST_BYTES) {
                Ok(text) => Ok((name, text)),
                Err(error) => Err(format!("{name} {error}")),
            }
        };
        Ok(match files {
            SubscriberFiles::Own(file) => {
                let (name, text) = text(file, read_text)?;
                own::read(&name, &text, problems)
            }
            SubscriberFiles::Libreqos { devices, network } => {
                let (name, devices) = text(devices, read_any_text)?;
                let network = match network {
                    Some(network) => Some(text(network, read_any_text)?),
                    None => None,
                };
                let network = (network.as_ref()).map(|(name, text)| NamedText { name, text });
                let devices = NamedText {
                    name: &name,
                    text: &devices,
                };
                libreqos::read(devices, network, problems)
            }
        })
    }

    /// What the files name and no packet can be told by, and why.
    pub fn unshaped(&self) -> &[Unshaped] {
        &self.unshaped
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
            name: self.name(circuit).into(),
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
        let prefixes = self.prefixes.iter();
        prefixes.map(move |(prefix, place)| (prefix.address, prefix.len, first + place))
    }
}

/// A site as a file says it; of rates the first is up, the second down.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteView<'a> {
    /// Its name.
    pub name: &'a str,
    /// The site above; none: the link.
    pub parent: Option<&'a str>,
    /// What all below it have at most.
    pub rates: [Rate; 2],
    /// Circuits directly below it.
    pub circuits: usize,
    /// What these have for themselves, together.
    pub least: [Rate; 2],
}

/// A circuit as a file says it; of two values the first is up, the second down.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitView<'a> {
    /// Its name.
    pub name: &'a str,
    /// The site above; none: the link.
    pub parent: Option<&'a str>,
    /// Guaranteed rates, up and down.
    pub least: [Rate; 2],
    /// Highest rates, up and down.
    pub most: [Rate; 2],
    /// Its queues, where they are others than its pair's.
    pub queues: [Option<&'a Spec>; 2],
    /// Its addresses, as prefixes.
    pub addresses: Vec<String>,
}

impl Subscribers {
    fn name(&self, circuit: &Circuit) -> &str {
        &self.names[circuit.name.start as usize..circuit.name.end as usize]
    }

    fn site(&self, number: Option<u32>) -> Option<&str> {
        let site = self.sites.get(number? as usize)?;
        Some(&site.name)
    }

    /// Every site, each after the one above it.
    pub fn sites(&self) -> impl Iterator<Item = SiteView<'_>> {
        let mut crowds = vec![(0, [Rate::ZERO; 2]); self.sites.len()];
        for circuit in &self.circuits {
            let place = circuit
                .parent
                .and_then(|parent| crowds.get_mut(parent as usize));
            if let Some((count, least)) = place {
                *count += 1;
                for (sum, own) in least.iter_mut().zip(circuit.least) {
                    *sum = Rate::from_bps(sum.as_bps().saturating_add(own.as_bps()));
                }
            }
        }
        let sites = self.sites.iter().zip(crowds);
        sites.map(|(site, (circuits, least))| SiteView {
            name: &site.name,
            parent: self.site(site.parent),
            rates: site.rates,
            circuits,
            least,
        })
    }

    /// Every circuit, in the file's order.
    pub fn circuits(&self) -> impl Iterator<Item = CircuitView<'_>> {
        let mut prefixes = self.prefixes.iter().peekable();
        (0..)
            .zip(&self.circuits)
            .map(move |(place, circuit)| CircuitView {
                name: self.name(circuit),
                parent: self.site(circuit.parent),
                least: circuit.least,
                most: circuit.most,
                queues: [0, 1].map(|way| circuit.queues[way].as_ref()),
                addresses: iter::from_fn(|| prefixes.next_if(|(_, of)| *of == place))
                    .map(|(prefix, _)| prefix.to_string())
                    .collect(),
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
