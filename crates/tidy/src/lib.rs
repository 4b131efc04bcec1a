//! The house rules, as tests: `cargo test -p sojourn-tidy`.
//!
//! Each rule reads the repository and yields [`Finding`]s: the file, the line, what is wrong and
//! what to do instead. The rules are functions of text, so that each has tests of its own that it
//! can fail; `tests/repository.rs` runs them over this repository.
//!
//! The other crates' tests take [`generated`] from here.
//!
//! Not here: what the compiler, rustfmt and clippy already check.
#![forbid(unsafe_code)]

pub mod bindings;
pub mod circles;
pub mod docs;
pub mod edges;
pub mod generated;
pub mod modules;
pub mod packages;
pub mod prose;
pub mod purity;
pub mod release;
pub mod text;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the repository's root.
    pub path: String,
    /// The line, from 1; 0 if the finding is about the whole file.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What to do instead.
    pub instead: String,
}

impl Finding {
    /// A finding at `line` of `path`.
    pub fn new(path: &str, line: usize, problem: impl Into<String>, instead: &str) -> Self {
        let (path, problem, instead) = (path.into(), problem.into(), instead.into());
        Self {
            path,
            line,
            problem,
            instead,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}: {}", self.problem, self.instead)
    }
}

/// One text file of the repository.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is, relative to the repository's root, with `/` between folders.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl Source {
    /// A file of the given path and text.
    pub fn new(path: &str, text: &str) -> Self {
        let (path, text) = (path.into(), text.into());
        Self { path, text }
    }

    /// A finding at `line` of this file.
    fn finding(&self, line: usize, problem: impl Into<String>, instead: &str) -> Finding {
        Finding::new(&self.path, line, problem, instead)
    }

    /// Its lines with their numbers, from 1.
    fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The folder under `crates/` that the file is in.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// True for Rust code.
    pub fn is_rust(&self) -> bool {
        extension(&self.path) == "rs"
    }

    /// True for code that only tests and benches run.
    pub fn is_test_code(&self) -> bool {
        let in_folder = |name| self.path.split('/').any(|part| part == name);
        in_folder("tests") || in_folder("benches") || self.path.ends_with("/tests.rs")
    }

    /// How many lines stand above a test module in the same file; all of them without one.
    fn lines_before_tests(&self) -> usize {
        let above = self.text.split("#[cfg(test)]\nmod tests {").next();
        above.unwrap_or_default().lines().count()
    }
}

/// The end of a file's name after the last dot; empty if there is none.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, end)| end)
}

/// A character of a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// True if `line` has `word` as a whole word, or as a whole path if it has `/` in it.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
    })
}

/// The root of this repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate lies in crates/tidy").to_path_buf()
}

/// All text files that people write, in the order of their paths. Build output is left out, and
/// links: what they lead to stands elsewhere.
///
/// # Panics
/// If a folder or file cannot be read: then no rule can say anything.
pub fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        for entry in entries.unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                let output = ["target", "out", "build"].contains(&&*name);
                if !output && (!name.starts_with('.') || name == ".ci") {
                    folders.push(path);
                }
            } else if is_written_by_people(&path, &name) {
                let text =
                    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let below = path.strip_prefix(root).expect("the walk began at the root");
                found.push(Source::new(&below.to_string_lossy(), &text));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Sources, scripts and documents by their names; scripts without an ending by their place.
fn is_written_by_people(path: &Path, name: &str) -> bool {
    const ENDINGS: &str = "rs py sh toml md tcl cc html css js";
    let in_scripts = path
        .parent()
        .is_some_and(|folder| folder.ends_with("scripts"));
    ENDINGS.split(' ').any(|end| end == extension(name)) || in_scripts || name == "Makefile"
}

/// Prints all findings and fails if there are any.
///
/// # Panics
/// If there is a finding; the message lists them all.
pub fn expect_none(findings: &[Finding]) {
    let lines = findings
        .iter()
        .map(Finding::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        findings.is_empty(),
        "{} finding(s):\n{lines}",
        findings.len()
    );
}
