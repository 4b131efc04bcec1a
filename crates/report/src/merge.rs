//! Reads result folders back and sets them side by side.

use crate::error::{ReportError, Run};
use crate::files::open;
use crate::folder::summary_of;
use crate::{TABLE, summary, table};
use sojourn_world::{Axis, RunResult, ScenarioInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The parameter that tells folders apart when they hold different results of the same run.
const FOLDER: &str = "folder";

/// Several folders as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The scenario.
    pub info: ScenarioInfo,
    /// All runs, those of the first folder first.
    pub results: Vec<RunResult>,
    /// Sentences for the reader: what was left out or set apart, and why.
    pub notes: Vec<String>,
}

/// Reads `dirs` (at least one) and sets their results side by side.
///
/// A run that stands in several folders with the same figures is taken once. When the figures
/// differ, all runs get a parameter `folder`, so that the folders stand beside each other as
/// cells.
///
/// # Errors
/// When a folder's files are missing or damaged, or folders hold different scenarios.
pub fn merge(dirs: &[PathBuf]) -> Result<Merged, ReportError> {
    let mut folders = Vec::with_capacity(dirs.len());
    for dir in dirs {
        folders.push((dir.as_path(), load(dir)?));
    }
    let Some(((first_dir, first), others)) = folders.split_first() else {
        return Err(ReportError::Mixed("no folder to read was named".to_owned()));
    };
    let mut notes = Vec::new();
    let mut info = first.info.clone();
    // Of several, nobody knows which runs are missing.
    info.shard = info.shard.filter(|_| others.is_empty());
    for (dir, other) in others {
        if other.info.name != info.name {
            return Err(ReportError::Mixed(format!(
                "{} holds scenario `{}` and {} holds `{}`: only folders of the same scenario \
                 stand in one report",
                first_dir.display(),
                info.name,
                dir.display(),
                other.info.name,
            )));
        }
        if other.info.source != info.source {
            notes.push(format!(
                "The scenario file of {} is not the same as that of {}, which is the one shown.",
                dir.display(),
                first_dir.display()
            ));
        }
        for axis in &other.info.axes {
            Axis::add(&mut info.axes, &axis.field, &axis.values);
        }
    }
    let results = if in_conflict(&folders) {
        notes.push(format!(
            "The folders hold different results of the same cell, world and seed; \
             the parameter `{FOLDER}` tells them apart."
        ));
        set_apart(&mut info, &folders)
    } else {
        once(&folders, &mut notes)
    };
    Ok(Merged {
        info,
        results,
        notes,
    })
}

/// Reads one folder.
fn load(dir: &Path) -> Result<summary::Summary, ReportError> {
    let mut summary = summary_of(dir)?;
    let path = dir.join(TABLE);
    table::read(open(&path)?, &mut summary.results)
        .map_err(|reason| ReportError::damaged(&path, reason))?;
    Ok(summary)
}

type Folders<'a> = [(&'a Path, summary::Summary)];

/// Whether two runs say the same; what they cost does not matter.
fn alike(a: &RunResult, b: &RunResult) -> bool {
    // Text, because a NaN in a series is not equal to itself.
    let content =
        |run: &RunResult| format!("{:?}", (&run.links, &run.flows, &run.aggregate, run.digest));
    content(a) == content(b)
}

fn in_conflict(folders: &Folders<'_>) -> bool {
    let mut known: BTreeMap<_, &RunResult> = BTreeMap::new();
    let mut runs = folders.iter().flat_map(|(_, summary)| &summary.results);
    runs.any(|run| !alike(known.entry(Run::of(run)).or_insert(run), run))
}

/// Every run once.
fn once(folders: &Folders<'_>, notes: &mut Vec<String>) -> Vec<RunResult> {
    let mut known = std::collections::BTreeSet::new();
    let all = folders.iter().flat_map(|(_, summary)| &summary.results);
    let total = all.clone().count();
    let results: Vec<_> = all
        .filter(|run| known.insert(Run::of(run)))
        .cloned()
        .collect();
    if results.len() < total {
        notes.push(format!(
            "{} runs stand in more than one folder with the same figures and are shown once.",
            total - results.len()
        ));
    }
    results
}

/// All runs, each with its folder as a parameter.
fn set_apart(info: &mut ScenarioInfo, folders: &Folders<'_>) -> Vec<RunResult> {
    let mut results = Vec::new();
    info.axes.retain(|axis| axis.field != FOLDER);
    for (dir, summary) in folders {
        let value = dir.display().to_string();
        for run in &summary.results {
            let mut run = run.clone();
            run.params.retain(|(field, _)| field != FOLDER);
            run.params.push((FOLDER.to_owned(), value.clone()));
            results.push(run);
        }
        Axis::add(&mut info.axes, FOLDER, [&value]);
    }
    results
}
