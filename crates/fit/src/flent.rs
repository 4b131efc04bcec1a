//! Measurements from Flent's data files, and such a file as a run among others.

use crate::measurement::{DOWN, IDLE, Measurement, Stream, UP, quantile, sorted, sum};
use crate::series::{filled, held, span};
use crate::unfit::Unfit;
use sojourn_flent::Data;
use sojourn_units::{Rate, Unit};
use sojourn_world::{
    Aggregate, Cost, Distribution, FlowResult, Point, RunResult, Series, WorldName, jain,
};
use std::collections::BTreeMap;

/// The world of measurements.
pub const MEASURED: WorldName = WorldName::new("measured");

/// Mbit/s as bit/s.
const MEGA: f64 = 1e6;

/// A stream whose points are this share off what its tool reports of the whole is doubtful.
const DOUBTFUL: f64 = 0.1;

impl Measurement {
    /// What a data file of Flent's holds; `name` is shown to people.
    pub fn of_flent(name: &str, data: &Data) -> Self {
        let rates: Vec<(usize, Vec<Point>, f64)> = (data.streams.iter())
            .map(|stream| {
                let (points, off) = rates(data, stream);
                (way(stream), points, off)
            })
            .collect();
        let throughput = [UP, DOWN].map(|wanted| {
            let streams: Vec<_> = rates
                .iter()
                .filter(|(way, ..)| *way == wanted)
                .map(|(_, points, _)| points.as_slice())
                .collect();
            sum(&streams)
        });
        let mut doubts = Vec::new();
        let off = rates.iter().map(|(.., off)| *off).fold(0.0, f64::max);
        if off > DOUBTFUL {
            doubts.push(format!(
                "the points of a stream are up to {:.0} % off its own total, to which they were \
                 scaled",
                off * 100.0
            ));
        }
        let trips = data
            .pings
            .first()
            .map(|ping| ping.values.clone())
            .or_else(|| there_and_back(data))
            .unwrap_or_default();
        let mut measurement = Self {
            name: name.to_owned(),
            streams: data.streams.iter().map(kind).collect(),
            throughput,
            counts_headers: false,
            round_trips: series(data, &trips, 1.0),
            least_round_trip: None,
            congestion_control: data.congestion_control.clone(),
            paths: Vec::new(),
            other_load: data.other_load.clone(),
            doubts,
        };
        measurement.paths = paths(data, &measurement);
        measurement
    }
}

/// A stream's goodput in bit/s without gaps, and the share that its points are off its own mean.
fn rates(data: &Data, stream: &sojourn_flent::Stream) -> (Vec<Point>, f64) {
    let all = data.streams.iter().map(|stream| stream.values.as_slice());
    let within = span(&data.times, all);
    let (values, off) = held(filled(&data.times, &stream.values, &within), stream.mean);
    (series(data, &values, MEGA), off)
}

/// Round-trip times of one-way delays up: the way back takes what an empty way there does. A load
/// down adds to a way back that is not measured, so that there are none then.
fn there_and_back(data: &Data) -> Option<Vec<Option<f64>>> {
    let least = data.one_way.iter().flatten().copied().reduce(f64::min)?;
    let is_up = data.streams.iter().all(|stream| stream.is_upload);
    let both = |value: &Option<f64>| value.map(|value| value + least);
    is_up.then(|| data.one_way.iter().map(both).collect())
}

/// The base RTT of each ping with its name. Pings that have nothing before the load show none.
fn paths(data: &Data, measurement: &Measurement) -> Vec<(String, f64)> {
    let Some(before) = measurement.before_load() else {
        return Vec::new();
    };
    let base = |ping: &sojourn_flent::Ping| {
        let points = series(data, &ping.values, 1.0);
        let is_idle = |point: &&Point| point.value.is_finite() && point.t < before;
        let idle = sorted(points.iter().filter(is_idle));
        (idle.len() >= IDLE).then(|| (ping.name.clone(), quantile(&idle, 0.1)))
    };
    data.pings.iter().filter_map(base).collect()
}

