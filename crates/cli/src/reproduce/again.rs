//! A study's page, made again from the folders that `sojourn reproduce --out` wrote.

use super::page::{Reproduced, place};
use crate::{WRONG_INPUT, print, refuse};
use anyhow::Context as _;
use sojourn_report::{Reproduction, STUDY};
use sojourn_scenario::{Options, Outcome, Problems, Scenario};
use sojourn_study::{Published, Results, WorldName};
use sojourn_world::{RunResult, WorldError};
use std::path::{Path, PathBuf};

/// Makes the page of one or several folders, each with its `claims.json`, in `out`.
pub(crate) fn again(dirs: &[PathBuf], told: &[Reproduction], out: &Path) -> anyhow::Result<u8> {
    let merged = match sojourn_report::merge(dirs) {
        Ok(merged) => merged,
        Err(error) => return Ok(wrong(&format!("{:#}", anyhow::Error::from(error)))),
    };
    // What `merge` sets apart or remarks on would be two studies on one page.
    if let Some(note) = merged
        .notes
        .iter()
        .find(|note| !note.contains("are shown once"))
    {
        return Ok(wrong(&format!(
            "{note} A common page takes results of one version of a study: \
             `--world both` makes them, or the same study given by its folder."
        )));
    }
    let study = match load(&dirs[0], &merged.results) {
        Ok(study) => study,
        Err(problems) => return Ok(refuse(&problems)),
    };
    let asked: Vec<String> = told.iter().flat_map(|told| told.claims.clone()).collect();
    let chosen = match study.select(&asked) {
        Ok(chosen) => chosen,
        Err(message) => return Ok(wrong(&message)),
    };
    let mut results = merged.results;
    let mut worlds = Vec::new();
    for world in [WorldName::Sim, WorldName::Live] {
        if results.iter().any(|run| run.world.as_str() == world.name()) {
            worlds.push(take(&study, world, &mut results));
        }
    }
    if let Some(run) = results.first() {
        return Ok(wrong(&format!(
            "{}: the study has no cell for a {} run with seed {} and {:?}",
            dirs[0].display(),
            run.world,
            run.seed,
            run.params
        )));
    }
    let names: Vec<WorldName> = worlds.iter().map(|world| world.world).collect();
    let cost = cost(told);
    let cost: Vec<(&str, f64)> = cost
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    let notes = told.iter().flat_map(|told| told.notes.clone()).collect();
    let found = Reproduced::new(&study, &chosen, worlds, &cost, Some(notes));
    sojourn_report::write_study(out, &found.page(), &found.results, &found.json)
        .with_context(|| format!("--out {}", out.display()))?;
    print(&(found.text(&names) + &place(Some(out))))?;
    Ok(0)
}

fn wrong(message: &str) -> u8 {
    eprintln!("sojourn: {message}");
    WRONG_INPUT
}

/// The study as it was when it was run, with as many seeds as the results have.
fn load(dir: &Path, results: &[RunResult]) -> Result<Published, Problems> {
    let name = dir.join(STUDY).display().to_string();
    let study = Published::load(&name, &Options::default())?;
    let seeds = |world: WorldName| {
        let settings = study.settings.iter();
        let cells = settings.filter_map(move |setting| Some(&setting.in_world(world)?.cells));
        cells.flatten().map(|cell| cell.seed)
    };
    let known = |run: &RunResult| {
        let worlds = [WorldName::Sim, WorldName::Live].into_iter();
        let of = worlds.filter(|world| world.name() == run.world.as_str());
        of.flat_map(seeds).any(|seed| seed == run.seed)
    };
    if results.iter().all(known) {
        return Ok(study);
    }
    let options = Options {
        seeds: results.iter().map(|run| run.seed).max(),
        ..Options::default()
    };
    Published::load(&name, &options)
}

/// Takes the results of one world, in the order of the study's cells.
fn take(study: &Published, world: WorldName, results: &mut Vec<RunResult>) -> Results {
    let outcomes = study.settings.iter().map(|setting| {
        let scenario = setting.in_world(world);
        scenario.map_or_else(Vec::new, |scenario| {
            outcomes(scenario, &setting.name, world, results)
        })
    });
    Results {
        world,
        outcomes: outcomes.collect(),
    }
}

/// An outcome for every cell of a scenario; empty when no cell has a result.
fn outcomes(
    scenario: &Scenario,
    setting: &str,
    world: WorldName,
    results: &mut Vec<RunResult>,
) -> Vec<Outcome> {
    let outcomes: Vec<Outcome> = scenario
        .cells
        .iter()
        .map(|cell| {
            let fits = |run: &RunResult| {
                run.world.as_str() == world.name()
                    && run.seed == cell.seed
                    && matches!(run.params.split_first(), Some(((key, value), rest))
                        if key == "setting" && value == setting && rest == cell.params)
            };
            let found = results.iter().position(fits);
            let at = found.ok_or_else(|| WorldError("no result".into()))?;
            let mut run = results.remove(at);
            run.params.remove(0);
            Ok(run)
        })
        .collect();
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
