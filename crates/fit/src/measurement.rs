//! What was measured, and the figures that are taken of it.

use crate::unfit::Unfit;
use sojourn_world::{Point, RunResult, Series};

/// From the client, in arrays of both directions.
pub const UP: usize = 0;
/// To the client.
pub const DOWN: usize = 1;

/// Share of the time under load that passes before the figures begin: slow start is over.
const SETTLES: f64 = 0.3;
/// Seconds before the load whose round trips count as idle no more: its start is not known to the
/// point.
const APART: f64 = 0.5;
/// Seconds over which throughput is averaged to say how much a full line passes: longer than a
/// receiver waits for a hole that is being repaired.
const WINDOW: f64 = 1.0;
/// Share of such averages that are below what a full line passes.
pub(crate) const FULL: f64 = 0.9;
/// Fewest idle round trips of which the base RTT is taken.
pub(crate) const IDLE: usize = 3;

/// Load on a line and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Where it comes from, for people.
    pub name: String,
    /// The TCP streams of the load.
    pub streams: Vec<Stream>,
    /// Bits per second of all streams, by direction, at even times.
    pub throughput: [Vec<Point>; 2],
    /// Whether throughput counts packets with their headers, or payload.
    pub counts_headers: bool,
    /// Round-trip times in ms.
    pub round_trips: Vec<Point>,
    /// The least round-trip time in ms, where `round_trips` are means over more than one.
    pub least_round_trip: Option<f64>,
    /// Congestion control of the streams, where it is known.
    pub congestion_control: Option<String>,
    /// Far ends with the base RTT of each in ms, where several were seen.
    pub paths: Vec<(String, f64)>,
    /// Load beside the streams, which no run simulates.
    pub other_load: Vec<String>,
    /// What makes its figures uncertain, a sentence each.
    pub doubts: Vec<String>,
}

/// A TCP stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// [`UP`] or [`DOWN`].
    pub way: usize,
    /// Its class.
    pub dscp: u8,
}

/// The few numbers that a line is known by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Round-trip time without load, in ms: the lower decile of what was measured before the load;
    /// the least of all when that is not there.
    pub idle_ms: f64,
    /// Mean throughput under load by direction, in bit/s; none where nothing was sent.
    pub throughput: [Option<f64>; 2],
    /// Throughput of the line when it is full, in bit/s: the upper decile of the averages over a
    /// second.
    pub full: [Option<f64>; 2],
    /// What load adds to the round trip, in ms: the median.
    pub added_p50_ms: f64,
    /// The 95th percentile of it.
    pub added_p95_ms: f64,
}

impl Figures {
    /// What is told of a direction's rate. Alone it is the mean. Beside load the other way, whose
    /// queue holds back ACKs, a line is not always full, so that the mean depends on the buffers:
    /// then it is the full line's.
    pub(crate) fn telling(&self, way: usize) -> Option<f64> {
        match self.throughput[1 - way] {
            None => self.throughput[way],
            Some(_) => self.full[way],
        }
    }
}

impl Stream {
    /// Its direction, as in a dumbbell.
    pub(crate) fn direction(self) -> &'static str {
        ["up", "down"][self.way]
    }

    /// The flow that it is in the line's scenario, with the others of its kind.
    pub(crate) fn flow(self) -> String {
        format!("{}-{}", self.direction(), self.dscp)
    }
}

impl Measurement {
    /// Each kind of stream once, in the order of the line's scenario.
    pub(crate) fn kinds(&self) -> Vec<Stream> {
        let mut kinds = self.streams.clone();
        kinds.sort_by_key(|stream| (stream.way, stream.dscp));
        kinds.dedup();
        kinds
    }

    /// How many streams are of a kind.
    pub(crate) fn count(&self, kind: Stream) -> usize {
        self.streams
            .iter()
            .filter(|stream| **stream == kind)
            .count()
    }

