//! The data that the page carries: compact, rounded to what a picture shows.

use super::Deflating;
use crate::error::ReportError;
use crate::json;
use crate::labels::{Labels, short_names};
use crate::parallel::in_order;
use crate::seeds::{groups, student_t_975};
use crate::stored::Runs;
use crate::summary::qdisc;
use crate::varied::Varied;
use serde_json::{Map, Value, json};
use sojourn_world::figure::{self, Content, Distribution, Figure, Kind, Part, Shape, Statistic};
use sojourn_world::{RunResult, ScenarioInfo, Series};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
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
    let thinning = Thinning::of(results);
    let plans = plans(labels, &thinning);
    let chunks: Vec<Range<usize>> = (0..results.len().div_ceil(CHUNK))
        .map(|chunk| chunk * CHUNK..results.len().min((chunk + 1) * CHUNK))
        .collect();
    // Deflated as they come: values of JSON are many times as large, and text ten times.
    let make = |chunk: usize| {
        let (mut held, mut text) = (Held::new(), Deflating::new());
        for index in chunks[chunk].clone() {
            let plan = &plans[index];
            let whole = if plan.has_series || !plan.curves.is_empty() {
                all.get(places.as_ref().map_or(index, |places| places[index]))?
            } else {
                Cow::Borrowed(&results[index])
            };
            let run = run(&whole, numbers[index], &thinning, plan);
            hold(&mut held, &run);
            if index > 0 {
                text.write(b",");
            }
            text.write_json(&run);
        }
        Ok::<_, ReportError>((held, text.part()))
    };
    let mut held = Held::new();
    let mut text = Deflating::new();
    text.write(b"{\"runs\":[");
    in_order(chunks.len(), make, |made| {
        let (more, part) = made?;
        for (place, keys) in more {
            held.entry(place).or_default().extend(keys);
        }
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
        let values: BTreeMap<_, _> = labels.numbers.iter().zip(&part.values).collect();
        json!({
            "fields": part.fields,
            "name": name,
            "values": values.into_values().collect::<Vec<_>>(),
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

/// The keys of the figures that the page has, by kind and by whether they are series.
type Held = BTreeMap<(Kind, bool), BTreeSet<String>>;

/// Adds a run's.
fn hold(held: &mut Held, run: &Value) {
    let mut add = |kind, is_series, object| {
        let held = held.entry((kind, is_series)).or_default();
        for key in keys(object) {
            if !held.contains(key) {
                held.insert(key.to_owned());
            }
        }
    };
    for (kind, part) in [(Kind::Link, "links"), (Kind::Flow, "flows")] {
        for item in run[part].as_array().into_iter().flatten() {
            add(kind, false, &item["f"]);
            add(kind, true, &item["s"]);
        }
    }
    add(Kind::Aggregate, false, &run["aggregate"]);
}

/// The figures that a run of the page has, with their meanings: a page without radios names none of
/// theirs.
fn figures(held: &Held) -> Value {
    let here = |f: &Figure| {
        let held = held.get(&(f.kind, f.shape == Shape::Series));
        held.is_some_and(|keys| keys.contains(f.key))
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

fn keys(object: &Value) -> impl Iterator<Item = &str> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
}

/// How much of the series the page carries.
struct Thinning {
    /// Longest series.
    points: usize,
    /// Whether further seeds of a cell go without series.
    first_seed_only: bool,
    /// Longest cumulative distribution.
    curve: usize,
}

impl Thinning {
    fn of(results: &[RunResult]) -> Self {
        let count = |run: &RunResult| {
            let links = run.links.iter().map(|(_, l)| l.series.len());
            links
                .chain(run.flows.iter().map(|(_, f)| f.series.len()))
                .sum::<usize>()
        };
        let all: usize = results.iter().map(count).sum();
        let first_seed_only = all * POINTS_LEAST > POINTS;
        let mut cells = BTreeSet::new();
        let kept: usize = results
            .iter()
            .filter(|run| !first_seed_only || cells.insert((&run.world, &run.params)))
            .map(count)
            .sum();
        let mut cells = BTreeSet::new();
        let firsts = results
            .iter()
            .filter(|run| cells.insert((&run.world, &run.params)));
        let curves = firsts.map(|run| {
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

/// Which of the page's curves a run has: its part, the place of the link or flow, and the figure.
type Curve = (Kind, usize, &'static str);

/// What the page has of a run besides its figures.
struct Plan {
    has_series: bool,
    /// The cumulative distributions of which it is the first run of its cell that has one.
    curves: BTreeSet<Curve>,
}

fn plans(labels: &Labels<'_>, thinning: &Thinning) -> Vec<Plan> {
    fn keys<T: Part>(part: &T) -> impl Iterator<Item = &'static str> {
        T::rows().filter_map(move |row| {
            let spread = row.spread(part).filter(|spread| spread.count > 0);
            spread.map(|_| row.figure.key)
        })
    }
    let mut seen = BTreeSet::new();
    let mut drawn = BTreeSet::new();
    let runs = labels.results.iter().zip(&labels.numbers);
    let plan = |(run, cell): (&RunResult, &usize)| {
        let world = labels.worlds.get_index_of(&run.world);
        let mut curves = BTreeSet::new();
        for (place, (name, link)) in run.links.iter().enumerate() {
            let keys = keys(link)
                .filter(|key| drawn.insert((world, *cell, Kind::Link, name.clone(), *key)));
            curves.extend(keys.map(|key| (Kind::Link, place, key)));
        }
        for (place, (name, flow)) in run.flows.iter().enumerate() {
            let keys = keys(flow)
                .filter(|key| drawn.insert((world, *cell, Kind::Flow, name.clone(), *key)));
            curves.extend(keys.map(|key| (Kind::Flow, place, key)));
        }
        Plan {
            has_series: seen.insert((world, *cell)) || !thinning.first_seed_only,
            curves,
        }
    };
    runs.map(plan).collect()
}

/// A run of the page.
fn run(run: &RunResult, cell: usize, thinning: &Thinning, plan: &Plan) -> Value {
    let series = |list: &[Series]| -> Map<String, Value> {
        let list = list.iter().filter(|_| plan.has_series);
        list.map(|s| (s.metric.clone().into_owned(), thinned(s, thinning.points)))
            .collect()
    };
    json!({
        "world": run.world.as_str(),
        "seed": run.seed.to_string(),
        "cell": cell,
        "digest": (run.digest != 0).then(|| format!("{:016x}", run.digest)),
        "links": run.links.iter().enumerate().map(|(place, (name, l))| {
            json!({
                "name": name,
                "f": values(l),
                "cdf": curves(l, place, thinning.curve, plan),
                "s": series(&l.series),
                "qdisc": qdisc(&l.qdisc),
            })
        }).collect::<Vec<_>>(),
        "flows": run.flows.iter().enumerate().map(|(place, (name, f))| {
            json!({
                "name": name,
                "app": f.app,
                "f": values(f),
                "cdf": curves(f, place, thinning.curve, plan),
                "s": series(&f.series),
            })
        }).collect::<Vec<_>>(),
        "aggregate": values(&run.aggregate),
    })
}

/// Cumulative distributions that the page has of this part, as lists of values and fractions, of at
/// most so many points.
fn curves<T: Part>(part: &T, place: usize, most: usize, plan: &Plan) -> Map<String, Value> {
    let rows = T::rows().filter(|row| plan.curves.contains(&(T::KIND, place, row.figure.key)));
    let drawn = rows.filter_map(|row| Some((row.figure.key, curve(row.spread(part)?, most))));
    json::map(drawn)
}

/// Values by key, a distribution as a list in the order of [`Statistic::ALL`].
fn values<T: Part>(part: &T) -> Map<String, Value> {
    let mut values = Map::new();
    for row in T::rows() {
        let value = match row.content(part) {
            None => continue,
            Some(Content::Spread(d)) if d.count == 0 => continue,
            Some(Content::Spread(d)) => {
                json!(Statistic::ALL.map(|one| short(json::statistic(d, one))))
            }
            Some(scalar) => short(json::content(&scalar)),
        };
        // No value is none: the page then does not speak of the figure.
        if value.is_null() {
            continue;
        }
        values.insert(row.figure.key.to_owned(), value);
    }
    values
}

/// A fraction with more digits than any table shows; a count stays whole.
fn short(value: Value) -> Value {
    match value.as_f64() {
        Some(x) if value.is_f64() => rounded(x, 7),
        _ => value,
    }
}

/// Every so many of a distribution's points, and its last.
fn curve(d: &Distribution, most: usize) -> Value {
    let stride = d.cdf.len().div_ceil(most).max(1);
    let last = d.cdf.len().saturating_sub(1);
    let kept = { d.cdf.iter().enumerate() }.filter(|(i, _)| i % stride == 0 || *i == last);
    let (x, y): (Vec<Value>, Vec<Value>) = kept
        .map(|(_, (ms, share))| (rounded(*ms, 4), rounded(*share, 5)))
        .unzip();
    json!([x, y])
}

/// A series as `[end of the first interval, interval, values]`, with at most so many points:
/// neighbours are averaged (drops: added up).
fn thinned(series: &Series, most: usize) -> Value {
    let stride = series.points.len().div_ceil(most).max(1);
    let interval = match &series.points[..] {
        [a, b, ..] => b.t - a.t,
        [only] => only.t,
        [] => 0.0,
    };
    let adds_up = series.metric == "drops";
    let values: Vec<Value> = series
        .points
        .chunks(stride)
        .map(|chunk| {
            let present = || chunk.iter().map(|p| p.value).filter(|v| v.is_finite());
            let (sum, count) = (present().sum::<f64>(), present().count());
            match count {
                0 => Value::Null,
                _ if adds_up => rounded(sum, 5),
                _ => rounded(sum / count as f64, 4),
            }
        })
        .collect();
    let width = interval * stride as f64;
    let first = series
        .points
        .first()
        .map_or(0.0, |p| p.t - interval + width);
    json!([rounded(first, 9), rounded(width, 9), values])
}

/// `x` with so many significant digits, as a whole number where it is one.
fn rounded(x: f64, digits: i32) -> Value {
    if x == 0.0 {
        return json!(0);
    }
    if !x.is_finite() {
        return Value::Null;
    }
    let decimals = digits - 1 - libm::log10(x.abs()).floor() as i32;
    // Through decimal text, so that no digit beyond those asked for comes back.
    let text = if decimals >= 0 {
        format!("{x:.*}", decimals as usize)
    } else {
        let unit = libm::exp10(f64::from(-decimals));
        format!("{:.0}", (x / unit).round() * unit)
    };
    let y: f64 = text.parse().expect("it was written as a number");
    if y.fract() == 0.0 && y.abs() < 1e15 {
        json!(y as i64)
    } else {
        json!(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Unit;
    use sojourn_world::Point;

    #[test]
    fn numbers_lose_digits_not_size() {
        assert_eq!(rounded(1_234_567.0, 4), json!(1_235_000));
        assert_eq!(rounded(0.000_123_456, 4), json!(0.000_123_5));
        assert_eq!(rounded(-2.0, 4), json!(-2));
        assert_eq!(
            (rounded(f64::NAN, 4), rounded(0.0, 4)),
            (Value::Null, json!(0))
        );
    }

    #[test]
    fn curves_keep_their_ends() {
        let d = Distribution {
            cdf: (0..=120)
                .map(|i| (f64::from(i), f64::from(i) / 120.0))
                .collect(),
            ..Distribution::default()
        };
        let of = |most| curve(&d, most);
        let ends = |x: &Value| (x[0].clone(), x[x.as_array().unwrap().len() - 1].clone());
        for (most, left) in [(1000, 121), (121, 121), (60, 41), (30, 25)] {
            let curve = of(most);
            assert_eq!(curve[0].as_array().unwrap().len(), left, "{most}");
            assert_eq!(ends(&curve[0]), (json!(0), json!(120)));
            assert_eq!(ends(&curve[1]), (json!(0), json!(1)));
        }
    }

    #[test]
    fn thinning_averages_and_adds_up() {
        let series = |metric: &'static str| Series {
            metric: metric.into(),
            unit: Unit::None,
            points: [1.0, f64::NAN, 2.0, 4.0, 7.0]
                .iter()
                .enumerate()
                .map(|(i, value)| Point {
                    t: (i + 1) as f64 * 0.5,
                    value: *value,
                })
                .collect(),
        };
        assert_eq!(thinned(&series("rtt"), 3), json!([1, 1, [1, 3, 7]]));
        assert_eq!(thinned(&series("drops"), 3), json!([1, 1, [1, 6, 7]]));
        assert_eq!(
            thinned(&series("rtt"), 5),
            json!([0.5, 0.5, [1, null, 2, 4, 7]])
        );
    }
}
