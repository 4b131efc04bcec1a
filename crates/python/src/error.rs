//! Errors as Python's exceptions. The classes stand in `sojourn/errors.py`.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_batch::BatchError;
use sojourn_report::ReportError;
use sojourn_scenario::Problems;
use sojourn_scenario::problem::suggestion;
use std::error::Error;

const MODULE: &str = "sojourn.errors";

/// `ScenarioError`, with everything that is wrong.
pub(crate) fn scenario(py: Python<'_>, problems: &Problems) -> PyErr {
    let list = problems.iter().map(|problem| {
        let place = problems.place(problem);
        let (line, column) = place.position.unzip();
        let dict = PyDict::new(py);
        dict.set_item("file", place.source)?;
        dict.set_item("line", line)?;
        dict.set_item("column", column)?;
        dict.set_item("field", problem.field())?;
        dict.set_item("message", problem.message())?;
        dict.set_item("help", problem.way_out())?;
        Ok(dict)
    });
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let list = list.collect::<PyResult<Vec<_>>>()?;
        let class = py.import(MODULE)?.getattr("ScenarioError")?;
        class.call1((problems.to_string().trim_end(), list))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// `IndexError`: there is no such thing by that name; says which was probably meant.
pub(crate) fn lookup(what: &str, name: &str, known: &[&str]) -> PyErr {
    let help = suggestion(name, known);
    PyIndexError::new_err(format!("no {what} `{name}`; {help}"))
}

/// `RunError`: runs have no result, or there is no place for it.
pub(crate) fn run(py: Python<'_>, message: &str) -> PyErr {
    let made = || py.import(MODULE)?.getattr("RunError")?.call1((message,));
    made().map_or_else(|error| error, PyErr::from_value)
}

/// What went wrong with files of results, with the system's reason.
pub(crate) fn report(py: Python<'_>, error: &ReportError) -> PyErr {
    with_reasons(py, error)
}

/// Why a folder cannot hold results, or cannot be gone on with.
pub(crate) fn batch(py: Python<'_>, error: &BatchError) -> PyErr {
    match error {
        BatchError::Study(problems) => scenario(py, problems),
        BatchError::Taken { .. } => run(
            py,
            &format!("{error}; name another folder, or replace it with overwrite=True"),
        ),
        other => with_reasons(py, other),
    }
}

fn with_reasons(py: Python<'_>, error: &dyn Error) -> PyErr {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(reason) = below {
        text = format!("{text}: {reason}");
        below = reason.source();
    }
    run(py, &text)
}
