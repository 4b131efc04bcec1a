//! Measurements from Flent's data files, and such a file as a run among others.

use crate::measurement::{DOWN, Measurement, Stream, UP, Unfit, sum};
use sojourn_flent::Data;
use sojourn_units::{Rate, Unit};
use sojourn_world::{
    Aggregate, Cost, Distribution, FlowResult, Point, RunResult, Series, WorldName, jain,
};

/// The world of measurements.
pub const MEASURED: WorldName = WorldName::new("measured");

/// Mbit/s as bit/s.
const MEGA: f64 = 1e6;

impl Measurement {
    /// What a data file of Flent's holds; `name` is shown to people.
    pub fn of_flent(name: &str, data: &Data) -> Self {
        let series = |values: &[Option<f64>], scale| series(data, values, scale);
        let streams = data.streams.iter();
        let throughput = [UP, DOWN].map(|wanted| {
            let streams = streams.clone().filter(|stream| way(stream) == wanted);
            let streams: Vec<_> = streams.map(|stream| series(&stream.values, MEGA)).collect();
            sum(&streams.iter().map(Vec::as_slice).collect::<Vec<_>>())
        });
        Self {
            name: name.to_owned(),
            streams: streams.map(kind).collect(),
            throughput,
            counts_headers: false,
            round_trips: series(&data.pings, 1.0),
            least_round_trip: None,
            congestion_control: data.congestion_control.clone(),
        }
    }
}

/// A data file as a run of the scenario that its [`Line`](crate::Line) has: the same flows under
/// the same names, with goodput and round-trip times as far as they were measured.
///
/// # Errors
/// When it shows no line.
pub fn run_of(data: &Data) -> Result<RunResult, Unfit> {
    let measurement = Measurement::of_flent("", data);
    let figures = measurement.figures()?;
    let (from, to) = measurement.settled().ok_or(Unfit::NoLoad)?;
    let settled = |points: &[Point]| -> Vec<f64> {
        let points = points
            .iter()
            .filter(|point| point.t > from && point.t <= to);
        let values = points.map(|point| point.value);
        values.filter(|value| value.is_finite()).collect()
    };
    let mut flows = Vec::new();
    for wanted in measurement.kinds() {
        let streams = data.streams.iter().filter(|stream| kind(stream) == wanted);
        for (index, stream) in streams.enumerate() {
            let name = match measurement.count(wanted) {
                1 => wanted.flow(),
                _ => format!("{}-{}", wanted.flow(), index + 1),
            };
            let points = series(data, &stream.values, MEGA);
            let values = settled(&points);
            let goodput = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let flow = FlowResult {
                goodput: Rate::from_bps(goodput as u64),
                app: "bulk".into(),
                elastic: true,
                series: vec![of_metric("goodput", Unit::Bps, points)],
                ..FlowResult::default()
            };
            flows.push((name, flow));
        }
    }
    let streams = flows.iter().map(|(_, flow)| flow.goodput.as_bps() as f64);
    let aggregate = Aggregate {
        jain: jain(streams.clone()),
        goodput_bps: streams.sum(),
    };
    let trips = settled(&measurement.round_trips);
    let induced = trips.iter().map(|trip| trip - figures.idle_ms);
    // Each answer is to a request of 64 bytes.
    let answered = trips.len() as f64 * 8.0 * 64.0 / (to - from);
    let ping = FlowResult {
        goodput: Rate::from_bps(answered as u64),
        rtt: Distribution::of_samples(trips.iter().copied()),
        induced_rtt: Distribution::of_samples(induced),
        app: "ping".into(),
        series: vec![of_metric("rtt", Unit::Ms, measurement.round_trips.clone())],
        ..FlowResult::default()
    };
    flows.push(("ping".to_owned(), ping));
    Ok(RunResult {
        world: MEASURED,
        seed: 1,
        params: Vec::new(),
        links: Vec::new(),
        flows,
        aggregate,
        cost: Cost::default(),
        digest: 0,
        radio: None,
        program: None,
    })
}

fn series(data: &Data, values: &[Option<f64>], scale: f64) -> Vec<Point> {
    let value = |value: &Option<f64>| value.map_or(f64::NAN, |value| value * scale);
    let points = data.times.iter().zip(values.iter().map(value));
    points.map(|(&t, value)| Point { t, value }).collect()
}

fn of_metric(metric: &'static str, unit: Unit, points: Vec<Point>) -> Series {
    let metric = metric.into();
    Series {
        metric,
        unit,
        points,
    }
}

fn way(stream: &sojourn_flent::Stream) -> usize {
    if stream.is_upload { UP } else { DOWN }
}

fn kind(stream: &sojourn_flent::Stream) -> Stream {
    Stream {
        way: way(stream),
        dscp: stream.dscp,
    }
}
