//! Series as a long table: a row for each point.

use crate::column::{Values, Words};
use crate::frame::Frame;
use crate::identity;
use sojourn_world::{RunResult, Series};
use std::borrow::Cow;

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
    let mut points = Points::default();
    let mut rows = Vec::new();
    for number in 0..results.len() {
        let before = points.times.len();
        points.add(&*whole(number)?, metric);
        rows.push(points.times.len() - before);
    }
    let mut frame = identity::frame(results, &rows);
    let [kinds, names, metrics, units] = points.words.map(Values::Text);
    frame.push("kind", "", "`link` or `flow`.", kinds);
    frame.push("name", "", "Of the link or flow.", names);
    frame.push("metric", "", "What.", metrics);
    frame.push("unit", "", "Of the value.", units);
    let meaning = "Since the start of the run: the end of the interval.";
    frame.push("t_s", "s", meaning, Values::Number(points.times));
    let meaning = "Nothing where the interval has no sample.";
    frame.push("value", "", meaning, Values::Number(points.values));
    Ok(frame)
}

/// The columns of points, a row for each.
#[derive(Default)]
struct Points {
    /// Kind, name, metric, unit.
    words: [Words; 4],
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Points {
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
