//! Files that no module declares: the compiler never sees them, so that nothing says they are dead.
//! And files of tests that no program has.
//!
//! Not here: modules with a `#[path]`, of which there are none.

use crate::{Finding, Source};

/// Files below a crate's `src` that its modules do not reach.
pub fn orphans(sources: &[Source]) -> Vec<Finding> {
    let orphan = |source: &&Source| {
        let file = source.path.strip_suffix(".rs").unwrap_or_default();
        let path = file.strip_suffix("/mod").unwrap_or(file);
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let is_root = folder.ends_with("/src") && ["lib", "main"].contains(&name);
        let parents = ["/lib.rs", "/main.rs", ".rs", "/mod.rs"].map(|end| format!("{folder}{end}"));
        let mut parents = sources.iter().filter(|other| parents.contains(&other.path));
        let below_src = source.crate_name().is_some() && path.contains("/src/");
        below_src && !is_root && !parents.any(|parent| declares(&parent.text, name))
    };
    let finding = |source: &Source| {
        let problem = "no module declares this file, so that nothing compiles it";
        source.finding(0, problem, "declare it with `mod`, or delete it")
    };
    sources.iter().filter(orphan).map(finding).collect()
}

/// Test files that are neither programs of their own nor in one, of crates that name their programs
/// (`autotests = false`).
pub fn tests_that_never_run(sources: &[Source]) -> Vec<Finding> {
    let never = |source: &&Source| {
        let Some((folder, name)) = source.path.rsplit_once('/') else {
            return false;
        };
        let (Some(package), Some(name)) = (folder.strip_suffix("/tests"), name.strip_suffix(".rs"))
        else {
            return false;
        };
        let manifest = format!("{package}/Cargo.toml");
        let mut manifests = sources.iter().filter(|other| other.path == manifest);
        let Some(manifest) = manifests.find(|other| other.text.contains("autotests = false"))
        else {
            return false;
        };
        let is_program = (manifest.text.split("[[test]]").skip(1))
            .any(|program| program.contains(&format!("name = \"{name}\"\n")));
        let beside = |other: &&Source| {
            other
                .path
                .rsplit_once('/')
                .is_some_and(|(f, _)| f == folder)
        };
        let mut beside = sources.iter().filter(beside);
        !is_program && !beside.any(|other| declares(&other.text, name))
    };
    let finding = |source: &Source| {
        let problem = "no test program has this file, so that nothing runs it";
        source.finding(
            0,
            problem,
            "declare it with `mod` in one of the crate's `[[test]]`",
        )
    };
    sources.iter().filter(never).map(finding).collect()
}

/// Whether a file has `mod name;`.
fn declares(text: &str, name: &str) -> bool {
    let declaration = format!("mod {name};");
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.ends_with(&declaration) && !line.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nobody_declares_is_found() {
        let of = |(path, text): (&str, &str)| Source::new(path, text);
        let sources = [
            ("crates/a/src/lib.rs", "mod b;\n// mod d;\n"),
            ("crates/a/src/b.rs", "pub mod c;"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/b/e.rs", ""),
            ("crates/a/src/d.rs", ""),
            ("crates/a/tests/f.rs", ""),
        ]
        .map(of);
        let found = orphans(&sources);
        let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/b/e.rs", "crates/a/src/d.rs"]);
    }

    #[test]
    fn a_test_that_no_program_has_is_found() {
        let of = |(path, text): (&str, &str)| Source::new(path, text);
        let named = "autotests = false\n[[test]]\nname = \"all\"\n";
        let sources = [
            ("crates/a/Cargo.toml", named),
            ("crates/a/tests/all.rs", "mod b;\n"),
            ("crates/a/tests/b.rs", ""),
            ("crates/a/tests/c.rs", ""),
            ("crates/d/Cargo.toml", "[[test]]\nname = \"all\"\n"),
            ("crates/d/tests/e.rs", ""),
        ]
        .map(of);
        let found = tests_that_never_run(&sources);
        let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/tests/c.rs"]);
    }
}
