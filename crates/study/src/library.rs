//! Where studies are found.
//!
//! A study is a folder with `study.toml`, described in `docs/claims.md`, and its scenarios. It is
//! looked for as a folder, then as `studies/NAME` in the working directory, then among those that
//! are built into the program, so that an installed program works anywhere.

use crate::builtin;
use crate::files::{FOLDER, Files, Shelf};
use crate::read::{self, FILE};
use crate::study::Study;
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::tree::Node;
use sojourn_scenario::{Options, Problems};
use sojourn_world::WorldName;
use std::path::Path;

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

impl Study {
    /// All studies that can be reproduced here in some of `worlds`.
    ///
    /// # Errors
    /// Everything that is wrong with one of them.
    pub fn list(worlds: &[WorldName]) -> Result<Vec<Listed>, Problems> {
        let list = names().into_iter().map(|name| {
            let study = Self::load(&name, &Options::default(), worlds)?;
            let place = match find(&name)? {
                Shelf::Folder(folder) => folder.display().to_string(),
                Shelf::BuiltIn(_) => "built in".into(),
            };
            Ok(Listed {
                name,
                title: study.title,
                place,
            })
        });
        list.collect()
    }

    /// Reads a study by its name or folder. `worlds` are those that its file may name, the first
    /// that of the key `scenario`.
    ///
    /// # Errors
    /// Everything that is wrong with its file, or with a scenario of it.
    pub fn load(name: &str, options: &Options, worlds: &[WorldName]) -> Result<Self, Problems> {
        Self::read(&find(name)?, options, worlds)
    }

    /// Whether a text means to be a study's file, and not a scenario.
    pub fn is_meant(text: &str) -> bool {
        let format = Node::of_file("", text).ok().and_then(|(tree, _)| {
            let format = tree.text_at("format")?;
            Some(format.starts_with("sojourn-study"))
        });
        format.unwrap_or(false)
    }

    /// Reads a study by its `study.toml`.
    ///
    /// # Errors
    /// As [`Study::load`].
    pub fn load_file(file: &Path, worlds: &[WorldName]) -> Result<Self, Problems> {
        if file.file_name().is_none_or(|name| name != FILE) {
            let message = format!("is a study, and the file of a study is named {FILE}");
            return Err(Problems::alone(file.display().to_string(), message));
        }
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self::read(&Shelf::Folder(folder), &Options::default(), worlds)
    }

    /// Reads a study from `files`.
    ///
    /// # Errors
    /// As [`Study::load`].
    pub fn read(
        files: &dyn Files,
        options: &Options,
        worlds: &[WorldName],
    ) -> Result<Self, Problems> {
        read::study(files, options, worlds, false)
    }

    /// Reads a study that stands beside results, perhaps of an older program: its marks may be a
    /// reason alone.
    ///
    /// # Errors
    /// As [`Study::load`].
    pub fn kept(name: &str, options: &Options, worlds: &[WorldName]) -> Result<Self, Problems> {
        read::study(&find(name)?, options, worlds, true)
    }
}

fn find(name: &str) -> Result<Shelf, Problems> {
    let here = Path::new(name);
    if here.join(FILE).is_file() {
        return Ok(Shelf::Folder(here.to_owned()));
    }
    let below = Path::new(FOLDER).join(name);
    if below.join(FILE).is_file() {
        return Ok(Shelf::Folder(below));
    }
    if let Some(study) = builtin::STUDIES.iter().find(|study| study.name == name) {
        return Ok(Shelf::BuiltIn(study));
    }
    let names = names();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("no such study; {}", suggestion(name, &known));
    Err(Problems::alone(name, message))
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
