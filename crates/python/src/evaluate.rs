//! A queue or a congestion control in the cases of RFCs, in the simulator.

use crate::error;
use crate::prototype::{Prototypes, Values};
use crate::run::{How, outcomes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_batch::{Results as Owner, check_out};
use sojourn_evaluate::{Candidate, Evaluation, Unfit};
use sojourn_scenario::{Scenario, split};
use sojourn_sim::Sim;
use sojourn_world::World as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `card.json`, `card.md`, the title of the table, and its lines.
type Card = (String, String, String, Vec<[String; 5]>);

/// Evaluates as `sojourn evaluate` does. `subject` is its option (`qdisc` or `cc`), its name and
/// what stands for it in cells; `cases` are their names and the number of seeds; `out` is a folder,
/// and whether others' results in it go.
#[pyfunction]
#[pyo3(signature = (subject, cases, values, jobs, out, progress))]
pub(crate) fn evaluate(
    py: Python<'_>,
    subject: (String, String, String),
    cases: (Vec<String>, u64),
    values: Values,
    jobs: Option<NonZeroUsize>,
    out: (Option<PathBuf>, bool),
    progress: Option<Py<PyAny>>,
) -> PyResult<Card> {
    let (option, name, own) = subject;
    let (cases, seeds) = cases;
    let kind = [Candidate::Queue, Candidate::Control]
        .into_iter()
        .find(|kind| kind.option() == option)
        .ok_or_else(|| PyValueError::new_err(format!("`{option}` is neither qdisc nor cc")))?;
    let mut evaluation =
        Evaluation::new(kind, &own, &cases, seeds).map_err(|unfit| match unfit {
            Unfit::Scenario(problems) => error::scenario(py, &problems),
            Unfit::Case { .. } => PyValueError::new_err(format!("case: {unfit}")),
            Unfit::Subject(message) => PyValueError::new_err(format!("{option}: {message}")),
        })?;
    let (queues, controls) = values;
    let world = Prototypes::of_values(py, queues, controls)?;
    for Scenario { info, cells, .. } in evaluation.scenarios() {
        world.name(info, cells);
    }
    let (out, overwrite) = out;
    let folders = out.iter().flat_map(|out| evaluation.folders(out));
    for (folder, scenario) in folders {
        let owner = Owner::Scenario(scenario.to_owned());
        check_out(&folder, &owner, overwrite).map_err(|error| error::batch(py, &error))?;
    }
    let cells = evaluation.cells();
    let how = How {
        jobs,
        series: true,
        progress,
    };
    let outcomes = outcomes(py, &world, &cells, &how);
    world.raised()?;
    let (results, failures) = split(&cells, outcomes?);
    if !failures.is_empty() {
        return Err(error::run(py, &failures.join("\n")));
    }
    let subject = match kind {
        Candidate::Queue => format!("--qdisc '{name}'"),
        Candidate::Control => format!("--cc {name}"),
    };
    let card = evaluation.card(subject, Sim.name().to_string(), seeds, &results);
    if let Some(out) = out {
        let written = py.detach(|| evaluation.write(&out, &card, &results));
        written.map_err(|error| error::report(py, &error))?;
    }
    let lines = card.lines().collect();
    Ok((card.json(), card.markdown(), card.title(), lines))
}
