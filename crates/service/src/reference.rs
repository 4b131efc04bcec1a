//! The JSON Schemas of a bridge's file and of its subscribers', and from them the reference in
//! `docs/bridge.md`.

use crate::file::BridgeTable;
use crate::subscribers::SubscribersTable;
use serde_json::Value;
use sojourn_text::reference::{Sections, document, pretty, tables};

/// The format of a bridge's file as JSON Schema (draft 2020-12), pretty-printed, with a newline at
/// its end.
pub fn bridge_schema() -> String {
    pretty(&bridge())
}

/// The format of a file of subscribers, likewise.
pub fn subscribers_schema() -> String {
    pretty(&subscribers())
}

fn bridge() -> Value {
    document::<BridgeTable>("bridge-1", "Sojourn bridge")
}

fn subscribers() -> Value {
    document::<SubscribersTable>("subscribers-1", "Sojourn subscribers")
}

const BRIDGE: &Sections = &[
    ("Top level", ""),
    ("`[[pair]]`", "PairTable"),
    ("`[pair.up]`, `[pair.down]`", "HopTable"),
    ("`autorate`", "AutorateTable"),
];

const SUBSCRIBERS: &Sections = &[
    ("A file of subscribers", ""),
    ("`[[site]]`", "SiteTable"),
    ("`[[circuit]]`", "CircuitTable"),
];

/// Every key of a bridge's file and of its subscribers' as Markdown tables, made from the schemas.
pub fn bridge_reference() -> String {
    tables(&bridge(), BRIDGE) + &tables(&subscribers(), SUBSCRIBERS)
}
