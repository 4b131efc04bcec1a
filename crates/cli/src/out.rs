//! The folder or file of `--out`, as the command line speaks of it.

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

/// The file must be one that can be written, in a folder that is there.
pub(crate) fn check_file(file: &Path) -> Result<(), WrongInput> {
    let wrong = |what: &str| Err(WrongInput(format!("--out {}: {what}", file.display())));
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if file.is_dir() {
        return wrong("is a folder; name a file");
    }
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return wrong("its folder is not there");
    }
    Ok(())
}
