//! Files that another file names, each read once however often it is named.

use crate::problem::Problems;
use crate::text::{Unreadable, read_text};
use crate::trace::{self, TraceError};
use sojourn_line::RateTrace;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Most bytes of a scenario, and of a bridge's file.
const MOST_BYTES: u64 = 1 << 20;
/// Most bytes of a link trace: ten million lines of up to twelve digits.
const MOST_OF_TRACE: u64 = 128 << 20;

/// Why a file is no trace of a link's rate: a sentence with the file and, where there is one, the
/// place in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BadTrace {
    /// It cannot be read.
    #[error("the trace {0} {1}")]
    Unreadable(String, Arc<Unreadable>),
    /// It is none.
    #[error("{0}:{1}")]
    Wrong(String, TraceError),
}

/// What was read of files, or why not, by their paths.
#[derive(Debug)]
pub struct Once<T, E>(BTreeMap<String, Result<Arc<T>, E>>);

impl<T, E> Default for Once<T, E> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T, E: Clone> Once<T, E> {
    /// What is in the file with this path, seen from `base`: read, with its name as messages show
    /// it, the first time alone.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn get(
        &mut self,
        base: &Path,
        path: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let entry = self.0.entry(path.to_owned());
        let shown = base.join(path).display().to_string();
        entry.or_insert_with(|| read(&shown).map(Arc::new)).clone()
    }
}

/// Link traces by their paths.
#[derive(Debug)]
pub struct Files {
    base: PathBuf,
    traces: Once<RateTrace, BadTrace>,
}

impl Files {
    /// Paths are seen from `base`.
    pub fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            traces: Once::default(),
        }
    }

    /// A path as it is seen from here; two that are written alike are the same.
    pub fn beside(&self, path: &str) -> PathBuf {
        let path = self.base.join(path);
        let parts = path.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    }

    /// Where paths are seen from.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The link trace in the file `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn trace(&mut self, path: &str) -> Result<Arc<RateTrace>, BadTrace> {
        self.traces.get(&self.base, path, |shown| {
            let text = read_text(Path::new(shown), MOST_OF_TRACE)
                .map_err(|error| BadTrace::Unreadable(shown.into(), Arc::new(error)))?;
            trace::parse(&text).map_err(|error| BadTrace::Wrong(shown.into(), error))
        })
    }
}

/// A trace of a link's rate, of at most 128 MiB.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn load_trace(file: &Path) -> Result<Arc<RateTrace>, BadTrace> {
    Files::new(Path::new("")).trace(&file.to_string_lossy())
}

/// A file's name, as messages show it, and its text, of at most 1 MiB.
///
/// # Errors
/// When it cannot be read.
pub fn named_text(file: &Path) -> Result<(String, String), Problems> {
    let name = file.display().to_string();
    let text =
        read_text(file, MOST_BYTES).map_err(|error| Problems::alone(&name, error.to_string()))?;
    Ok((name, text))
}
