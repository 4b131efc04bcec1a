//! Which of some cells' runs are run here: those that are not there already.

use sojourn_report::{Finished, ReportError, Slot, lighten};
use sojourn_scenario::{Outcome, Watch, each};
use sojourn_version::VERSION;
use sojourn_world::{Cell, RunResult, World, WorldError, WorldName};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a lock is never poisoned: nothing panics while it is held.
const TAKEN: &str = "a run that panics has failed before it is taken";

/// The runs that are there already, by their places among the cells.
pub type There = BTreeMap<usize, Finished>;

/// What is run of some cells in one world.
#[derive(Debug)]
pub struct Part<'a> {
    left: Vec<&'a Cell>,
    /// The place of each of them among all.
    places: Vec<usize>,
    /// Where each of all is kept; empty where they are not.
    slots: Vec<Slot>,
}

impl<'a> Part<'a> {
    /// What is not there of the cells. Each is kept in its slot as it finishes; without slots its
    /// figures stay, and nothing else.
    pub fn new<C: Borrow<Cell>>(cells: &'a [C], slots: Vec<Slot>, there: &There) -> Self {
        let places: Vec<usize> = (0..cells.len())
            .filter(|place| !there.contains_key(place))
            .collect();
        let left = places.iter().map(|place| cells[*place].borrow());
        Self {
            left: left.collect(),
            places,
            slots,
        }
    }

    /// The cells that are run.
    pub fn left(&self) -> &[&'a Cell] {
        &self.left
    }

    /// Runs them in a world, and signs the results with the version and commit of this program.
    /// What comes back are the outcomes of all cells, of those that were there as well, in their
    /// order. `watch` is told of those that are run, by their places in [`Part::left`].
    ///
    /// # Errors
    /// When a run cannot be kept; no other is begun then, and `stop` is set.
    pub fn run(
        &self,
        there: There,
        world: &(dyn World + Sync),
        jobs: NonZeroUsize,
        stop: &AtomicBool,
        watch: &dyn Watch,
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
        each(world, &self.left, jobs, stop, watch, &take);
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
pub fn kept<C: Borrow<Cell>>(cells: &[C], slots: &[Slot], world: &WorldName) -> There {
    let mut there = There::new();
    for (place, (cell, slot)) in cells.iter().zip(slots).enumerate() {
        let cell = cell.borrow();
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
pub(crate) fn take_results<C: Borrow<Cell>>(
    there: &mut There,
    results: Vec<Finished>,
    cells: &[C],
    slots: &[Slot],
    world: &WorldName,
    key: impl Fn(usize) -> Option<Key>,
) -> Result<(), ReportError> {
    let lacking: BTreeMap<Key, usize> = (0..cells.len())
        .filter(|place| !there.contains_key(place))
        .filter_map(|place| Some((key(place)?, place)))
        .collect();
    for run in results {
        let Finished { figures, .. } = &run;
        if !is_ours(figures, world) {
            continue;
        }
        if let Some(&place) = lacking.get(&(figures.params.clone(), figures.seed)) {
            let mut whole = run.whole()?.into_owned();
            whole.params.clone_from(&cells[place].borrow().params);
            there.insert(place, slots[place].keep(whole)?);
        }
    }
    Ok(())
}
