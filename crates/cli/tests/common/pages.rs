//! Pages of the documents that a reader follows: their files are written, their commands run.
//!
//! A block after a line that ends with ``**`NAME`**`` is a file of that name. A block of kind
//! `console` is commands, each after `$ `, with what they print; a line `...` stands for lines
//! that are left out. All blocks of a page share a folder, which has the repository's `scenarios`
//! and `studies`. What a title says decides where a block is run:
//!
//! | title | run |
//! | --- | --- |
//! | none | by `pages` |
//! | `needs a kernel` | by `pages_kernel` |
//! | any other | not: as root, over minutes, on another machine |
//!
//! Blocks whose first command is `python` are run by the Python package's tests.

use sojourn_tidy::{generated, root};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The title of blocks that take a guest's kernel.
pub const KERNEL: &str = "console title=\"needs a kernel\"";

/// All pages below `docs`, relative to the repository's root.
pub fn all() -> Vec<String> {
    let mut found: Vec<String> = sojourn_tidy::sources(&root())
        .into_iter()
        .map(|source| source.path)
        .filter(|path| path.starts_with("docs/"))
        .filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"))
        .collect();
    found.sort();
    found
}

/// The text of a page.
pub fn text(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"))
}

/// A part of a page.
pub enum Part<'a> {
    Text(&'a str),
    /// A fenced block: what stands behind the opening fence, and the lines.
    Block {
        info: &'a str,
        lines: &'a str,
    },
}

/// The parts of a page in their order.
pub fn parts(page: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find("\n```") {
        let (before, block) = rest.split_at(at + 1);
        found.push(Part::Text(before));
        let (info, block) = block[3..].split_once('\n').expect("a fence ends its line");
        let end = if block.starts_with("```") {
            0
        } else {
            block.find("\n```").expect("a fence is closed") + 1
        };
        found.push(Part::Block {
            info,
            lines: &block[..end],
        });
        rest = &block[end + 3..];
    }
    found.push(Part::Text(rest));
    found
}

/// The file that a block is, by the text before it.
fn file_name(before: &str) -> Option<&str> {
    let line = before.trim_end().lines().last()?;
    let (_, name) = line.strip_suffix("`**")?.rsplit_once("**`")?;
    Some(name)
}

/// Holds a page to what its commands print: those without a title, or with a kernel all that
/// need one and those before them.
///
/// # Panics
/// If the page shows something else.
pub fn hold(page: &str, with_kernel: bool) {
    let text = text(page);
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["scenarios", "studies"] {
        symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    let mut wanted = String::new();
    for part in parts(&text) {
        let (info, lines) = match part {
            Part::Text(text) => {
                wanted += text;
                continue;
            }
            Part::Block { info, lines } => (info, lines),
        };
        if let Some(name) = file_name(&wanted) {
            fs::write(folder.path().join(name), lines).expect("a file");
        }
        let is_run = info == "console" || with_kernel && info == KERNEL;
        let lines = if is_run && !lines.starts_with("$ python") {
            printed(page, lines, folder.path())
        } else {
            lines.to_owned()
        };
        wanted.extend(["```", info, "\n", &lines, "```"]);
    }
    generated::file(page, &wanted);
}

/// A block with what its commands print today.
fn printed(page: &str, block: &str, folder: &Path) -> String {
    let mut found = String::new();
    for part in block
        .split_inclusive('\n')
        .collect::<Vec<_>>()
        .chunk_by(|_, line| !line.starts_with("$ "))
    {
        let command = part[0]
            .trim_end()
            .strip_prefix("$ ")
            .unwrap_or_else(|| panic!("{page}: no command before:\n{block}"));
        let output = run(command, folder);
        found += part[0];
        let shown: Vec<&str> = part[1..].iter().map(|line| line.trim_end()).collect();
        found += &shortened(&output, &shown);
    }
    found
}

/// The lines of an output, without those that stood for `...`.
fn shortened(output: &str, shown: &[&str]) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let mut found = Vec::new();
    match shown.iter().position(|line| *line == "...") {
        Some(first) if lines.len() >= shown.len() => {
            let last = shown.len() - first - 1;
            found.extend(&lines[..first]);
            found.push("...");
            found.extend(&lines[lines.len() - last..]);
        }
        _ => found = lines,
    }
    found.iter().flat_map(|line| [line, "\n"]).collect()
}

/// What a shell's command prints, results and messages as they come.
fn run(command: &str, folder: &Path) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_sojourn"));
    let programs = program.parent().expect("the program lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("PATH", format!("{}:{path}", programs.display()))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let text = String::from_utf8(output.stdout).expect("output is text");
    text.trim_matches('\n').to_owned()
}
