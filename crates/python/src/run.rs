//! Runs in the simulator, while Python goes on: other threads run, and Ctrl-C is heard.

use crate::error;
use crate::prototype::{Prototypes, Written};
use crate::results::Results;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use sojourn_report::pack_run;
use sojourn_scenario::{Outcome, Watch, each, split};
use sojourn_sim::Sim;
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, ScenarioInfo, World, WorldError};
use std::borrow::Borrow;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often Python is asked whether to go on, and told how far the runs are.
const TICK: Duration = Duration::from_millis(100);

/// How cells are run.
pub(crate) struct How {
    /// Runs at a time; one for each processor, if it is not said.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Whether series are kept; otherwise they are let go of as soon as a run is done.
    pub(crate) series: bool,
    /// Called with the milliseconds that have been simulated, and the number of runs done.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Runs these of a scenario's runs, by their numbers, all without numbers. `prototypes` are links
/// with the name of the AQM there and what makes one, flows with their congestion control, and
/// what stands for AQMs and congestion controls in the scenario.
#[pyfunction]
#[pyo3(signature = (scenario, numbers, prototypes, jobs, series, progress))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    numbers: Option<Vec<usize>>,
    prototypes: Written,
    jobs: Option<NonZeroUsize>,
    series: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let how = How {
        jobs,
        series,
        progress,
    };
    let numbers = numbers.unwrap_or_else(|| (0..scenario.read.cells.len()).collect());
    let cells = chosen(py, scenario, &numbers)?;
    let mut info = scenario.read.info.clone();
    let (queues, controls, values, control_values) = &prototypes;
    let is_plain = queues.is_empty() && controls.is_empty();
    if is_plain && values.is_empty() && control_values.is_empty() {
        let outcomes = outcomes(py, &Sim, &cells, &how)?;
        return results(py, info, &cells, outcomes);
    }
    let mut own: Vec<Cell> = cells.into_iter().cloned().collect();
    let prototypes = Prototypes::new(py, prototypes, &mut info, &mut own)?;
    let outcomes = outcomes(py, &prototypes, &own, &how);
    prototypes.raised()?;
    results(py, info, &own, outcomes?)
}

/// Those of a scenario's cells that have these numbers.
fn chosen<'a>(
    py: Python<'_>,
    scenario: &'a Scenario,
    numbers: &[usize],
) -> PyResult<Vec<&'a Cell>> {
    let all = &scenario.read.cells;
    let found = numbers.iter().map(|number| all.get(*number));
    let cells: Option<Vec<&Cell>> = found.collect();
    cells.ok_or_else(|| error::run(py, "the scenario has no run of that number"))
}

/// The results of cells, unless none has one.
fn results<C: Borrow<Cell>>(
    py: Python<'_>,
    info: ScenarioInfo,
    cells: &[C],
    outcomes: Vec<Outcome>,
) -> PyResult<Results> {
    let (results, failures) = split(cells, outcomes);
    if results.is_empty() && !failures.is_empty() {
        return Err(error::run(py, &failures.join("\n")));
    }
    Ok(Results::new(info, results, failures))
}

/// Runs these of a scenario's runs one after another, for another process: of each its bytes, for
/// `Results.of`, or a sentence that says why it has no result.
#[pyfunction]
pub(crate) fn run_packed<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    numbers: Vec<usize>,
    series: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let how = How {
        jobs: Some(NonZeroUsize::MIN),
        series,
        progress: None,
    };
    let cells = chosen(py, scenario, &numbers)?;
    let outcomes = outcomes(py, &Sim, &cells, &how)?.into_iter();
    let answers = outcomes.zip(&cells).map(|(outcome, cell)| match outcome {
        Ok(run) => PyBytes::new(py, &pack_run(&run)).into_any(),
        Err(error) => {
            let (_, failures) = split::<RunResult, _>(&[*cell], vec![Err(error)]);
            PyString::new(py, &failures.concat()).into_any()
        }
    });
    Ok(answers.collect())
}

