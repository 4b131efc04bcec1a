//! What code may not know: the machine it runs on. Crates without the standard library cannot.
//!
//! Not here: clocks, random order and the platform's mathematics. `clippy.toml` names them.

use crate::code::strip;
use crate::{Finding, Source};

/// Crates whose code is pure: `no_std` with `alloc`.
pub const PURE: [&str; 6] = ["units", "random", "qdisc", "tcp", "apps", "wire"];

/// Crates with the standard library whose results follow from their input alone.
pub const DETERMINISTIC: [&str; 2] = ["world", "sim"];

/// The one crate that may have `unsafe` code.
pub const UNSAFE: &str = "live";

/// Modules of the standard library through which the machine gets in.
const MACHINE: [&str; 8] = ["time", "fs", "net", "thread", "env", "process", "io", "os"];

/// Modules of the machine in a deterministic crate.
pub fn machine(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !applies(source, &DETERMINISTIC) || source.is_test_code() {
        return findings;
    }
    let code = strip(&source.text);
    for (line, module) in std_modules(&code) {
        if MACHINE.contains(&module.as_str()) {
            findings.push(Finding::new(
                &source.path,
                line,
                format!("std::{module} in a crate that is the same on every machine"),
                "pass what is needed in as an argument, or move the code to live, scenario or cli",
            ));
        }
    }
    findings
}

/// Pure crates that do not say so in their first lines, and crates that allow `unsafe` code.
pub fn crate_roots(source: &Source) -> Vec<Finding> {
    let is_root = ["/src/lib.rs", "/src/main.rs"]
        .iter()
        .any(|end| source.path.ends_with(end));
    let Some(name) = source.crate_name().filter(|_| is_root) else {
        return Vec::new();
    };
    let code = strip(&source.text);
    let mut wanted = Vec::new();
    if PURE.contains(&name) {
        wanted.push("#![no_std]");
    }
    if name != UNSAFE {
        wanted.push("#![forbid(unsafe_code)]");
    }
    wanted.retain(|attribute| !code.contains(attribute));
    wanted
        .iter()
        .map(|attribute| {
            Finding::new(
                &source.path,
                1,
                format!("a crate without {attribute}"),
                "add it below the crate's documentation",
            )
        })
        .collect()
}

fn applies(source: &Source, crates: &[&str]) -> bool {
    source.is_rust()
        && source
            .crate_name()
            .is_some_and(|name| crates.contains(&name))
}

/// The modules named right after `std::`, also in `use std::{a, b::c}`, with their lines.
fn std_modules(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("std::") {
        if code[..at]
            .chars()
            .next_back()
            .is_some_and(crate::code::is_word)
        {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "std::".len()..];
        match rest.strip_prefix('{') {
            None => found.push((line, first_word(rest))),
            Some(group) => {
                found.extend(group_heads(group).into_iter().map(|head| (line, head)));
            }
        }
    }
    found
}

/// The first word of each item of a `use` group, whose opening brace is already behind us.
fn group_heads(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut heads = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(String::new()),
            _ if depth == 0 => heads.last_mut().expect("never empty").push(c),
            _ => {}
        }
    }
    heads
        .iter()
        .map(|head| first_word(head.trim_start()))
        .filter(|h| !h.is_empty())
        .collect()
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|&c| crate::code::is_word(c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_modules_are_found_in_groups_too() {
        let source = Source::new("crates/sim/src/a.rs", "use std::{fmt, fs::File, rc::Rc};\n");
        assert_eq!(machine(&source).len(), 1);
        assert!(machine(&source)[0].problem.starts_with("std::fs"));
        let live = Source::new("crates/live/src/a.rs", &source.text);
        assert_eq!(machine(&live), []);
        let nested = Source::new("crates/sim/src/a.rs", "use std::{fmt::{self, io}, rc};\n");
        assert_eq!(machine(&nested), [], "io is a name inside fmt here");
    }

    #[test]
    fn a_crate_says_at_its_root_what_it_is() {
        let text = "//! A crate.\n#![no_std]\n";
        let missing = |path| crate_roots(&Source::new(path, text)).len();
        assert_eq!(missing("crates/tcp/src/lib.rs"), 1);
        assert_eq!(missing("crates/cli/src/main.rs"), 1);
        assert_eq!(missing("crates/live/src/lib.rs"), 0);
        assert_eq!(missing("crates/tcp/src/sender.rs"), 0);
        let bare = Source::new("crates/tcp/src/lib.rs", "//! Says `#![no_std]`.\n");
        assert_eq!(crate_roots(&bare).len(), 2, "a comment is no attribute");
    }
}
