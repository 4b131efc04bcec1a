//! Rules for every text: its size, and that it is finished.

use crate::{Finding, Source, extension, has_word};

/// Longest line of code and scripts, in characters.
pub const LINE_MAX: usize = 100;

/// Longest file of code, in lines.
pub const FILE_MAX: usize = 700;

/// Files of code longer than [`FILE_MAX`].
pub fn file_length(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    if !is_code(source) || lines <= FILE_MAX {
        return Vec::new();
    }
    let problem = format!("{lines} lines, the limit is {FILE_MAX}");
    let instead = "split it by job (a folder of the same name), tests into a sibling tests.rs";
    vec![source.finding(0, problem, instead)]
}

/// Lines longer than [`LINE_MAX`]. Let through are addresses, and test code, where rows of tables
/// and expected messages read best whole.
pub fn line_length(source: &Source) -> Vec<Finding> {
    if !is_code(source) || source.is_test_code() {
        return Vec::new();
    }
    let lines = source.numbered().take(source.lines_before_tests());
    let lengths = lines.map(|(number, line)| (number, line, line.chars().count()));
    let long = lengths.filter(|(_, line, length)| *length > LINE_MAX && !line.contains("://"));
    let finding = |(number, _, length)| {
        let problem = format!("{length} characters, the limit is {LINE_MAX}");
        let instead = "break the line; rustfmt leaves comments and literals to you";
        source.finding(number, problem, instead)
    };
    long.map(finding).collect()
}

/// Marks of unfinished work in code.
pub fn unfinished(source: &Source) -> Vec<Finding> {
    if !is_code(source) {
        return Vec::new();
    }
    // In pieces, so that this file passes its own rule.
    let marks = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK")]
        .map(|(start, end)| format!("{start}{end}"));
    let mut findings = Vec::new();
    for (number, line) in source.numbered() {
        for mark in marks.iter().filter(|mark| has_word(line, mark)) {
            let problem = format!("{mark} in the tree");
            let instead =
                "finish it, or write an issue and say plainly in the docs what is missing";
            findings.push(source.finding(number, problem, instead));
        }
    }
    findings
}

/// Spaces at a line's end, tabs in Rust, no newline at the end.
pub fn whitespace(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in source.numbered() {
        if line.ends_with([' ', '\t']) {
            findings.push(source.finding(number, "space at the end", "remove it"));
        }
        if source.is_rust() && line.starts_with('\t') {
            findings.push(source.finding(number, "tab", "cargo fmt --all"));
        }
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        findings.push(source.finding(0, "no newline at the end", "add one"));
    }
    findings
}

/// Code of the product and its scripts. Languages of the page and of the peers in `benches/peers`
/// have habits of their own.
fn is_code(source: &Source) -> bool {
    ["rs", "py", "sh", ""].contains(&extension(&source.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_found_at_its_place() {
        let at_limit = "x".repeat(LINE_MAX);
        let text = format!("{at_limit}\n{at_limit}x\n// https://{at_limit}\n");
        let of = |path, text| line_length(&Source::new(path, text));
        let findings = of("crates/a/src/b.rs", &text);
        assert_eq!((findings.len(), findings[0].line), (1, 2));
        let in_tests = format!("x\n#[cfg(test)]\nmod tests {{\n{at_limit}x\n}}\n");
        assert_eq!(of("crates/a/src/b.rs", &in_tests), []);
        assert_eq!(of("crates/a/tests/b.rs", &text), []);
    }

    #[test]
    fn a_long_file_is_found() {
        let of = |lines| file_length(&Source::new("a.rs", &"x\n".repeat(lines)));
        assert_eq!(of(FILE_MAX), []);
        assert!(of(FILE_MAX + 5)[0].problem.starts_with("705 lines"));
    }

    #[test]
    fn unfinished_marks_are_found_as_whole_words() {
        let mark = concat!("TO", "DO");
        let text = format!("fine\n// {mark}: later\nMETHOD{mark}LOGY\n");
        let findings = unfinished(&Source::new("a.rs", &text));
        assert_eq!(findings.iter().map(|f| f.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn trailing_space_and_missing_newline_are_found() {
        assert_eq!(whitespace(&Source::new("a.md", "a \nb")).len(), 2);
        assert_eq!(whitespace(&Source::new("a.rs", "a\n\tb\n")).len(), 1);
    }
}