/// Runs cells, signs their results, and lets Python go on meanwhile.
pub(crate) fn outcomes<C: Borrow<Cell> + Sync>(
    py: Python<'_>,
    world: &(dyn World + Sync),
    cells: &[C],
    how: &How,
) -> PyResult<Vec<Outcome>> {
    let (stop, far) = (AtomicBool::new(false), Far::of(cells));
    let slots = cells.iter().map(|_| Err(WorldError::Missing));
    let outcomes: Mutex<Vec<Outcome>> = Mutex::new(slots.collect());
    let take = |index: usize, outcome: Outcome| {
        let outcome = outcome.map(|mut result| {
            result.program = Some(sojourn_version::VERSION.to_owned());
            if !how.series {
                forget_series(&mut result);
            }
            result
        });
        outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] = outcome;
    };
    let work = || each(world, cells, jobs(how.jobs), &stop, &far, &take);
    aside(py, work, &stop, &far.teller(how.progress.as_ref()))?;
    Ok(outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner))
}

/// So many runs at a time as are asked for, or one for each processor.
pub(crate) fn jobs(given: Option<NonZeroUsize>) -> NonZeroUsize {
    let processors = || std::thread::available_parallelism().ok();
    given.or_else(processors).unwrap_or(NonZeroUsize::MIN)
}

fn forget_series(result: &mut RunResult) {
    for (_, link) in &mut result.links {
        link.series = Vec::new();
    }
    for (_, flow) in &mut result.flows {
        flow.series = Vec::new();
    }
}

/// Works on a thread of its own without Python; this one hears signals and tells of progress. What
/// either raises stops the work, and is raised when that has ended.
pub(crate) fn aside(
    py: Python<'_>,
    work: impl FnOnce() + Send,
    stop: &AtomicBool,
    tell: &(dyn Fn(Python<'_>) -> PyResult<()> + Sync),
) -> PyResult<()> {
    py.detach(|| {
        let mut raised = None;
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            scope.spawn(move || {
                // Python knows the thread for as long as it works. Otherwise each call of an object
                // of Python's would make what it keeps of a thread, and give it back: that takes
                // longer than the call.
                Python::attach(|py| py.detach(work));
                // The other end is there until this thread has ended.
                let _ = done.send(());
            });
            while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    let ask = |py: Python<'_>| py.check_signals().and_then(|()| tell(py));
                    raised = Python::attach(ask).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
        });
        match raised {
            Some(error) => Err(error),
            None => Python::attach(tell),
        }
    })
}

/// How far runs are.
pub(crate) struct Far {
    /// Milliseconds that each run lasts, and those that are simulated.
    cells: Vec<(u64, AtomicU64)>,
    done: AtomicU64,
}

impl Far {
    pub(crate) fn of<C: Borrow<Cell>>(cells: &[C]) -> Self {
        let cells = cells
            .iter()
            .map(Borrow::borrow)
            .map(|cell| (cell.duration.as_nanos() / 1_000_000, AtomicU64::new(0)));
        Self {
            cells: cells.collect(),
            done: AtomicU64::new(0),
        }
    }

    /// Tells somebody in Python.
    pub(crate) fn teller(
        &self,
        progress: Option<&Py<PyAny>>,
    ) -> impl Fn(Python<'_>) -> PyResult<()> + Sync {
        move |py| match progress {
            Some(progress) => progress.call1(py, self.so_far()).map(drop),
            None => Ok(()),
        }
    }

    /// Milliseconds that are simulated, and runs that are done.
    fn so_far(&self) -> (u64, u64) {
        let ms = self.cells.iter().map(|(_, ms)| ms.load(Ordering::Relaxed));
        (ms.sum(), self.done.load(Ordering::Relaxed))
    }
}

impl Watch for Far {
    fn progress(&self, index: usize, now: Time) {
        let (length, ms) = &self.cells[index];
        ms.store((now.as_nanos() / 1_000_000).min(*length), Ordering::Relaxed);
    }

    fn done(&self, index: usize, _: &Outcome) {
        let (length, ms) = &self.cells[index];
        ms.store(*length, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
