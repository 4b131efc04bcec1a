//! What is said of a file that does not exist: where it is sought, and what may be meant.

use crate::problem::nearest;
use std::ffi::OsStr;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Most names of a folder that are compared with a wrong one.
const MOST_NAMES: usize = 1000;

/// The same error; of a missing file it says what is missing, where, and what may be meant.
pub fn explained(file: &Path, error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::new(ErrorKind::NotFound, missing(file)),
        _ => error,
    }
}

/// Names the first part of the path that is missing, and the nearest name that is there.
fn missing(file: &Path) -> String {
    let mut parts: Vec<&Path> = file.ancestors().collect();
    parts.reverse();
    let gone = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
    let first = parts.into_iter().find(gone).unwrap_or(file);
    let above = match first.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    let said = if first == file {
        "No such file".to_owned()
    } else {
        format!("No such folder `{}`", first.display())
    };
    let name = first
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    if let Some(meant) = meant(name, above, first != file) {
        let whole = first.with_file_name(meant);
        return format!("{said}; did you mean `{}`?", whole.display());
    }
    let place = fs::canonicalize(above).unwrap_or_else(|_| above.to_owned());
    format!("{said} in {}", place.display())
}

/// The name in a folder that is probably meant: the same with an extension, or nearly the same.
fn meant(name: &str, folder: &Path, is_folder: bool) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten().take(MOST_NAMES);
    let mut names: Vec<String> = entries
        .filter(|entry| !is_folder || entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let begins = format!("{name}.");
    let longer = names.iter().find(|known| known.starts_with(&begins));
    let found = match longer {
        Some(longer) => Some(longer.as_str()),
        None => nearest(name, names.iter().map(String::as_str)),
    };
    found.filter(|_| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::explained;
    use std::fs;
    use std::io::{Error, ErrorKind};
    use std::path::Path;

    #[test]
    fn a_missing_file_is_explained_with_what_may_be_meant() {
        let name = format!("sojourn-missing-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("scenarios")).expect("a folder");
        let place = fs::canonicalize(&folder).expect("it is there");
        fs::write(place.join("scenarios/demo.toml"), "").expect("a file");
        let shown = place.display();
        let missing = || Error::from(ErrorKind::NotFound);
        for (path, said) in [
            (
                "scenarios/demoo.toml",
                format!("No such file; did you mean `{shown}/scenarios/demo.toml`?"),
            ),
            (
                "scenarios/demo",
                format!("No such file; did you mean `{shown}/scenarios/demo.toml`?"),
            ),
            (
                "scenarios/another.toml",
                format!("No such file in {shown}/scenarios"),
            ),
            (
                "scenaris/demo.toml",
                format!("No such folder `{shown}/scenaris`; did you mean `{shown}/scenarios`?"),
            ),
            (
                "a/b/c.toml",
                format!("No such folder `{shown}/a` in {shown}"),
            ),
        ] {
            assert_eq!(explained(&place.join(path), missing()).to_string(), said);
        }
        let nowhere = std::env::current_dir().expect("a working directory");
        assert_eq!(
            explained(Path::new("no-such-file-at-all"), missing()).to_string(),
            format!("No such file in {}", nowhere.display())
        );
        let denied = explained(&place, Error::from(ErrorKind::PermissionDenied));
        assert_eq!(denied.to_string(), "permission denied");
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
