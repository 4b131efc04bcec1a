//! Files that are there whole or not at all, and JSON files that say their format.

use crate::error::{Damage, ReportError};
use crate::json::{self, Format};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The page's file name.
pub const PAGE: &str = "report.html";
/// The table's file name.
pub const TABLE: &str = "results.parquet";
/// The summary's file name.
pub const SUMMARY: &str = "summary.json";

/// A file under a temporary name beside its place; dropped without [`Pending::keep`], it is
/// removed.
pub(crate) struct Pending {
    file: NamedTempFile,
    place: PathBuf,
}

impl Pending {
    /// Writes a file that will be at `place`.
    pub(crate) fn write(
        place: PathBuf,
        fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), ReportError>,
    ) -> Result<Self, ReportError> {
        let pending = Self::new(place)?;
        let mut writer = BufWriter::with_capacity(1 << 18, pending.file.as_file());
        fill(&mut writer)?;
        let flushed = writer.flush();
        drop(writer);
        flushed.map_err(ReportError::io("write", &pending.place))?;
        pending.complete()
    }

    /// Begins a file that will be at `place`, for whoever writes to it bit by bit.
    pub(crate) fn begin(place: PathBuf) -> Result<(Self, File), ReportError> {
        let pending = Self::new(place)?;
        let file = pending
            .file
            .as_file()
            .try_clone()
            .map_err(ReportError::io("write", &pending.place))?;
        Ok((pending, file))
    }

    fn new(place: PathBuf) -> Result<Self, ReportError> {
        let dir = place.parent().unwrap_or(Path::new(""));
        let mut builder = Builder::new();
        // As any other file: who may read it is the user's choice (umask).
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder
            .tempfile_in(dir)
            .map_err(ReportError::io("write", &place))?;
        Ok(Self { file, place })
    }

    /// All has been written.
    pub(crate) fn complete(self) -> Result<Self, ReportError> {
        let synced = self.file.as_file().sync_all();
        synced.map_err(ReportError::io("write", &self.place))?;
        Ok(self)
    }

    /// Writes a text that will be the file at `place`.
    pub(crate) fn text(place: PathBuf, text: &str) -> Result<Self, ReportError> {
        let failed = ReportError::io("write", &place);
        Self::write(place, |file| {
            file.write_all(text.as_bytes()).map_err(failed)
        })
    }

    /// Moves the file to its place, over an older one.
    pub(crate) fn keep(self) -> Result<(), ReportError> {
        let failed = ReportError::io("write", &self.place);
        let kept = self.file.persist(&self.place);
        kept.map(drop).map_err(|refused| failed(refused.error))
    }
}

/// What a JSON file of this format holds.
///
/// # Errors
/// When it is of another format, or a value is missing or not what should stand there.
pub fn document<T: DeserializeOwned>(text: &str, expected: &'static str) -> Result<T, Damage> {
    // What is of another format is not kept in memory.
    let Format { format } = json::head(text)?;
    if format != expected {
        return Err(Damage::Format { format, expected });
    }
    let root: Value = serde_json::from_str(text)?;
    Ok(json::read(&root)?)
}

/// Opens a file of results. Only what is a file: a pipe's writer would be waited for.
pub(crate) fn open(path: &Path) -> Result<File, ReportError> {
    let open = || {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
        }
        File::open(path)
    };
    open().map_err(ReportError::io("read", path))
}
