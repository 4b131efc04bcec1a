//! Published studies, run in the simulator and held against their claims.

use crate::error;
use crate::results::Results;
use crate::run::{How, outcomes};
use pyo3::prelude::*;
use sojourn_kernel::Kernel;
use sojourn_live::Live;
use sojourn_scenario::Options;
use sojourn_sim::Sim;
use sojourn_study::{Pages, Reproduced as Found, Study};
use sojourn_world::{ByWorld, WorldName};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The worlds that settings of studies may name.
const WORLDS: [WorldName; 3] = [Sim::NAME, Live::NAME, Kernel::NAME];

/// What came out of a study.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Reproduced {
    pages: Pages,
    results: Py<Results>,
}

#[pymethods]
impl Reproduced {
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
    fn write(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        let results = self.results.get();
        let written = py.detach(|| self.pages.write(&dir, results.info(), results.list()));
        written.map_err(|error| error::report(py, &error))
    }
}

/// Names and titles of the studies that there are.
#[pyfunction]
pub(crate) fn studies(py: Python<'_>) -> PyResult<Vec<(String, String)>> {
    let studies = Study::list(&WORLDS).map_err(|problems| error::scenario(py, &problems))?;
    let pairs = studies.into_iter().map(|study| (study.name, study.title));
    Ok(pairs.collect())
}

/// Runs a study, by its name or its folder, as `sojourn reproduce` does in the simulator.
#[pyfunction]
#[pyo3(signature = (study, claims, quick, seeds, jobs, progress))]
pub(crate) fn reproduce(
    py: Python<'_>,
    study: &str,
    claims: Vec<String>,
    quick: bool,
    seeds: Option<u64>,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Reproduced> {
    let options = Options {
        seeds: if quick { Some(1) } else { seeds },
        ..Options::default()
    };
    let study = Study::load(study, &options, &WORLDS);
    let study = study.map_err(|problems| error::scenario(py, &problems))?;
    let choice = study.choose(&claims, quick);
    let choice = choice.map_err(|unknown| error::run(py, &unknown.to_string()))?;
    let runs = study.runs(&choice, &Sim::NAME);
    let how = How {
        jobs,
        // Charts and claims may be about them.
        series: true,
        progress,
    };
    let found = outcomes(py, &Sim, &runs.cells, &how)?;
    let found = ByWorld::from_iter([(Sim::NAME, runs.outcomes(found))]);
    let found = Found::new(&study, &choice.claims, found, Vec::new(), None);
    let found = found.map_err(|error| error::report(py, &error))?;
    let pages = found.pages().map_err(|error| error::report(py, &error))?;
    let Found {
        info,
        results,
        failures,
        ..
    } = found;
    let results = Results::new(info, results, failures);
    Ok(Reproduced {
        pages,
        results: Py::new(py, results)?,
    })
}
