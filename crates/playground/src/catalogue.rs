//! What the page offers, so that it keeps no list of its own: disciplines, congestion controls,
//! traffic models, figures.

use serde_json::{Value, json};
use sojourn_apps::{Kind as App, Spec as Apps, Transport};
use sojourn_qdisc::{Kind as Discipline, Spec, catalogue};
use sojourn_scenario::{Options, Scenario};
use sojourn_tcp::Algorithm;
use sojourn_world::figure::{Figure, FlowResult, Kind, LinkResult, Part, Row, series};
use std::path::Path;

/// All of it.
pub(crate) fn all() -> Value {
    let disciplines = catalogue().iter().map(|kind| {
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "example": kind.example,
            "needs": needs(kind),
            "explained": kind.explain(),
        })
    });
    json!({
        "version": sojourn_version::VERSION,
        "disciplines": disciplines.collect::<Vec<_>>(),
        "controls": Algorithm::ALL.map(Algorithm::name),
        "apps": apps(),
        "figures": figures(),
    })
}

/// The options of its example where its name alone does not do; empty otherwise.
fn needs(kind: &Discipline) -> &'static str {
    match (kind.name.parse::<Spec>(), kind.example.split_once(' ')) {
        (Err(_), Some((_, options))) => options,
        _ => "",
    }
}

/// The traffic models that need no parameters. The page adds the ping itself.
fn apps() -> Vec<Value> {
    let offered = Apps::KINDS
        .iter()
        .filter(|kind| kind.name != "ping" && !kind.is_outside && is_complete(kind));
    let shown = offered.map(|kind| {
        json!({
            "name": kind.name,
            "title": format!("{}: {}", kind.name, kind.about),
            "tcp": kind.transport != Some(Transport::Udp),
        })
    });
    shown.collect()
}

/// Whether the name of a traffic model alone makes a flow.
fn is_complete(app: &App) -> bool {
    let text = format!(
        r#"format = "sojourn-scenario/1"
        name = "app"
        duration = "10s"
        seeds = [1]
        [dumbbell]
        rtt = "20ms"
        down = {{ rate = "10mbit" }}
        up = {{ rate = "10mbit" }}
        qdisc = "pfifo"
        [[flow]]
        name = "app"
        direction = "down"
        app = "{}""#,
        app.name
    );
    Scenario::parse("app", &text, Path::new(""), &Options::default()).is_ok()
}

fn figures() -> Vec<Value> {
    let links = LinkResult::rows().map(figure_of);
    let flows = FlowResult::rows().map(figure_of);
    let all = links
        .chain(flows)
        .chain([Kind::Link, Kind::Flow].into_iter().flat_map(series));
    let shown = all.map(|figure| {
        json!({
            "kind": figure.kind.name(),
            "shape": figure.shape.name(),
            "key": figure.key,
            "unit": figure.unit.word(),
            "title": figure.title,
            "meaning": figure.meaning,
        })
    });
    shown.collect()
}

fn figure_of<T: Part>(row: &'static Row<T>) -> &'static Figure {
    &row.figure
}
