//! Which of a scenario's runs are run here: a shard of them, without those that are there already.

use crate::progress::Bar;
use sojourn_report::{Finished, ReportError, Slot, lighten};
use sojourn_scenario::Outcome;
use sojourn_version::VERSION;
use sojourn_world::{Cell, RunResult, World, WorldError, WorldName};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
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
    /// Where each of all is kept; empty where they are not.
    slots: Vec<Slot>,
}

/// The runs that are there already, by their places.
pub(crate) type There = BTreeMap<usize, Finished>;

impl Part {
    /// What is not there of the cells. Each is kept in its slot as it finishes; without slots its
    /// figures stay, and nothing else.
    pub(crate) fn new(cells: &[Cell], slots: Vec<Slot>, there: &There) -> Self {
        let places = (0..cells.len()).filter(|place| !there.contains_key(place));
        let places: Vec<usize> = places.collect();
        Self {
            left: places.iter().map(|place| cells[*place].clone()).collect(),
            places,
            slots,
        }
    }

    /// Runs them in a world. What comes back are the outcomes of all cells, of those that were
    /// there as well, in their order.
    ///
    /// # Errors
    /// When a run cannot be kept; no other is begun then.
    pub(crate) fn run(
        &self,
        there: There,
        world: &(dyn World + Sync),
        jobs: NonZeroUsize,
        stop: &AtomicBool,
        bar: &Bar,
    ) -> Result<Vec<Outcome<Finished>>, ReportError> {
        let (outcomes, refused) = (Mutex::new(BTreeMap::new()), Mutex::new(None));
        let keep = |place: usize, mut run: RunResult| {
            run.program = Some(VERSION.to_owned());
            let Some(slot) = self.slots.get(place) else {
                lighten(&mut run);
                return Ok(Finished::from(run));
            };
            slot.keep(run).map_err(|error| {
                stop.store(true, Ordering::Relaxed);
                *refused.lock().expect(TAKEN) = Some(error);
                WorldError::Interrupted
            })
        };
        let take = |index: usize, outcome: Outcome| {
            let place = self.places[index];
            let outcome = outcome.and_then(|run| keep(place, run));
            outcomes.lock().expect(TAKEN).insert(place, outcome);
        };
        sojourn_scenario::each(world, &self.left, jobs, stop, bar, &take);
        if let Some(error) = refused.into_inner().expect(TAKEN) {
            return Err(error);
        }
        let mut all = outcomes.into_inner().expect(TAKEN);
        all.extend(there.into_iter().map(|(place, run)| (place, Ok(run))));
        Ok(all.into_values().collect())
    }
}

/// Whether this version of the program has made a run in a world.
fn is_ours(run: &RunResult, world: &WorldName) -> bool {
    run.program.as_deref() == Some(VERSION) && run.world == *world
}

/// What is kept in the slots of the cells in a world, run by this version of the program.
pub(crate) fn kept(cells: &[Cell], slots: &[Slot], world: &WorldName) -> There {
    let mut there = There::new();
    for (place, (cell, slot)) in cells.iter().zip(slots).enumerate() {
        let fits = |run: &RunResult| {
            is_ours(run, world) && run.params == cell.params && run.seed == cell.seed
        };
        let run = slot.held().filter(|run| fits(&run.figures));
        there.extend(run.map(|run| (place, run)));
    }
    there
}

/// A run by its parameters and its seed.
type Key = (Vec<(String, String)>, u64);

/// Keeps what results have of the cells in a world and the slots lack. `key` says under which
/// parameters the results know the cell at a place; none where theirs is another.
///
/// # Errors
/// When a run cannot be read or kept.
pub(crate) fn take_results(
    there: &mut There,
    results: Vec<Finished>,
    cells: &[Cell],
    slots: &[Slot],
    world: &WorldName,
    key: impl Fn(usize) -> Option<Key>,
) -> Result<(), ReportError> {
    let lacking = (0..cells.len()).filter(|place| !there.contains_key(place));
    let lacking: BTreeMap<Key, usize> = lacking
        .filter_map(|place| Some((key(place)?, place)))
        .collect();
    for run in results {
        let Finished { figures, .. } = &run;
        if !is_ours(figures, world) {
            continue;
        }
        if let Some(&place) = lacking.get(&(figures.params.clone(), figures.seed)) {
            let mut whole = run.whole()?.into_owned();
            whole.params.clone_from(&cells[place].params);
            there.insert(place, slots[place].keep(whole)?);
        }
    }
    Ok(())
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
