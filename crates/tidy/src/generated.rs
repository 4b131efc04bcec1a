//! Files, and parts of documents, that are made from the code: tests hold them to what the code
//! says, and write them anew with `SOJOURN_WRITE=1`.
//!
//! Not here: what is written. Each test makes its own text.

use std::fs;

/// The variable of the environment that asks for writing instead of comparing.
pub const WRITE: &str = "SOJOURN_WRITE";

/// Holds the file `path`, below the repository's root, to `wanted`.
///
/// # Panics
/// If the file says something else, or cannot be written.
pub fn file(path: &str, wanted: &str) {
    let whole = crate::root().join(path);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&whole, wanted).unwrap_or_else(|e| panic!("{path}: {e}"));
        return;
    }
    let found = fs::read_to_string(&whole).unwrap_or_else(|e| panic!("{path}: {e}"));
    if let Some(difference) = difference(&found, wanted) {
        panic!("{path}{difference}\nif the code is right, run this test with {WRITE}=1");
    }
}

/// Holds what stands in `path` between the lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`
/// to `wanted`, with an empty line before and after it.
///
/// # Panics
/// As [`file()`], and if the document lacks the lines.
pub fn part(path: &str, name: &str, wanted: &str) {
    let found =
        fs::read_to_string(crate::root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let whole = with_part(&found, name, wanted).unwrap_or_else(|| {
        panic!("{path}: no lines <!-- {name}: begin --> and <!-- {name}: end -->")
    });
    file(path, &whole);
}

/// `found` with another text between the lines of `name`.
fn with_part(found: &str, name: &str, wanted: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = found.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    let wanted = wanted.trim_matches('\n');
    Some(format!("{before}{begin}\n{wanted}\n\n{end}{after}"))
}

/// The first line in which the two differ, in words.
fn difference(found: &str, wanted: &str) -> Option<String> {
    if found == wanted {
        return None;
    }
    let same = { found.split('\n').zip(wanted.split('\n')) }
        .take_while(|(a, b)| a == b)
        .count();
    let shown = |text: &str| text.split('\n').nth(same).unwrap_or("(the end)").to_owned();
    let (line, is, should) = (same + 1, shown(found), shown(wanted));
    Some(format!(
        ":{line} is not what the code says\n  is:     {is}\n  wanted: {should}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_and_the_rest_stays() {
        let found = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n";
        let wanted = "a\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nb\n";
        assert_eq!(with_part(found, "x", "new\n").as_deref(), Some(wanted));
        assert_eq!(with_part(wanted, "x", "new").as_deref(), Some(wanted));
        assert_eq!(with_part(found, "y", "new"), None);
    }

    #[test]
    fn the_first_different_line_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let found = difference("a\nb\n", "a\nc\n").expect("they differ");
        assert!(
            found.starts_with(":2 ") && found.contains("wanted: c"),
            "{found}"
        );
        let shorter = difference("a\n", "a\nb\n").expect("they differ");
        assert!(shorter.starts_with(":2 "), "{shorter}");
    }
}
