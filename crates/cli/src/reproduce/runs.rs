//! The runs of a study in one world, each kept on disk as it finishes.

use super::ReproduceArgs;
use crate::WrongInput;
use crate::part::{self, Part, There};
use crate::progress::Bar;
use anyhow::Context as _;
use sojourn_report::{Finished, Folder, Kept, ReportError, SUMMARY, Slot};
use sojourn_scenario::{Options, Outcome};
use sojourn_study::{Choice, Outcomes, Runs, STUDY, Study, reproduction};
use sojourn_world::{World, WorldName};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

/// What all runs took.
#[derive(Default)]
pub(super) struct Cost {
    pub(super) runs: usize,
    pub(super) wall_s: f64,
    cpu_s: f64,
    events: u64,
}

impl Cost {
    /// For `claims.json`.
    pub(super) fn figures(&self) -> Vec<(String, f64)> {
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

/// The folder below which finished runs are kept.
pub(super) enum Place {
    Out(PathBuf),
    /// Nobody asked for the results; they are gone with the process.
    Passing(TempDir),
}

impl Place {
    pub(super) fn of(args: &ReproduceArgs) -> anyhow::Result<Self> {
        if let Some(dir) = &args.out {
            return Ok(Self::Out(dir.clone()));
        }
        let dir = tempfile::tempdir().context("cannot make a folder for finished runs")?;
        Ok(Self::Passing(dir))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Out(dir) => dir,
            Self::Passing(dir) => dir.path(),
        }
    }

    /// As messages call it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Out(_) => "--out",
            Self::Passing(_) => {
                "finished runs go where temporary files are (TMPDIR), without --out"
            }
        }
    }
}

/// The runs of a choice in one world.
pub(super) struct WorldRuns {
    runs: Runs,
    part: Part,
    there: There,
}

impl WorldRuns {
    /// Those that are left; when they are `resumed`, without what the folder has of them.
    pub(super) fn of(
        study: &Study,
        choice: &Choice,
        world: &WorldName,
        folder: &Place,
        resumed: bool,
    ) -> Result<Self, WrongInput> {
        let runs = study.runs(choice, world);
        let slots = slots(study, &runs, world, folder.path());
        let there = if resumed {
            held(study, &runs, world, &slots, folder.path())?
        } else {
            There::new()
        };
        Ok(Self {
            part: Part::new(&runs.cells, slots, &there),
            runs,
            there,
        })
    }

    /// Runs them. What comes back are the outcomes of all, of those that were there as well.
    #[expect(clippy::disallowed_methods, reason = "the user waits in real time")]
    pub(super) fn run(
        self,
        world: &(dyn World + Sync),
        jobs: NonZeroUsize,
        quiet: bool,
        stop: &AtomicBool,
        cost: &mut Cost,
    ) -> Result<Outcomes, ReportError> {
        let bar = Bar::new(&self.part.left, quiet);
        let begin = Instant::now();
        let outcomes = self.part.run(self.there, world, jobs, stop, &bar);
        bar.clear();
        let outcomes = outcomes?;
        cost.wall_s += begin.elapsed().as_secs_f64();
        cost.add(&outcomes);
        Ok(self.runs.outcomes(outcomes))
    }
}

/// Where each run is kept: by its setting, whose number stays the same whatever is chosen.
fn slots(study: &Study, runs: &Runs, world: &WorldName, out: &Path) -> Vec<Slot> {
    let settings = study.settings.iter().enumerate();
    let kept = settings.map(|(number, setting)| {
        let scenario = setting.scenarios.get(world)?;
        Some(Kept::of_several(out, number, &scenario.info))
    });
    let kept: Vec<Option<Kept>> = kept.collect();
    let slot = |&(setting, place): &(usize, usize)| {
        let kept = kept[setting].as_ref();
        kept.expect("its cells are of this world")
            .slot(world, place)
    };
    runs.places().iter().map(slot).collect()
}

/// What a folder has of the runs: kept, and among the results of this study where the setting had
/// the same scenario.
fn held(
    study: &Study,
    runs: &Runs,
    world: &WorldName,
    slots: &[Slot],
    dir: &Path,
) -> Result<There, WrongInput> {
    let mut there = part::kept(&runs.cells, slots, world);
    if !dir.join(SUMMARY).exists() {
        return Ok(there);
    }
    let told = reproduction(dir).map_err(WrongInput::from)?;
    if told.is_none_or(|told| told.study != study.name) {
        let (dir, name) = (dir.display(), &study.name);
        return Err(WrongInput(format!(
            "--resume: {dir} holds no results of study `{name}`"
        )));
    }
    let old = Study::kept(
        &dir.join(STUDY).display().to_string(),
        &Options::default(),
        &crate::worlds::names(),
    );
    let old = old.map_err(WrongInput::from)?;
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
        let (setting, cell) = (runs.places()[place].0, &runs.cells[place]);
        let name = ("setting".to_owned(), study.settings[setting].name.clone());
        let params = std::iter::once(name).chain(cell.params.iter().cloned());
        same[setting].then(|| (params.collect(), cell.seed))
    };
    let folder = Folder::open(dir).map_err(WrongInput::from)?;
    let taken = part::take_results(&mut there, folder.runs, &runs.cells, slots, world, key);
    taken.map_err(WrongInput::from)?;
    Ok(there)
}
