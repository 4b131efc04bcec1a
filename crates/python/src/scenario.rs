//! A scenario as Python sees it: its words and its runs.

use crate::error;
use pyo3::prelude::*;
use sojourn_scenario::{Options, Scenario as Read};
use std::path::PathBuf;

/// A scenario that has been read and checked, with all its runs.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Scenario {
    pub(crate) read: Read,
}

#[pymethods]
impl Scenario {
    /// Reads a text; `name` is shown in messages, paths in it are seen from `base`. `seeds` are the
    /// first one and their number, `part` is the first run that is read and the first that is not.
    #[staticmethod]
    #[pyo3(signature = (text, sets, sweeps, seeds, part))]
    fn parse(
        py: Python<'_>,
        text: (String, String, PathBuf),
        sets: Vec<String>,
        sweeps: Vec<String>,
        seeds: (Option<u64>, Option<u64>),
        part: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        let (name, text, base) = text;
        let (seed, seeds) = seeds;
        let options = Options {
            sets,
            sweeps,
            seed,
            seeds,
        };
        let read = py
            .detach(|| match part {
                None => Read::parse(&name, &text, &base, &options),
                Some((from, to)) => Read::part(&name, &text, &base, &options, from..to),
            })
            .map_err(|problems| error::scenario(py, &problems))?;
        Ok(Self { read })
    }

    /// Checks every combination, keeps none, and counts the combinations and the seeds of each.
    #[staticmethod]
    #[pyo3(signature = (text, sets, sweeps, seeds))]
    fn survey(
        py: Python<'_>,
        text: (String, String, PathBuf),
        sets: Vec<String>,
        sweeps: Vec<String>,
        seeds: (Option<u64>, Option<u64>),
    ) -> PyResult<(usize, usize)> {
        let (name, text, base) = text;
        let (seed, seeds) = seeds;
        let options = Options {
            sets,
            sweeps,
            seed,
            seeds,
        };
        let counts = py.detach(|| Read::survey(&name, &text, &base, &options));
        counts.map_err(|problems| error::scenario(py, &problems))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.read.info.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.read.info.title
    }

    #[getter]
    fn description(&self) -> &str {
        &self.read.info.description
    }

    /// The swept fields with their values, as written.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.read.info.axes.iter();
        axes.map(|axis| (axis.field.clone(), axis.values.clone()))
            .collect()
    }

    /// Of each run its parameters, as written, and its seed.
    #[getter]
    fn runs(&self) -> Vec<(Vec<(String, String)>, u64)> {
        let cells = self.read.cells.iter();
        cells.map(|cell| (cell.params.clone(), cell.seed)).collect()
    }

    /// What is right and may not be meant, each with its place, as the program prints it.
    #[getter]
    fn warnings(&self) -> String {
        self.read.warnings.to_string()
    }

    fn __len__(&self) -> usize {
        self.read.cells.len()
    }
}
