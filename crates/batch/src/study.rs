//! The runs of a study in one world.

use crate::error::BatchError;
use crate::part::{Part, There, kept, take_results};
use sojourn_report::{Finished, Folder, ReportError, SUMMARY, Slot, Spool};
use sojourn_scenario::{Options, Outcome, Watch};
use sojourn_study::{Choice, Outcomes, Runs, STUDY, Study, reproduction};
use sojourn_world::{Cell, ScenarioInfo, World, WorldName};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What runs took. `wall_s` is the caller's, who waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// How many there are.
    pub runs: usize,
    /// Seconds for which somebody has waited.
    pub wall_s: f64,
    /// Processor seconds.
    pub cpu_s: f64,
    /// Events of the simulator, or frames of a bridge.
    pub events: u64,
}

impl Cost {
    /// For `claims.json`.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let figures = [
            ("runs", self.runs as f64),
            ("events", self.events as f64),
            ("cpu_s", self.cpu_s),
            ("wall_s", self.wall_s),
        ];
        figures.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn add(&mut self, outcomes: &[Outcome<Finished>]) {
        for run in outcomes.iter().flatten() {
            let cost = &run.figures.cost;
            self.runs += 1;
            self.cpu_s += cost.cpu_s;
            self.events += cost.events;
        }
    }
}

/// The runs of a choice of claims in one world.
#[derive(Debug)]
pub struct StudyRuns<'a> {
    runs: Runs<'a>,
    slots: Vec<Slot>,
    there: There,
}

impl<'a> StudyRuns<'a> {
    /// Those that are left, kept below `dir` as they finish; when they are `resumed`, without what
    /// the folder has of them: kept, and among the results of this study where the setting had the
    /// same scenario. `worlds` are those that settings may name.
    ///
    /// # Errors
    /// When the folder's results are of something else, or cannot be read or kept.
    pub fn of(
        study: &'a Study,
        choice: &Choice,
        world: &WorldName,
        dir: &Path,
        resumed: bool,
        worlds: &[WorldName],
    ) -> Result<Self, BatchError> {
        let runs = study.runs(choice, world);
        let slots = slots(study, &runs, world, dir);
        let there = if resumed {
            held(study, &runs, world, &slots, dir, worlds)?
        } else {
            There::new()
        };
        Ok(Self { runs, slots, there })
    }

    /// The cells that are run.
    pub fn left(&self) -> Vec<&'a Cell> {
        let cells = self.runs.cells.iter().enumerate();
        let left = cells.filter(|(place, _)| !self.there.contains_key(place));
        left.map(|(_, cell)| *cell).collect()
    }

    /// Runs them, and adds up what they took. What comes back are the outcomes of all, of those
    /// that were there as well. `watch` is told of those that are run, by their places in
    /// [`StudyRuns::left`].
    ///
    /// # Errors
    /// When a run cannot be kept; no other is begun then.
    pub fn run(
        self,
        world: &(dyn World + Sync),
        jobs: NonZeroUsize,
        stop: &AtomicBool,
        watch: &dyn Watch,
        cost: &mut Cost,
    ) -> Result<Outcomes, ReportError> {
        let part = Part::new(&self.runs.cells, self.slots, &self.there);
        let outcomes = part.run(self.there, world, jobs, stop, watch)?;
        cost.add(&outcomes);
        Ok(self.runs.outcomes(outcomes))
    }
}

/// Where each run is kept: by its setting, whose number stays the same whatever is chosen.
fn slots(study: &Study, runs: &Runs<'_>, world: &WorldName, dir: &Path) -> Vec<Slot> {
    let spool = Spool::of(dir);
    let settings = study.settings.iter();
    let infos: Vec<Option<Arc<ScenarioInfo>>> = settings
        .map(|setting| {
            let scenario = setting.scenarios.get(world)?;
            Some(Arc::new(scenario.info.clone()))
        })
        .collect();
    let slot = |&(setting, place): &(usize, usize)| {
        let info = infos[setting]
            .as_ref()
            .expect("its cells are of this world");
        spool.slot(setting, info, world, place)
    };
    runs.places().iter().map(slot).collect()
}

/// What a folder has of the runs.
fn held(
    study: &Study,
    runs: &Runs<'_>,
    world: &WorldName,
    slots: &[Slot],
    dir: &Path,
    worlds: &[WorldName],
) -> Result<There, BatchError> {
    let mut there = kept(&runs.cells, slots, world);
    if !dir.join(SUMMARY).exists() {
        return Ok(there);
    }
    let told = reproduction(dir)?;
    if told.is_none_or(|told| told.study != study.name) {
        return Err(BatchError::OtherStudy {
            dir: dir.to_owned(),
            study: study.name.clone(),
        });
    }
    let name = dir.join(STUDY).display().to_string();
    let old = Study::kept(&name, &Options::default(), worlds)?.called_as_in(study);
    let is_same = |setting: usize| {
        let setting = &study.settings[setting];
        let text = |study: &Study| {
            let mut settings = study.settings.iter();
            let known = settings.find(|known| known.name == setting.name)?;
            known.scenarios.get(world)?.info.source.clone()
        };
        text(&old).is_some() && text(&old) == text(study)
    };
    let same: Vec<bool> = (0..study.settings.len()).map(is_same).collect();
    let key = |place: usize| {
        let (setting, cell) = (runs.places()[place].0, runs.cells[place]);
        let name = ("setting".to_owned(), study.settings[setting].name.clone());
        let params = std::iter::once(name).chain(cell.params.iter().cloned());
        same[setting].then(|| (params.collect(), cell.seed))
    };
    let folder = Folder::open(dir)?;
    take_results(&mut there, folder.runs, &runs.cells, slots, world, key)?;
    Ok(there)
}
