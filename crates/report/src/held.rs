//! Whose results a folder holds, before others are written into it.

use crate::SUMMARY;
use crate::error::{Damage, ReportError};
use crate::summary::FORMAT;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
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
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ReportError::io("read", &path)(error)),
    };
    let head: Head = serde_json::from_reader(BufReader::new(file))
        .map_err(|error| ReportError::damaged(&path, error))?;
    if head.format != FORMAT {
        let (format, expected) = (head.format, FORMAT);
        return Err(ReportError::damaged(
            &path,
            Damage::Format { format, expected },
        ));
    }
    Ok(Some(head.scenario))
}
