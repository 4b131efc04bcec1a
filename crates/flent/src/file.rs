//! A run as a data file, format version 4.

use crate::test::{Role, Test};
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use sojourn_world::{Cell, FlowResult, Point, RunResult};
use std::io::Write as _;

/// The format's version.
const VERSION: u32 = 4;
/// Flent wants a date. Runs have none, and the same run shall give the same file.
const DATE: &str = "2000-01-01T00:00:00.000000Z";
/// The same as seconds since 1970.
const EPOCH: f64 = 946_684_800.0;

/// From as many steps before a measurement Flent interpolates towards it.
const MOST_STEPS: usize = 5;

/// A run that no test of Flent's fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There is neither TCP nor a probe.
    NoTest,
    /// The run has kept no series.
    NoSeries,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoTest => {
                "it has neither TCP flows nor pings, which is what Flent's tests are of"
            }
            Self::NoSeries => "it has no series of its flows: `flow_series = true` keeps them",
        })
    }
}

impl std::error::Error for Unfit {}

/// A series by its name: the points, in Flent's unit.
struct Named {
    name: String,
    unit: &'static str,
    values: Vec<Option<f64>>,
    raw: Vec<Value>,
}

/// The data file of a run, with the name that Flent would give it. `cell` is what was run.
///
/// # Errors
/// When no test of Flent's fits, or the run has kept no series.
pub fn data_file(run: &RunResult, cell: &Cell) -> Result<(String, Vec<u8>), Unfit> {
    let test = Test::of(cell).ok_or(Unfit::NoTest)?;
    let roles = test.roles(cell);
    let times = times(run).ok_or(Unfit::NoSeries)?;
    let (mut up, mut down, mut pings) = (Vec::new(), Vec::new(), Vec::new());
    for (number, role) in roles.into_iter().enumerate() {
        let flow = &run.flows[number].1;
        let start = cell.flows[number].start.as_secs_f64();
        match role {
            Role::Upload(name) => up.push(stream(name, flow, start, &times)),
            Role::Download(name) => down.push(stream(name, flow, start, &times)),
            Role::Ping(name) => pings.push(ping(name, flow, &times)),
            Role::Other => {}
        }
    }
    let title = title(run);
    let series = with_totals(test, &up, &down, &pings);
    let (ups, downs) = (up.len(), down.len());
    let all = up.into_iter().chain(down).chain(pings).chain(series);
    let document = document(test, cell, &title, &times, all.collect(), ups, downs);
    let stem = format!("{}-2000-01-01T000000.000000", test.name());
    let plain: String = title
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let name = format!("{stem}.{}.flent.gz", plain.get(..150).unwrap_or(&plain));
    Ok((name, zipped(&document)))
}

/// Parameters, seed and world: what Flent's legends tell runs apart by.
fn title(run: &RunResult) -> String {
    let values = run.params.iter().map(|(_, value)| value.as_str());
    let seed = format!("seed {}", run.seed);
    values
        .chain([seed.as_str(), run.world.as_str()])
        .collect::<Vec<_>>()
        .join(" ")
}

/// When points of series are, in seconds.
fn times(run: &RunResult) -> Option<Vec<f64>> {
    let series = run.flows.iter().flat_map(|(_, flow)| &flow.series);
    let longest = series.max_by_key(|series| series.points.len())?;
    Some(longest.points.iter().map(|point| point.t).collect())
}

fn points<'a>(flow: &'a FlowResult, metric: &str) -> &'a [Point] {
    let series = flow.series.iter().find(|series| series.metric == metric);
    series.map_or(&[], |series| &series.points)
}

/// The value at each time; none where there is none.
fn on_grid(points: &[Point], times: &[f64], scale: f64) -> Vec<Option<f64>> {
    let value = |index: usize| {
        let value = points.get(index)?.value * scale;
        value.is_finite().then_some(value)
    };
    (0..times.len()).map(value).collect()
}

fn stream(name: String, flow: &FlowResult, start: f64, times: &[f64]) -> Named {
    let mut values = on_grid(points(flow, "goodput"), times, 1e-6);
    // Before a stream begins there is nothing to be measured.
    for (value, _) in values.iter_mut().zip(times).filter(|(_, t)| **t <= start) {
        *value = None;
    }
    let windows = on_grid(points(flow, "cwnd"), times, 1.0);
    let round_trips = on_grid(points(flow, "rtt"), times, 1.0);
    let all = times
        .iter()
        .zip(&values)
        .zip(windows.iter().zip(&round_trips));
    let raw = all.filter_map(|((t, value), (window, round_trip))| {
        let mut row = json!({ "t": EPOCH + t, "val": (*value)? });
        for (key, value) in [("tcp_cwnd", window), ("tcp_rtt", round_trip)] {
            if let Some(value) = value {
                row[key] = json!(value);
            }
        }
        Some(row)
    });
    Named {
        raw: raw.collect(),
        name,
        unit: "Mbits/s",
        values,
    }
}

fn ping(name: String, flow: &FlowResult, times: &[f64]) -> Named {
    let values = on_grid(points(flow, "rtt"), times, 1.0);
    let raw = times
        .iter()
        .zip(&values)
        .enumerate()
        .filter_map(|(seq, (t, value))| {
            let value = (*value)?;
            Some(json!({ "t": EPOCH + t, "val": value, "seq": seq as f64 }))
        });
    Named {
        raw: raw.collect(),
        name,
        unit: "ms",
        values: interpolated(values),
    }
}

