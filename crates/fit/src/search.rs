//! The search for the line with which the simulator gives what was measured.

use crate::grade::fitted;
use crate::line::{LEAST_BUFFER, Line, Queue};
use crate::measurement::{DOWN, Figures, Measurement, UP};
use crate::unfit::Unfit;
use sojourn_scenario::{Options, Problems, Scenario, Watch, run};
use sojourn_world::{World, WorldError};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Most rounds with one kind of queue.
const ROUNDS: usize = 10;
/// Most rounds.
pub const MOST_ROUNDS: usize = 2 * ROUNDS;
/// Seeds whose figures are averaged.
const SEEDS: u64 = 3;
/// Every figure is this close when the search ends early.
const CLOSE: f64 = 0.01;
/// A FIFO that is further away than this may not be one.
const UNFIT: f64 = 0.05;
/// Most that a round changes a rate or a buffer by, as a factor.
const STEP: f64 = 3.0;
/// Share of a frame that is payload, at first.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// Delays below this are as good as none, in ms: a fit to less is one to noise.
const SLIGHT_MS: f64 = 1.0;

/// The line, and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The line.
    pub line: Line,
    /// The figures of each measurement.
    pub measured: Vec<Figures>,
    /// The same simulated on the line, means over the seeds.
    pub simulated: Vec<Figures>,
    /// What makes the measurements uncertain, a sentence each, with its file.
    pub doubts: Vec<String>,
}

/// Why no line was found.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// No line shows in a measurement; its name, and what it lacks.
    #[error("{0}: {1}")]
    Unfit(String, Unfit),
    /// There is no measurement.
    #[error("there is no measurement")]
    Nothing,
    /// The scenario of the line is refused: a congestion control that is not known, for example.
    #[error("{0}")]
    Refused(Problems),
    /// It could not be simulated.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// Looks for the line of several measurements, all made on it. `world` simulates, `jobs` runs at a
/// time; `watch` is told which round has begun, of up to [`MOST_ROUNDS`].
///
/// A direction's buffer is told by the measurements that load it alone; by one that loads both, if
/// there is no other, which cannot say how the delay is shared out: both buffers then take the
/// same time to empty.
///
/// # Errors
/// When a measurement shows no line, or the simulation fails or is stopped.
pub fn fit(
    measurements: &[Measurement],
    world: &(dyn World + Sync),
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    watch: &dyn Fn(usize),
) -> Result<Fit, FitError> {
    let mut measured = Vec::new();
    for measurement in measurements {
        let unfit = |why| FitError::Unfit(measurement.name.clone(), why);
        let figures = measurement
            .shows_line()
            .and_then(|()| measurement.figures());
        measured.push(figures.map_err(unfit)?);
    }
    let tellers = [UP, DOWN].map(|way| teller(measurements, way));
    let first = first(&measured, &tellers).ok_or(FitError::Nothing)?;
    let search = Search {
        measurements,
        measured,
        tellers,
        world,
        jobs,
        stop,
    };
    let (far, fifo) = search.from(first, &|round| watch(round))?;
    if far < UNFIT {
        return Ok(fifo);
    }
    let queue = Queue::FlowQueue;
    let (other, flow_queue) =
        search.from(Line { queue, ..first }, &|round| watch(ROUNDS + round))?;
    Ok(if other < far { flow_queue } else { fifo })
}

/// What a search is made of.
struct Search<'a> {
    measurements: &'a [Measurement],
    measured: Vec<Figures>,
    /// By direction, see [`teller`].
    tellers: [Vec<usize>; 2],
    world: &'a (dyn World + Sync),
    jobs: NonZeroUsize,
    stop: &'a AtomicBool,
}

impl Search<'_> {
    /// The best line on the way from this one, with how far it is from what was measured.
    fn from(&self, mut line: Line, watch: &dyn Fn(usize)) -> Result<(f64, Fit), FitError> {
        let mut best: Option<(f64, Fit)> = None;
        for round in 0..ROUNDS {
            watch(round);
            let mut simulated = Vec::new();
            for (measurement, measured) in self.measurements.iter().zip(&self.measured) {
                simulated.push(mean(&self.simulate(&line, measurement)?, measured));
            }
            let far = distance(&self.measured, &simulated);
            if best.as_ref().is_none_or(|(least, _)| far < *least) {
                let fit = Fit {
                    line,
                    measured: self.measured.clone(),
                    simulated: simulated.clone(),
                    doubts: self.doubts(),
                };
                best = Some((far, fit));
            }
            if far < CLOSE {
                break;
            }
            line = moved(line, &self.measured, &simulated, &self.tellers);
        }
        best.ok_or(FitError::Nothing)
    }

    fn doubts(&self) -> Vec<String> {
        let each = self.measurements.iter().flat_map(|measurement| {
            let doubts = measurement.doubts.iter();
            doubts.map(|doubt| format!("{}: {doubt}", measurement.name))
        });
        each.collect()
    }

    fn simulate(&self, line: &Line, measurement: &Measurement) -> Result<Vec<Figures>, FitError> {
        let options = Options {
            seeds: Some(SEEDS),
            ..Options::default()
        };
        let text = line.scenario(measurement);
        let scenario = Scenario::parse("the line's scenario", &text, Path::new(""), &options)
            .map_err(FitError::Refused)?;
        let watch: &dyn Watch = &();
        let mut all = Vec::new();
        for outcome in run(self.world, &scenario.cells, self.jobs, self.stop, watch) {
            let figures = Measurement::of_run(&outcome?, measurement).figures();
            all.push(figures.map_err(|why| FitError::Unfit(measurement.name.clone(), why))?);
        }
        Ok(all)
    }
}

