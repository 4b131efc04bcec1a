//! Why a world has no result.

use crate::{NoSuchPoint, WorldName};
use std::error::Error;
use std::sync::Arc;

/// Why a world could not run a cell; a sentence for the user.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WorldError {
    /// The run was stopped from outside, by Ctrl-C for example.
    #[error("interrupted")]
    Interrupted,
    /// The world cannot run such a cell; each has reasons of its own.
    #[error(transparent)]
    Unfit(Arc<dyn Error + Send + Sync>),
    /// The machine refused something, or could not keep up.
    #[error(transparent)]
    Machine(Arc<dyn Error + Send + Sync>),
    /// There is nothing to look at where somebody wanted to.
    #[error(transparent)]
    Tap(#[from] NoSuchPoint),
    /// The world panicked.
    #[error("the {world} world has a bug: {what}")]
    Bug {
        /// Which one.
        world: WorldName,
        /// What it said.
        what: String,
    },
    /// There is no result where one was looked for.
    #[error("no result")]
    Missing,
}

impl WorldError {
    /// The world cannot run such a cell.
    pub fn unfit(reason: impl Error + Send + Sync + 'static) -> Self {
        Self::Unfit(Arc::new(reason))
    }

    /// The machine refused something, or could not keep up.
    pub fn machine(reason: impl Error + Send + Sync + 'static) -> Self {
        Self::Machine(Arc::new(reason))
    }
}
