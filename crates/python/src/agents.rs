//! Runs in which an agent of Python's decides, side by side: numbers in, numbers out, in arrays
//! that Python owns.

use crate::error;
use crate::results::Results;
use crate::run::jobs;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_agent::{Episode, Outcome, Role, Task};
use sojourn_scenario::{Options, Scenario as Read};
use sojourn_units::parse_span;
use sojourn_world::{ScenarioInfo, WorldError};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Fewest runs that are worth a thread of their own.
const FEWEST: usize = 4;

/// Runs of one task.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Agents {
    text: (String, String, PathBuf),
    options: Options,
    info: ScenarioInfo,
    warnings: String,
    /// Parameters by cell.
    params: Vec<Vec<(String, String)>>,
    task: Arc<Task>,
    /// None: not begun. Locked only while Python goes on, so that neither waits for the other.
    episodes: Mutex<Vec<Option<Episode>>>,
    runs: usize,
    jobs: usize,
}

/// The role that Python calls so.
fn role(word: &str, place: String, limit: u32) -> PyResult<Role> {
    match word {
        "control" => Ok(Role::Control { flow: place }),
        "probability" => Ok(Role::Signal { link: place, limit }),
        "target" => Ok(Role::Target { link: place }),
        other => Err(PyValueError::new_err(format!("unknown role `{other}`"))),
    }
}

fn failed(py: Python<'_>, why: &WorldError) -> PyErr {
    error::run(py, &why.to_string())
}

/// One run's place in the arrays.
struct Turn<'a> {
    episode: Option<&'a mut Episode>,
    action: &'a [f32],
    observation: &'a mut [f32],
    reward: &'a mut f64,
    over: &'a mut u8,
}

impl Turn<'_> {
    fn take(self) -> Result<(), WorldError> {
        // One that is over waits until it begins anew.
        let Some(episode) = self.episode.filter(|_| *self.over == 0) else {
            return Ok(());
        };
        let Outcome { reward, over } = episode.step(self.action, self.observation)?;
        *self.reward = reward;
        *self.over = over.into();
        Ok(())
    }
}

/// Takes all turns, on so many threads at most.
fn take(turns: Vec<Turn<'_>>, jobs: usize) -> Result<(), WorldError> {
    let threads = jobs.min(turns.len() / FEWEST).max(1);
    if threads == 1 {
        return turns.into_iter().try_for_each(Turn::take);
    }
    let each = turns.len().div_ceil(threads);
    let mut turns = turns.into_iter();
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        for _ in 1..threads {
            let part: Vec<_> = turns.by_ref().take(each).collect();
            others.push(scope.spawn(move || part.into_iter().try_for_each(Turn::take)));
        }
        let own = turns.try_for_each(Turn::take);
        others
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .fold(own, Result::and)
    })
}

#[pymethods]
impl Agents {
    /// So many runs, not begun, of an agent with this role at this flow or link, in any of the
    /// cells of a scenario: its name, its text, and where paths in it are seen from. `limit` is
    /// that of the queue, in packets.
    #[new]
    #[pyo3(signature = (text, sets, role, every, runs, jobs))]
    fn new(
        py: Python<'_>,
        text: (String, String, PathBuf),
        sets: Vec<String>,
        role: (String, String, u32),
        every: &str,
        runs: usize,
        jobs: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let options = Options {
            sets,
            seeds: Some(1),
            ..Options::default()
        };
        let (name, words, base) = &text;
        let read = py
            .detach(|| Read::parse(name, words, base, &options))
            .map_err(|problems| error::scenario(py, &problems))?;
        let warnings = read.warnings.to_string();
        let Read { cells, info, .. } = read;
        let (word, place, limit) = role;
        let every =
            parse_span(every).map_err(|why| PyValueError::new_err(format!("every: {why}")))?;
        let task = Task::new(self::role(&word, place, limit)?, every)
            .map_err(|why| error::run(py, &why.to_string()))?;
        for cell in &cells {
            let fits = task.check(cell);
            fits.map_err(|why| error::run(py, &why.to_string()))?;
        }
        Ok(Self {
            text,
            options,
            info,
            warnings,
            params: cells.into_iter().map(|cell| cell.params).collect(),
            task: Arc::new(task),
            episodes: Mutex::new((0..runs).map(|_| None).collect()),
            runs,
            jobs: self::jobs(jobs).get(),
        })
    }

    /// Of each cell what the scenario varies.
    #[getter]
    fn cells(&self) -> Vec<Vec<(String, String)>> {
        self.params.clone()
    }

    /// What is right in the scenario and may not be meant, as the program prints it.
    #[getter]
    fn warnings(&self) -> &str {
        &self.warnings
    }

    /// Name, meaning, lowest and highest value of each number that is seen.
    #[getter]
    fn fields(&self) -> Vec<(&'static str, &'static str, f32, f32)> {
        let fields = self.task.role().fields().iter();
        fields
            .map(|field| (field.name, field.meaning, field.range[0], field.range[1]))
            .collect()
    }

