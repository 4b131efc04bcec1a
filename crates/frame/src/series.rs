//! Series as a long table: a row for each point.

use crate::column::{Values, Words};
use crate::frame::Frame;
use crate::identity;
use sojourn_world::{RunResult, Series};

/// A row for each point of the series of links and flows; of one metric only, when it is named.
pub fn series(results: &[RunResult], metric: Option<&str>) -> Frame {
    let (mut all, mut rows) = (Vec::new(), Vec::new());
    for run in results {
        let before = all.len();
        let links = run.links.iter();
        let links = links.map(|(name, link)| ("link", name, &link.series));
        let flows = run.flows.iter();
        let flows = flows.map(|(name, flow)| ("flow", name, &flow.series));
        for (kind, name, list) in links.chain(flows) {
            let wanted = |series: &&Series| metric.is_none_or(|metric| series.metric == metric);
            let list = list.iter().filter(wanted);
            all.extend(list.map(|series| (kind, name.as_str(), series)));
        }
        let points = all[before..].iter().map(|(.., series)| series.points.len());
        rows.push(points.sum());
    }
    let mut frame = identity::frame(results, &rows);
    let each = |of: fn(&(&'static str, &str, &Series)) -> String| {
        let mut words = Words::default();
        for one in &all {
            words.repeat(&of(one), one.2.points.len());
        }
        Values::Text(words)
    };
    frame.push(
        "kind",
        "",
        "`link` or `flow`.",
        each(|one| one.0.to_owned()),
    );
    frame.push(
        "name",
        "",
        "Of the link or flow.",
        each(|one| one.1.to_owned()),
    );
    frame.push("metric", "", "What.", each(|one| one.2.metric.to_string()));
    frame.push(
        "unit",
        "",
        "Of the value.",
        each(|one| one.2.unit.word().to_owned()),
    );
    let points = || all.iter().flat_map(|(.., series)| &series.points);
    let times = points().map(|point| point.t).collect();
    let meaning = "Since the start of the run: the end of the interval.";
    frame.push("t_s", "s", meaning, Values::Number(times));
    let values = points().map(|point| point.value).collect();
    let meaning = "Nothing where the interval has no sample.";
    frame.push("value", "", meaning, Values::Number(values));
    frame
}
