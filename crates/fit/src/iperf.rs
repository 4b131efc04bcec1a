//! Measurements from iperf3's JSON (`iperf3 --json`), of TCP tests.
//!
//! Source: iperf3 3.x. Throughput is that of each interval, round-trip times are those of the
//! sending socket (`TCP_INFO`, smoothed), which only the file of the side that sends has. An
//! `irtt` file of the same time tells them better.

use crate::measurement::{DOWN, Measurement, Stream, UP, sum};
use crate::series::held;
use serde::Deserialize;
use sojourn_world::Point;
use std::collections::BTreeMap;

/// Most bit/s and µs that can be.
const MOST: f64 = 1e13;

/// Why an iperf3 file shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum IperfError {
    /// It is JSON, but lacks what iperf3 writes.
    #[error("is not iperf3's JSON: {0}")]
    NotIperf(#[from] serde_json::Error),
    /// The test failed; iperf3's words.
    #[error("is of an iperf3 test that failed: {0}")]
    Failed(String),
    /// It is a UDP or SCTP test.
    #[error("is of an iperf3 test over {0}; a line shows under TCP streams")]
    NotTcp(String),
}

#[derive(Deserialize)]
struct Document {
    start: Start,
    #[serde(default)]
    intervals: Vec<Interval>,
    #[serde(default)]
    end: End,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(rename = "test_start")]
    test: Option<TestStart>,
    timestamp: Option<Timestamp>,
    /// A client's file has it, a server's has not.
    connecting_to: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct TestStart {
    protocol: String,
    #[serde(default)]
    reverse: u8,
    #[serde(default)]
    bidir: u8,
}

#[derive(Deserialize)]
struct Timestamp {
    timesecs: f64,
}

#[derive(Deserialize)]
struct Interval {
    #[serde(default)]
    streams: Vec<Part>,
}

/// A stream in an interval.
#[derive(Deserialize)]
struct Part {
    socket: i64,
    end: f64,
    bits_per_second: f64,
    rtt: Option<f64>,
    #[serde(default)]
    omitted: bool,
    sender: Option<bool>,
}

#[derive(Default, Deserialize)]
struct End {
    #[serde(default)]
    streams: Vec<Ended>,
    sender_tcp_congestion: Option<String>,
}

#[derive(Deserialize)]
struct Ended {
    receiver: Option<Total>,
}

#[derive(Deserialize)]
struct Total {
    socket: i64,
    bits_per_second: f64,
}

/// Streams by their sockets: direction and throughput.
type Streams = BTreeMap<i64, (usize, Vec<Point>)>;

fn is_sane(value: f64) -> bool {
    (0.0..=MOST).contains(&value)
}

/// A test with the seconds since 1970 at which it began.
pub(crate) fn read(name: &str, text: &[u8]) -> Result<(Measurement, Option<f64>), IperfError> {
    let document: Document = serde_json::from_slice(text)?;
    if let Some(error) = document.error {
        return Err(IperfError::Failed(error));
    }
    let test = document.start.test.as_ref();
    if let Some(test) = test.filter(|test| test.protocol != "TCP") {
        return Err(IperfError::NotTcp(test.protocol.clone()));
    }
    let (mut streams, round_trips) = series(&document);
    // A sender counts what it has written, of which much may be in its buffer yet.
    let totals: BTreeMap<i64, f64> = document
        .end
        .streams
        .iter()
        .filter_map(|ended| ended.receiver.as_ref())
        .map(|total| (total.socket, total.bits_per_second))
        .filter(|(_, total)| is_sane(*total))
        .collect();
    for (socket, (_, points)) in &mut streams {
        let values = points.iter().map(|point| Some(point.value)).collect();
        let (values, _) = held(values, totals.get(socket).copied());
        for (point, value) in points.iter_mut().zip(values.into_iter().flatten()) {
            point.value = value;
        }
    }
    let throughput = [UP, DOWN].map(|wanted| {
        let streams = streams.values().filter(|(way, _)| *way == wanted);
        sum(&streams
            .map(|(_, points)| points.as_slice())
            .collect::<Vec<_>>())
    });
    let ways = streams.values().map(|&(way, _)| way);
    let measurement = Measurement {
        name: name.to_owned(),
        streams: ways.map(|way| Stream { way, dscp: 0 }).collect(),
        throughput,
        round_trips,
        congestion_control: document.end.sender_tcp_congestion,
        doubts: vec![
            "iperf3 has no round trip before its load, so that the least one under load stands \
             for the base RTT; an `irtt` file of the same time beside it would tell"
                .to_owned(),
        ],
        ..Measurement::default()
    };
    Ok((measurement, document.start.timestamp.map(|at| at.timesecs)))
}

