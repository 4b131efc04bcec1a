//! What code may not know: the clock, the machine, chance that no seed decides.

use crate::code::{has_word, strip};
use crate::{Finding, Source};

/// Crates whose code is pure: `no_std` with `alloc`.
pub const PURE: [&str; 6] = ["units", "random", "qdisc", "tcp", "apps", "wire"];

/// Crates whose results follow from their input alone, down to the last bit.
pub const DETERMINISTIC: [&str; 8] = [
    "units", "random", "qdisc", "tcp", "apps", "wire", "world", "sim",
];

/// The one crate that may have `unsafe` code.
pub const UNSAFE: &str = "live";

/// Modules of the standard library through which the machine gets in.
const MACHINE: [&str; 8] = ["time", "fs", "net", "thread", "env", "process", "io", "os"];

/// Words for clocks and for containers whose order differs from run to run.
const WORDS: [(&str, &str); 6] = [
    ("Instant", "take `now: Time` as an argument"),
    ("SystemTime", "take `now: Time` as an argument"),
    (
        "HashMap",
        "use BTreeMap or a Vec: its order must not differ from run to run",
    ),
    (
        "HashSet",
        "use BTreeSet or a Vec: its order must not differ from run to run",
    ),
    ("RandomState", "hash with a key from the run's seed"),
    ("DefaultHasher", "hash with a key from the run's seed"),
];

/// Float functions whose last bit depends on the platform's library. `sqrt` and rounding are
/// exact by IEEE 754 and may stay.
const MATHS: [&str; 19] = [
    "ln", "ln_1p", "log", "log2", "log10", "exp", "exp2", "exp_m1", "powf", "powi", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "cbrt", "hypot",
];

/// Clocks, machine modules, random order and platform maths in a deterministic crate.
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
    for (number, line) in lines(&code) {
        for (word, instead) in WORDS.iter().filter(|(word, _)| has_word(line, word)) {
            findings.push(Finding::new(
                &source.path,
                number,
                format!("`{word}`"),
                *instead,
            ));
        }
        for name in MATHS.iter().filter(|name| calls_method(line, name)) {
            findings.push(Finding::new(
                &source.path,
                number,
                format!("platform maths `.{name}()`"),
                format!("use libm::{name}: its result is the same everywhere"),
            ));
        }
    }
    findings
}

/// `std` in a pure crate, and pure crates that do not say so in their first lines.
pub fn no_std(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !applies(source, &PURE) || source.is_test_code() {
        return findings;
    }
    let code = strip(&source.text);
    let own = before_tests(&code);
    for (line, _) in std_modules(own) {
        findings.push(Finding::new(
            &source.path,
            line,
            "std in a pure crate",
            "use core or alloc",
        ));
    }
    if source.path.ends_with("/src/lib.rs") {
        for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            if !code.contains(attribute) {
                findings.push(Finding::new(
                    &source.path,
                    1,
                    format!("a pure crate without {attribute}"),
                    "add it below the crate's documentation",
                ));
            }
        }
    }
    findings
}

/// `unsafe` outside the one crate that talks to the kernel.
pub fn unsafe_code(source: &Source) -> Vec<Finding> {
    if source.crate_name() == Some(UNSAFE) || !source.is_rust() {
        return Vec::new();
    }
    let code = strip(&source.text);
    lines(&code)
        .filter(|(_, line)| has_word(line, "unsafe"))
        .map(|(number, _)| {
            Finding::new(
                &source.path,
                number,
                "unsafe code",
                format!("only crates/{UNSAFE} may have it: use a safe form, or move it there"),
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

fn lines(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().map(|(i, line)| (i + 1, line))
}

/// The code above a test module that stands in the same file.
fn before_tests(code: &str) -> &str {
    code.find("#[cfg(test)]\nmod tests {")
        .map_or(code, |at| &code[..at])
}

/// True if `line` calls `.name(`.
fn calls_method(line: &str, name: &str) -> bool {
    line.match_indices('.').any(|(at, _)| {
        line[at + 1..]
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('('))
    })
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

    fn in_qdisc(text: &str) -> Source {
        Source::new("crates/qdisc/src/a.rs", text)
    }

    fn problems(findings: &[Finding]) -> Vec<(usize, &str)> {
        findings
            .iter()
            .map(|f| (f.line, f.problem.as_str()))
            .collect()
    }

    #[test]
    fn clocks_are_found_but_not_in_comments() {
        let source = in_qdisc("// Instant\nfn f(t: Instant) {}\n");
        assert_eq!(problems(&machine(&source)), [(2, "`Instant`")]);
        assert_eq!(
            machine(&Source::new("crates/live/src/a.rs", &source.text)),
            []
        );
        assert_eq!(
            machine(&Source::new("crates/sim/src/a.rs", &source.text)).len(),
            1
        );
    }

    #[test]
    fn machine_modules_are_found_in_groups_too() {
        let source = Source::new("crates/sim/src/a.rs", "use std::{fmt, fs::File, rc::Rc};\n");
        assert_eq!(machine(&source).len(), 1);
        assert!(machine(&source)[0].problem.starts_with("std::fs"));
        let nested = Source::new("crates/sim/src/a.rs", "use std::{fmt::{self, io}, rc};\n");
        assert_eq!(machine(&nested), [], "io is a name inside fmt here");
    }

    #[test]
    fn platform_maths_is_found_and_exact_functions_pass() {
        let source = in_qdisc("let a = x.ln();\nlet b = x.sqrt() + n.ilog2() as f64;\n");
        assert_eq!(problems(&machine(&source)), [(1, "platform maths `.ln()`")]);
    }

    #[test]
    fn std_in_a_pure_crate_is_found_outside_tests_only() {
        let text = "use std::vec::Vec;\n#[cfg(test)]\nmod tests {\n    use std::format;\n}\n";
        assert_eq!(
            problems(&no_std(&in_qdisc(text))),
            [(1, "std in a pure crate")]
        );
        assert_eq!(no_std(&Source::new("crates/sim/src/a.rs", text)), []);
        assert_eq!(
            no_std(&Source::new("crates/qdisc/src/a/tests.rs", text)),
            []
        );
    }

    #[test]
    fn a_pure_crate_says_so() {
        let bare = Source::new("crates/tcp/src/lib.rs", "//! A crate.\n#![no_std]\n");
        assert_eq!(no_std(&bare).len(), 1);
    }

    #[test]
    fn unsafe_is_found_outside_live() {
        let text = "#![forbid(unsafe_code)]\nfn f() { unsafe { g() } }\n";
        assert_eq!(
            problems(&unsafe_code(&in_qdisc(text))),
            [(2, "unsafe code")]
        );
        assert_eq!(unsafe_code(&Source::new("crates/live/src/a.rs", text)), []);
    }
}
