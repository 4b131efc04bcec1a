//! Where the files of a study come from.

use crate::builtin::BuiltIn;
use sojourn_scenario::read_text;
use std::path::{Path, PathBuf};

/// Most bytes of a file of a study.
const MOST_BYTES: u64 = 1 << 20;

/// Where studies are looked for.
pub(crate) const FOLDER: &str = "studies";

/// The files of a study's folder.
pub trait Files {
    /// A file as it is named in messages.
    fn shown(&self, file: &str) -> String;
    /// The folder, for paths in scenarios.
    fn base(&self) -> PathBuf;
    /// The text of a file.
    ///
    /// # Errors
    /// Why there is none.
    fn read(&self, file: &str) -> Result<String, Unreadable>;
}

/// Why a file of a study cannot be read: a sentence without its subject.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// There is a file, but no text.
    #[error("{0}")]
    Refused(sojourn_scenario::Unreadable),
    /// There is no such file; why, in words.
    #[error("{0}")]
    Missing(&'static str),
}

/// A study on disk, or in the program.
pub(crate) enum Shelf {
    Folder(PathBuf),
    BuiltIn(&'static BuiltIn),
}

impl Files for Shelf {
    fn shown(&self, file: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(file).display().to_string(),
            Self::BuiltIn(study) => format!("{FOLDER}/{}/{file} (built in)", study.name),
        }
    }

    fn base(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.clone(),
            Self::BuiltIn(study) => Path::new(FOLDER).join(study.name),
        }
    }

    fn read(&self, file: &str) -> Result<String, Unreadable> {
        match self {
            Self::Folder(folder) => {
                read_text(&folder.join(file), MOST_BYTES).map_err(Unreadable::Refused)
            }
            Self::BuiltIn(study) => {
                let found = study.files.iter().find(|(name, _)| *name == file);
                let (_, text) = found.ok_or(Unreadable::Missing("is not built in"))?;
                Ok((*text).to_owned())
            }
        }
    }
}
