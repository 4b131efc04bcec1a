//! `report.html`: one file that needs nothing else.
//!
//! The text is made here; the charts and the table of figures are drawn by the script from the
//! data that the page carries.

mod data;

use crate::error::ReportError;
use crate::{labels, reading};
use minijinja::{AutoEscape, Environment, context};
use sojourn_world::{RunResult, ScenarioInfo};
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../assets/report.html.j2");
const STYLE: &str = include_str!("../assets/report.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 6] = [
    include_str!("../assets/core.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/boxes.js"),
    include_str!("../assets/figures.js"),
    include_str!("../assets/panels.js"),
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
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report.html", TEMPLATE)?;
    let seeds: BTreeSet<u64> = results.iter().map(|run| run.seed).collect();
    let worlds: Vec<&str> = ["sim", "live"]
        .into_iter()
        .filter(|world| results.iter().any(|run| run.world == *world))
        .collect();
    let page = environment.get_template("report.html")?.render(context! {
        name => info.name.clone(),
        title => if info.title.is_empty() { &info.name } else { &info.title },
        description => info.description.clone(),
        version => info.version,
        axes => info.axes.iter().map(|axis| context! {
            field => axis.field.clone(),
            values => axis.values.clone(),
        }).collect::<Vec<_>>(),
        source => info.source.clone(),
        worlds => worlds,
        seeds => seeds.len(),
        cells => labels::cell_labels(results).len(),
        runs => results.len(),
        links => names(results, |run| run.links.iter().map(|(name, _)| name).collect()).len(),
        flows => names(results, |run| run.flows.iter().map(|(name, _)| name).collect()).len(),
        notes => notes.to_vec(),
        reading => reading(results),
        style => STYLE,
        script => SCRIPTS.join("\n"),
        data => inert(&serde_json::to_string(&data::data(info, results)).expect("JSON values always serialise")),
    })?;
    Ok(page)
}

fn names(results: &[RunResult], of: fn(&RunResult) -> Vec<&String>) -> BTreeSet<&String> {
    results.iter().flat_map(of).collect()
}

/// JSON that cannot end the script element that holds it, nor open a comment in it.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}
