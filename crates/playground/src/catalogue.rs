//! What the page offers, so that it keeps no list of its own: disciplines, congestion controls,
//! figures.

use serde_json::{Value, json};
use sojourn_qdisc::{Kind as Discipline, Spec, catalogue};
use sojourn_tcp::Algorithm;
use sojourn_world::figure::{Figure, FlowResult, Kind, LinkResult, Part, Row, series};

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
