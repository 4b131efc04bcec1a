//! The line behind measurements.

use crate::error;
use crate::run::aside;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_fit::{DOWN, Figures, Fit, FitError, Measurement, UP, fit as search};
use sojourn_sim::Sim;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A line, and how well it fits.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Line {
    names: Vec<String>,
    fit: Fit,
    text: String,
}

/// A figure's name with its unit, as measured and as simulated.
type Compared = (&'static str, Option<f64>, Option<f64>);

#[pymethods]
impl Line {
    /// Round-trip time without load, in ms.
    #[getter]
    fn rtt_ms(&self) -> f64 {
        self.fit.line.rtt_ms
    }

    /// Bit/s up and down; None where nothing was sent.
    #[getter]
    fn rates(&self) -> (Option<f64>, Option<f64>) {
        self.fit.line.rate.into()
    }

    /// Ms that a full buffer takes to empty, up and down; None without a rate or a FIFO.
    #[getter]
    fn buffers(&self) -> (Option<f64>, Option<f64>) {
        [UP, DOWN].map(|way| self.fit.line.buffer_ms(way)).into()
    }

    /// The queues up and down in tc's words.
    #[getter]
    fn qdiscs(&self) -> (String, String) {
        [UP, DOWN].map(|way| self.fit.line.qdisc(way)).into()
    }

    /// The first measurement's load on this line.
    #[getter]
    fn scenario(&self) -> &str {
        &self.text
    }

    /// Of each measurement its name, and its figures beside those of the line.
    #[getter]
    fn figures(&self) -> Vec<(String, Vec<Compared>)> {
        let pairs = self.fit.measured.iter().zip(&self.fit.simulated);
        let rows = pairs.map(|(measured, simulated)| rows(measured, simulated));
        self.names.iter().cloned().zip(rows).collect()
    }

    /// How well it fits: good, fair or none.
    #[getter]
    fn grade(&self) -> String {
        self.fit.grade().to_string()
    }

    /// What makes the measurements uncertain.
    #[getter]
    fn doubts(&self) -> Vec<String> {
        self.fit.doubts.clone()
    }

    fn __str__(&self) -> String {
        self.fit.line.to_string()
    }
}

fn rows(measured: &Figures, simulated: &Figures) -> Vec<Compared> {
    let row = |name, of: &dyn Fn(&Figures) -> Option<f64>| (name, of(measured), of(simulated));
    vec![
        row("idle_rtt_ms", &|figures| Some(figures.idle_ms)),
        row("up_bps", &|figures| figures.throughput[UP]),
        row("down_bps", &|figures| figures.throughput[DOWN]),
        row("up_full_bps", &|figures| {
            figures.throughput[DOWN].and(figures.full[UP])
        }),
        row("down_full_bps", &|figures| {
            figures.throughput[UP].and(figures.full[DOWN])
        }),
        row("added_ms_p50", &|figures| Some(figures.added_p50_ms)),
        row("added_ms_p95", &|figures| Some(figures.added_p95_ms)),
    ]
}

/// Looks for the line of measurements; `client` is the client's address in captures, `progress` is
/// called with the number of the round.
#[pyfunction]
#[pyo3(signature = (files, client, cc, jobs, progress))]
pub(crate) fn fit(
    py: Python<'_>,
    files: Vec<PathBuf>,
    client: Option<IpAddr>,
    cc: Option<String>,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Line> {
    let read = py.detach(|| Measurement::read_all(&files, client));
    let mut measurements = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
    for measurement in measurements.iter_mut().filter(|_| cc.is_some()) {
        measurement.congestion_control.clone_from(&cc);
    }
    let jobs = jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let (stop, round) = (AtomicBool::new(false), AtomicUsize::new(0));
    let found = Mutex::new(None);
    let work = || {
        let watch = |now| round.store(now, Ordering::Relaxed);
        let fit = search(&measurements, &Sim, jobs, &stop, &watch);
        *found
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(fit);
    };
    let tell = |py: Python<'_>| match &progress {
        Some(progress) => {
            let round = round.load(Ordering::Relaxed);
            progress.call1(py, (round,)).map(drop)
        }
        None => Ok(()),
    };
    aside(py, work, &stop, &tell)?;
    let found = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let fit = found
        .unwrap_or(Err(FitError::Nothing))
        .map_err(|error| match error {
            FitError::World(error) => error::run(py, &error.to_string()),
            FitError::Refused(problems) => error::scenario(py, &problems),
            other => PyValueError::new_err(other.to_string()),
        })?;
    Ok(Line {
        names: measurements.iter().map(|each| each.name.clone()).collect(),
        text: fit.line.scenario(&measurements[0]),
        fit,
    })
}
