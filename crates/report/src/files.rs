//! Files that are there whole or not at all, and JSON files that say their format.

use crate::error::{Damage, ReportError};
use crate::json::{self, Format};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file under a temporary name beside its place; dropped without [`Pending::keep`], it is
/// removed.
pub(crate) struct Pending {
    temporary: PathBuf,
    place: PathBuf,
    kept: bool,
}

impl Pending {
    /// Writes a file that will be `dir/name`.
    pub(crate) fn write(
        dir: &Path,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), ReportError>,
    ) -> Result<Self, ReportError> {
        let pending = Self {
            temporary: dir.join(format!(".{name}.{}.tmp", std::process::id())),
            place: dir.join(name),
            kept: false,
        };
        let failed = || ReportError::io("write", &pending.temporary);
        let mut file = BufWriter::new(File::create(&pending.temporary).map_err(failed())?);
        fill(&mut file)?;
        file.flush().map_err(failed())?;
        file.get_ref().sync_all().map_err(failed())?;
        Ok(pending)
    }

    /// Writes a text that will be the file at `place`.
    pub(crate) fn text(place: &Path, text: &str) -> Result<Self, ReportError> {
        let dir = place.parent().unwrap_or(Path::new(""));
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        Self::write(dir, &name, |file| {
            let written = file.write_all(text.as_bytes());
            written.map_err(ReportError::io("write", place))
        })
    }

    /// Moves the file to its place, over an older one.
    pub(crate) fn keep(mut self) -> Result<(), ReportError> {
        fs::rename(&self.temporary, &self.place).map_err(ReportError::io("write", &self.place))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.kept {
            // Already on the way out with an error of its own; a leftover does no harm.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// What a JSON file of this format holds.
///
/// # Errors
/// When it is of another format, or a value is missing or not what should stand there.
pub fn document<T: DeserializeOwned>(text: &str, expected: &'static str) -> Result<T, Damage> {
    let root: Value = serde_json::from_str(text)?;
    let Format { format } = json::read(&root)?;
    if format != expected {
        return Err(Damage::Format { format, expected });
    }
    Ok(json::read(&root)?)
}
