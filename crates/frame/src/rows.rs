//! Tables of figures: a row for each run, flow or link.

use crate::column::Values;
use crate::frame::Frame;
use crate::identity;
use indexmap::IndexMap;
use sojourn_qdisc::Value;
use sojourn_world::RunResult;
use sojourn_world::figure::{FlowResult, LinkResult, Part, Row, Shape, Statistic};

/// A row for each run: what is over all flows, the induced RTT of the latency probes, what the run
/// cost, and its digest.
pub fn runs(results: &[RunResult]) -> Frame {
    let mut frame = identity::frame(results, &vec![1; results.len()]);
    let all: Vec<_> = results.iter().map(|run| &run.aggregate).collect();
    figures(&mut frame, &all);
    for statistic in Statistic::ALL
        .into_iter()
        .filter(|s| *s != Statistic::Count)
    {
        let values = results.iter().map(|run| run.induced_rtt(statistic));
        let meaning = "Of the latency probes, or else of all flows with round-trip times; of \
                       several flows the mean.";
        let name = format!("induced_rtt_ms_{}", statistic.name());
        frame.push(&name, "ms", meaning, Values::Number(values.collect()));
    }
    costs(&mut frame, results);
    let digests: Vec<String> = results
        .iter()
        .map(|run| format!("{:016x}", run.digest))
        .collect();
    let digests = Values::texts(digests.iter().map(|text| Some(text.as_str())));
    let meaning =
        "Hash over every event: equal digests, equal runs. Zero where runs do not repeat.";
    frame.push("digest", "", meaning, digests);
    let programs = Values::texts(results.iter().map(|run| run.program.as_deref()));
    frame.push(
        "program",
        "",
        "Version and commit of the program that ran it.",
        programs,
    );
    frame
}

fn costs(frame: &mut Frame, results: &[RunResult]) {
    let events = results
        .iter()
        .map(|run| run.cost.events.cast_signed())
        .collect();
    let meaning = "Events of the simulator, frames of other worlds.";
    frame.push("events", "", meaning, Values::Whole(events));
    let cpu = results.iter().map(|run| run.cost.cpu_s).collect();
    frame.push(
        "cpu_s",
        "s",
        "Processor time of the run.",
        Values::Number(cpu),
    );
    let wall = results.iter().map(|run| run.cost.wall_s).collect();
    frame.push("wall_s", "s", "What the run took.", Values::Number(wall));
}

/// A row for each flow of each run.
pub fn flows(results: &[RunResult]) -> Frame {
    let rows: Vec<usize> = results.iter().map(|run| run.flows.len()).collect();
    let mut frame = identity::frame(results, &rows);
    let all = || results.iter().flat_map(|run| &run.flows);
    let names = Values::texts(all().map(|(name, _)| Some(name.as_str())));
    frame.push("flow", "", "The flow's name.", names);
    let apps = Values::texts(all().map(|(_, flow)| Some(flow.app.as_ref())));
    frame.push("app", "", "Its traffic model.", apps);
    let elastic = all().map(|(_, flow)| Some(flow.elastic)).collect();
    let meaning = "Whether it takes all bandwidth that it can get.";
    frame.push("elastic", "", meaning, Values::Switch(elastic));
    let parts: Vec<&FlowResult> = all().map(|(_, flow)| flow).collect();
    figures(&mut frame, &parts);
    frame
}

/// A row for each link of each run, with the numbers among its queue's own statistics as columns
/// `qdisc_NAME`, in tc's units.
pub fn links(results: &[RunResult]) -> Frame {
    let rows: Vec<usize> = results.iter().map(|run| run.links.len()).collect();
    let mut frame = identity::frame(results, &rows);
    let all = || results.iter().flat_map(|run| &run.links);
    let names = Values::texts(all().map(|(name, _)| Some(name.as_str())));
    frame.push("link", "", "The link's name.", names);
    let kinds = Values::texts(all().map(|(_, link)| Some(link.qdisc.kind.as_ref())));
    frame.push("qdisc", "", "Its queue's name.", kinds);
    let parts: Vec<&LinkResult> = all().map(|(_, link)| link).collect();
    figures(&mut frame, &parts);
    let mut statistics: IndexMap<&str, Vec<f64>> = IndexMap::new();
    for (row, link) in parts.iter().enumerate() {
        for field in &link.qdisc.stats {
            let value = match &field.value {
                Value::Int(number) => *number as f64,
                Value::Float(number) => *number,
                Value::Bool(_) | Value::Text(_) | Value::Groups(_) => continue,
            };
            let column = statistics.entry(&field.name);
            column.or_insert_with(|| vec![f64::NAN; parts.len()])[row] = value;
        }
    }
    for (name, values) in statistics {
        let meaning = "The queue's own statistic, as tc prints it.";
        frame.push(
            &format!("qdisc_{name}"),
            "",
            meaning,
            Values::Number(values),
        );
    }
    frame
}

/// Adds the columns of all figures of a kind of part. A figure that came later than the format, or
/// that an app measures, has columns only where some part has it.
fn figures<T: Part>(frame: &mut Frame, parts: &[&T]) {
    for row in T::rows() {
        let has = |part: &&T| row.content(part).is_some_and(|content| content.has_value());
        let optional = row.is_later || parts.iter().any(|part| row.content(part).is_none());
        if optional && !parts.iter().any(has) {
            continue;
        }
        figure(frame, row, parts);
    }
}

fn figure<T: Part>(frame: &mut Frame, row: &Row<T>, parts: &[&T]) {
    let known = row.figure;
    if known.shape == Shape::Distribution {
        for statistic in Statistic::ALL {
            let values = parts.iter().map(|part| row.value(part, Some(statistic)));
            let name = format!("{}_{}", known.key, statistic.name());
            let (unit, values) = match statistic {
                Statistic::Count => {
                    let samples = values.map(|count| if count.is_nan() { 0.0 } else { count });
                    ("samples", samples.collect())
                }
                _ => (known.unit.word(), values.collect()),
            };
            frame.push(&name, unit, known.meaning, Values::Number(values));
        }
        return;
    }
    let values = parts.iter().map(|part| row.value(part, None)).collect();
    let values = Values::Number(values);
    frame.push(known.key, known.unit.word(), known.meaning, values);
}
