//! Manifests of videos that a scenario names, each read once however many cells use it.

use crate::video::{self, VideoError};
use sojourn_apps::dash::{Manifest, big_clip};
use sojourn_text::{Once, Unreadable, read_text};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes of a manifest.
const MOST_BYTES: u64 = 16 << 20;

/// Why a manifest cannot be used: a sentence with the file.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum BadVideo {
    #[error("the manifest {0} {1}")]
    Unreadable(String, Arc<Unreadable>),
    #[error("{0}: {1}")]
    Wrong(String, VideoError),
}

/// Manifests by their paths.
#[derive(Debug)]
pub(crate) struct Videos {
    base: PathBuf,
    read: Once<Manifest, BadVideo>,
    own: Option<Arc<Manifest>>,
}

impl Videos {
    /// Paths are seen from `base`.
    pub(crate) fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            read: Once::default(),
            own: None,
        }
    }

    /// The video of the manifest at `path`; without a path our own.
    pub(crate) fn video(&mut self, path: Option<&str>) -> Result<Arc<Manifest>, BadVideo> {
        let Some(path) = path else {
            let own = self.own.get_or_insert_with(|| Arc::new(big_clip()));
            return Ok(Arc::clone(own));
        };
        self.read.get(&self.base, path, |shown| {
            let text = read_text(Path::new(shown), MOST_BYTES)
                .map_err(|error| BadVideo::Unreadable(shown.into(), Arc::new(error)))?;
            video::parse(&text).map_err(|error| BadVideo::Wrong(shown.into(), error))
        })
    }
}