    /// Lowest and highest value of each number of a decision.
    #[getter]
    fn actions(&self) -> Vec<(f32, f32)> {
        let ranges = self.task.role().actions().iter();
        ranges.map(|[low, high]| (*low, *high)).collect()
    }

    /// Begins a run anew, and writes what is seen at its first decision.
    fn begin(
        &self,
        py: Python<'_>,
        index: usize,
        cell: usize,
        seed: u64,
        observation: PyBuffer<f32>,
    ) -> PyResult<()> {
        self.check(index)?;
        let mut seen = vec![0.0; self.task.role().fields().len()];
        // Each seed draws what the scenario leaves to it, such as when flows start.
        let options = Options {
            seed: Some(seed),
            ..self.options.clone()
        };
        let (name, words, base) = &self.text;
        let read = || Read::part(name, words, base, &options, cell..cell + 1);
        let read = py.detach(read);
        let mut cells = read
            .map_err(|problems| error::scenario(py, &problems))?
            .cells;
        let Some(cell) = cells.pop() else {
            let message = format!("there are {} cells, not {cell}", self.params.len());
            return Err(PyValueError::new_err(message));
        };
        let begun = py.detach(|| {
            let episode = Episode::new(&self.task, cell, &mut seen)?;
            self.lock()[index] = Some(episode);
            Ok(())
        });
        begun.map_err(|why: WorldError| failed(py, &why))?;
        observation.copy_from_slice(py, &seen)
    }

    /// A decision for each run, a row each. Writes what is seen at the next ones, the rewards, and
    /// which runs are over. Those that `over` calls so, or that have not begun, are left alone.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyBuffer<f32>,
        observations: PyBuffer<f32>,
        rewards: PyBuffer<f64>,
        over: PyBuffer<u8>,
    ) -> PyResult<()> {
        let role = self.task.role();
        let (width, height) = (role.actions().len(), role.fields().len());
        let decisions = actions.to_vec(py)?;
        let mut seen = observations.to_vec(py)?;
        let (mut earned, mut ended) = (rewards.to_vec(py)?, over.to_vec(py)?);
        let runs = self.runs;
        let sizes = [decisions.len(), seen.len(), earned.len(), ended.len()];
        if sizes != [runs * width, runs * height, runs, runs] {
            let message = format!("{runs} runs take {width} numbers each and show {height}");
            return Err(PyValueError::new_err(message));
        }
        let taken = py.detach(|| {
            let mut episodes = self.lock();
            let rows = decisions.chunks(width).zip(seen.chunks_mut(height));
            let ends = earned.iter_mut().zip(&mut ended);
            let turns = episodes.iter_mut().zip(rows).zip(ends).map(
                |((episode, (action, observation)), (reward, over))| Turn {
                    episode: episode.as_mut(),
                    action,
                    observation,
                    reward,
                    over,
                },
            );
            take(turns.collect(), self.jobs)
        });
        taken.map_err(|why| failed(py, &why))?;
        observations.copy_from_slice(py, &seen)?;
        rewards.copy_from_slice(py, &earned)?;
        over.copy_from_slice(py, &ended)
    }

    /// A copy of all runs.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let copies = py.detach(|| {
            let episodes = self.lock();
            let copies = episodes.iter().map(|it| it.as_ref().map(Episode::fork));
            copies.map(Option::transpose).collect::<Result<_, _>>()
        });
        Ok(Self {
            text: self.text.clone(),
            options: self.options.clone(),
            info: self.info.clone(),
            warnings: self.warnings.clone(),
            params: self.params.clone(),
            task: Arc::clone(&self.task),
            episodes: Mutex::new(copies.map_err(|why| error::run(py, &why.to_string()))?),
            runs: self.runs,
            jobs: self.jobs,
        })
    }

    /// The simulated time of a run in ns; none before it has begun.
    fn now(&self, py: Python<'_>, index: usize) -> PyResult<Option<u64>> {
        self.check(index)?;
        Ok(py.detach(|| {
            let episodes = self.lock();
            episodes[index]
                .as_ref()
                .map(|episode| episode.now().as_nanos())
        }))
    }

    /// The result of a run, as if nothing more happened; none before it has begun.
    fn result(&self, py: Python<'_>, index: usize) -> PyResult<Option<Results>> {
        self.check(index)?;
        let result = py
            .detach(|| {
                let episodes = self.lock();
                episodes[index].as_ref().map(Episode::result).transpose()
            })
            .map_err(|why| failed(py, &why))?;
        Ok(result.map(|mut result| {
            result.program = Some(sojourn_version::VERSION.to_owned());
            Results::new(self.info.clone(), vec![result], Vec::new())
        }))
    }
}

impl Agents {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<Episode>>> {
        self.episodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, index: usize) -> PyResult<()> {
        if index < self.runs {
            return Ok(());
        }
        let message = format!("there are {} runs, none with the index {index}", self.runs);
        Err(PyValueError::new_err(message))
    }
}
