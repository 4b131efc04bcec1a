//! What can go wrong, as sentences that name the file.

use crate::json::Misplaced;
use crate::labels;
use parquet::errors::ParquetError;
use sojourn_world::{RunResult, WorldName};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a report could not be written, read or merged. The system's reason is the `source`.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A folder without results.
    #[error(
        "{} is not a folder with results: it has no summary.json, which `--out` of `run` and \
         `reproduce` writes",
        .0.display()
    )]
    NoResults(PathBuf),
    /// The file system refused.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// `read`, `write` or the like.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: Damage,
    },
    /// Folders that cannot stand in one report.
    #[error("{0}")]
    Mixed(String),
    /// The table could not be encoded.
    #[error("cannot write the table")]
    Table(#[from] ParquetError),
    /// The page could not be put together.
    #[error("cannot write the page")]
    Page(#[from] minijinja::Error),
}

/// What is wrong with a file of results.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It is no JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A value is missing or not what should stand there.
    #[error("{0}")]
    Misplaced(#[from] Misplaced),
    /// It is of another format, or of another version of it.
    #[error("its format is `{format}`, expected `{expected}`")]
    Format {
        /// What it says.
        format: String,
        /// What this program reads.
        expected: &'static str,
    },
    /// The table cannot be decoded.
    #[error("{0}")]
    Table(#[from] ParquetError),
    /// A part of the table cannot be decoded.
    #[error("row group {number}: {error}")]
    Group {
        /// Which, from 0.
        number: usize,
        /// Why.
        error: ParquetError,
    },
    /// Bytes that end too early, or are none of ours.
    #[error("it is cut off, or no results at all")]
    Short,
    /// The summary holds a run twice.
    #[error("summary.json holds {0} twice")]
    Twice(Run),
    /// The table holds a run that the summary does not.
    #[error("it holds {0}, which summary.json does not")]
    Unknown(Run),
    /// The summary holds a run that the table does not.
    #[error("it lacks {0}, which summary.json holds")]
    Lacking(Run),
    /// A row's world has a name that none can have.
    #[error("a row names no world")]
    NoWorld,
    /// The table holds a link or flow that the summary does not.
    #[error("it holds {kind} `{name}`, which summary.json does not")]
    NoPart {
        /// `link` or `flow`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// A point of a series has no time.
    #[error("a point of `{metric}` of `{name}` lacks t")]
    NoTime {
        /// The series.
        metric: String,
        /// Of what.
        name: String,
    },
    /// A series has a unit that this program does not know.
    #[error("`{unit}`, the unit of `{metric}`, is unknown")]
    NoUnit {
        /// The unit.
        unit: String,
        /// The series.
        metric: String,
    },
    /// A distribution of a figure that has none.
    #[error("it holds a distribution of `{metric}`, which {kind}s lack")]
    NoDistribution {
        /// The figure.
        metric: String,
        /// `link` or `flow`.
        kind: &'static str,
    },
    /// A figure stands in both files and differs.
    #[error("it is of another run than summary.json (`{name}`: {table} here, {summary} there)")]
    OtherRun {
        /// Of what.
        name: String,
        /// The table's value.
        table: f64,
        /// The summary's value.
        summary: u64,
    },
}

/// A run by what tells it from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// Its world.
    pub world: WorldName,
    /// Its parameters on a line.
    pub params: String,
    /// Its seed.
    pub seed: u64,
}

impl Run {
    /// What tells a run from others.
    pub(crate) fn of(run: &RunResult) -> Self {
        Self {
            world: run.world.clone(),
            params: labels::params_text(&run.params),
            seed: run.seed,
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            world,
            params,
            seed,
        } = self;
        write!(f, "world {world} seed {seed} `{params}`")
    }
}

impl ReportError {
    /// What the file system said when it was asked to do something with `path`.
    pub fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    /// A file that is not what it should be.
    pub fn damaged(path: &Path, reason: impl Into<Damage>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
