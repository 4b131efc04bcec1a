//! Reads result folders back and sets them side by side.

use crate::error::{ReportError, Run};
use crate::folder::Folder;
use crate::stored::Finished;
use sojourn_world::{Axis, RunResult, ScenarioInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The parameter that tells folders apart when they hold different results of the same run.
const FOLDER: &str = "folder";

/// Several folders as one.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The scenario.
    pub info: ScenarioInfo,
    /// All runs, those of the first folder first. Their tables are open.
    pub runs: Vec<Finished>,
    /// Sentences for the reader: what was left out or set apart, and why.
    pub notes: Vec<String>,
}

impl Merged {
    /// All runs with all that belongs to them, in memory.
    ///
    /// # Errors
    /// When a table cannot be read any more.
    pub fn whole(&self) -> Result<Vec<RunResult>, ReportError> {
        let runs = self.runs.iter().map(|run| Ok(run.whole()?.into_owned()));
        runs.collect()
    }
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
        folders.push((dir.as_path(), Folder::hold(dir)?));
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
    let runs = if in_conflict(&folders)? {
        notes.push(format!(
            "The folders hold different results of the same cell, world and seed; \
             the parameter `{FOLDER}` tells them apart."
        ));
        set_apart(&mut info, folders)
    } else {
        once(folders, &mut notes)
    };
    Ok(Merged { info, runs, notes })
}

/// A folder by its path.
type Folders<'a> = [(&'a Path, Folder)];

/// Whether two runs say the same; what they cost does not matter.
fn alike(a: &Finished, b: &Finished) -> Result<bool, ReportError> {
    // Text, because a NaN in a series is not equal to itself.
    let content = |run: &Finished| -> Result<String, ReportError> {
        let run = run.whole()?;
        let RunResult {
            links,
            flows,
            aggregate,
            digest,
            ..
        } = &*run;
        Ok(format!("{:?}", (links, flows, aggregate, digest)))
    };
    Ok(content(a)? == content(b)?)
}

/// Whether folders hold different results of one run.
fn in_conflict(folders: &Folders<'_>) -> Result<bool, ReportError> {
    let mut known: BTreeMap<_, &Finished> = BTreeMap::new();
    for run in folders.iter().flat_map(|(_, folder)| &folder.runs) {
        if let Some(other) = known.insert(Run::of(&run.figures), run)
            && !alike(other, run)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every run once.
fn once(folders: Vec<(&Path, Folder)>, notes: &mut Vec<String>) -> Vec<Finished> {
    let mut known = BTreeSet::new();
    let all = folders.into_iter().flat_map(|(_, folder)| folder.runs);
    let (runs, again): (Vec<_>, Vec<_>) = all.partition(|run| known.insert(Run::of(&run.figures)));
    if !again.is_empty() {
        notes.push(format!(
            "{} runs stand in more than one folder with the same figures and are shown once.",
            again.len()
        ));
    }
    runs
}

/// All runs, each with its folder as a parameter.
fn set_apart(info: &mut ScenarioInfo, folders: Vec<(&Path, Folder)>) -> Vec<Finished> {
    let mut runs = Vec::new();
    info.axes.retain(|axis| axis.field != FOLDER);
    for (dir, folder) in folders {
        let value = dir.display().to_string();
        for mut run in folder.runs {
            let params = &mut run.figures.params;
            params.retain(|(field, _)| field != FOLDER);
            params.push((FOLDER.to_owned(), value.clone()));
            runs.push(run);
        }
        Axis::add(&mut info.axes, FOLDER, [&value]);
    }
    runs
}
