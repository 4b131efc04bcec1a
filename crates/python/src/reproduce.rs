//! Published studies, run in the simulator and held against their claims.

use crate::error;
use crate::prototype::{Prototypes, StandIn};
use crate::results::{Results, into};
use crate::run::{Far, aside, jobs};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_batch::{Cost, Results as Owner, StudyRuns, check_out, clear};
use sojourn_qdisc::Spec;
use sojourn_report::{Folder, Rest, forget};
use sojourn_scenario::Options;
use sojourn_sim::Sim;
use sojourn_study::{Choice, Extent, NoPlace, Pages, Reproduced as Found, Study};
use sojourn_world::{ByWorld, World};
use sojourn_worlds::names;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

/// What came out of a study.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Reproduced {
    pages: Pages,
    results: Py<Results>,
}

#[pymethods]
impl Reproduced {
    /// Reads the folder that `sojourn reproduce --out` has written.
    #[staticmethod]
    fn open(py: Python<'_>, dir: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| Ok((Pages::read(&dir)?, Folder::hold(&dir)?)));
        let (pages, Folder { info, runs }) = read.map_err(|error| error::report(py, &error))?;
        let (list, rest) = Rest::of(runs);
        let results = Results::kept(info, list, rest, Vec::new(), None);
        Ok(Self {
            pages,
            results: Py::new(py, results)?,
        })
    }

    /// The page with claims, charts and tables.
    #[getter]
    fn html(&self) -> &str {
        &self.pages.html
    }

    /// `claims.json`.
    #[getter]
    fn claims(&self) -> &str {
        &self.pages.claims
    }

    #[getter]
    fn results(&self, py: Python<'_>) -> Py<Results> {
        self.results.clone_ref(py)
    }

    /// Writes the folder that `sojourn reproduce --out` writes.
    fn write(&self, py: Python<'_>, dir: PathBuf, overwrite: bool) -> PyResult<()> {
        let results = self.results.get();
        let owner = Owner::Study(results.info().name.clone());
        into(py, &dir, &owner, overwrite, || {
            self.pages.write(&dir, results.info(), results.all())
        })
    }
}

/// Names and titles of the studies that there are.
#[pyfunction]
pub(crate) fn studies(py: Python<'_>) -> PyResult<Vec<(String, String)>> {
    let studies = Study::list(&names()).map_err(|problems| error::scenario(py, &problems))?;
    let pairs = studies.into_iter().map(|study| (study.name, study.title));
    Ok(pairs.collect())
}

/// Where a study's runs are kept.
enum RunFolder {
    Out(PathBuf),
    /// A folder that goes with the results.
    Passing(TempDir),
}

impl RunFolder {
    fn of(py: Python<'_>, out: Option<PathBuf>) -> PyResult<Self> {
        let failed = |error| error::run(py, &format!("cannot make a folder for runs: {error}"));
        match out {
            Some(dir) => Ok(Self::Out(dir)),
            None => Ok(Self::Passing(tempfile::tempdir().map_err(failed)?)),
        }
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Self::Out(dir) => dir,
            Self::Passing(dir) => dir.path(),
        }
    }
}

/// A queue that runs beside a study's own: its name, what stands for it in cells, and what makes
/// it where it is written in Python.
type Own = (String, String, Vec<StandIn>);

