//! Files that a scenario names, each read once however many cells use it.

use crate::problem::Problems;
use crate::text::{Unreadable, read_text};
use crate::trace::{self, TraceError};
use crate::video::{self, VideoError};
use sojourn_apps::dash::{Manifest, big_clip};
use sojourn_world::RateTrace;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Most bytes of a scenario, and of a bridge's file.
const MOST_BYTES: u64 = 1 << 20;
/// Most bytes of a link trace: ten million lines of up to twelve digits.
const MOST_OF_TRACE: u64 = 128 << 20;
/// Most bytes of a manifest.
const MOST_OF_VIDEO: u64 = 16 << 20;

/// Why a file cannot be used: a sentence with the file and, where there is one, the place in it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("the {what} {path} {error}")]
    Unreadable {
        what: &'static str,
        path: String,
        error: Arc<Unreadable>,
    },
    #[error("{0}:{1}")]
    Trace(String, TraceError),
    #[error("{0}: {1}")]
    Video(String, VideoError),
}

/// Why a file is no trace of a link's rate: a sentence with the file.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BadTrace(FileError);

type Known<T> = BTreeMap<String, Result<Arc<T>, FileError>>;

/// Link traces and manifests of videos, by their paths.
#[derive(Debug)]
pub(crate) struct Files {
    base: PathBuf,
    traces: Known<RateTrace>,
    videos: Known<Manifest>,
    own_video: Option<Arc<Manifest>>,
}

impl Files {
    /// Paths are seen from `base`.
    pub(crate) fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            traces: Known::new(),
            videos: Known::new(),
            own_video: None,
        }
    }

    /// A path as it is seen from here; two that are written alike are the same.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        let path = self.base.join(path);
        let parts = path.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    }

    /// Where paths are seen from.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// The link trace in the file `path`.
    pub(crate) fn trace(&mut self, path: &str) -> Result<Arc<RateTrace>, FileError> {
        let read = |shown: &str| {
            let text = read_text(Path::new(shown), MOST_OF_TRACE);
            let text = text.map_err(|error| unreadable("trace", shown, error))?;
            trace::parse(&text).map_err(|error| FileError::Trace(shown.into(), error))
        };
        once(&mut self.traces, &self.base, path, read)
    }

    /// The video of the manifest at `path`; without a path our own.
    pub(crate) fn video(&mut self, path: Option<&str>) -> Result<Arc<Manifest>, FileError> {
        let Some(path) = path else {
            let own = self.own_video.get_or_insert_with(|| Arc::new(big_clip()));
            return Ok(Arc::clone(own));
        };
        let read = |shown: &str| {
            let text = read_text(Path::new(shown), MOST_OF_VIDEO);
            let text = text.map_err(|error| unreadable("manifest", shown, error))?;
            video::parse(&text).map_err(|error| FileError::Video(shown.into(), error))
        };
        once(&mut self.videos, &self.base, path, read)
    }
}

fn once<T>(
    known: &mut Known<T>,
    base: &Path,
    path: &str,
    read: impl FnOnce(&str) -> Result<T, FileError>,
) -> Result<Arc<T>, FileError> {
    let entry = known.entry(path.to_owned());
    let shown = base.join(path).display().to_string();
    entry.or_insert_with(|| read(&shown).map(Arc::new)).clone()
}

fn unreadable(what: &'static str, path: &str, error: Unreadable) -> FileError {
    FileError::Unreadable {
        what,
        path: path.to_owned(),
        error: Arc::new(error),
    }
}

/// A trace of a link's rate, of at most 128 MiB.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn load_trace(file: &Path) -> Result<Arc<RateTrace>, BadTrace> {
    let trace = Files::new(Path::new("")).trace(&file.to_string_lossy());
    trace.map_err(BadTrace)
}

/// A file's name, as messages show it, and its text, of at most 1 MiB.
///
/// # Errors
/// When it cannot be read.
pub fn named_text(file: &Path) -> Result<(String, String), Problems> {
    let name = file.display().to_string();
    let text = read_text(file, MOST_BYTES);
    let text = text.map_err(|error| Problems::alone(&name, error.to_string()))?;
    Ok((name, text))
}
