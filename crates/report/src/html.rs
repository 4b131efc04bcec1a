//! `report.html`: one file that needs nothing else.
//!
//! Text and the short tables are made here and stand without a script; charts and the table of
//! all figures are drawn by the script from the data that the page carries.

mod data;
mod network;
mod tables;

use crate::error::ReportError;
use crate::labels;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use sojourn_world::{RunResult, ScenarioInfo, WorldName};
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../assets/report.html.j2");
/// The style of every page.
pub const STYLE: &str = concat!(
    include_str!("../assets/report.css"),
    include_str!("../assets/tables.css")
);
/// What every page has, as a script: `P`.
pub const SCRIPT: &str = include_str!("../assets/page.js");
/// In the order in which they need each other.
const SCRIPTS: [&str; 10] = [
    SCRIPT,
    include_str!("../assets/core.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/boxes.js"),
    include_str!("../assets/figures.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/latency.js"),
    include_str!("../assets/tradeoff.js"),
    include_str!("../assets/trend.js"),
    include_str!("../assets/main.js"),
];

/// The page for `results`; `notes` are sentences for its reader.
///
/// # Errors
/// When the page cannot be put together.
pub fn html(
    info: &ScenarioInfo,
    results: &[RunResult],
    notes: &[String],
) -> Result<String, ReportError> {
    let data = serde_json::to_string(&data::data(info, results));
    let repeated = crate::repeated(results);
    let notes: Vec<String> = notes.iter().cloned().chain(repeated).collect();
    let content = context! {
        head => head(info, results),
        axes => info.axes.iter().map(|axis| context! {
            field => axis.field.clone(),
            values => axis.values.clone(),
        }).collect::<Vec<_>>(),
        notes => notes,
        aims => tables::aims(results),
        unknown => crate::aims::unknown(results),
        reading => tables::readings(results),
        overview => tables::overview(results),
        networks => network::pictures(results),
        agreement => tables::agreement_tables(results),
        definitions => Value::from(Serde(data::figures())),
        source => info.source.clone(),
        style => STYLE,
        script => SCRIPTS.join("\n"),
        data => inert(&data.expect("JSON values always serialise")),
    };
    render(TEMPLATE, content)
}

/// A page from its template; what it is given are texts, which the template may call safe.
///
/// # Errors
/// When it cannot be put together.
pub fn render(template: &str, content: impl Into<Value>) -> Result<String, ReportError> {
    Ok(Environment::new().render_named_str("page.html", template, content)?)
}

/// What was run, in a few words each.
fn head(info: &ScenarioInfo, results: &[RunResult]) -> Value {
    let names = |of: fn(&RunResult) -> Vec<&String>| {
        let names: BTreeSet<_> = results.iter().flat_map(of).collect();
        names.len()
    };
    let seeds: BTreeSet<u64> = results.iter().map(|run| run.seed).collect();
    let worlds = labels::worlds(results).into_iter();
    let worlds: Vec<&str> = worlds.map(WorldName::as_str).collect();
    context! {
        name => info.name.clone(),
        program => labels::programs(results),
        title => if info.title.is_empty() { &info.name } else { &info.title },
        description => info.description.clone(),
        version => info.version,
        worlds => worlds.join(" and "),
        seeds => if seeds.len() > 12 {
            format!("{} seeds", seeds.len())
        } else {
            let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
            format!("{} {}", if seeds.len() == 1 { "seed" } else { "seeds" }, list.join(", "))
        },
        cells => labels::cell_labels(results).len(),
        runs => results.len(),
        links => names(|run| run.links.iter().map(|(name, _)| name).collect()),
        flows => names(|run| run.flows.iter().map(|(name, _)| name).collect()),
    }
}

/// JSON that cannot end the script element that holds it, nor open a comment in it.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}
