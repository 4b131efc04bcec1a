//! A picture of a radio's stations: where they are, how far they reach, the hops that packets took
//! and what was lost on each.

use crate::labels::Labels;
use minijinja::{Value, context};
use sojourn_world::{Hop, RunResult, Stations};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most cells with a picture.
const MOST: usize = 12;
/// Up to so many stations each has its name and a circle of its reach.
const MOST_NAMES: usize = 64;
/// Width of a picture.
const WIDTH: f64 = 640.0;

/// A picture for each cell, of its first run.
pub(super) fn pictures(labels: &Labels<'_>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let runs = labels.results.iter().zip(&labels.numbers);
    let first = runs.filter(|(run, cell)| run.radio.is_some() && seen.insert(**cell));
    let picture = |(run, cell): (&RunResult, &usize)| {
        let stations = run.radio.as_ref()?;
        Some(context! {
            cell => &labels.cells[*cell],
            range => format!("{:.0}", stations.range),
            sense => format!("{:.0}", stations.sense),
            svg => svg(run, stations),
        })
    };
    first.take(MOST).filter_map(picture).collect()
}

/// Metres to the picture's units.
struct Scale {
    left: f64,
    top: f64,
    factor: f64,
}

impl Scale {
    fn of(stations: &Stations) -> (Self, f64) {
        let ends = |of: fn(&sojourn_world::Place) -> f64| {
            let values = || stations.places.iter().map(of);
            let least = values().fold(f64::INFINITY, f64::min);
            (least, values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (bottom, top)) = (ends(|place| place.x), ends(|place| place.y));
        let margin = 1.05 * stations.range;
        let factor = WIDTH / (right - left + 2.0 * margin);
        let height = (top - bottom + 2.0 * margin) * factor;
        let scale = Self {
            left: left - margin,
            top: top + margin,
            factor,
        };
        (scale, height)
    }

    /// North is up.
    fn place(&self, place: sojourn_world::Place) -> (f64, f64) {
        let (x, y) = (place.x - self.left, self.top - place.y);
        (x * self.factor, y * self.factor)
    }
}

fn svg(run: &RunResult, stations: &Stations) -> String {
    let (scale, height) = Scale::of(stations);
    let named = stations.places.len() <= MOST_NAMES;
    let name = |index: usize| run.links.get(index).map_or("", |(name, _)| name.as_str());
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"group\" aria-label=\"Network of {} \
         stations\">",
        stations.places.len()
    );
    for place in stations.places.iter().filter(|_| named) {
        let (x, y) = scale.place(*place);
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"var(--accent)\" \
             fill-opacity=\".04\" stroke=\"var(--line)\"/>",
            stations.range * scale.factor
        );
    }
    let most = stations
        .hops
        .iter()
        .map(|hop| hop.packets)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    for hop in &stations.hops {
        let _ = write!(out, "{}", arrow(&scale, stations, hop, most, &name));
    }
    for (index, place) in stations.places.iter().enumerate() {
        let (x, y) = scale.place(*place);
        let (radius, name) = (if named { 4 } else { 2 }, text(name(index)));
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"var(--ink)\"><title>{name}: \
             {} m, {} m</title></circle>",
            place.x, place.y
        );
        if named {
            let _ = write!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                y - 11.0
            );
        }
    }
    out + "</svg>"
}

/// A hop as a line to the right of the straight one, so that both ways can be seen: as wide as it
/// carried packets, from blue to red by the share of lost frames.
fn arrow<'a>(
    scale: &Scale,
    stations: &Stations,
    hop: &Hop,
    most: f64,
    name: &impl Fn(usize) -> &'a str,
) -> String {
    let (Some(from), Some(to)) = (stations.places.get(hop.from), stations.places.get(hop.to))
    else {
        return String::new();
    };
    let ((x1, y1), (x2, y2)) = (scale.place(*from), scale.place(*to));
    let (dx, dy) = (x2 - x1, y2 - y1);
    let length = (dx * dx + dy * dy).sqrt().max(1e-9);
    let (aside_x, aside_y) = (-dy / length * 4.0, dx / length * 4.0);
    let width = 1.0 + 5.0 * hop.packets as f64 / most;
    let hue = 210.0 + 150.0 * (2.0 * hop.loss()).min(1.0);
    let (from, to) = (text(name(hop.from)), text(name(hop.to)));
    let (packets, frames, loss) = (hop.packets, hop.frames, hop.loss());
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" \
         stroke=\"hsl({hue:.0} 70% 50%)\" stroke-width=\"{width:.1}\" stroke-opacity=\".8\" \
         data-hop=\"{from}\t{to}\t{packets}\t{frames}\t{loss:.4}\">\
         <title>{from} to {to}: {packets} packets, {:.1} % of {frames} frames lost</title></line>",
        x1 + aside_x,
        y1 + aside_y,
        x2 + aside_x,
        y2 + aside_y,
        100.0 * loss,
    )
}

/// Names have no such characters, but a file that is read might.
fn text(name: &str) -> String {
    name.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
