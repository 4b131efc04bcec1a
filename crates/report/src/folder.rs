//! A folder of results whose runs are read one at a time.

use crate::error::ReportError;
use crate::files::open;
use crate::files::{SUMMARY, TABLE};
use crate::kept::lighten;
use crate::parallel::in_order;
use crate::stored::{Finished, Stored};
use crate::summary;
use crate::table::Table;
use sojourn_world::{RunResult, ScenarioInfo};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What a folder holds.
#[derive(Debug)]
pub struct Folder {
    /// The scenario.
    pub info: ScenarioInfo,
    /// The runs, with their figures in memory.
    pub runs: Vec<Finished>,
}

impl Folder {
    /// Reads all of it once. Its table is opened anew for each run, since there may be a thousand
    /// folders, and must stay what it is.
    ///
    /// # Errors
    /// When its files are missing or damaged.
    pub fn open(dir: &Path) -> Result<Self, ReportError> {
        Self::read(dir, Table::open)
    }

    /// The same; its table is kept open, and others may write another one in its place.
    ///
    /// # Errors
    /// When its files are missing or damaged.
    pub fn hold(dir: &Path) -> Result<Self, ReportError> {
        Self::read(dir, Table::hold)
    }

    fn read(
        dir: &Path,
        open: fn(&Path, &[RunResult]) -> Result<Table, ReportError>,
    ) -> Result<Self, ReportError> {
        let held = summary_of(dir)?;
        let table = Arc::new(open(&dir.join(TABLE), &held.results)?);
        // Runs of a row group are made by one thread, which decodes it. Each is taken once: a copy
        // would double what a folder of many runs takes.
        let (mut results, pieces) = (held.results.into_iter(), table.pieces());
        let lists: Vec<Mutex<Vec<RunResult>>> = pieces
            .iter()
            .map(|piece| results.by_ref().take(piece.len()).collect())
            .map(Mutex::new)
            .collect();
        let make = |piece: usize| {
            let mut list = lists[piece].lock().unwrap_or_else(PoisonError::into_inner);
            let runs = pieces[piece].clone().zip(std::mem::take(&mut *list));
            let finish = |(number, mut run): (usize, RunResult)| {
                table.fill(number, &mut run)?;
                lighten(&mut run);
                let stored = Stored::Table(Arc::clone(&table), number);
                Ok::<_, ReportError>(Finished::stored(run, stored))
            };
            runs.map(finish).collect::<Result<Vec<_>, _>>()
        };
        let mut runs = Vec::new();
        in_order(pieces.len(), make, |made| {
            runs.extend(made?);
            Ok::<_, ReportError>(())
        })?;
        Ok(Self {
            info: held.info,
            runs,
        })
    }
}

/// Reads a folder's summary.
fn summary_of(dir: &Path) -> Result<summary::Summary, ReportError> {
    let path = dir.join(SUMMARY);
    let mut file = open(&path).map_err(|error| match error {
        ReportError::Io { source, .. }
            if matches!(
                source.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory
            ) =>
        {
            ReportError::NoResults(dir.to_owned())
        }
        other => other,
    })?;
    let mut text = Vec::new();
    let read = file.read_to_end(&mut text);
    read.map_err(ReportError::io("read", &path))?;
    summary::read(&text).map_err(|reason| ReportError::damaged(&path, reason))
}
