//! Why a folder cannot be gone on with.

use sojourn_report::ReportError;
use sojourn_scenario::Problems;
use std::path::PathBuf;

/// Why a folder cannot hold results, or what it holds cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Its files cannot be read, or a run of them cannot be kept.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The study beside its results is wrong.
    #[error(transparent)]
    Study(#[from] Problems),
    /// There is a file in its place.
    #[error("{}: is a file, not a folder", _0.display())]
    NoFolder(PathBuf),
    /// It holds what must not be written over.
    #[error("{}: {why}", dir.display())]
    Taken {
        /// The folder.
        dir: PathBuf,
        /// What it holds, or why that cannot be told.
        why: String,
    },
    /// What was there before is still there.
    #[error("cannot remove what is left in {}", dir.display())]
    Left {
        /// The folder.
        dir: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Its results are of another scenario.
    #[error(
        "{} holds results of another scenario, or of another text of this one",
        _0.display()
    )]
    OtherScenario(PathBuf),
    /// Its results are of something else than the study.
    #[error("{} holds no results of study `{study}`", dir.display())]
    OtherStudy {
        /// The folder.
        dir: PathBuf,
        /// The study that is asked for.
        study: String,
    },
}
