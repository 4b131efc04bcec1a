//! Published studies: scenarios, and the claims that their results are held against.
//!
//! A study is a folder with `study.toml`, described in `docs/claims.md`, and its scenarios. It is
//! looked for as a folder, then as `studies/NAME` in the working directory, then among those that
//! are built into the program, so that an installed program works anywhere.

mod builtin;
mod judge;
mod picture;
mod read;

pub use judge::{Checked, Judgement, Status};
pub use picture::{Chart, ChartKind, Grid, Line, Panel};

use crate::claims::{Check, Vocabulary};
use crate::problem::{Origin, Problem, Problems, suggestion};
use crate::study::{Options, Study};
use picture::{ChartPlan, GridPlan};
use std::path::{Path, PathBuf};

/// The study's own file in its folder.
const FILE: &str = "study.toml";
/// Where studies are looked for.
const FOLDER: &str = "studies";

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
    grids: Vec<GridPlan>,
    /// The text of `study.toml`.
    pub text: String,
}

/// A scenario of a study.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in the study.
    pub name: String,
    /// The scenario.
    pub study: Study,
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
    deviation: Option<String>,
}

/// A check, and why it is known to fail, if it is.
#[derive(Clone, Debug)]
struct Expected {
    text: String,
    check: Check,
    deviation: Option<String>,
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

/// Where a study's files come from.
enum Place {
    Folder(PathBuf),
    BuiltIn(&'static builtin::Study),
}

impl Place {
    /// As it is named in messages.
    fn name(&self, file: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(file).display().to_string(),
            Self::BuiltIn(study) => format!("{FOLDER}/{}/{file} (built in)", study.name),
        }
    }

    /// Its folder, for paths in scenarios.
    fn base(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.clone(),
            Self::BuiltIn(study) => Path::new(FOLDER).join(study.name),
        }
    }

    fn read(&self, file: &str) -> Result<String, String> {
        match self {
            Self::Folder(folder) => std::fs::read_to_string(folder.join(file))
                .map_err(|error| format!("cannot be read: {error}")),
            Self::BuiltIn(study) => {
                let mut files = study.files.iter();
                let found = files.find(|(name, _)| *name == file);
                found
                    .map(|(_, text)| (*text).to_owned())
                    .ok_or_else(|| "is not built in".into())
            }
        }
    }
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
        let place = find(name)?;
        let file = place.name(FILE);
        let text = place
            .read(FILE)
            .map_err(|message| nowhere(&file, message))?;
        let scenario = |name: &str| {
            let file = place.name(name);
            let text = place.read(name).map_err(|message| nowhere(&file, message));
            Study::parse(&file, &text?, &place.base(), options)
        };
        Self::parse(&file, &text, &scenario)
    }

    /// Reads a study from a text; `file` is shown in messages, `scenario` reads its scenarios.
    ///
    /// # Errors
    /// As [`Published::load`].
    pub fn parse(
        file: &str,
        text: &str,
        scenario: &dyn Fn(&str) -> Result<Study, Problems>,
    ) -> Result<Self, Problems> {
        read::study(file, text, scenario)
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
