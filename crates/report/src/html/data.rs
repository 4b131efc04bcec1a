//! The data that the page carries: compact, rounded to what a picture shows.

use super::Deflating;
use super::run::{Curve, Held, Plan, Thinning, write};
use crate::error::ReportError;
use crate::json;
use crate::labels::{Labels, short_names};
use crate::parallel::in_order;
use crate::seeds::{groups, student_t_975};
use crate::stored::Runs;
use crate::varied::Varied;
use serde_json::{Value, json};
use sojourn_world::figure::{
    self, Aggregate, Figure, FlowResult, Kind, LinkResult, Part, Shape, Statistic,
};
use sojourn_world::{RunResult, ScenarioInfo, WorldName};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Range;
use std::ptr;

/// Points of all series together, about; more than a screen can show anyhow.
const POINTS: usize = 400_000;
/// No series is cut below this.
const POINTS_LEAST: usize = 50;
/// Points of all cumulative distributions together, about.
const CURVE_POINTS: usize = 150_000;
/// None of them is cut below this.
const CURVE_LEAST: usize = 30;

/// Runs that are made ready and deflated at once.
const CHUNK: usize = 64;

/// What the page carries.
pub(super) struct Data {
    /// The figures with their meanings.
    pub(super) figures: Value,
    /// All of it, as [`packed`](super::packed) has it.
    pub(super) packed: String,
}

pub(super) fn data(
    info: &ScenarioInfo,
    all: Runs<'_>,
    labels: &Labels<'_>,
) -> Result<Data, ReportError> {
    let (once, places) = distinct(all.figures);
    let own = once.as_deref().map(Labels::of);
    let labels = own.as_ref().unwrap_or(labels);
    let (results, numbers) = (labels.results, &labels.numbers);
    let thinning = Thinning::of(labels);
    let chunks: Vec<Range<usize>> = (0..results.len().div_ceil(CHUNK))
        .map(|chunk| chunk * CHUNK..results.len().min((chunk + 1) * CHUNK))
        .collect();
    let plans = plans(labels, &thinning, &chunks);
    // Deflated as they come: text is ten times as large.
    let make = |chunk: usize| {
        let (mut held, mut text) = (Held::default(), Vec::new());
        for index in chunks[chunk].clone() {
            let plan = &plans[index];
            let whole = if plan.has_series || !plan.curves.is_empty() {
                all.get(places.as_ref().map_or(index, |places| places[index]))?
            } else {
                Cow::Borrowed(&results[index])
            };
            if index > 0 {
                text.push(b',');
            }
            write(
                &mut text,
                &mut held,
                &whole,
                numbers[index],
                &thinning,
                plan,
            );
        }
        let mut deflating = Deflating::new();
        deflating.write(&text);
        Ok::<_, ReportError>((held, deflating.part()))
    };
    let mut held = Held::default();
    let mut text = Deflating::new();
    text.write(b"{\"runs\":[");
    in_order(chunks.len(), make, |made| {
        let (more, part) = made?;
        held.add(more);
        text.join(&part);
        Ok::<_, ReportError>(())
    })?;
    let mut params = Vec::with_capacity(labels.cells.len());
    for (run, cell) in results.iter().zip(numbers) {
        // Cells have their numbers in the order of their first runs.
        if *cell == params.len() {
            params.push(json::params(run));
        }
    }
    let most = results.len().max(2);
    let figures = figures(&held);
    let head = json!({
        "scenario": info.name,
        "cells": labels.cells,
        "parts": parts(labels),
        "choice": labels.choice,
        "colours": labels.colours,
        "params": params,
        "statistics": Statistic::ALL.map(Statistic::name),
        "figures": figures,
        "t975": (1..most.min(200)).map(student_t_975).collect::<Vec<_>>(),
        "seriesOfFirstSeedOnly": thinning.first_seed_only,
    });
    text.write(b"],");
    let head = serde_json::to_vec(&head).expect("JSON values always serialise");
    text.write(&head[1..]);
    let packed = text.finish();
    Ok(Data { figures, packed })
}

/// What was varied: for each part its fields, its short name, and its value in each cell.
fn parts(labels: &Labels<'_>) -> Vec<Value> {
    let names = short_names(&labels.parts);
    let part = |(part, name): (&Varied<'_>, String)| {
        json!({
            "fields": part.fields,
            "name": name,
            "values": part.values,
        })
    };
    labels.parts.iter().zip(names).map(part).collect()
}

/// Where runs are repeated, each that is not, and its place among all.
fn distinct(results: &[RunResult]) -> (Option<Vec<RunResult>>, Option<Vec<usize>>) {
    if crate::repeated(results).is_none() {
        return (None, None);
    }
    let places: BTreeMap<_, _> = results
        .iter()
        .enumerate()
        .map(|(i, run)| (ptr::from_ref(run), i))
        .collect();
    let kept = groups(results).into_iter().flatten();
    let (runs, places) = kept
        .map(|run| (run.clone(), places[&ptr::from_ref(run)]))
        .unzip();
    (Some(runs), Some(places))
}

