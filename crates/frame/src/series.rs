//! Series and distributions as long tables: a row for each point.

use crate::column::{Values, Words};
use crate::frame::Frame;
use crate::identity;
use sojourn_world::figure::{FlowResult, LinkResult, Part};
use sojourn_world::{RunResult, Series};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The keys of all distributions, those that apps may measure among them.
pub fn distribution_keys() -> BTreeSet<&'static str> {
    fn of<T: Part>() -> impl Iterator<Item = &'static str> {
        let part = T::default();
        let rows = T::rows().map(|row| (row.figure.key, row));
        let is_one = move |key: &str, is_spread| is_spread || key.starts_with("app.");
        let kept = rows.filter(move |(key, row)| is_one(key, row.spread(&part).is_some()));
        kept.map(|(key, _)| key)
    }
    of::<LinkResult>().chain(of::<FlowResult>()).collect()
}

/// A row for each point of the distributions of links and flows; of one metric only, when it is
/// named. `whole` gives the run of a number with its distributions, one at a time.
///
/// # Errors
/// When `whole` cannot.
pub fn distributions<'a, E>(
    results: &'a [RunResult],
    whole: impl Fn(usize) -> Result<Cow<'a, RunResult>, E>,
    metric: Option<&str>,
) -> Result<Frame, E> {
    let add = |points: &mut Points, run: &RunResult| points.add_distributions(run, metric);
    let (points, mut frame) = of_each(results, whole, add)?;
    let meaning = "Share of the samples that are at or below the value.";
    frame.push("share", "", meaning, Values::Number(points.times));
    frame.push("value", "", "In the unit.", Values::Number(points.values));
    Ok(frame)
}

/// A row for each point of the series of links and flows; of one metric only, when it is named.
/// `whole` gives the run of a number with its series, one at a time.
///
/// # Errors
/// When `whole` cannot.
pub fn series<'a, E>(
    results: &'a [RunResult],
    whole: impl Fn(usize) -> Result<Cow<'a, RunResult>, E>,
    metric: Option<&str>,
) -> Result<Frame, E> {
    let add = |points: &mut Points, run: &RunResult| points.add(run, metric);
    let (points, mut frame) = of_each(results, whole, add)?;
    let meaning = "Since the start of the run: the end of the interval.";
    frame.push("t_s", "s", meaning, Values::Number(points.times));
    let meaning = "Nothing where the interval has no sample.";
    frame.push("value", "", meaning, Values::Number(points.values));
    Ok(frame)
}

/// What `add` takes of each run, and a frame that says whose points they are.
fn of_each<'a, E>(
    results: &'a [RunResult],
    whole: impl Fn(usize) -> Result<Cow<'a, RunResult>, E>,
    add: impl Fn(&mut Points, &RunResult),
) -> Result<(Points, Frame), E> {
    let mut points = Points::default();
    let mut rows = Vec::new();
    for number in 0..results.len() {
        let before = points.values.len();
        add(&mut points, &*whole(number)?);
        rows.push(points.values.len() - before);
    }
    let frame = points.frame(results, &rows);
    Ok((points, frame))
}

/// The columns of points, a row for each.
#[derive(Default)]
struct Points {
    /// Kind, name, metric, unit.
    words: [Words; 4],
    /// Of a series; of a distribution the shares.
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Points {
    /// The columns that say whose points they are.
    fn frame(&mut self, results: &[RunResult], rows: &[usize]) -> Frame {
        let mut frame = identity::frame(results, rows);
        let [kinds, names, metrics, units] = std::mem::take(&mut self.words).map(Values::Text);
        frame.push("kind", "", "`link` or `flow`.", kinds);
        frame.push("name", "", "Of the link or flow.", names);
        frame.push("metric", "", "What.", metrics);
        frame.push("unit", "", "Of the value.", units);
        frame
    }

    /// Adds the distributions of a run.
    fn add_distributions(&mut self, run: &RunResult, metric: Option<&str>) {
        for (name, link) in &run.links {
            self.add_spreads(["link", name], link, metric);
        }
        for (name, flow) in &run.flows {
            self.add_spreads(["flow", name], flow, metric);
        }
    }

    fn add_spreads<T: Part>(&mut self, [kind, name]: [&str; 2], part: &T, metric: Option<&str>) {
        let wanted = |key: &str| metric.is_none_or(|metric| metric == key);
        for row in T::rows().filter(|row| wanted(row.figure.key)) {
            let points = row.spread(part).map_or(&[][..], |spread| &spread.cdf);
            let texts = [kind, name, row.figure.key, row.figure.unit.word()];
            for (words, text) in self.words.iter_mut().zip(texts) {
                words.repeat(text, points.len());
            }
            self.times.extend(points.iter().map(|(_, share)| share));
            self.values.extend(points.iter().map(|(value, _)| value));
        }
    }

    /// Adds those of a run.
    fn add(&mut self, run: &RunResult, metric: Option<&str>) {
        for (name, link) in &run.links {
            self.add_part(["link", name], &link.series, metric);
        }
        for (name, flow) in &run.flows {
            self.add_part(["flow", name], &flow.series, metric);
        }
    }

    fn add_part(&mut self, [kind, name]: [&str; 2], list: &[Series], metric: Option<&str>) {
        let wanted = |series: &&Series| metric.is_none_or(|metric| series.metric == metric);
        for series in list.iter().filter(wanted) {
            let rows = series.points.len();
            let texts = [kind, name, &series.metric, series.unit.word()];
            for (words, text) in self.words.iter_mut().zip(texts) {
                words.repeat(text, rows);
            }
            self.times.extend(series.points.iter().map(|point| point.t));
            let values = series.points.iter().map(|point| point.value);
            self.values.extend(values);
        }
    }
}