/// Runs a study, by its name or its folder, as `sojourn reproduce` does in the simulator. `choice`
/// is of claims, whether it is quick and whether it has all settings, and of a number of seeds.
/// `out` is a folder for the results, whether it is gone on with, and whether others' results in it
/// go.
#[pyfunction]
#[pyo3(signature = (study, choice, queue, jobs, out, progress))]
pub(crate) fn reproduce(
    py: Python<'_>,
    study: &str,
    choice: (Vec<String>, (bool, bool), Option<u64>),
    queue: Option<Own>,
    jobs: Option<NonZeroUsize>,
    out: (Option<PathBuf>, bool, bool),
    progress: Option<Py<PyAny>>,
) -> PyResult<Reproduced> {
    let (claims, (quick, all), seeds) = choice;
    let options = Options {
        seeds: if quick { Some(1) } else { seeds },
        ..Options::default()
    };
    let mut study = Study::load(study, &options, &names())
        .map_err(|problems| error::scenario(py, &problems))?;
    let mut prototypes = None;
    if let Some((name, own, values)) = queue {
        study = beside(py, study, &own, &name)?;
        if !values.is_empty() {
            prototypes = Some(Prototypes::of_values(py, values, Vec::new())?);
        }
    }
    let choice = study
        .choose(&claims, extent(quick, all))
        .map_err(|unknown| error::run(py, &unknown.to_string()))?;
    let (out, resume, overwrite) = out;
    let owner = Owner::Study(study.name.clone());
    if let Some(dir) = &out {
        check_out(dir, &owner, overwrite).map_err(|error| error::batch(py, &error))?;
    }
    let place = RunFolder::of(py, out)?;
    let world: &(dyn World + Sync) = match &prototypes {
        Some(prototypes) => prototypes,
        None => &Sim,
    };
    let asked = Asked {
        study: &study,
        choice: &choice,
        resume,
        jobs,
        progress,
    };
    let ran = run(py, &asked, world, &place);
    // What Python raised comes first: a run that it ended tells less.
    prototypes.as_ref().map_or(Ok(()), Prototypes::raised)?;
    let found = ran?;
    let pages = found.pages().map_err(|error| error::report(py, &error))?;
    let Found {
        info,
        results,
        rest,
        failures,
        ..
    } = found;
    let dir = match place {
        RunFolder::Passing(dir) => {
            let results = Results::kept(info, results, rest, failures, Some(dir));
            let results = Py::new(py, results)?;
            return Ok(Reproduced { pages, results });
        }
        RunFolder::Out(dir) => dir,
    };
    let runs = sojourn_report::Runs::new(&results, &rest);
    // What is kept goes; the results have it.
    let written = py.detach(|| {
        pages.write(&dir, &info, runs)?;
        forget(&dir)?;
        Folder::hold(&dir)
    });
    let held = written.map_err(|error| error::report(py, &error))?;
    clear(&dir, &owner).map_err(|error| error::batch(py, &error))?;
    let (list, rest) = Rest::of(held.runs);
    let results = Results::kept(held.info, list, rest, failures, None);
    Ok(Reproduced {
        pages,
        results: Py::new(py, results)?,
    })
}

/// Which settings of a study run.
const fn extent(quick: bool, all: bool) -> Extent {
    match (quick, all) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::All,
        _ => Extent::Usual,
    }
}

/// A study with another queue beside its own.
fn beside(py: Python<'_>, study: Study, own: &str, name: &str) -> PyResult<Study> {
    let wrong = |why: &dyn std::fmt::Display| PyValueError::new_err(format!("queue: {why}"));
    let spec: Spec = own.parse().map_err(|error| wrong(&error))?;
    let study = study.with_queue_called(&spec, name);
    study.map_err(|no_place| match no_place {
        NoPlace::Refused(problems) => error::scenario(py, &problems),
        other => wrong(&other),
    })
}

/// What is run of a study, and how.
struct Asked<'a> {
    study: &'a Study,
    choice: &'a Choice,
    /// Whether what the folder has already is kept.
    resume: bool,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
}

/// Runs what is left of a choice, and holds the claims against all.
#[expect(clippy::disallowed_methods, reason = "the user waits in real time")]
fn run<'a>(
    py: Python<'_>,
    asked: &Asked<'a>,
    world: &(dyn World + Sync),
    place: &RunFolder,
) -> PyResult<Found<'a>> {
    let Asked { study, choice, .. } = *asked;
    let dir = place.path();
    let runs = py
        .detach(|| StudyRuns::of(study, choice, &Sim::NAME, dir, asked.resume, &names()))
        .map_err(|error| error::batch(py, &error))?;
    if !asked.resume {
        forget(dir).map_err(|error| error::report(py, &error))?;
    }
    let (stop, far) = (AtomicBool::new(false), Far::of(&runs.left()));
    let (mut cost, mut outcomes) = (Cost::default(), None);
    let begin = Instant::now();
    let work = || outcomes = Some(runs.run(world, jobs(asked.jobs), &stop, &far, &mut cost));
    aside(py, work, &stop, &far.teller(asked.progress.as_ref()))?;
    cost.wall_s = begin.elapsed().as_secs_f64();
    let outcomes = outcomes
        .expect("work that was not stopped has ended")
        .map_err(|error| error::report(py, &error))?;
    let found = ByWorld::from_iter([(Sim::NAME, outcomes)]);
    let found = py.detach(|| Found::new(study, &choice.claims, found, cost.figures(), None));
    found.map_err(|error| error::report(py, &error))
}
