//! Results as Python sees them: tables, a report, files, and bytes for another process.

use crate::error;
use crate::scenario::Scenario;
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sojourn_batch::{Results as Owner, check_out, clear};
use sojourn_flent::data_file;
use sojourn_frame::{distribution_keys, distributions, flows, links, runs, series};
use sojourn_report::{
    Finished, Merged, ReportError, Rest, Runs, html_of, merge, pack, reading, unpack, unpack_runs,
    write_runs,
};
use sojourn_scenario::{Problems, Scenario as Read};
use sojourn_world::figure::{Kind, series as all_series};
use sojourn_world::{Cell, RunResult, ScenarioInfo, Source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What runs of a scenario have yielded.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Results {
    info: ScenarioInfo,
    /// Figures at least.
    list: Vec<RunResult>,
    /// Where the rest is.
    rest: Rest,
    /// Sentences: what was left out, and which runs failed.
    notes: Vec<String>,
    /// Folders where the rest is as long as these results are there.
    passing: Vec<Arc<TempDir>>,
}

impl Results {
    /// Runs that are whole in memory.
    pub(crate) fn new(info: ScenarioInfo, list: Vec<RunResult>, notes: Vec<String>) -> Self {
        let runs = list.into_iter().map(Finished::from);
        let (list, rest) = Rest::of(runs);
        Self::kept(info, list, rest, notes, None)
    }

    /// Runs of which all but figures may be on disk, perhaps in a folder that goes with them.
    pub(crate) fn kept(
        info: ScenarioInfo,
        list: Vec<RunResult>,
        rest: Rest,
        notes: Vec<String>,
        passing: Option<TempDir>,
    ) -> Self {
        Self {
            info,
            list,
            rest,
            notes,
            passing: passing.map(Arc::new).into_iter().collect(),
        }
    }

    pub(crate) const fn info(&self) -> &ScenarioInfo {
        &self.info
    }

    pub(crate) fn all(&self) -> Runs<'_> {
        Runs::new(&self.list, &self.rest)
    }
}

#[pymethods]
impl Results {
    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    #[getter]
    fn title(&self) -> &str {
        match self.info.title.as_str() {
            "" => &self.info.name,
            title => title,
        }
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The text of the scenario.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.info.source.as_deref()
    }

    fn __len__(&self) -> usize {
        self.list.len()
    }

