//! What traffic models need of the file around them.

use super::Resolver;
use crate::apps::Around;
use crate::files::FileError;
use sojourn_apps::dash::Manifest;
use std::sync::Arc;

impl Around for Resolver<'_> {
    fn complain(&mut self, path: &str, message: String) {
        self.complain(path, message);
    }

    fn video(&mut self, path: Option<&str>) -> Result<Arc<Manifest>, FileError> {
        self.files.video(path)
    }
}
