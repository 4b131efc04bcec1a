//! Files that no module declares: the compiler never sees them, so that nothing says they are dead.
//!
//! Not here: modules with a `#[path]`, of which there are none.

use crate::{Finding, Source};

/// Files below a crate's `src` that its modules do not reach.
pub fn orphans(sources: &[Source]) -> Vec<Finding> {
    let orphan = |source: &&Source| {
        let path = source.path.strip_suffix(".rs").unwrap_or_default();
        let path = path.strip_suffix("/mod").unwrap_or(path);
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
}
