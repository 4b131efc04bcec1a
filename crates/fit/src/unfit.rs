//! Which measurements show no line, and why.
//!
//! A line shows its rate only while it is full, and its buffer only while it stands full for a
//! time. So a load has a least length and a least amount, and its streams send all the time.

use crate::measurement::{DOWN, FULL, Measurement, UP, averages, quantile};
use sojourn_units::Unit;

/// Shortest load that shows a line, in seconds: slow start is over, and a queue has stood.
const SHORTEST: f64 = 3.0;
/// Fewest bytes that show one, in both directions together: 100 full packets.
const FEWEST: f64 = 100.0 * 1448.0;
/// A second counts as idle that carries less than this share of what a full line does.
const IDLE: f64 = 0.25;
/// More idle seconds than this share are no load that fills a line.
const MOST_IDLE: f64 = 0.5;
/// Base RTTs are several when one is longer than another by this share ...
const APART: f64 = 0.3;
/// ... and by this many ms.
const APART_MS: f64 = 5.0;

/// What a measurement lacks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// Nothing fills the line.
    #[error("has no TCP stream that carries anything: a line shows its rate under load only")]
    NoLoad,
    /// Nothing tells what load adds.
    #[error("has no round-trip times under load")]
    NoRoundTrips,
    /// The load ends too soon, after so many seconds.
    #[error("has a load of {0:.1} s; a line shows from {SHORTEST} s on")]
    Short(f64),
    /// The load is too small, so many bytes.
    #[error(
        "has a load of {}, which fills no line; it takes {} at least",
        Unit::Bytes.show(*.0), Unit::Bytes.show(FEWEST)
    )]
    Small(f64),
    /// The streams pause most of the time, in this direction.
    #[error(
        "has streams that pause: {:.0} % of their seconds {direction} carry less than a quarter of \
         the fullest, so that an application and not the line limits them", .idle * 100.0
    )]
    Pauses {
        /// `up` or `down`.
        direction: &'static str,
        /// Share of the seconds that are idle.
        idle: f64,
    },
    /// The streams go to far ends at different distances.
    #[error("has several base RTTs ({}); a line has one: measure to one server", paths(.0))]
    SeveralPaths(Vec<(String, f64)>),
    /// There is load that no run simulates.
    #[error("has load that is not a TCP stream ({}), which is not simulated", .0.join(", "))]
    OtherLoad(Vec<String>),
}

fn paths(paths: &[(String, f64)]) -> String {
    let each = paths
        .iter()
        .map(|(name, ms)| format!("{name}: {}", Unit::Ms.show(*ms)));
    each.collect::<Vec<_>>().join(", ")
}

impl Measurement {
    /// Whether it shows a line.
    ///
    /// # Errors
    /// What it lacks.
    pub fn shows_line(&self) -> Result<(), Unfit> {
        if !self.other_load.is_empty() {
            return Err(Unfit::OtherLoad(self.other_load.clone()));
        }
        let (start, end) = self.load().ok_or(Unfit::NoLoad)?;
        self.figures()?;
        if end - start < SHORTEST {
            return Err(Unfit::Short(end - start));
        }
        let bytes: f64 = [UP, DOWN].map(|way| self.bytes(way)).iter().sum();
        if bytes < FEWEST {
            return Err(Unfit::Small(bytes.round()));
        }
        let settled = self.settled_throughput().ok_or(Unfit::NoLoad)?;
        for (way, direction) in [(UP, "up"), (DOWN, "down")] {
            let idle = idle(&averages(&settled[way])).filter(|_| self.is_loaded(way));
            if let Some(idle) = idle.filter(|idle| *idle > MOST_IDLE) {
                return Err(Unfit::Pauses { direction, idle });
            }
        }
        let least = self
            .paths
            .iter()
            .map(|(_, ms)| *ms)
            .fold(f64::INFINITY, f64::min);
        let is_apart = |ms: f64| ms > least * (1.0 + APART) && ms > least + APART_MS;
        if self.paths.iter().any(|(_, ms)| is_apart(*ms)) {
            return Err(Unfit::SeveralPaths(self.paths.clone()));
        }
        Ok(())
    }

