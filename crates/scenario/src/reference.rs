//! The format's JSON Schema, and from it the reference in `docs/scenario.md`.

use crate::format::ScenarioFile;
use serde_json::Value;
use sojourn_text::reference::{Sections, document, keys, pretty, tables};

/// The scenario format as JSON Schema (draft 2020-12), pretty-printed, with a newline at its end.
pub fn schema() -> String {
    pretty(&scenario())
}

pub(crate) fn scenario() -> Value {
    document::<ScenarioFile>("scenario-1", "Sojourn scenario")
}

const SCENARIO: &Sections = &[
    ("Top level", ""),
    ("`[dumbbell]`", "DumbbellTable"),
    ("`[dumbbell.up]`, `[dumbbell.down]`", "HopTable"),
    ("`[radio]`", "RadioTable"),
    ("`[radio]`: `chain`", "ChainTable"),
    ("`[radio]`: `grid`", "GridTable"),
    ("`[[node]]`", "NodeTable"),
    ("`[[link]]`", "LinkTable"),
    ("`[[flow]]`", "FlowTable"),
    ("`[tcp]`, `flow.tcp`", "TcpTable"),
    ("`link.autorate`", "AutorateTable"),
    ("`[[change]]`", "ChangeTable"),
];

/// Every key of a scenario, likewise.
pub fn reference() -> String {
    let document = scenario();
    let mut out = tables(&document, SCENARIO);
    for model in document["$defs"]["App"]["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let kind = &model["properties"]["kind"]["const"];
        if let Some(kind) = kind.as_str() {
            let heading = format!("`app = {{ kind = \"{kind}\" }}`");
            keys(&mut out, &document, &heading, model);
        }
    }
    out
}
