//! Where finished runs of a study are kept.

use super::ReproduceArgs;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder below which finished runs are kept.
pub(super) enum RunFolder {
    Out(PathBuf),
    /// Nobody asked for the results; they are gone with the process.
    Passing(TempDir),
}

impl RunFolder {
    pub(super) fn of(args: &ReproduceArgs) -> anyhow::Result<Self> {
        if let Some(dir) = &args.out {
            return Ok(Self::Out(dir.clone()));
        }
        let dir = tempfile::tempdir().context("cannot make a folder for finished runs")?;
        Ok(Self::Passing(dir))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Out(dir) => dir,
            Self::Passing(dir) => dir.path(),
        }
    }

    /// As messages call it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Out(_) => "--out",
            Self::Passing(_) => {
                "finished runs go where temporary files are (TMPDIR), without --out"
            }
        }
    }
}
