//! The language of CAKE's parts under any flow queue: `fq_pie triple-isolate ack-filter`.
//!
//! The words are `tc-cake(8)`'s; tc itself knows them only for `cake`.

use super::cake::{ACK_FILTER, FILTERS};
use super::catalogue::{Initial, Opt, Stat, Unit};
use super::kinds::{first, opt, ours, stat, switch};
use super::parse::Given;
use crate::report::{Field, Value};
use crate::{FlowParts, Isolation};
use Initial::{From, Off};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

/// The modes of isolation but `flows`, which is what there is without one.
const MODES: [Isolation; 7] = [
    Isolation::TripleIsolate,
    Isolation::DualSrcHost,
    Isolation::DualDstHost,
    Isolation::Hosts,
    Isolation::SrcHost,
    Isolation::DstHost,
    Isolation::FlowBlind,
];
const MODE_WORDS: [&str; 7] = [
    MODES[0].word(),
    MODES[1].word(),
    MODES[2].word(),
    MODES[3].word(),
    MODES[4].word(),
    MODES[5].word(),
    MODES[6].word(),
];

pub(super) const ISOLATION: Opt = ours(opt(
    "triple-isolate",
    Unit::Choice(&MODE_WORDS),
    (0, 0),
    From("every flow alike, whatever its hosts"),
    "as in cake: what is a flow, and which hosts share fairly before their flows do",
));
pub(super) const ASSOCIATIVE: Opt = ours(switch(
    "set-associative",
    None,
    Off,
    "as in cake: a flow may stand in any of eight queues, so that few share one",
));
pub(super) const NAT: Opt = ours(switch(
    "nat",
    Some("nonat"),
    Off,
    "as in cake: take the addresses inside a network address translation",
));
pub(super) const ACKS: Opt = ours(opt(
    "no-ack-filter",
    Unit::Choice(&ACK_FILTER),
    (0, 0),
    From("no-ack-filter"),
    "as in cake: drop acknowledgements that a newer one makes superfluous",
));

pub(super) const BULK_FLOWS: Stat = first(stat(
    "bulk_flows",
    "with parts of cake: flows with a standing queue",
));
pub(super) const WAY_INDIRECT_HITS: Stat = stat(
    "way_indirect_hits",
    "packets whose flow stands in another way than its own",
);
pub(super) const WAY_MISSES: Stat = stat("way_misses", "flows that found an empty way");
pub(super) const WAY_COLLISIONS: Stat = stat("way_collisions", "flows that share a queue");
pub(super) const ACK_DROPS: Stat = stat("ack_drops", "acknowledgements dropped by the filter");

impl Given<'_> {
    pub(super) fn parts(&self) -> FlowParts {
        let choice = |name| self.number(name).map(|choice| choice as usize);
        let none = FlowParts::NONE;
        FlowParts {
            isolation: choice("triple-isolate").map_or(none.isolation, |mode| MODES[mode]),
            set_associative: self.switch("set-associative", none.set_associative),
            nat: self.switch("nat", none.nat),
            ack_filter: choice("no-ack-filter").map_or(none.ack_filter, |how| FILTERS[how]),
        }
    }
}

/// The words that are not the default, with a space before each.
pub(super) fn show(f: &mut fmt::Formatter<'_>, parts: FlowParts) -> fmt::Result {
    let none = FlowParts::NONE;
    if parts.isolation != none.isolation {
        write!(f, " {}", parts.isolation.word())?;
    }
    if parts.set_associative {
        f.write_str(" set-associative")?;
    }
    if parts.nat {
        f.write_str(" nat")?;
    }
    if parts.ack_filter != none.ack_filter {
        write!(f, " {}", ACK_FILTER[parts.ack_filter as usize])?;
    }
    Ok(())
}

/// The same as fields of the JSON: switches, so that the text has the bare words.
pub(super) fn options(fields: &mut Vec<Field>, parts: FlowParts) {
    let none = FlowParts::NONE;
    let text = |name: &'static str, word: &str| Field {
        name: name.into(),
        value: Value::Text(word.to_string()),
    };
    if parts.isolation != none.isolation {
        fields.push(text("flowmode", parts.isolation.word()));
    }
    if parts.set_associative {
        fields.push(Field::switch("set-associative", true));
    }
    if parts.nat {
        fields.push(Field::switch("nat", true));
    }
    if parts.ack_filter != none.ack_filter {
        let word = ACK_FILTER[parts.ack_filter as usize];
        fields.push(text("ack-filter", word));
    }
}