/// The figures that a run of the page has, with their meanings: a page without radios names none of
/// theirs.
fn figures(held: &Held) -> Value {
    let here = |f: &Figure| match (f.shape, f.kind) {
        (Shape::Series, kind) => held.has_series(kind, f.key),
        (_, Kind::Link) => held.has::<LinkResult>(f.key),
        (_, Kind::Flow) => held.has::<FlowResult>(f.key),
        (_, Kind::Aggregate) => held.has::<Aggregate>(f.key),
    };
    let figures = figure::figures().filter(here).map(|f| {
        json!({
            "kind": f.kind.name(),
            "shape": f.shape.name(),
            "key": f.key,
            "unit": f.unit.word(),
            "title": f.title,
            "meaning": f.meaning,
            "source": f.source,
        })
    });
    figures.collect()
}

impl Thinning {
    fn of(labels: &Labels<'_>) -> Self {
        let results = labels.results;
        let count = |run: &RunResult| {
            let links = run.links.iter().map(|(_, l)| l.series.len());
            links
                .chain(run.flows.iter().map(|(_, f)| f.series.len()))
                .sum::<usize>()
        };
        let all: usize = results.iter().map(count).sum();
        let first_seed_only = all * POINTS_LEAST > POINTS;
        let mut cells = BTreeSet::new();
        let runs = results.iter().zip(&labels.numbers);
        let firsts: Vec<&RunResult> = runs
            .filter(|(run, cell)| cells.insert((**cell, &run.world)))
            .map(|(run, _)| run)
            .collect();
        let kept = if first_seed_only {
            firsts.iter().map(|run| count(run)).sum()
        } else {
            all
        };
        let curves = firsts.iter().map(|run| {
            let links = run.links.iter().map(|(_, link)| spreads(link));
            links
                .chain(run.flows.iter().map(|(_, flow)| spreads(flow)))
                .sum::<usize>()
        });
        Self {
            points: (POINTS / kept.max(1)).max(POINTS_LEAST),
            first_seed_only,
            curve: (CURVE_POINTS / curves.sum::<usize>().max(1)).max(CURVE_LEAST),
        }
    }
}

/// How many distributions a part of a result has.
fn spreads<T: Part>(part: &T) -> usize {
    let spreads = T::rows().filter_map(|row| row.spread(part).map(|d| d.count > 0));
    spreads.filter(|has_samples| *has_samples).count()
}

/// What is drawn of which world, cell and link or flow: whether of each row of the list.
type Drawn<'a> = BTreeMap<(&'a WorldName, usize), Vec<(Kind, &'a str, Vec<bool>)>>;

/// What the page has of each run, besides its figures.
fn plans(labels: &Labels<'_>, thinning: &Thinning, chunks: &[Range<usize>]) -> Vec<Plan> {
    // What is first in a chunk may be first of all.
    let make = |chunk: usize| {
        let mut drawn = Drawn::new();
        let runs = chunks[chunk].clone();
        let plans = runs.map(|index| {
            let (run, cell) = (&labels.results[index], labels.numbers[index]);
            plan(run, cell, &mut drawn)
        });
        plans.collect::<Vec<_>>()
    };
    let (mut plans, mut seen) = (Vec::with_capacity(labels.results.len()), BTreeSet::new());
    let mut drawn = BTreeSet::new();
    let taken = in_order(chunks.len(), make, |made| {
        for mut plan in made {
            let index = plans.len();
            let (run, cell) = (&labels.results[index], labels.numbers[index]);
            let is_first = plan.has_series && seen.insert((&run.world, cell));
            plan.has_series = is_first || !thinning.first_seed_only;
            plan.curves.retain(|(kind, place, key)| {
                let name = match kind {
                    Kind::Link => run.links[*place].0.as_str(),
                    Kind::Flow | Kind::Aggregate => run.flows[*place].0.as_str(),
                };
                drawn.insert((&run.world, cell, *kind, name, *key))
            });
            plans.push(plan);
        }
        Ok::<_, Infallible>(())
    });
    match taken {
        Ok(()) => plans,
    }
}

/// What a run has of which nothing is drawn.
fn plan<'a>(run: &'a RunResult, cell: usize, drawn: &mut Drawn<'a>) -> Plan {
    fn add<'a, T: Part>(
        part: &'a T,
        name: &'a str,
        place: usize,
        drawn: &mut Vec<(Kind, &'a str, Vec<bool>)>,
        curves: &mut BTreeSet<Curve>,
    ) {
        let is_its = |(kind, known, _): &(Kind, &str, _)| *kind == T::KIND && *known == name;
        let index = drawn.iter().position(is_its).unwrap_or_else(|| {
            drawn.push((T::KIND, name, vec![false; T::rows().count()]));
            drawn.len() - 1
        });
        for (row, is_drawn) in T::rows().zip(&mut drawn[index].2) {
            if !*is_drawn && row.spread(part).is_some_and(|spread| spread.count > 0) {
                *is_drawn = true;
                curves.insert((T::KIND, place, row.figure.key));
            }
        }
    }
    let place = (&run.world, cell);
    let has_series = !drawn.contains_key(&place);
    let (drawn, mut curves) = (drawn.entry(place).or_default(), BTreeSet::new());
    for (place, (name, link)) in run.links.iter().enumerate() {
        add(link, name, place, drawn, &mut curves);
    }
    for (place, (name, flow)) in run.flows.iter().enumerate() {
        add(flow, name, place, drawn, &mut curves);
    }
    Plan { has_series, curves }
}
