//! The folder of `--out`, as the command line speaks of it.

use crate::WrongInput;
use sojourn_batch::{BatchError, Results};
use std::path::Path;

/// The folder must be one, or one that can be made.
pub(crate) fn check_folder(dir: &Path) -> Result<(), WrongInput> {
    // Whatever it holds stays.
    check_out(dir, &Results::Scenario(String::new()), true)
}

/// The same, and unless told to `overwrite` it must not hold others' results.
pub(crate) fn check_out(dir: &Path, results: &Results, overwrite: bool) -> Result<(), WrongInput> {
    sojourn_batch::check_out(dir, results, overwrite).map_err(|error| {
        let way_out = match error {
            BatchError::Taken { .. } => "; name another folder, or replace it with --overwrite",
            _ => "",
        };
        WrongInput(format!("--out {error}{way_out}"))
    })
}
