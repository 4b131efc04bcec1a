//! Measurements from Flent's data files.

use crate::measurement::{DOWN, Measurement, Stream, UP, sum};
use sojourn_flent::Data;
use sojourn_world::Point;

impl Measurement {
    /// What a data file of Flent's holds; `name` is shown to people.
    pub fn of_flent(name: &str, data: &Data) -> Self {
        let series = |values: &[Option<f64>], scale: f64| -> Vec<Point> {
            let value = |value: &Option<f64>| value.map_or(f64::NAN, |value| value * scale);
            let values = values.iter().map(value);
            let points = data.times.iter().zip(values);
            points.map(|(&t, value)| Point { t, value }).collect()
        };
        let streams = data.streams.iter();
        let way = |stream: &sojourn_flent::Stream| if stream.is_upload { UP } else { DOWN };
        let throughput = [UP, DOWN].map(|wanted| {
            let streams = streams.clone().filter(|stream| way(stream) == wanted);
            let streams: Vec<_> = streams.map(|stream| series(&stream.values, 1e6)).collect();
            sum(&streams.iter().map(Vec::as_slice).collect::<Vec<_>>())
        });
        let of_stream = |stream| Stream {
            way: way(stream),
            dscp: stream.dscp,
        };
        Self {
            name: name.to_owned(),
            streams: streams.map(of_stream).collect(),
            throughput,
            counts_headers: false,
            round_trips: series(&data.pings, 1.0),
            least_round_trip: None,
            congestion_control: data.congestion_control.clone(),
        }
    }
}
