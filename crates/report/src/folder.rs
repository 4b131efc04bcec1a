//! A folder of results whose runs are read one at a time.

use crate::error::ReportError;
use crate::files::open;
use crate::kept::lighten;
use crate::stored::{Finished, Stored};
use crate::table::Table;
use crate::{SUMMARY, TABLE, summary};
use sojourn_world::ScenarioInfo;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// What a folder holds, as long as its table stays where it is.
#[derive(Debug)]
pub struct Folder {
    /// The scenario.
    pub info: ScenarioInfo,
    /// The runs, with their figures in memory.
    pub runs: Vec<Finished>,
}

impl Folder {
    /// Reads all of it once.
    ///
    /// # Errors
    /// When its files are missing or damaged.
    pub fn open(dir: &Path) -> Result<Self, ReportError> {
        let held = summary_of(dir)?;
        let table = Arc::new(Table::open(&dir.join(TABLE), &held.results)?);
        let runs = held.results.into_iter().enumerate();
        let runs = runs.map(|(number, mut run)| {
            table.fill(number, &mut run)?;
            lighten(&mut run);
            let stored = Stored::Table(Arc::clone(&table), number);
            Ok(Finished::stored(run, stored))
        });
        Ok(Self {
            info: held.info,
            runs: runs.collect::<Result<_, ReportError>>()?,
        })
    }
}

/// Reads a folder's summary.
pub(crate) fn summary_of(dir: &Path) -> Result<summary::Summary, ReportError> {
    let path = dir.join(SUMMARY);
    let mut text = String::new();
    let read = open(&path)?.read_to_string(&mut text);
    read.map_err(ReportError::io("read", &path))?;
    summary::read(&text).map_err(|reason| ReportError::damaged(&path, reason))
}