    fn runs(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::of(runs(&self.list), false))
    }

    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::of(flows(&self.list), false))
    }

    fn links(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::of(links(&self.list), false))
    }

    #[pyo3(signature = (metric))]
    fn series(&self, py: Python<'_>, metric: Option<String>) -> PyResult<Table> {
        if let Some(name) = &metric {
            let kinds = [Kind::Link, Kind::Flow].into_iter();
            let keys: BTreeSet<&str> = kinds.flat_map(all_series).map(|one| one.key).collect();
            let known: Vec<&str> = keys.into_iter().collect();
            if !known.contains(&name.as_str()) {
                return Err(error::lookup("series", name, &known));
            }
        }
        let whole = |number: usize| self.all().get(number);
        let frame = py
            .detach(|| series(&self.list, whole, metric.as_deref()))
            .map_err(|error| error::report(py, &error))?;
        py.detach(|| Table::of(frame, true))
    }

    #[pyo3(signature = (metric))]
    fn distributions(&self, py: Python<'_>, metric: Option<String>) -> PyResult<Table> {
        if let Some(name) = &metric {
            let known: Vec<&str> = distribution_keys().into_iter().collect();
            if !known.contains(&name.as_str()) {
                return Err(error::lookup("distribution", name, &known));
            }
        }
        let whole = |number: usize| self.all().get(number);
        let frame = py
            .detach(|| distributions(&self.list, whole, metric.as_deref()))
            .map_err(|error| error::report(py, &error))?;
        py.detach(|| Table::of(frame, true))
    }

    /// What the figures say, a sentence each.
    fn reading(&self, py: Python<'_>) -> Vec<String> {
        let parts = py.detach(|| reading(&self.list));
        let texts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        let lines = texts.iter().flat_map(|text| text.lines());
        lines.map(str::to_owned).collect()
    }

    /// The page that `sojourn run --out` writes.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| html_of(&self.info, self.all(), &self.notes));
        page.map_err(|error| error::report(py, &error))
    }

    /// Writes the folder that `sojourn run --out` writes.
    fn write(&self, py: Python<'_>, dir: PathBuf, overwrite: bool) -> PyResult<()> {
        let owner = Owner::Scenario(self.info.name.clone());
        into(py, &dir, &owner, overwrite, || {
            write_runs(&dir, &self.info, self.all(), &self.notes)
        })
    }

    /// Writes a data file of Flent's for each run; `base` is the folder from which the scenario
    /// sees the files that it names.
    fn flent(&self, py: Python<'_>, dir: PathBuf, base: PathBuf) -> PyResult<Vec<PathBuf>> {
        let text = self.info.source.clone().unwrap_or_default();
        let name = self.info.name.clone();
        let source = Source { name, text, base };
        let failed = |path: &Path, error: &dyn std::fmt::Display| {
            error::run(py, &format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(&dir).map_err(|error| failed(&dir, &error))?;
        let mut paths = Vec::new();
        for number in 0..self.list.len() {
            let run = self
                .all()
                .get(number)
                .map_err(|error| error::report(py, &error))?;
            let cell = cell_of(&source, &run.params, run.seed)
                .map_err(|problems| error::scenario(py, &problems))?;
            let file = data_file(&run, &cell);
            let (name, bytes) = file.map_err(|reason| error::run(py, &reason.to_string()))?;
            let path = dir.join(name);
            std::fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// All of it as bytes, for [`Results::unpack`].
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py
            .detach(|| pack(&self.info, self.all()))
            .map_err(|error| error::report(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn unpack(py: Python<'_>, bytes: &[u8], notes: Vec<String>) -> PyResult<Self> {
        let read = py.detach(|| unpack(bytes));
        let (info, results) = read.map_err(|error| error::run(py, &error.to_string()))?;
        Ok(Self::new(info, results, notes))
    }

    /// Those of a scenario whose runs were packed in other processes (`run_packed`).
    #[staticmethod]
    fn of(
        py: Python<'_>,
        scenario: &Scenario,
        packed: Vec<PyBackedBytes>,
        notes: Vec<String>,
    ) -> PyResult<Self> {
        let read = py.detach(|| {
            let packed: Vec<&[u8]> = packed.iter().map(|bytes| &bytes[..]).collect();
            unpack_runs(&packed)
        });
        let results = read.map_err(|error| error::run(py, &error.to_string()))?;
        Ok(Self::new(scenario.read.info.clone(), results, notes))
    }

    /// Those of several, one behind the other; the first says what the scenario is.
    #[staticmethod]
    fn joined(py: Python<'_>, parts: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let Some(first) = parts.first() else {
            return Err(error::run(py, "there are no results to join"));
        };
        let list = parts.iter().flat_map(|part| part.list.iter().cloned());
        let notes = parts.iter().flat_map(|part| part.notes.iter().cloned());
        let passing = parts.iter().flat_map(|part| part.passing.iter().cloned());
        Ok(Self {
            info: first.info.clone(),
            list: list.collect(),
            rest: Rest::joined(parts.iter().map(|part| &part.rest)),
            notes: notes.collect(),
            passing: passing.collect(),
        })
    }
}

/// The cell of a run. What is written in Python is a parameter that no scenario reads: the cell is
/// made without it.
fn cell_of(source: &Source, params: &[(String, String)], seed: u64) -> Result<Cell, Problems> {
    let of = |params: &[(String, String)]| Read::cell(source, params, seed);
    of(params).or_else(|_| {
        let is_read = |param: &&(String, String)| of(std::slice::from_ref(*param)).is_ok();
        let read: Vec<_> = params.iter().filter(is_read).cloned().collect();
        of(&read)
    })
}

/// Writes results into a folder, if it may have them, and clears it of what was there before.
pub(crate) fn into(
    py: Python<'_>,
    dir: &Path,
    owner: &Owner,
    overwrite: bool,
    write: impl FnOnce() -> Result<(), ReportError> + Send,
) -> PyResult<()> {
    let written = py.detach(|| {
        check_out(dir, owner, overwrite)?;
        write()?;
        clear(dir, owner)
    });
    written.map_err(|error| error::batch(py, &error))
}

/// Reads folders that `sojourn run --out` has written, side by side.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, dirs: Vec<PathBuf>) -> PyResult<Results> {
    let merged = py.detach(|| merge(&dirs));
    let Merged { info, runs, notes } = merged.map_err(|error| error::report(py, &error))?;
    let (list, rest) = Rest::of(runs);
    Ok(Results::kept(info, list, rest, notes, None))
}