    /// When the load begins and ends, in seconds.
    pub(crate) fn load(&self) -> Option<(f64, f64)> {
        let points = self.throughput.iter().flatten();
        let loaded = points
            .filter(|point| point.value > 0.0)
            .map(|point| point.t);
        let (start, end) = loaded.fold((f64::INFINITY, 0.0_f64), |(start, end), t| {
            (start.min(t), end.max(t))
        });
        (start < end).then_some((start, end))
    }

    /// Until when round trips are those of an idle line, in seconds.
    pub(crate) fn before_load(&self) -> Option<f64> {
        Some(self.load()?.0 - APART)
    }

    /// What each direction carries in the time of the figures.
    pub(crate) fn settled_throughput(&self) -> Option<[Vec<Point>; 2]> {
        let (from, to) = self.settled()?;
        let is_settled = |point: &&Point| point.t > from && point.t <= to;
        let throughput = self.throughput.each_ref();
        Some(throughput.map(|points| points.iter().filter(is_settled).copied().collect()))
    }

    /// From when to when figures are taken, in seconds.
    pub(crate) fn settled(&self) -> Option<(f64, f64)> {
        let (start, end) = self.load()?;
        Some((start + SETTLES * (end - start), end))
    }

    /// Whether a direction carries streams.
    pub(crate) fn is_loaded(&self, way: usize) -> bool {
        self.streams.iter().any(|stream| stream.way == way)
    }

    /// The figures.
    ///
    /// # Errors
    /// When there is no load, or no round trip while there is.
    pub fn figures(&self) -> Result<Figures, Unfit> {
        let before = self.before_load().ok_or(Unfit::NoLoad)?;
        let (from, to) = self.settled().ok_or(Unfit::NoLoad)?;
        let is_settled = |point: &&Point| point.t > from && point.t <= to;
        let settled = self.settled_throughput().ok_or(Unfit::NoLoad)?;
        let throughput = [UP, DOWN].map(|way| {
            let mean = average(&settled[way]);
            (self.is_loaded(way) && mean > 0.0).then_some(mean)
        });
        let full = [UP, DOWN].map(|way| throughput[way].map(|mean| full(&settled[way], mean)));
        if throughput == [None; 2] {
            return Err(Unfit::NoLoad);
        }
        let there = |point: &&Point| point.value.is_finite();
        let trips = || self.round_trips.iter().filter(there);
        let idle = sorted(trips().filter(|point| point.t < before));
        let idle_ms = if idle.len() < IDLE {
            let least = sorted(trips()).first().copied();
            (self.least_round_trip.or(least)).ok_or(Unfit::NoRoundTrips)?
        } else {
            quantile(&idle, 0.1)
        };
        let loaded = sorted(trips().filter(is_settled));
        if loaded.is_empty() {
            return Err(Unfit::NoRoundTrips);
        }
        let added = |q| (quantile(&loaded, q) - idle_ms).max(0.0);
        Ok(Figures {
            idle_ms,
            throughput,
            full,
            added_p50_ms: added(0.5),
            added_p95_ms: added(0.95),
        })
    }

    /// The same of a simulated run of [`Line::scenario`](crate::Line::scenario), measured as
    /// `like` was.
    pub fn of_run(run: &RunResult, like: &Self) -> Self {
        let flows = |prefix: &str, metric: &str| -> Vec<&[Point]> {
            let flows = run
                .flows
                .iter()
                .filter(|(name, _)| name.starts_with(prefix));
            flows
                .filter_map(|(_, flow)| points(&flow.series, metric))
                .collect()
        };
        let links = |name: &str| -> Vec<&[Point]> {
            let link = run.links.iter().filter(|(link, _)| link == name);
            link.filter_map(|(_, link)| points(&link.series, "throughput"))
                .collect()
        };
        let throughput = ["up", "down"].map(|way| {
            if like.counts_headers {
                sum(&links(way))
            } else {
                sum(&flows(&format!("{way}-"), "goodput"))
            }
        });
        Self {
            name: like.name.clone(),
            streams: like.streams.clone(),
            throughput,
            counts_headers: like.counts_headers,
            round_trips: flows("ping", "rtt").concat(),
            congestion_control: like.congestion_control.clone(),
            ..Self::default()
        }
    }
}