/// Values with those between filled in as Flent does: a ping every 200 ms on a grid of 100 ms would
/// else be points without a line.
fn interpolated(mut values: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let there: Vec<(usize, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(at, v)| Some((at, (*v)?)))
        .collect();
    for pair in there.windows(2) {
        let [(from, first), (to, last)] = [pair[0], pair[1]];
        let begin = (from + 1).max(to.saturating_sub(MOST_STEPS));
        for (at, value) in values.iter_mut().enumerate().take(to).skip(begin) {
            let share = (at - from) as f64 / (to - from) as f64;
            *value = Some(first + share * (last - first));
        }
    }
    values
}

/// The series that Flent computes of the others.
fn with_totals(test: Test, up: &[Named], down: &[Named], pings: &[Named]) -> Vec<Named> {
    let mut totals = Vec::new();
    for (direction, streams) in [("upload", up), ("download", down)] {
        if streams.is_empty() {
            continue;
        }
        let all: Vec<&Named> = streams.iter().collect();
        let named = |what: &str| format!("TCP {direction} {what}");
        totals.push(computed(named("avg"), "Mbits/s", &all, mean));
        totals.push(computed(named("sum"), "Mbits/s", &all, sum));
        if matches!(test, Test::TcpNup | Test::TcpNdown) {
            totals.push(computed(named("fairness"), "Idx", &all, fairness));
        }
    }
    let both: Vec<&Named> = up.iter().chain(down).collect();
    if !up.is_empty() && !down.is_empty() {
        totals.push(computed("TCP totals".to_owned(), "Mbits/s", &both, sum));
    }
    if matches!(test, Test::Rrul | Test::RrulBe | Test::RrulBeNflows) && !pings.is_empty() {
        let pings: Vec<&Named> = pings.iter().collect();
        totals.push(computed("Ping (ms) avg".to_owned(), "ms", &pings, mean));
    }
    totals
}

/// Of the values that there are at each time; none where there is none.
fn computed(name: String, unit: &'static str, of: &[&Named], how: fn(&[f64]) -> f64) -> Named {
    let length = of.first().map_or(0, |one| one.values.len());
    let at = |index: usize| {
        let values: Vec<f64> = of.iter().filter_map(|one| one.values[index]).collect();
        (!values.is_empty()).then(|| how(&values))
    };
    Named {
        name,
        unit,
        values: (0..length).map(at).collect(),
        raw: Vec::new(),
    }
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// Jain's index.
fn fairness(values: &[f64]) -> f64 {
    sojourn_world::jain(values.iter().copied()).unwrap_or(1.0)
}

fn document(
    test: Test,
    cell: &Cell,
    title: &str,
    times: &[f64],
    series: Vec<Named>,
    up: usize,
    down: usize,
) -> Value {
    let (mut results, mut raw, mut about) = (Map::new(), Map::new(), Map::new());
    for (index, one) in series.into_iter().enumerate() {
        let there: Vec<f64> = one.values.iter().copied().flatten().collect();
        let mean = (!there.is_empty()).then(|| mean(&there));
        let least = there.iter().copied().reduce(f64::min);
        let most = there.iter().copied().reduce(f64::max);
        let meta = json!({
            "UNITS": one.unit, "IDX": index,
            "MEAN_VALUE": mean, "MIN_VALUE": least, "MAX_VALUE": most,
        });
        about.insert(one.name.clone(), meta);
        results.insert(one.name.clone(), json!(one.values));
        raw.insert(one.name, Value::from(one.raw));
    }
    let length = cell.duration.as_secs_f64();
    let step = match times {
        [first, second, ..] => second - first,
        _ => cell.sample_every.as_secs_f64(),
    };
    json!({
        "version": VERSION,
        "x_values": times,
        "results": results,
        "raw_values": raw,
        "metadata": {
            "NAME": test.name(),
            "TITLE": title,
            "TIME": DATE,
            "T0": DATE,
            "LENGTH": length,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": step,
            "HOST": "sojourn",
            "HOSTS": ["sojourn"],
            "LOCAL_HOST": "sojourn",
            "NOTE": format!("{} by Sojourn, seed {}", cell.scenario, cell.seed),
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {
                "upload_streams": up.to_string(),
                "download_streams": down.to_string(),
            },
            "SERIES_META": about,
        },
    })
}

fn zipped(document: &Value) -> Vec<u8> {
    let mut file = GzBuilder::new().write(Vec::new(), Compression::default());
    let text = serde_json::to_vec(document).expect("JSON values always serialise");
    let written = file.write_all(&text).and_then(|()| file.finish());
    written.expect("a vector takes all bytes")
}

#[cfg(test)]
mod tests {
    use super::interpolated;

    #[test]
    fn gaps_are_filled_from_five_steps_before_their_end() {
        let short = vec![None, Some(20.0), None, None, None, None, Some(30.0), None];
        let filled = [20.0, 22.0, 24.0, 26.0, 28.0, 30.0].map(Some);
        let mut expected = vec![None];
        expected.extend(filled);
        expected.push(None);
        assert_eq!(interpolated(short), expected);
        let mut long = vec![None; 9];
        (long[0], long[8]) = (Some(20.0), Some(28.0));
        let mut expected = long.clone();
        expected.splice(3..8, [23.0, 24.0, 25.0, 26.0, 27.0].map(Some));
        assert_eq!(interpolated(long), expected);
    }
}