/// Throughput of each stream, and the mean round trip of all at each time.
fn series(document: &Document) -> (Streams, Vec<Point>) {
    let is_client = document.start.connecting_to.is_some();
    let test = document.start.test.as_ref();
    let is_reverse = test.is_some_and(|test| test.reverse != 0 && test.bidir == 0);
    // Whoever sends, its data go up where the client sends.
    let way_of = |part: &Part| match part.sender {
        Some(sends) if sends == is_client => UP,
        Some(_) => DOWN,
        None if is_reverse => DOWN,
        None => UP,
    };
    let (mut streams, mut trips) = (Streams::new(), Vec::new());
    for interval in &document.intervals {
        let mut of_interval = Vec::new();
        let parts = interval.streams.iter().filter(|part| !part.omitted);
        for part in parts.filter(|part| is_sane(part.bits_per_second) && is_sane(part.end)) {
            let stream = streams.entry(part.socket);
            let (_, points) = stream.or_insert_with(|| (way_of(part), Vec::new()));
            let (t, value) = (part.end, part.bits_per_second);
            points.push(Point { t, value });
            let rtt = part.rtt.filter(|rtt| *rtt > 0.0 && is_sane(*rtt));
            of_interval.extend(rtt.map(|rtt| (part.end, rtt / 1e3)));
        }
        if let Some(&(t, _)) = of_interval.first() {
            let sum: f64 = of_interval.iter().map(|(_, rtt)| rtt).sum();
            let value = sum / of_interval.len() as f64;
            trips.push(Point { t, value });
        }
    }
    (streams, trips)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A client's file with two streams of 2 Mbit/s over `seconds`, the first second omitted.
    fn file(change: fn(&mut Value)) -> Vec<u8> {
        let part = |socket: i64, second: u32, omitted: bool| {
            json!({
                "socket": socket, "start": second, "end": f64::from(second) + 1.0,
                "bits_per_second": 2.2e6, "rtt": 50_000, "omitted": omitted, "sender": true,
            })
        };
        let interval = |second: u32, omitted| json!({ "streams": [part(5, second, omitted), part(7, second, omitted)] });
        let mut intervals = vec![interval(0, true)];
        intervals.extend((0..10).map(|second| interval(second, false)));
        let total = |socket| json!({ "receiver": { "socket": socket, "bits_per_second": 2e6 } });
        let mut file = json!({
            "start": {
                "connecting_to": { "host": "192.0.2.1", "port": 5201 },
                "timestamp": { "time": "", "timesecs": 1_700_000_000 },
                "test_start": { "protocol": "TCP", "num_streams": 2, "reverse": 0 },
            },
            "intervals": intervals,
            "end": { "streams": [total(5), total(7)], "sender_tcp_congestion": "reno" },
        });
        change(&mut file);
        file.to_string().into_bytes()
    }

    #[test]
    fn intervals_are_held_to_what_was_received() {
        let (load, began) = read("a", &file(|_| {})).unwrap();
        assert_eq!(began, Some(1.7e9));
        assert_eq!(load.streams, [Stream { way: UP, dscp: 0 }; 2]);
        assert_eq!(load.throughput[UP].len(), 10);
        let rates = load.throughput[UP].iter().map(|point| point.value);
        assert!(
            rates.clone().all(|rate| (rate - 4e6).abs() < 1.0),
            "{load:?}"
        );
        assert!(load.throughput[DOWN].is_empty());
        assert_eq!(
            load.round_trips[0],
            Point {
                t: 1.0,
                value: 50.0
            }
        );
        assert_eq!(load.congestion_control.as_deref(), Some("reno"));
    }

    #[test]
    fn who_sends_says_the_direction() {
        let way = |change| read("a", &file(change)).unwrap().0.streams[0].way;
        assert_eq!(way(|_| {}), UP);
        assert_eq!(
            way(|file| drop(file["start"]["connecting_to"].take())),
            DOWN
        );
        let reverse = |file: &mut Value| {
            file["start"]["test_start"]["reverse"] = json!(1);
            for interval in file["intervals"].as_array_mut().unwrap() {
                for part in interval["streams"].as_array_mut().unwrap() {
                    part["sender"] = json!(false);
                }
            }
        };
        assert_eq!(way(reverse), DOWN);
    }

    #[test]
    fn tests_that_show_no_line_are_named() {
        let said = |change| read("a", &file(change)).unwrap_err().to_string();
        let udp = |file: &mut Value| file["start"]["test_start"]["protocol"] = json!("UDP");
        assert!(said(udp).contains("over UDP"));
        let failed = |file: &mut Value| file["error"] = json!("unable to connect");
        assert!(said(failed).contains("failed: unable to connect"));
        let other = |file: &mut Value| *file = json!({ "start": 1 });
        assert!(said(other).contains("is not iperf3's JSON"));
    }
}
