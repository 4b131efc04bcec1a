//! Files that are there whole or not at all.

use crate::error::ReportError;
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
