//! Round-trip times from irtt's JSON (`irtt client -o FILE`), which stand beside a load that
//! another tool made and measured.
//!
//! Source: irtt 0.9 (its manual, "JSON format"): times in nanoseconds.

use crate::measurement::Measurement;
use serde::Deserialize;
use sojourn_world::Point;

/// Most nanoseconds that a round trip takes: a minute.
const MOST: f64 = 60e9;

/// Round-trip times, by seconds since 1970.
#[derive(Debug, PartialEq)]
pub(crate) struct Probes {
    /// The file's name, for people.
    pub(crate) name: String,
    trips: Vec<Point>,
}

#[derive(Deserialize)]
struct Document {
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct RoundTrip {
    timestamps: Timestamps,
    #[serde(default)]
    delay: Delay,
}

#[derive(Deserialize)]
struct Timestamps {
    client: Client,
}

#[derive(Deserialize)]
struct Client {
    send: Instant,
}

#[derive(Deserialize)]
struct Instant {
    wall: f64,
}

/// Empty of a lost packet.
#[derive(Default, Deserialize)]
struct Delay {
    rtt: Option<f64>,
}

/// Reads a file.
pub(crate) fn read(name: &str, text: &[u8]) -> Result<Probes, serde_json::Error> {
    let document: Document = serde_json::from_slice(text)?;
    let trip = |trip: &RoundTrip| {
        let rtt = trip.delay.rtt.filter(|rtt| (0.0..=MOST).contains(rtt))?;
        Some(Point {
            t: trip.timestamps.client.send.wall / 1e9,
            value: rtt / 1e6,
        })
    };
    Ok(Probes {
        name: name.to_owned(),
        trips: document.round_trips.iter().filter_map(trip).collect(),
    })
}

impl Probes {
    /// Gives its round-trip times to a load that began at `began` and ran at the same time. Says
    /// whether it did.
    pub(crate) fn join(&self, load: &mut Measurement, began: f64) -> bool {
        let relative: Vec<Point> = self
            .trips
            .iter()
            .map(|point| Point {
                t: point.t - began,
                ..*point
            })
            .collect();
        let Some((from, to)) = load.settled() else {
            return false;
        };
        if !relative.iter().any(|point| point.t > from && point.t <= to) {
            return false;
        }
        load.round_trips = relative;
        load.least_round_trip = None;
        load.doubts.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Stream, UP};
    use serde_json::json;

    #[test]
    fn round_trips_stand_beside_a_load_of_the_same_time() {
        let trip = |second: u64, delay| {
            let at = json!({ "wall": (1_700_000_000 + second) * 1_000_000_000 });
            json!({ "timestamps": { "client": { "send": at } }, "delay": delay })
        };
        let file = json!({ "round_trips": [
            trip(1, json!({ "rtt": 20_000_000 })), trip(2, json!({})),
            trip(14, json!({ "rtt": 80_500_000 })),
        ] });
        let probes = read("p", file.to_string().as_bytes()).unwrap();
        let at = |t: f64| Point { t, value: 1e6 };
        let mut load = Measurement {
            name: "a".into(),
            streams: vec![Stream { way: UP, dscp: 0 }],
            throughput: [(1..=10).map(|t| at(f64::from(t))).collect(), Vec::new()],
            doubts: vec!["its base is not known".into()],
            ..Measurement::default()
        };
        // The test began at 5 s, so that one round trip is before it and one within.
        assert!(!probes.join(&mut load.clone(), 1_700_000_100.0));
        assert!(probes.join(&mut load, 1_700_000_005.0));
        let trips: Vec<_> = load.round_trips.iter().map(|p| (p.t, p.value)).collect();
        assert_eq!(trips, [(-4.0, 20.0), (9.0, 80.5)]);
        assert!(load.doubts.is_empty());
    }
}
