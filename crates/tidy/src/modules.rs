//! Files that no module declares: the compiler never sees them, so that nothing says they are dead.
//!
//! Not here: modules with a `#[path]`, of which there are none.

use crate::code::{has_word, strip};
use crate::{Finding, Source};

/// Files below a crate's `src` that its modules do not reach.
pub fn orphans(sources: &[Source]) -> Vec<Finding> {
    let declared = |parents: [String; 2], name: &str| {
        let mut sources = sources.iter();
        sources.any(|source| parents.contains(&source.path) && declares(&source.text, name))
    };
    let orphan = |source: &&Source| {
        let parts: Vec<&str> = source.path.split('/').collect();
        let ["crates", krate, "src", between @ .., file] = parts.as_slice() else {
            return false;
        };
        let Some(stem) = file.strip_suffix(".rs") else {
            return false;
        };
        let (folder, name) = match (between, stem) {
            ([], "lib" | "main") => return false,
            ([folder @ .., name], "mod") => (folder, *name),
            _ => (between, stem),
        };
        let above = std::iter::once(&"src").chain(folder).copied();
        let above = format!("crates/{krate}/{}", above.collect::<Vec<_>>().join("/"));
        let parents = if folder.is_empty() {
            ["lib.rs", "main.rs"].map(|root| format!("{above}/{root}"))
        } else {
            [format!("{above}.rs"), format!("{above}/mod.rs")]
        };
        !declared(parents, name)
    };
    let finding = |source: &Source| {
        let problem = "no module declares this file, so that nothing compiles it";
        Finding::new(
            &source.path,
            0,
            problem,
            "declare it with `mod`, or delete it",
        )
    };
    sources.iter().filter(orphan).map(finding).collect()
}

/// Whether a file has `mod name`.
fn declares(text: &str, name: &str) -> bool {
    let code = strip(text);
    let mut lines = code.lines();
    lines.any(|line| has_word(line, "mod") && has_word(line, name))
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