/// The measurements that tell a direction's rate and buffer: those that load it alone, or else all
/// that load it.
fn teller(measurements: &[Measurement], way: usize) -> Vec<usize> {
    let loads = |index: &usize, way: usize| measurements[*index].is_loaded(way);
    let all: Vec<usize> = (0..measurements.len())
        .filter(|index| loads(index, way))
        .collect();
    let alone: Vec<usize> = (all.iter().copied())
        .filter(|index| !loads(index, 1 - way))
        .collect();
    if alone.is_empty() { all } else { alone }
}

/// Where the search begins.
fn first(measured: &[Figures], tellers: &[Vec<usize>; 2]) -> Option<Line> {
    let rtt_ms = measured
        .iter()
        .map(|figures| figures.idle_ms)
        .reduce(f64::min)?;
    let rate = [UP, DOWN].map(|way| {
        let rates = tellers[way]
            .iter()
            .filter_map(|&index| measured[index].telling(way));
        rates.reduce(f64::max).map(|rate| rate / PAYLOAD)
    });
    let buffer = [UP, DOWN].map(|way| {
        let added = tellers[way]
            .iter()
            .map(|&index| {
                let ways = measured[index].throughput.iter().flatten().count();
                measured[index].added_p95_ms / ways as f64
            })
            .fold(0.0, f64::max);
        (added * rate[way].unwrap_or(0.0) / 8e3).max(LEAST_BUFFER)
    });
    let line = Line {
        queue: Queue::Fifo,
        rtt_ms,
        rate,
        buffer,
    };
    Some(line.rounded())
}

/// Means over runs; of throughput where it was measured too.
fn mean(runs: &[Figures], measured: &Figures) -> Figures {
    let mean = |of: &dyn Fn(&Figures) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let both = |of: &dyn Fn(&Figures) -> [Option<f64>; 2]| {
        let of = |way: usize| of(measured)[way].map(|_| mean(&|run| of(run)[way].unwrap_or(0.0)));
        [UP, DOWN].map(of)
    };
    Figures {
        idle_ms: mean(&|run| run.idle_ms),
        throughput: both(&|run| run.throughput),
        full: both(&|run| run.full),
        added_p50_ms: mean(&|run| run.added_p50_ms),
        added_p95_ms: mean(&|run| run.added_p95_ms),
    }
}

/// The largest relative difference of what is fitted.
fn distance(measured: &[Figures], simulated: &[Figures]) -> f64 {
    let pairs = measured.iter().zip(simulated);
    let of = |(measured, simulated)| fitted(measured, simulated);
    pairs.map(of).fold(0.0, f64::max)
}

/// How much the larger of two is above the smaller, as a share.
pub(crate) fn apart(a: f64, b: f64) -> f64 {
    (a / b).max(b / a) - 1.0
}

/// The same of delays in ms: slight ones are alike.
pub(crate) fn delays_apart(a: f64, b: f64) -> f64 {
    apart(a + SLIGHT_MS, b + SLIGHT_MS)
}

/// The line with each part moved by what it lacks.
fn moved(
    line: Line,
    measured: &[Figures],
    simulated: &[Figures],
    tellers: &[Vec<usize>; 2],
) -> Line {
    let pairs = || measured.iter().zip(simulated);
    let idle = pairs().map(|(measured, simulated)| measured.idle_ms - simulated.idle_ms);
    let step = |ratio: f64| {
        if ratio.is_finite() {
            ratio.clamp(1.0 / STEP, STEP)
        } else {
            1.0
        }
    };
    // The mean over those that tell.
    let over = |way: usize, ratio: &dyn Fn(&Figures, &Figures) -> f64| {
        let tellers = &tellers[way];
        let ratios = tellers
            .iter()
            .map(|&index| step(ratio(&measured[index], &simulated[index])));
        ratios.sum::<f64>() / tellers.len() as f64
    };
    let rate = [UP, DOWN].map(|way| {
        let ratio = |measured: &Figures, simulated: &Figures| {
            let rates = measured.telling(way).zip(simulated.telling(way));
            rates.map_or(1.0, |(measured, simulated)| measured / simulated)
        };
        line.rate[way].map(|rate| rate * over(way, &ratio))
    });
    let buffer = [UP, DOWN].map(|way| {
        let ratio = |measured: &Figures, simulated: &Figures| {
            (measured.added_p95_ms + SLIGHT_MS) / (simulated.added_p95_ms + SLIGHT_MS)
        };
        match line.rate[way] {
            Some(_) => (line.buffer[way] * over(way, &ratio)).max(LEAST_BUFFER),
            None => line.buffer[way],
        }
    });
    let idle = idle.sum::<f64>() / measured.len() as f64;
    let line = Line {
        queue: line.queue,
        rtt_ms: (line.rtt_ms + idle).max(0.001),
        rate,
        buffer,
    };
    line.rounded()
}
