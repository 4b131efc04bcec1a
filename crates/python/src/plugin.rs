//! AQMs and congestion controls of shared libraries, where Python names them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_loader::{Plugin as Loaded, Sort};
use std::path::PathBuf;

/// One of a library, with its options (`rust:FILE.so:TYPE NAME=VALUE ...`).
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Plugin {
    pub(crate) loaded: Loaded,
    text: String,
    folder: PathBuf,
}

#[pymethods]
impl Plugin {
    /// Loads it; its file is seen from a folder.
    #[new]
    fn new(text: String, folder: PathBuf) -> PyResult<Self> {
        let loaded =
            Loaded::load(&text, &folder).map_err(|why| PyValueError::new_err(why.to_string()))?;
        Ok(Self {
            loaded,
            text,
            folder,
        })
    }

    #[getter]
    fn is_control(&self) -> bool {
        self.loaded.sort() == Sort::Control
    }

    /// Another process loads it again.
    fn __getnewargs__(&self) -> (String, PathBuf) {
        (self.text.clone(), self.folder.clone())
    }
}
