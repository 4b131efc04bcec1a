//! Whose results a folder holds, before others are written into it.

use crate::error::{Damage, ReportError};
use crate::files::SUMMARY;
use crate::files::open;
use crate::summary::{FORMAT, TABLES};
use serde::Deserialize;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// What a summary begins with.
#[derive(Deserialize)]
struct Head {
    format: String,
    scenario: String,
}

/// The name of the scenario, or of the study, whose results are in a folder; none when there are
/// none.
///
/// # Errors
/// When its summary cannot be read, or is of something else.
pub fn held(dir: &Path) -> Result<Option<String>, ReportError> {
    let path = dir.join(SUMMARY);
    let mut file = match open(&path) {
        Ok(file) => file,
        Err(ReportError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    let read = file.read_to_end(&mut text);
    read.map_err(ReportError::io("read", &path))?;
    let head: Head =
        serde_json::from_slice(&text).map_err(|error| ReportError::damaged(&path, error))?;
    if ![FORMAT, TABLES].contains(&head.format.as_str()) {
        let (format, expected) = (head.format, FORMAT);
        return Err(ReportError::damaged(
            &path,
            Damage::Format { format, expected },
        ));
    }
    Ok(Some(head.scenario))
}
