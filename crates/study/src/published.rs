//! Published studies: scenarios, and the claims that their results are held against.
//!
//! A study is a folder with `study.toml`, described in `docs/claims.md`, and its scenarios. It is
//! looked for as a folder, then as `studies/NAME` in the working directory, then among those that
//! are built into the program, so that an installed program works anywhere.

mod builtin;
mod files;
mod judge;
mod picture;
mod read;

pub use files::Files;
pub use judge::{Checked, Judgement, Status};
pub use picture::{Chart, ChartKind, Dot, Grid, Line, Log, Panel, Source};

use crate::claims::{Check, Vocabulary};
use files::Place;
use picture::{ChartPlan, TablePlan};
use sojourn_scenario::Outcome;
use sojourn_scenario::problem::{Origin, Problem, Problems, suggestion};
use sojourn_scenario::{Options, Scenario};
use std::path::Path;

/// The study's own file in its folder.
const FILE: &str = "study.toml";
/// Where studies are looked for.
const FOLDER: &str = "studies";

/// A world that a study can be reproduced in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldName {
    /// Simulated.
    Sim,
    /// On real packets.
    Live,
}

impl WorldName {
    /// `sim` or `live`, as in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Live => "live",
        }
    }
}

/// What a study's cells yielded in one world.
#[derive(Debug)]
pub struct Results {
    /// The world.
    pub world: WorldName,
    /// For every setting the outcomes in the order of its cells in that world; empty where
    /// nothing was run.
    pub outcomes: Vec<Vec<Outcome>>,
}

/// A published study, read and checked.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its name, as on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// A few sentences for people.
    pub description: String,
    /// Where it was published.
    pub source: String,
    /// Its scenarios. Never empty.
    pub settings: Vec<Setting>,
    /// What it found.
    pub claims: Vec<Claim>,
    words: Vocabulary,
    charts: Vec<ChartPlan>,
    tables: Vec<TablePlan>,
    /// The text of `study.toml`.
    pub text: String,
    /// Names and texts of all files of its folder that it is made of.
    pub files: Vec<(String, String)>,
}

/// Where values come from that were measured elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Their name in the study.
    pub name: String,
    /// What made them.
    pub source: String,
    /// Their file, as it is named in messages.
    pub file: String,
}

/// A scenario of a study.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in the study.
    pub name: String,
    /// The scenario.
    pub scenario: Scenario,
    /// The part of it that runs in the live world, if any.
    pub live: Option<Scenario>,
}

impl Setting {
    /// Its scenario in a world; none where it does not run there.
    pub fn in_world(&self, world: WorldName) -> Option<&Scenario> {
        match world {
            WorldName::Sim => Some(&self.scenario),
            WorldName::Live => self.live.as_ref(),
        }
    }
}

/// One finding of a study.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `R1`, for example.
    pub id: String,
    /// Index of the setting that it is about.
    pub setting: usize,
    /// What was found, in words.
    pub statement: String,
    /// The published values, in words.
    pub published: String,
    checks: Vec<Expected>,
    deviation: Deviation,
}

/// A check, and why it is known to fail, if it is.
#[derive(Clone, Debug)]
struct Expected {
    text: String,
    check: Check,
    deviation: Deviation,
}

/// Why something is known to fail in each world, if it is.
#[derive(Clone, Debug, Default)]
struct Deviation {
    sim: Option<String>,
    live: Option<String>,
}

impl Deviation {
    fn of(&self, world: WorldName) -> Option<&String> {
        match world {
            WorldName::Sim => self.sim.as_ref(),
            WorldName::Live => self.live.as_ref(),
        }
    }
}

/// A study that can be reproduced here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The folder, or `built in`.
    pub place: String,
}

fn find(name: &str) -> Result<Place, Problems> {
    let here = Path::new(name);
    if here.join(FILE).is_file() {
        return Ok(Place::Folder(here.to_owned()));
    }
    let below = Path::new(FOLDER).join(name);
    if below.join(FILE).is_file() {
        return Ok(Place::Folder(below));
    }
    if let Some(study) = builtin::STUDIES.iter().find(|study| study.name == name) {
        return Ok(Place::BuiltIn(study));
    }
    let known = names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let message = format!("no such study; {}", suggestion(name, &known));
    Err(nowhere(name, message))
}

fn nowhere(name: &str, message: String) -> Problems {
    let mut problems = Problems::with_source(name, "");
    problems.add(Problem::new(Origin::NOWHERE, "", message));
    problems
}

/// Names of all studies: those in the working directory, then those built in.
fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join(FILE).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for study in builtin::STUDIES {
        if names.iter().all(|name| name != study.name) {
            names.push(study.name.to_owned());
        }
    }
    names
}

impl Published {
    /// All studies that can be reproduced here.
    ///
    /// # Errors
    /// Everything that is wrong with one of them.
    pub fn list() -> Result<Vec<Listed>, Problems> {
        let list = names().into_iter().map(|name| {
            let study = Self::load(&name, &Options::default())?;
            let place = match find(&name)? {
                Place::Folder(folder) => folder.display().to_string(),
                Place::BuiltIn(_) => "built in".into(),
            };
            Ok(Listed {
                name,
                title: study.title,
                place,
            })
        });
        list.collect()
    }

    /// Reads a study by its name or folder.
    ///
    /// # Errors
    /// Everything that is wrong with its file, or with a scenario of it.
    pub fn load(name: &str, options: &Options) -> Result<Self, Problems> {
        Self::read(&find(name)?, options)
    }

    /// Reads a study from `files`.
    ///
    /// # Errors
    /// As [`Published::load`].
    pub fn read(files: &dyn Files, options: &Options) -> Result<Self, Problems> {
        let file = files.shown(FILE);
        let text = files
            .read(FILE)
            .map_err(|message| nowhere(&file, message))?;
        read::study(&file, &text, files, options)
    }

    /// The values measured elsewhere that it is held against.
    pub fn references(&self) -> Vec<Provenance> {
        let recorded = self.words.recorded.iter();
        recorded
            .map(|recorded| Provenance {
                name: recorded.name.clone(),
                source: recorded.source.clone(),
                file: recorded.file.clone(),
            })
            .collect()
    }

    /// The claims with these ids, in the study's order; all of them when there is none.
    ///
    /// # Errors
    /// Names an id that no claim has.
    pub fn select(&self, ids: &[String]) -> Result<Vec<usize>, String> {
        let known: Vec<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(&id.as_str())) {
            let help = suggestion(id, &known);
            return Err(format!("{} has no claim `{id}`; {help}", self.name));
        }
        let wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| wanted == id);
        Ok((0..known.len()).filter(|i| wanted(known[*i])).collect())
    }
}