fn points<'a>(series: &'a [Series], metric: &str) -> Option<&'a [Point]> {
    let series = series.iter().find(|series| series.metric == metric)?;
    Some(&series.points)
}

/// Point by point; a gap, which is there before and after a stream only, counts as nothing.
pub(crate) fn sum(series: &[&[Point]]) -> Vec<Point> {
    let mut total: Vec<Point> = Vec::new();
    for points in series {
        for (index, point) in points.iter().enumerate() {
            let value = if point.value.is_finite() {
                point.value
            } else {
                0.0
            };
            match total.get_mut(index) {
                Some(so_far) => so_far.value += value,
                None => total.push(Point { t: point.t, value }),
            }
        }
    }
    total
}

fn average(points: &[Point]) -> f64 {
    points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64
}

/// What a full line passes, see [`Figures::full`]; the mean, where all lasted less than a second.
fn full(points: &[Point], mean: f64) -> f64 {
    let averages = averages(points);
    if averages.is_empty() {
        mean
    } else {
        quantile(&averages, FULL)
    }
}

/// The averages over each second, sorted.
pub(crate) fn averages(points: &[Point]) -> Vec<f64> {
    let every = points
        .windows(2)
        .map(|pair| pair[1].t - pair[0].t)
        .fold(f64::INFINITY, f64::min);
    let each = points.windows((WINDOW / every).round().max(1.0) as usize);
    let mut averages: Vec<f64> = each.map(average).collect();
    averages.sort_by(f64::total_cmp);
    averages
}

pub(crate) fn sorted<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<f64> {
    let mut values: Vec<f64> = points.map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The smallest of the values, which are sorted, that at least so many are at or below.
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let rank = (q * values.len() as f64).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten idle seconds, then twenty with `up` bit/s; a round trip each second.
    fn measured(up: f64, trip: impl Fn(f64) -> f64) -> Measurement {
        let at = |t: usize| t as f64;
        let throughput = |t: f64| if t > 10.0 { up } else { 0.0 };
        let series = |value: &dyn Fn(f64) -> f64| {
            let times = (1..=30).map(at);
            times
                .map(|t| Point { t, value: value(t) })
                .collect::<Vec<_>>()
        };
        Measurement {
            name: "made".into(),
            streams: vec![Stream { way: UP, dscp: 0 }],
            throughput: [series(&throughput), Vec::new()],
            round_trips: series(&trip),
            ..Measurement::default()
        }
    }

    #[test]
    fn figures_are_those_of_the_settled_load() {
        // Settled is from 11 + 0.3 * 19 = 16.7 s on: 17 to 30 s, fourteen points.
        let load = measured(9e6, |t| if t > 10.0 { 20.0 + t } else { 20.0 });
        let figures = Figures {
            idle_ms: 20.0,
            throughput: [Some(9e6), None],
            full: [Some(9e6), None],
            added_p50_ms: 23.0,
            added_p95_ms: 30.0,
        };
        assert_eq!(load.figures(), Ok(figures));
    }

    #[test]
    fn a_full_line_shows_in_its_best_seconds() {
        let mut load = measured(9e6, |_| 20.0);
        // Half of the settled seconds are slower.
        for point in &mut load.throughput[UP] {
            point.value -= if point.t > 23.0 { 4e6 } else { 0.0 };
        }
        let figures = load.figures().unwrap();
        assert_eq!(figures.throughput[UP], Some(7e6));
        assert_eq!(figures.full[UP], Some(9e6));
    }

    #[test]
    fn without_an_idle_time_the_least_round_trip_is_the_base() {
        let mut load = measured(9e6, |t| 20.0 + t);
        load.round_trips.retain(|point| point.t > 10.0);
        let figures = load.figures().unwrap();
        assert!((figures.idle_ms - 31.0).abs() < 1e-9, "{figures:?}");
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(measured(0.0, |_| 1.0).figures(), Err(Unfit::NoLoad));
        let silent = measured(9e6, |_| f64::NAN);
        assert_eq!(silent.figures(), Err(Unfit::NoRoundTrips));
    }
}
