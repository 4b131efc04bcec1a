//! A study's page, made again from the folders that `sojourn reproduce --out` wrote.

use super::{place, text};
use crate::{WrongInput, print, python, worlds};
use anyhow::{Context as _, bail};
use sojourn_loader::Plugins;
use sojourn_qdisc::Spec;
use sojourn_report::Finished;
use sojourn_scenario::{Options, Outcome, Scenario};
use sojourn_study::{Changes, Outcomes, Reproduced, Reproduction, STUDY, Study};
use sojourn_world::{ByWorld, Cell, RunResult, WorldError, WorldName};
use std::collections::{BTreeMap, BTreeSet};
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
    let mut study = load(&dirs[0], &merged.runs, told)?;
    let mut queues = told.iter().filter_map(|told| told.queue.as_deref());
    if let Some(queue) = queues.next() {
        if let Some(other) = queues.find(|other| *other != queue) {
            bail!(WrongInput(format!(
                "one folder has the queue `{queue}`, another `{other}`; a page has one beside the \
                 study's own"
            )));
        }
        // Nothing is run again, so that any queue may stand in the cells for one that is loaded.
        let stands = if python::is_named(queue) || Plugins::is_named(queue) {
            "pfifo limit 4294967295"
        } else {
            queue
        };
        let spec = stands.parse::<Spec>().map_err(WrongInput::from)?;
        let beside = study.with_queue_called(&spec, queue);
        study = beside.map_err(WrongInput::from)?;
    }
    let asked: Vec<String> = told.iter().flat_map(|told| told.claims.clone()).collect();
    let chosen = study.select(&asked).map_err(WrongInput::from)?;
    let all = merged.runs.into_iter();
    let mut runs: BTreeMap<Key, Finished> = all.map(|run| (key(&run.figures), run)).collect();
    let mut found = ByWorld::default();
    for world in worlds::names() {
        if runs.values().any(|run| run.figures.world == world) {
            let outcomes = take(&study, &world, &mut runs);
            found.insert(world, outcomes);
        }
    }
    if let Some((world, params, seed)) = runs.into_keys().next() {
        let dir = dirs[0].display();
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
fn load(dir: &Path, runs: &[Finished], told: &[Reproduction]) -> anyhow::Result<Study> {
    let changes = changes(told)?;
    let read = |options: &Options| {
        let name = dir.join(STUDY).display().to_string();
        let study =
            Study::kept(&name, options, &worlds::names())?.changed(changes.clone(), options);
        study.map_err(|error| WrongInput::from(error).into())
    };
    let study = read(&Options::default());
    let mut known = BTreeSet::new();
    let settings = study.iter().flat_map(|study: &Study| &study.settings);
    for (world, scenario) in settings.flat_map(|setting| &setting.scenarios) {
        known.extend(scenario.cells.iter().map(|cell| (world, cell.seed)));
    }
    let is_known = |run: &Finished| known.contains(&(&run.figures.world, run.figures.seed));
    if study.is_err() || runs.iter().all(is_known) {
        return study;
    }
    read(&Options {
        seeds: runs.iter().map(|run| run.figures.seed).max(),
        ..Options::default()
    })
}

/// What was set from outside in the folders' runs, which must be the same in all.
fn changes(told: &[Reproduction]) -> Result<Changes, WrongInput> {
    let mut all: Option<Changes> = None;
    for told in told {
        let changes = told.changes.clone().unwrap_or_default();
        match &mut all {
            None => all = Some(changes),
            Some(all) if all.fields == changes.fields => all.settings.extend(changes.settings),
            Some(all) => {
                return Err(WrongInput(format!(
                    "one folder was run with {}, another with {}; a page shows one condition",
                    sets(all),
                    sets(&changes)
                )));
            }
        }
    }
    Ok(all.unwrap_or_default())
}

/// As options of the command line.
fn sets(changes: &Changes) -> String {
    let sets: Vec<String> = changes
        .fields
        .iter()
        .map(|field| format!("`--set {field}`"))
        .collect();
    if sets.is_empty() {
        return "no `--set`".to_owned();
    }
    sets.join(" ")
}

/// A run by its world, its parameters and its seed.
type Key = (WorldName, Vec<(String, String)>, u64);

fn key(run: &RunResult) -> Key {
    (run.world.clone(), run.params.clone(), run.seed)
}

/// Takes the results of one world, in the order of the study's cells.
fn take(study: &Study, world: &WorldName, runs: &mut BTreeMap<Key, Finished>) -> Outcomes {
    let outcomes = study.settings.iter().map(|setting| {
        let scenario = setting.scenarios.get(world);
        scenario.map_or_else(Vec::new, |scenario| {
            outcomes(scenario, &setting.name, world, runs)
        })
    });
    outcomes.collect()
}

/// An outcome for every cell of a scenario; empty when no cell has a result.
fn outcomes(
    scenario: &Scenario,
    setting: &str,
    world: &WorldName,
    runs: &mut BTreeMap<Key, Finished>,
) -> Vec<Outcome<Finished>> {
    let outcome = |cell: &Cell| {
        let params = std::iter::once(("setting".to_owned(), setting.to_owned()))
            .chain(cell.params.iter().cloned())
            .collect();
        let found = runs.remove(&(world.clone(), params, cell.seed));
        let mut run = found.ok_or(WorldError::Missing)?;
        run.figures.params.remove(0);
        Ok(run)
    };
    let outcomes: Vec<_> = scenario.cells.iter().map(outcome).collect();
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
