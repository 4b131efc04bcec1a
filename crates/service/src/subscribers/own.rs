//! Our own format.

use super::label::Label;
use super::model::Subscribers;
use super::prefix::Addresses;
use super::settle::{Draft, DraftCircuit, DraftSite};
use crate::version::Version;
use sojourn_text::problem::Problems;
use sojourn_text::quantity::{Queue, Speed};
use sojourn_text::queue::ethernet;
use sojourn_text::read::Read;
use sojourn_text::table;
use sojourn_text::tree::Node;

table! {
    /// Subscribers of a bridge.
    pub(crate) struct SubscribersTable {
        /// `1`: the version of this format.
        version: Version,
        /// Shared parts of the network above circuits: towers, cabinets, uplinks.
        site: Option<Vec<SiteTable>>,
        /// The subscribers' lines, each with its rates.
        circuit: Vec<CircuitTable>,
    }
}

table! {
    /// Something that several circuits go through.
    pub(crate) struct SiteTable {
        /// Its name.
        name: Label,
        /// The site above. Default: the link.
        parent: Option<Label>,
        /// Upper limit for the sum of what all circuits below it send.
        up: Speed,
        /// Upper limit for the sum of what all circuits below it receive.
        down: Speed,
    }
}

table! {
    /// A circuit: a queue of its own in each direction.
    pub(crate) struct CircuitTable {
        /// Its name.
        name: Label,
        /// Its addresses and prefixes; if several prefixes contain an address, the longest counts.
        addresses: Addresses,
        /// The site above. Default: the link.
        parent: Option<Label>,
        /// Upper limit of its sending rate.
        up: Speed,
        /// Upper limit of its receiving rate.
        down: Speed,
        /// Guaranteed sending rate, also when its site is full; circuits share the rest in this
        /// proportion. Default: `up`.
        up_min: Option<Speed>,
        /// Guaranteed receiving rate, in the same way. Default: `down`.
        down_min: Option<Speed>,
        /// Its queue, in tc's words. Default: the pair's.
        qdisc: Option<Queue>,
    }
}

/// Reads a text.
pub(super) fn read(name: &str, text: &str, problems: &mut Problems) -> Option<Subscribers> {
    let before = problems.len();
    let source = problems.add_file(name, text);
    let tree = Node::of_text(text, source, problems)?;
    let table = SubscribersTable::read(&tree, "", problems)?;
    let Version = table.version;
    let at = |path: &str| tree.locate(path);
    let mut draft = Draft::default();
    for (index, site) in table.site.into_iter().flatten().enumerate() {
        let field = format!("site[{}]", index + 1);
        draft.sites.push(DraftSite {
            at: at(&format!("{field}.name")),
            parent: site
                .parent
                .map(|name| (name.0, at(&format!("{field}.parent")))),
            rates: [site.up.0, site.down.0],
            name: site.name.0,
            field,
        });
    }
    for (index, circuit) in table.circuit.into_iter().enumerate() {
        let field = format!("circuit[{}]", index + 1);
        let place = |key: &str| at(&format!("{field}.{key}"));
        let [up, down] = [circuit.up.0, circuit.down.0];
        let words = circuit.qdisc.map(|queue| queue.0);
        let queues = [up, down].map(|rate| {
            let path = format!("{field}.qdisc");
            let queue = words
                .clone()?
                .for_link(&path, ethernet(Some(rate)), problems);
            queue.map(|queue| queue.spec)
        });
        let least = |own: Option<Speed>, most| own.map_or(most, |own| own.0);
        draft.circuits.push(DraftCircuit {
            at: place("name"),
            parent: circuit.parent.map(|name| (name.0, place("parent"))),
            least: [
                (least(circuit.up_min, up), place("up_min")),
                (least(circuit.down_min, down), place("down_min")),
            ],
            most: [up, down],
            queues,
            prefixes: circuit.addresses.0,
            name: circuit.name.0,
            field,
        });
    }
    let settled = draft.settle(problems);
    settled.filter(|_| problems.len() == before)
}
