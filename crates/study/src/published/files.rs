//! Where the files of a study come from.

use super::{FOLDER, builtin};
use std::path::{Path, PathBuf};

/// The files of a study's folder.
pub trait Files {
    /// A file as it is named in messages.
    fn shown(&self, file: &str) -> String;
    /// The folder, for paths in scenarios.
    fn base(&self) -> PathBuf;
    /// The text of a file.
    ///
    /// # Errors
    /// A sentence without its subject: `cannot be read: ...`.
    fn read(&self, file: &str) -> Result<String, String>;
}

/// A study on disk, or in the program.
pub(super) enum Place {
    Folder(PathBuf),
    BuiltIn(&'static builtin::Study),
}

impl Files for Place {
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