/// A data file as a run of the scenario that its [`Line`](crate::Line) has: the same flows under
/// the same names, with goodput and round-trip times as far as they were measured.
///
/// # Errors
/// When it shows no line.
pub fn run_of(data: &Data) -> Result<RunResult, Unfit> {
    let measurement = Measurement::of_flent("", data);
    measurement.shows_line()?;
    let figures = measurement.figures()?;
    let (from, to) = measurement.settled().ok_or(Unfit::NoLoad)?;
    let settled = |points: &[Point]| -> Vec<f64> {
        let points = points
            .iter()
            .filter(|point| point.t > from && point.t <= to);
        let values = points.map(|point| point.value);
        values.filter(|value| value.is_finite()).collect()
    };
    let (mut flows, mut ways) = (Vec::new(), Vec::new());
    for wanted in measurement.kinds() {
        let streams = data.streams.iter().filter(|stream| kind(stream) == wanted);
        for (index, stream) in streams.enumerate() {
            let name = match measurement.count(wanted) {
                1 => wanted.flow(),
                _ => format!("{}-{}", wanted.flow(), index + 1),
            };
            let (points, _) = rates(data, stream);
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
            ways.push(wanted.way);
        }
    }
    let streams = flows.iter().map(|(_, flow)| flow.goodput.as_bps() as f64);
    // Uploads share the line with each other, and so do downloads.
    let mut by_way = BTreeMap::<_, Vec<f64>>::new();
    for (way, goodput) in ways.iter().zip(streams.clone()) {
        by_way.entry(*way).or_default().push(goodput);
    }
    let fairness = by_way.into_values().filter_map(jain);
    let aggregate = Aggregate {
        jain: fairness.reduce(f64::min),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A series by its name: a value of each step.
    type Named<'a> = (&'a str, &'a dyn Fn(usize) -> Option<f64>);

    /// Ten idle seconds with a ping of 20 ms, then thirty with one of 60 ms and these series.
    fn data(series: &[Named<'_>], means: &Value) -> Data {
        let steps = 200;
        let mut results = serde_json::Map::new();
        let ping = (0..steps).map(|step| if step < 50 { 20.0 } else { 60.0 });
        results.insert("Ping (ms) ICMP".into(), json!(ping.collect::<Vec<f64>>()));
        for (name, value) in series {
            let values = (0..steps).map(|step| value(step).filter(|_| step >= 50));
            results.insert((*name).into(), json!(values.collect::<Vec<_>>()));
        }
        let times = (0..steps).map(|step| step as f64 * 0.2);
        let file = json!({
            "x_values": times.collect::<Vec<f64>>(),
            "results": results,
            "metadata": { "SERIES_META": means },
        });
        Data::parse(file.to_string().as_bytes()).unwrap()
    }

    fn mbit(data: &Data) -> f64 {
        let figures = Measurement::of_flent("a", data).figures().unwrap();
        figures.throughput[UP].unwrap() / MEGA
    }

    #[test]
    fn statistics_of_sockets_are_no_throughput() {
        let five = |_| Some(5.0);
        let many = |_| Some(600.0);
        let plain = data(
            &[("TCP upload::1", &five), ("TCP upload::2", &five)],
            &json!({}),
        );
        let beside = data(
            &[
                ("TCP upload::1", &five),
                ("TCP upload::1::tcp_cwnd", &many),
                ("TCP upload::2", &five),
                ("TCP upload::2::tcp_rtt", &many),
            ],
            &json!({}),
        );
        assert!((mbit(&plain) - 10.0).abs() < 1e-9);
        assert!((mbit(&beside) - 10.0).abs() < 1e-9);
        assert_eq!(beside.streams.len(), 2);
    }

    #[test]
    fn missing_points_are_no_zeros() {
        // Each stream has a value in every eighth step, at other times than the others.
        let every = |phase: usize| move |step: usize| (step % 8 == phase).then_some(0.5);
        let streams = [every(0), every(2), every(3), every(7)];
        let names = [1, 2, 3, 4].map(|number| format!("TCP upload::{number}"));
        let series: Vec<Named<'_>> = (names.iter().zip(&streams))
            .map(|(name, values)| (name.as_str(), values as &dyn Fn(usize) -> Option<f64>))
            .collect();
        let sparse = mbit(&data(&series, &json!({})));
        assert!((sparse - 2.0).abs() < 0.02, "{sparse}");
    }

    #[test]
    fn a_stream_is_held_to_its_own_mean() {
        // Reported while it runs only: what it carried between is not half as much.
        let bursts = |step: usize| step.is_multiple_of(4).then_some(8.0);
        let meta = json!({ "TCP upload": { "UNITS": "Mbits/s", "MEAN_VALUE": 4.0 } });
        let data = data(&[("TCP upload", &bursts)], &meta);
        assert!((mbit(&data) - 4.0).abs() < 0.01);
        let [doubt] = &Measurement::of_flent("a", &data).doubts[..] else {
            panic!("the points and the mean differ");
        };
        assert!(doubt.contains("up to 100 % off"), "{doubt}");
    }

    #[test]
    fn delays_of_a_call_stand_for_a_ping_where_uploads_alone_are_the_load() {
        let one_way = |step: usize| Some(if step < 60 { 25.0 } else { 75.0 });
        let stream = |_| Some(5.0);
        let of = |name: &str| {
            let mut data = data(&[(name, &stream), ("VoIP::delay", &one_way)], &json!({}));
            data.pings.clear();
            Measurement::of_flent("a", &data).figures()
        };
        let figures = of("TCP upload").unwrap();
        assert_eq!((figures.idle_ms, figures.added_p95_ms), (50.0, 50.0));
        assert_eq!(of("TCP download"), Err(Unfit::NoRoundTrips));
    }

    #[test]
    fn pings_to_several_hosts_are_several_paths() {
        let five = |_| Some(5.0);
        let mut data = data(&[("TCP upload", &five)], &json!({}));
        let far = |value: &Option<f64>| value.map(|value| value + 180.0);
        let values = data.pings[0].values.iter().map(far).collect();
        let name = "ICMP2 far".to_owned();
        data.pings.push(sojourn_flent::Ping { name, values });
        let load = Measurement::of_flent("a", &data);
        assert_eq!(
            load.paths,
            [("ICMP".into(), 20.0), ("ICMP2 far".into(), 200.0)]
        );
        assert!(matches!(load.shows_line(), Err(Unfit::SeveralPaths(_))));
    }
}
