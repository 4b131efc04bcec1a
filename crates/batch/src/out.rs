//! A folder of results: it keeps those of one scenario or study, and nothing older beside them.

use crate::error::BatchError;
use sojourn_report::{ReportError, held};
use sojourn_study::{CLAIMS, STUDY, reproduction};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whose results a folder holds, by their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Results {
    /// A scenario's.
    Scenario(String),
    /// A study's.
    Study(String),
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(name) => write!(f, "scenario `{name}`"),
            Self::Study(name) => write!(f, "study `{name}`"),
        }
    }
}

/// Whether these results may be written into a folder, or into one that can be made.
///
/// # Errors
/// When it is a file, or, unless told to `overwrite` it, holds others' results or such that
/// cannot be read.
pub fn check_out(dir: &Path, results: &Results, overwrite: bool) -> Result<(), BatchError> {
    if dir.exists() && !dir.is_dir() {
        return Err(BatchError::NoFolder(dir.to_owned()));
    }
    if overwrite {
        return Ok(());
    }
    let unclear = |error: ReportError| BatchError::Taken {
        dir: dir.to_owned(),
        why: error.to_string(),
    };
    let there = match reproduction(dir).map_err(unclear)? {
        Some(study) => Some(Results::Study(study.study)),
        None => held(dir).map_err(unclear)?.map(Results::Scenario),
    };
    match there {
        Some(others) if others != *results => Err(BatchError::Taken {
            dir: dir.to_owned(),
            why: format!("holds results of {others}"),
        }),
        _ => Ok(()),
    }
}

/// Takes away what belonged to the results that were there before: captures, and of a study's
/// folder that now is a scenario's the claims.
///
/// # Errors
/// When the file system refuses.
pub fn clear(dir: &Path, results: &Results) -> Result<(), BatchError> {
    let cannot = |source: io::Error| BatchError::Left {
        dir: dir.to_owned(),
        source,
    };
    for entry in fs::read_dir(dir).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.file_name().to_str().is_some_and(is_capture) {
            fs::remove_file(entry.path()).map_err(cannot)?;
        }
    }
    if matches!(results, Results::Scenario(_)) && dir.join(CLAIMS).exists() {
        fs::remove_file(dir.join(CLAIMS)).map_err(cannot)?;
        let gone = fs::remove_dir_all(dir.join(STUDY));
        let is_fine = |error: &io::Error| error.kind() == ErrorKind::NotFound;
        gone.or_else(|error| if is_fine(&error) { Ok(()) } else { Err(error) })
            .map_err(cannot)?;
    }
    Ok(())
}

/// The name of a run's capture: `run-3-down.pcapng`, of several worlds `live-run-3-down.pcapng`.
fn is_capture(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".pcapng") else {
        return false;
    };
    let Some(place) = stem.find("run-") else {
        return false;
    };
    let (world, rest) = (&stem[..place], &stem[place + 4..]);
    let number = rest.split('-').next().unwrap_or_default();
    (world.is_empty() || world.ends_with('-'))
        && rest.len() > number.len() + 1
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_capture;

    #[test]
    fn captures_of_runs_and_nothing_else() {
        for name in [
            "run-1-down.pcapng",
            "run-12-down-in.pcapng",
            "live-run-3-n0-air.pcapng",
        ] {
            assert!(is_capture(name), "{name}");
        }
        for name in [
            "run-1-down.pcap",
            "run-.pcapng",
            "run-1.pcapng",
            "rerun-1-down.pcapng",
            "run-x-down.pcapng",
            "trace.pcapng",
        ] {
            assert!(!is_capture(name), "{name}");
        }
    }
}
