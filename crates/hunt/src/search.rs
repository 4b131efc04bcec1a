//! The search: which points are looked at.
//!
//! It goes by batches, whose points follow from what came of all batches before. So the number of
//! threads makes no difference.

use crate::point::Point;
use crate::states::States;
use crate::trial::{Broken, Came, Trial};
use sojourn_random::Stream;
use sojourn_scenario::{Problems, Scenario, Space};
use sojourn_study::Property;
use sojourn_world::{World, WorldError};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

/// Points of a batch.
const BATCH: usize = 32;
/// So many of the nearest points are gone on from.
const NEAREST: usize = 16;
/// So many of those with new states, the latest ones.
const NOVEL: usize = 400;
/// Attempts at a point that has not been looked at.
const ATTEMPTS: usize = 20;
/// Seeds that a finding is tried with besides its own.
const AGAIN: u64 = 10;

/// What to look for, and where.
pub struct Hunt<'a> {
    /// The scenarios.
    pub space: &'a Space,
    /// What holds in all of them, as is thought.
    pub property: &'a Property,
    /// Where they run.
    pub world: &'a (dyn World + Sync),
    /// Seeds of each scenario, from the point's own on.
    pub seeds: u64,
    /// The seed of the search itself.
    pub seed: u64,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Once set, no run is begun any more.
    pub stop: &'a AtomicBool,
}

/// How far a hunt is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Runs so far.
    pub runs: usize,
    /// Points that are no scenario, as their values do not go together.
    pub unfit: usize,
    /// Points whose runs have no result.
    pub refused: usize,
    /// Points in which a check had a value.
    pub tested: usize,
    /// The least distance to breaking, as a share of what is compared; infinite without any.
    pub nearest: f64,
    /// States that queues and flows came into.
    pub states: usize,
}

/// The smallest scenario that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The point.
    pub point: Point,
    /// Its file.
    pub text: String,
    /// How the property breaks in it.
    pub broken: Broken,
    /// Runs that it took to make it smaller.
    pub shrinking: usize,
    /// With how many of the seeds after its own it breaks too, and how many these are.
    pub again: [usize; 2],
}

