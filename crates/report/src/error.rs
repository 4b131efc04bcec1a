//! What can go wrong, as sentences that name the file.

use std::path::{Path, PathBuf};

/// Why a report could not be written, read or merged. The system's reason is the `source`.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
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
        reason: String,
    },
    /// Folders that cannot stand in one report.
    #[error("{0}")]
    Mixed(String),
    /// The table could not be encoded.
    #[error("cannot write the table")]
    Table(#[from] parquet::errors::ParquetError),
    /// The page could not be put together.
    #[error("cannot write the page")]
    Page(#[from] minijinja::Error),
}

impl ReportError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
