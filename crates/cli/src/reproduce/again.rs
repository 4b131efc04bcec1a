//! A study's page, made again from the folders that `sojourn reproduce --out` wrote.

use super::{place, text};
use crate::{WrongInput, print, worlds};
use anyhow::{Context as _, bail};
use sojourn_scenario::{Options, Outcome, Problems, Scenario};
use sojourn_study::{Outcomes, Reproduced, Reproduction, STUDY, Study};
use sojourn_world::{ByWorld, Cell, RunResult, WorldError, WorldName};
use std::path::{Path, PathBuf};

/// Makes the page of one or several folders, each with its `claims.json`, in `out`.
pub(crate) fn again(dirs: &[PathBuf], told: &[Reproduction], out: &Path) -> anyhow::Result<u8> {
    let merged = sojourn_report::merge(dirs).map_err(WrongInput::from)?;
    // What `merge` sets apart or remarks on would be two studies on one page.
    let mut notes = merged.notes.iter();
    if let Some(note) = notes.find(|note| !note.contains("are shown once")) {
        bail!(WrongInput(format!(
            "{note} A common page takes results of one version of a study: \
             `--world both` makes them, or the same study given by its folder."
        )));
    }
    let study = load(&dirs[0], &merged.results)?;
    let asked: Vec<String> = told.iter().flat_map(|told| told.claims.clone()).collect();
    let chosen = study.select(&asked).map_err(WrongInput::from)?;
    let mut results = merged.results;
    let mut found = ByWorld::default();
    for world in worlds::names() {
        if results.iter().any(|run| run.world == world) {
            let outcomes = take(&study, &world, &mut results);
            found.insert(world, outcomes);
        }
    }
    if let Some(run) = results.first() {
        let dir = dirs[0].display();
        let RunResult {
            world,
            seed,
            params,
            ..
        } = run;
        bail!(WrongInput(format!(
            "{dir}: the study has no cell for a {world} run with seed {seed} and {params:?}"
        )));
    }
    let notes = told.iter().flat_map(|told| told.notes.clone()).collect();
    let found = Reproduced::new(&study, &chosen, found, cost(told), Some(notes))?;
    found
        .write(out)
        .with_context(|| format!("--out {}", out.display()))?;
    print(&(text(&found) + &place(Some(out))))?;
    Ok(0)
}

/// The study as it was when it was run, with as many seeds as the results have.
fn load(dir: &Path, results: &[RunResult]) -> Result<Study, Problems> {
    let name = dir.join(STUDY).display().to_string();
    let study = Study::kept(&name, &Options::default(), &worlds::names())?;
    let known = |run: &RunResult| {
        let settings = study.settings.iter();
        let cells = settings.filter_map(|setting| Some(&setting.scenarios.get(&run.world)?.cells));
        cells.flatten().any(|cell| cell.seed == run.seed)
    };
    if results.iter().all(known) {
        return Ok(study);
    }
    let options = Options {
        seeds: results.iter().map(|run| run.seed).max(),
        ..Options::default()
    };
    Study::kept(&name, &options, &worlds::names())
}

/// Takes the results of one world, in the order of the study's cells.
fn take(study: &Study, world: &WorldName, results: &mut Vec<RunResult>) -> Outcomes {
    let outcomes = study.settings.iter().map(|setting| {
        let scenario = setting.scenarios.get(world);
        scenario.map_or_else(Vec::new, |scenario| {
            outcomes(scenario, &setting.name, world, results)
        })
    });
    outcomes.collect()
}

/// An outcome for every cell of a scenario; empty when no cell has a result.
fn outcomes(
    scenario: &Scenario,
    setting: &str,
    world: &WorldName,
    results: &mut Vec<RunResult>,
) -> Vec<Outcome> {
    let outcome = |cell: &Cell| {
        let fits = |run: &RunResult| {
            (&run.world, run.seed) == (world, cell.seed)
                && matches!(run.params.split_first(), Some(((key, value), rest))
                    if key == "setting" && value == setting && rest == cell.params)
        };
        let found = results.iter().position(fits);
        let mut run = results.remove(found.ok_or(WorldError::Missing)?);
        run.params.remove(0);
        Ok(run)
    };
    let outcomes: Vec<Outcome> = scenario.cells.iter().map(outcome).collect();
    if outcomes.iter().all(Result::is_err) {
        return Vec::new();
    }
    outcomes
}

/// The sums over all folders.
fn cost(told: &[Reproduction]) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (name, value) in told.iter().flat_map(|told| &told.cost) {
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += value,
            None => sums.push((name.clone(), *value)),
        }
    }
    sums
}