/// Why there was nothing to search.
#[derive(Debug, thiserror::Error)]
pub enum Unsearched {
    /// Neither end of the space is a scenario.
    #[error(transparent)]
    Unfit(#[from] Problems),
    /// The world has run no scenario of the first batch.
    #[error(transparent)]
    Refused(#[from] WorldError),
}

/// What is known of the space so far.
#[derive(Default)]
struct Known {
    /// Points looked at.
    seen: BTreeSet<String>,
    states: States,
    /// The points nearest to breaking, the nearest first.
    nearest: Vec<(f64, Point)>,
    /// Points that brought new states.
    novel: Vec<Point>,
}

impl Hunt<'_> {
    /// Searches as long as `go_on` says so, which is asked after each batch. None: nothing found.
    ///
    /// # Errors
    /// When there is nothing to search.
    pub fn search(
        &self,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<Found>, Unsearched> {
        let mut dice = Stream::named(self.seed, "hunt");
        let mut known = Known::default();
        let mut progress = Progress {
            nearest: f64::INFINITY,
            ..Progress::default()
        };
        let mut batch = vec![Point::end(self.space, false), Point::end(self.space, true)];
        loop {
            while batch.len() < BATCH {
                batch.push(known.next(self.space, &mut dice));
            }
            let is_first = progress.runs == 0;
            let trials = self.trials(std::mem::take(&mut batch));
            let deepest = trials
                .iter()
                .filter(|trial| trial.broken().is_some())
                .min_by(|a, b| a.margin().total_cmp(&b.margin()));
            if let Some(trial) = deepest {
                let broken = trial.broken().expect("it is one of those");
                return Ok(Some(self.smallest(trial.point.clone(), broken)));
            }
            if is_first {
                searchable(&trials)?;
            }
            for trial in trials {
                progress.take(&trial);
                known.take(trial);
            }
            progress.states = known.states.len();
            if !go_on(&progress) {
                return Ok(None);
            }
        }
    }

    /// What is left of a finding when nothing more can be left out.
    fn smallest(&self, point: Point, broken: Broken) -> Found {
        let (point, broken, shrinking) = self.shrink(point, broken);
        let others = (1..=AGAIN).map(|n| Point {
            seed: point.seed.wrapping_add(n * self.seeds),
            ..point.clone()
        });
        let others = self.trials(others.collect());
        let broke = others.iter().filter(|trial| trial.broken().is_some());
        let seeds: Vec<u64> = (0..self.seeds)
            .map(|n| point.seed.wrapping_add(n))
            .collect();
        let text = self.space.text(&point.genes, &seeds);
        Found {
            text: text.expect("it has been run"),
            again: [broke.count(), others.len()],
            point,
            broken,
            shrinking,
        }
    }
}

/// A scenario of the space with all flows that there may be: its upper end, or if that is none, the
/// lower.
///
/// # Errors
/// When neither is a scenario.
pub fn fullest(space: &Space) -> Result<Scenario, Problems> {
    let end = |upper| space.scenario(&Point::end(space, upper).genes, &[1]);
    end(true).or_else(|problems| end(false).map_err(|_| problems))
}

/// Whether the first batch has a scenario that runs.
fn searchable(trials: &[Trial]) -> Result<(), Unsearched> {
    let ran = |trial: &Trial| matches!(trial.came, Came::Run(..));
    if trials.iter().any(ran) {
        return Ok(());
    }
    let mut refused = trials.iter().filter_map(|trial| match &trial.came {
        Came::Refused(error) => Some(error.clone()),
        _ => None,
    });
    if let Some(error) = refused.next() {
        return Err(error.into());
    }
    let mut unfit = trials.iter().filter_map(|trial| match &trial.came {
        Came::Unfit(problems) => Some(problems.clone()),
        _ => None,
    });
    unfit.next().map_or(Ok(()), |problems| Err(problems.into()))
}

impl Progress {
    fn take(&mut self, trial: &Trial) {
        self.runs += trial.runs;
        match &trial.came {
            Came::Unfit(_) => self.unfit += 1,
            Came::Refused(_) | Came::Bug(_) => self.refused += 1,
            Came::Run(tested, _) => self.tested += usize::from(tested.is_some()),
        }
        self.nearest = self.nearest.min(trial.margin());
    }
}

impl Known {
    fn take(&mut self, trial: Trial) {
        let margin = trial.margin();
        let Came::Run(_, states) = trial.came else {
            return;
        };
        let before = self.states.len();
        self.states.extend(states);
        if margin.is_finite() {
            let place = self.nearest.partition_point(|(other, _)| *other <= margin);
            self.nearest.insert(place, (margin, trial.point.clone()));
            self.nearest.truncate(NEAREST);
        }
        if self.states.len() > before {
            if self.novel.len() == NOVEL {
                self.novel.remove(0);
            }
            self.novel.push(trial.point);
        }
    }

    /// A point that has not been looked at, if there is one to be found.
    fn next(&mut self, space: &Space, dice: &mut Stream) -> Point {
        let mut point = self.draw(space, dice);
        for _ in 0..ATTEMPTS {
            if self.seen.insert(format!("{point:?}")) {
                break;
            }
            point = self.draw(space, dice);
        }
        point
    }

    /// Any point, one near to the nearest, a mixture of two of those, or one near to new states.
    fn draw(&self, space: &Space, dice: &mut Stream) -> Point {
        let one = |dice: &mut Stream| {
            let first = dice.below(self.nearest.len() as u64);
            let place = dice.below(first + 1) as usize;
            self.nearest.get(place).map(|(_, point)| point)
        };
        let way = dice.unit();
        let (from, other) = (one(dice), one(dice));
        match (from, other) {
            (Some(from), _) if way < 0.4 => from.near(space, dice),
            (Some(from), Some(other)) if way < 0.5 => from.cross(other, dice).near(space, dice),
            _ if way < 0.75 && !self.novel.is_empty() => {
                let which = dice.below(self.novel.len() as u64) as usize;
                self.novel[which].near(space, dice)
            }
            _ => Point::any(space, dice),
        }
    }
}
