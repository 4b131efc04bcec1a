//! Which of a scenario's runs are run here: a shard of them, without those that are there already.

use crate::WrongInput;
use crate::progress::Bar;
use sojourn_report::{Kept, ReportError, SUMMARY, lighten};
use sojourn_scenario::Outcome;
use sojourn_version::VERSION;
use sojourn_world::{Cell, RunResult, ScenarioInfo, World, WorldError, WorldName};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The runs with the numbers I, I + N, I + 2N and so on, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some(_) => Err("shards count from 1: `1/8` to `8/8`".to_owned()),
            None => Err("expected I/N, for example `3/8`".to_owned()),
        }
    }
}

impl Shard {
    /// Leaves only its own. Returns which ones those are.
    pub(crate) fn of(self, cells: &mut Vec<Cell>) -> sojourn_world::Shard {
        let Self { number, of } = self;
        let shard = sojourn_world::Shard {
            number,
            of,
            runs: cells.len(),
        };
        *cells = shard.places().map(|place| cells[place].clone()).collect();
        shard
    }
}

/// Why a lock is never poisoned: nothing panics while it is held.
const TAKEN: &str = "a run that panics has failed before it is taken";

/// What is run of some cells in one world.
pub(crate) struct Part {
    /// The cells that are run.
    pub(crate) left: Vec<Cell>,
    /// The place of each of them among all.
    places: Vec<usize>,
}

/// The figures of runs that are there already, by their places.
pub(crate) type There = BTreeMap<usize, RunResult>;

impl Part {
    /// All of them.
    pub(crate) fn whole(cells: &[Cell]) -> Self {
        Self {
            left: cells.to_vec(),
            places: (0..cells.len()).collect(),
        }
    }

    /// Runs them in a world, and keeps each run in the folder as it finishes, if there is one.
    /// What comes back are figures, without series: those of what was there as well, in the order
    /// of all cells, and a sentence for each run without a result.
    ///
    /// # Errors
    /// When a run cannot be kept; no other is begun then.
    pub(crate) fn run(
        &self,
        there: There,
        world: &(dyn World + Sync),
        jobs: NonZeroUsize,
        kept: Option<&Kept>,
        stop: &AtomicBool,
        bar: &Bar,
    ) -> Result<Found, ReportError> {
        let (outcomes, refused) = (Mutex::new(BTreeMap::new()), Mutex::new(None));
        let take = |index: usize, mut outcome: Outcome| {
            if let Ok(run) = &mut outcome {
                run.program = Some(VERSION.to_owned());
            }
            let outcome = match (outcome, kept) {
                (Ok(run), Some(kept)) => match kept.keep(self.places[index], run) {
                    Ok(figures) => Ok(figures),
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        *refused.lock().expect(TAKEN) = Some(error);
                        Err(WorldError::Interrupted)
                    }
                },
                (Ok(mut run), None) => {
                    lighten(&mut run);
                    Ok(run)
                }
                (outcome, _) => outcome,
            };
            outcomes.lock().expect(TAKEN).insert(index, outcome);
        };
        sojourn_scenario::each(world, &self.left, jobs, stop, bar, &take);
        if let Some(error) = refused.into_inner().expect(TAKEN) {
            return Err(error);
        }
        let outcomes: Vec<Outcome> = outcomes.into_inner().expect(TAKEN).into_values().collect();
        let good = outcomes.iter().map(Result::is_ok);
        let places = self.places.iter().zip(good).filter(|(_, is_good)| *is_good);
        let places: Vec<usize> = places.map(|(place, _)| *place).collect();
        let (results, failures) = sojourn_scenario::split(&self.left, outcomes);
        let mut all = there;
        all.extend(places.into_iter().zip(results));
        let (places, figures) = all.into_iter().unzip();
        Ok(Found {
            figures,
            places,
            failures,
        })
    }
}

/// What runs have yielded.
#[derive(Default)]
pub(crate) struct Found {
    /// The figures of each run.
    pub(crate) figures: Vec<RunResult>,
    /// Their places among all cells of their world.
    pub(crate) places: Vec<usize>,
    /// A sentence for each run without a result.
    pub(crate) failures: Vec<String>,
}

impl Found {
    /// Adds those of another world.
    pub(crate) fn add(&mut self, other: Self) {
        self.figures.extend(other.figures);
        self.places.extend(other.places);
        self.failures.extend(other.failures);
    }
}

/// A run by its parameters and its seed.
type Key<'a> = (&'a [(String, String)], u64);

/// What a folder lacks of the cells in a world, and what it holds of them, run by this version of
/// the program: results, and what is kept of runs whose results were not written.
///
/// # Errors
/// When the folder is damaged, or holds another scenario.
pub(crate) fn resumed(
    info: &ScenarioInfo,
    cells: &[Cell],
    world: &WorldName,
    dir: &Path,
    kept: &Kept,
) -> Result<(Part, There), WrongInput> {
    let is_ours = |run: &RunResult| run.program.as_deref() == Some(VERSION) && run.world == *world;
    let mut there = There::new();
    for (place, cell) in cells.iter().enumerate() {
        let run = kept.held(world, place).filter(is_ours);
        let run = run.filter(|run| run.params == cell.params && run.seed == cell.seed);
        there.extend(run.map(|run| (place, run)));
    }
    if dir.join(SUMMARY).exists() {
        let held = sojourn_report::merge(&[PathBuf::from(dir)]).map_err(WrongInput::from)?;
        if held.info.source != info.source {
            let dir = dir.display();
            return Err(WrongInput(format!(
                "--resume: {dir} holds results of another scenario, or of another text of this one"
            )));
        }
        let keys = cells.iter().map(|cell| (&cell.params[..], cell.seed));
        let wanted: BTreeMap<Key<'_>, usize> = keys.zip(0..).collect();
        for run in held.results.into_iter().filter(is_ours) {
            let place = wanted.get(&(&run.params[..], run.seed)).copied();
            if let Some(place) = place.filter(|place| !there.contains_key(place)) {
                let run = kept.keep(place, run).map_err(WrongInput::from)?;
                there.insert(place, run);
            }
        }
    }
    let places = (0..cells.len()).filter(|place| !there.contains_key(place));
    let places: Vec<usize> = places.collect();
    let left = places.iter().map(|place| cells[*place].clone()).collect();
    Ok((Part { left, places }, there))
}

#[cfg(test)]
mod tests {
    use super::Shard;
    use sojourn_units::Span;
    use sojourn_world::{Cell, Network};

    #[test]
    fn shards_share_the_runs_out() {
        let all = || {
            let cell = |seed| Cell {
                seed,
                ..Cell::new("test", Network::new(["a"]), Vec::new(), Span::ZERO)
            };
            (1..=7).map(cell).collect::<Vec<_>>()
        };
        let seeds = |text: &str| {
            let mut cells = all();
            text.parse::<Shard>().expect("it is one").of(&mut cells);
            cells.iter().map(|cell| cell.seed).collect::<Vec<_>>()
        };
        assert_eq!(seeds("1/3"), [1, 4, 7]);
        assert_eq!(seeds("2/3"), [2, 5]);
        assert_eq!(seeds("3/3"), [3, 6]);
        assert_eq!(seeds("1/1"), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(seeds("8/9"), [0; 0]);
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
