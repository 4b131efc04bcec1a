//! Files of measurements.

use crate::capture::CaptureError;
use crate::measurement::Measurement;
use sojourn_flent::{Data, Unreadable};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Most bytes of a `.flent.gz` file.
const MOST: u64 = 64 << 20;

/// A file that is no measurement; its name, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .file.display())]
pub struct FileError {
    file: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Flent(#[from] Unreadable),
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// Whether a path names a data file of Flent's; other files are captures.
pub fn is_flent(file: &Path) -> bool {
    file.extension() == Some(OsStr::new("gz"))
}

/// A file's name, for people.
pub fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Reads a data file of Flent's, of up to 64 MiB.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_flent(file: &Path) -> Result<Data, FileError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(file)?.take(MOST).read_to_end(&mut bytes)?;
        Ok(Data::read(&bytes)?)
    };
    read().map_err(|why| of(file, why))
}

impl Measurement {
    /// Reads a measurement: a data file of Flent's, or a capture made at the client, whose address
    /// is `client` or whoever opens the first connection in it.
    ///
    /// # Errors
    /// When the file cannot be read, is neither, or the client is not in it.
    pub fn read(file: &Path, client: Option<IpAddr>) -> Result<Self, FileError> {
        if is_flent(file) {
            return Ok(Self::of_flent(&name(file), &read_flent(file)?));
        }
        let read = || {
            let opened = BufReader::new(File::open(file)?);
            Ok(Self::of_capture(&name(file), opened, client)?)
        };
        read().map_err(|why| of(file, why))
    }
}

fn of(file: &Path, why: Why) -> FileError {
    FileError {
        file: file.to_owned(),
        why,
    }
}
