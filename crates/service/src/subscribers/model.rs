//! What is known of subscribers once their files are read.

use super::prefix::Prefix;
use sojourn_qdisc::Spec;
use sojourn_units::Rate;
use std::fmt;
use std::ops::Range;

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub struct NamedText<'a> {
    /// The name that is shown in messages.
    pub name: &'a str,
    /// What the file says.
    pub text: &'a str,
}

/// Who is behind a bridge, and what each may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscribers {
    /// Each after the one above it.
    pub(super) sites: Vec<Site>,
    pub(super) circuits: Vec<Circuit>,
    /// What circuits are called, all in one: many small pieces of memory would lie between those
    /// that reading a file leaves free, so that none of it went back to the system.
    pub(super) names: String,
    /// Circuits' prefixes, each with the circuit's place in the list, in its order.
    pub(super) prefixes: Vec<(Prefix, u32)>,
    /// What a file names and no packet can be told by.
    pub(super) unshaped: Vec<Unshaped>,
}

/// A circuit or a device whose packets have no queue of their own: they go with those that match no
/// circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unshaped {
    /// What the circuit is called.
    pub circuit: String,
    /// The device, where others of the circuit have addresses.
    pub device: Option<String>,
    /// Why.
    pub why: &'static str,
}

impl fmt::Display for Unshaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(f, "device `{device}` of circuit `{}`: ", self.circuit)?,
            None => write!(f, "circuit `{}`: ", self.circuit)?,
        }
        f.write_str(self.why)
    }
}

/// Something that several circuits go through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    pub(super) name: String,
    /// By its number.
    pub(super) parent: Option<u32>,
    /// Up and down.
    pub(super) rates: [Rate; 2],
}

/// A circuit: what a subscriber pays for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Circuit {
    /// Its part of all names.
    pub(super) name: Range<u32>,
    /// The site, by its number.
    pub(super) parent: Option<u32>,
    /// Guaranteed rates, up and down (`up_min`, `down_min`).
    pub(super) least: [Rate; 2],
    /// Highest rates, up and down (`up_max`, `down_max`).
    pub(super) most: [Rate; 2],
    /// Its queues, where they are others than usual.
    pub(super) queues: [Option<Spec>; 2],
}
