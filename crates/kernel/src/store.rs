//! Where kernels are kept: a folder of the user's cache, one file each.
//!
//! A kernel gets its name by renaming, once it has been built and has said its version; what has
//! the name is whole, whatever happened to the build.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::KernelError;
use crate::recipe::Version;

/// The folder of the kernels.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The series it belongs to.
    pub version: Version,
    /// The program.
    pub path: PathBuf,
}

impl Store {
    /// The user's: `$XDG_CACHE_HOME/sojourn`, or `~/.cache/sojourn`.
    ///
    /// # Errors
    /// When neither variable names a folder.
    pub fn of_user() -> Result<Self, KernelError> {
        let absolute = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .ok_or(KernelError::NoCache)?;
        Ok(Self::at(cache.join("sojourn")))
    }

    /// Of this folder, which need not be there.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the kernel of a version stands once it is built by today's recipe.
    pub fn place(&self, version: Version) -> PathBuf {
        self.dir
            .join(format!("linux-{version}-{}", version.recipe()))
    }

    /// The kernel of a version, or the first there is.
    ///
    /// # Errors
    /// When it is not built: the message says the one command that builds it.
    pub fn find(&self, version: Option<Version>) -> Result<Image, KernelError> {
        let wanted = Version::ALL.into_iter();
        wanted
            .filter(|&known| version.is_none_or(|version| version == known))
            .map(|version| Image {
                version,
                path: self.place(version),
            })
            .find(|kernel| kernel.path.is_file())
            .ok_or(KernelError::NotBuilt {
                version,
                dir: self.dir.clone(),
            })
    }

    /// Kernels of versions or recipes that this program does not know any more.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn outdated(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let current = Version::ALL.map(|version| self.place(version));
        let mut outdated = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("linux-") && path.is_file() && !current.contains(&path) {
                outdated.push(path);
            }
        }
        outdated.sort();
        Ok(outdated)
    }
}

impl Image {
    /// What the kernel says that it is, as `6.1.192`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn release(&self) -> io::Result<String> {
        release(&self.path)
    }
}

/// What the kernel at `path` says that it is.
pub(crate) fn release(path: &Path) -> io::Result<String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(text);
    }
    let said = format!("it does not say its version ({})", output.status);
    Err(io::Error::other(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_names_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let any = store.find(None).unwrap_err().to_string();
        assert!(any.contains("`sojourn kernel build`"), "{any}");
        let one = store.find(Some(Version::V6_12)).unwrap_err().to_string();
        assert!(
            one.contains("`sojourn kernel build --version 6.12`"),
            "{one}"
        );
    }

    #[test]
    fn the_usual_version_is_preferred_and_other_recipes_are_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        fs::write(dir.path().join("linux-6.1-00000000"), "").unwrap();
        assert!(store.find(None).is_err());
        assert_eq!(store.outdated().unwrap().len(), 1);
        fs::write(store.place(Version::V6_12), "").unwrap();
        assert_eq!(store.find(None).unwrap().version, Version::V6_12);
        fs::write(store.place(Version::V6_1), "").unwrap();
        assert_eq!(store.find(None).unwrap().version, Version::V6_1);
        assert_eq!(
            store.find(Some(Version::V6_12)).unwrap().version,
            Version::V6_12
        );
        assert_eq!(store.outdated().unwrap().len(), 1);
    }
}
