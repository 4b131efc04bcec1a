//! Runs that have finished: their figures in memory, the rest on disk where there is much of it.

use crate::error::ReportError;
use crate::kept::Record;
use crate::table::{Table, rows};
use sojourn_world::RunResult;
use std::borrow::Cow;
use std::sync::Arc;

/// Where a run's series and the points of its distributions are.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// A run among others that are kept.
    Record(Record),
    /// The table of a folder, and the run's number in it.
    Table(Arc<Table>, usize),
}

impl Stored {
    /// The run of these figures, with all that belongs to it.
    fn whole(&self, figures: &RunResult) -> Result<RunResult, ReportError> {
        match self {
            Self::Record(record) => {
                let mut run = record.read()?;
                // Results of several scenarios side by side say of which each is.
                run.params.clone_from(&figures.params);
                Ok(run)
            }
            Self::Table(table, number) => {
                let mut run = figures.clone();
                table.fill(*number, &mut run)?;
                Ok(run)
            }
        }
    }
}

/// A run that has finished.
#[derive(Clone, Debug)]
pub struct Finished {
    /// All of it, or its figures and the names of its series.
    pub figures: RunResult,
    stored: Option<Stored>,
}

impl From<RunResult> for Finished {
    /// One that is whole in memory.
    fn from(run: RunResult) -> Self {
        Self {
            figures: run,
            stored: None,
        }
    }
}

impl Finished {
    /// One whose series are elsewhere.
    pub(crate) fn stored(figures: RunResult, stored: Stored) -> Self {
        Self {
            figures,
            stored: Some(stored),
        }
    }

    /// The run with all that belongs to it.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn whole(&self) -> Result<Cow<'_, RunResult>, ReportError> {
        whole(&self.figures, self.stored.as_ref())
    }
}

fn whole<'a>(
    figures: &'a RunResult,
    stored: Option<&Stored>,
) -> Result<Cow<'a, RunResult>, ReportError> {
    match stored {
        None => Ok(Cow::Borrowed(figures)),
        Some(stored) => stored.whole(figures).map(Cow::Owned),
    }
}

/// Where the rest of some results is; nowhere else where they are whole in memory.
#[derive(Clone, Debug, Default)]
pub struct Rest(Vec<Option<Stored>>);

impl Rest {
    /// Takes runs apart: their figures, and where the rest is.
    pub fn of(runs: impl IntoIterator<Item = Finished>) -> (Vec<RunResult>, Self) {
        let runs = runs.into_iter();
        let (figures, stored) = runs.map(|run| (run.figures, run.stored)).unzip();
        (figures, Self(stored))
    }

    /// Of several results, one behind the other.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let stored = parts.into_iter().flat_map(|part| part.0.iter().cloned());
        Self(stored.collect())
    }
}

/// Results of which the series and the distributions' points may be on disk.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// All of them, with figures at least.
    pub figures: &'a [RunResult],
    rest: &'a [Option<Stored>],
}

impl<'a> Runs<'a> {
    /// What is whole in memory.
    pub fn whole(results: &'a [RunResult]) -> Self {
        Self {
            figures: results,
            rest: &[],
        }
    }

    /// The two that [`Rest::of`] gives.
    pub fn new(figures: &'a [RunResult], rest: &'a Rest) -> Self {
        Self {
            figures,
            rest: &rest.0,
        }
    }

    /// How many rows of a table a run has.
    pub(crate) fn rows(&self, index: usize) -> usize {
        match self.rest.get(index).and_then(Option::as_ref) {
            None => rows::count(&self.figures[index]),
            Some(Stored::Record(record)) => record.rows,
            Some(Stored::Table(table, number)) => table.rows(*number),
        }
    }

    /// A run with all that belongs to it.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn get(&self, index: usize) -> Result<Cow<'a, RunResult>, ReportError> {
        let stored = self.rest.get(index).and_then(Option::as_ref);
        whole(&self.figures[index], stored)
    }
}