    /// What a direction's streams carry.
    fn bytes(&self, way: usize) -> f64 {
        let points = &self.throughput[way];
        let every = points
            .windows(2)
            .map(|pair| pair[1].t - pair[0].t)
            .fold(f64::INFINITY, f64::min);
        let rates: f64 = points.iter().map(|point| point.value).sum();
        if self.is_loaded(way) && every.is_finite() {
            rates * every / 8.0
        } else {
            0.0
        }
    }
}

/// The share of the averages, which are sorted, that are far below a full line's.
fn idle(averages: &[f64]) -> Option<f64> {
    if averages.is_empty() {
        return None;
    }
    let full = quantile(averages, FULL);
    let idle = averages.partition_point(|average| *average < full * IDLE);
    Some(idle as f64 / averages.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Stream;
    use sojourn_world::Point;

    /// Five idle seconds, then an upload of so many bit/s at each fifth of a second.
    fn upload(seconds: f64, bps: impl Fn(f64) -> f64) -> Measurement {
        let steps = ((5.0 + seconds) * 5.0) as usize;
        let times = (1..=steps).map(|step| step as f64 / 5.0);
        let point = |t: f64| Point {
            t,
            value: if t > 5.0 { bps(t - 5.0) } else { 0.0 },
        };
        let trips = times.clone().map(|t| Point { t, value: 20.0 });
        Measurement {
            name: "made".into(),
            streams: vec![Stream { way: UP, dscp: 0 }],
            throughput: [times.map(point).collect(), Vec::new()],
            round_trips: trips.collect(),
            ..Measurement::default()
        }
    }

    #[test]
    fn a_load_has_a_least_length_and_a_least_amount() {
        assert_eq!(upload(20.0, |_| 4e6).shows_line(), Ok(()));
        let short = upload(2.0, |_| 4e6).shows_line();
        assert!(matches!(short, Err(Unfit::Short(_))), "{short:?}");
        // 20 s at 50 kbit/s are 125 000 bytes.
        let small = upload(20.0, |_| 5e4).shows_line();
        assert_eq!(small, Err(Unfit::Small(125_000.0)));
        let said = small.unwrap_err().to_string();
        assert!(said.contains("144800"), "{said}");
    }

    #[test]
    fn streams_that_pause_do_not_fill_a_line() {
        // A burst of a second in each five.
        let bursts = upload(30.0, |t| if t % 5.0 < 1.0 { 4e6 } else { 0.0 });
        let said = bursts.shows_line().unwrap_err();
        assert!(
            matches!(
                said,
                Unfit::Pauses {
                    direction: "up",
                    ..
                }
            ),
            "{said}"
        );
        // Half a line's rate now and then is a line that varies.
        let varies = upload(30.0, |t| if t % 5.0 < 1.0 { 4e6 } else { 2e6 });
        assert_eq!(varies.shows_line(), Ok(()));
    }

    #[test]
    fn several_base_rtts_are_named() {
        let mut load = upload(20.0, |_| 4e6);
        load.paths = vec![("ICMP1 near".into(), 9.7), ("ICMP2 far".into(), 49.7)];
        let said = load.shows_line().unwrap_err().to_string();
        assert!(
            said.contains("ICMP1 near: 9.70 ms, ICMP2 far: 49.7 ms"),
            "{said}"
        );
        load.paths[1].1 = 12.0;
        assert_eq!(load.shows_line(), Ok(()));
    }

    #[test]
    fn load_that_is_not_simulated_is_named() {
        let mut load = upload(20.0, |_| 4e6);
        load.other_load = vec!["UDP upload".into()];
        let said = load.shows_line().unwrap_err().to_string();
        assert!(said.contains("(UDP upload)"), "{said}");
    }
}
