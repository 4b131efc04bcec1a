//! What code may not know: the machine it runs on. Crates without the standard library cannot.
//!
//! Not here: clocks, random order and the platform's mathematics. `clippy.toml` names them.

use crate::{Finding, Source};

/// Crates whose code is pure: `no_std` with `alloc`.
pub const PURE: [&str; 10] = [
    "units", "random", "line", "qdisc", "radio", "tcp", "apps", "wire", "autorate", "module",
];

/// Crates with the standard library whose results follow from their input alone.
pub const DETERMINISTIC: [&str; 2] = ["world", "sim"];

/// The crates that may have `unsafe` code: system calls, and the names that others call.
pub const UNSAFE: [&str; 6] = [
    "bridge",
    "loader",
    "memory",
    "net-c",
    "playground",
    "plugin",
];

/// What follows `std::` where the machine gets in; a group of several modules could hide it.
const MACHINE: [&str; 9] = [
    "time", "fs", "net", "thread", "env", "process", "io", "os", "{",
];

/// Modules of the machine in a deterministic crate.
pub fn machine(source: &Source) -> Vec<Finding> {
    let applies = source
        .crate_name()
        .is_some_and(|name| DETERMINISTIC.contains(&name));
    if !applies || !source.is_rust() || source.is_test_code() {
        return Vec::new();
    }
    let code = source
        .numbered()
        .filter(|(_, line)| !line.trim_start().starts_with("//"));
    let named = code.flat_map(|(at, line)| line.split("std::").skip(1).map(move |rest| (at, rest)));
    let finding = |(line, rest): (usize, &str)| {
        let module = MACHINE.iter().find(|module| rest.starts_with(**module))?;
        let problem = format!("std::{module} in a crate that is the same on every machine");
        let instead = "pass what is needed in as an argument, or move the code to bridge, live, \
                       text or cli";
        Some(source.finding(line, problem, instead))
    };
    named.filter_map(finding).collect()
}

/// Pure crates that do not say so in their first lines, and crates that allow `unsafe` code.
pub fn crate_roots(source: &Source) -> Vec<Finding> {
    let is_root = source.path.ends_with("/src/lib.rs") || source.path.ends_with("/src/main.rs");
    let Some(name) = source.crate_name().filter(|_| is_root) else {
        return Vec::new();
    };
    let wanted = [
        ("#![no_std]", PURE.contains(&name)),
        ("#![forbid(unsafe_code)]", !UNSAFE.contains(&name)),
    ];
    let missing = |(attribute, wanted): (&str, bool)| {
        let missing = wanted && !source.text.lines().any(|line| line == attribute);
        let problem = format!("a crate without {attribute}");
        missing.then(|| source.finding(1, problem, "add it below the crate's documentation"))
    };
    wanted.into_iter().filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_modules_are_found() {
        let of = |path, text| machine(&Source::new(path, text));
        let code = "use std::fmt;\n// use std::io;\nlet x = std::fs::read(y);\n";
        let found = of("crates/sim/src/a.rs", code);
        assert!(found.len() == 1 && found[0].line == 3, "{found:?}");
        assert!(found[0].problem.starts_with("std::fs"));
        assert_eq!(of("crates/live/src/a.rs", code), []);
        assert_eq!(of("crates/sim/src/a.rs", "use std::{fmt, io};\n").len(), 1);
    }

    #[test]
    fn a_crate_says_at_its_root_what_it_is() {
        let text = "//! A crate.\n#![no_std]\n";
        let missing = |path| crate_roots(&Source::new(path, text)).len();
        assert_eq!(missing("crates/tcp/src/lib.rs"), 1);
        assert_eq!(missing("crates/cli/src/main.rs"), 1);
        assert_eq!(missing("crates/bridge/src/lib.rs"), 0);
        assert_eq!(missing("crates/live/src/lib.rs"), 1);
        assert_eq!(missing("crates/tcp/src/sender.rs"), 0);
        let bare = Source::new("crates/tcp/src/lib.rs", "//! Says `#![no_std]`.\n");
        assert_eq!(crate_roots(&bare).len(), 2, "a comment is no attribute");
    }
}
