//! The folder of `--out`: it keeps the results of one scenario or study, and nothing older beside
//! them.

use crate::WrongInput;
use anyhow::Context as _;
use sojourn_report::held;
use sojourn_study::{CLAIMS, STUDY, reproduction};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whose results they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results<'a> {
    Scenario(&'a str),
    Study(&'a str),
}

impl fmt::Display for Results<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(name) => write!(f, "scenario `{name}`"),
            Self::Study(name) => write!(f, "study `{name}`"),
        }
    }
}

/// The folder must be one, or one that can be made.
pub(crate) fn check_folder(dir: &Path) -> Result<(), WrongInput> {
    if dir.exists() && !dir.is_dir() {
        let message = format!("--out {}: is a file, not a folder", dir.display());
        return Err(WrongInput(message));
    }
    Ok(())
}

/// The same, and unless told to `overwrite` it must not hold others' results.
pub(crate) fn check_out(
    dir: &Path,
    results: Results<'_>,
    overwrite: bool,
) -> Result<(), WrongInput> {
    check_folder(dir)?;
    if overwrite {
        return Ok(());
    }
    let refused = |what: &dyn fmt::Display| {
        let dir = dir.display();
        Err(WrongInput(format!(
            "--out {dir}: {what}; name another folder, or replace it with --overwrite"
        )))
    };
    let there = match reproduction(dir) {
        Err(error) => return refused(&error),
        Ok(Some(study)) => Some((study.study, true)),
        Ok(None) => match held(dir) {
            Err(error) => return refused(&error),
            Ok(scenario) => scenario.map(|name| (name, false)),
        },
    };
    let there = there.as_ref().map(|(name, is_study)| match is_study {
        true => Results::Study(name),
        false => Results::Scenario(name),
    });
    match there {
        Some(others) if others != results => refused(&format_args!("holds results of {others}")),
        _ => Ok(()),
    }
}

/// Takes away what belonged to the results that were there before: captures, and of a study's
/// folder that now is a scenario's the claims.
pub(crate) fn clear(dir: &Path, results: Results<'_>) -> anyhow::Result<()> {
    let cannot = || format!("cannot remove what is left in {}", dir.display());
    for entry in fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if entry.file_name().to_str().is_some_and(is_capture) {
            fs::remove_file(entry.path()).with_context(cannot)?;
        }
    }
    if matches!(results, Results::Scenario(_)) && dir.join(CLAIMS).exists() {
        fs::remove_file(dir.join(CLAIMS)).with_context(cannot)?;
        let gone = fs::remove_dir_all(dir.join(STUDY));
        let is_fine = |error: &io::Error| error.kind() == ErrorKind::NotFound;
        gone.or_else(|error| if is_fine(&error) { Ok(()) } else { Err(error) })
            .with_context(cannot)?;
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
