//! Rules for what names stand for: one value each, and one thing a parameter.
//!
//! Both read code as rustfmt leaves it. Not here: a name that is bound again further down, or in
//! another block, where a reader has begun anew.

use crate::{Finding, Source, is_word};

/// How many lines above its second binding a name's first one is near.
const NEAR: usize = 6;

/// Names that are bound again to something of what they have just been bound to.
pub fn bound_twice(source: &Source) -> Vec<Finding> {
    if !source.is_rust() {
        return Vec::new();
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let twice = |at: usize| {
        let name = rebound(&lines[at..])?;
        let depth = indentation(lines[at]);
        lines[..at]
            .iter()
            .rev()
            .take(NEAR)
            .take_while(|line| line.is_empty() || indentation(line) >= depth)
            .any(|line| indentation(line) == depth && bound(line).is_some_and(|it| it.0 == name))
            .then_some(name)
    };
    (0..lines.len())
        .filter_map(|at| Some((at + 1, twice(at)?)))
        .map(|(number, name)| {
            let problem = format!("`{name}` is bound twice within {NEAR} lines");
            let instead = "chain the calls, or give each value a name of its own";
            source.finding(number, problem, instead)
        })
        .collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name that a `let` binds, and what follows it.
fn bound(line: &str) -> Option<(&str, &str)> {
    let pattern = line
        .trim_start()
        .strip_prefix("let ")?
        .trim_start_matches("mut ");
    let end = pattern.find(|c| !is_word(c)).unwrap_or(pattern.len());
    (end > 0).then(|| pattern.split_at(end))
}

/// The name that the `let` of the first line binds to something of its former value.
fn rebound<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let (name, rest) = bound(lines[0])?;
    let value = match rest.split_once(" = ") {
        Some((_, value)) => value,
        None => lines.get(1).filter(|_| rest.ends_with(" ="))?.trim_start(),
    };
    let borrowed = ["&mut ", "&", "*"];
    let place = { borrowed.iter() }.find_map(|prefix| value.strip_prefix(prefix));
    let after = place.unwrap_or(value).strip_prefix(name)?;
    // A function or a module may have the name too.
    (!after.starts_with(is_word) && !after.starts_with(['(', '!', ':'])).then_some(name)
}

/// Parameters that are tuples: whoever calls the function cannot see what is what.
pub fn tuple_parameters(source: &Source) -> Vec<Finding> {
    // Python hands tuples over.
    if !source.is_rust() || source.is_test_code() || source.crate_name() == Some("python") {
        return Vec::new();
    }
    let lines: Vec<&str> = source
        .text
        .lines()
        .take(source.lines_before_tests())
        .collect();
    let finding = |at: usize| {
        let code = lines[at].trim_start();
        let begin = code.find("fn ").filter(|_| !code.starts_with("//"))?;
        let text = std::iter::once(&code[begin + 3..])
            .chain(lines[at + 1..].iter().copied())
            .collect::<Vec<_>>()
            .join(" ");
        let tuple = parameters(&text).into_iter().find(|it| is_tuple(it))?;
        let problem = format!("the parameter `{}` is a tuple", tuple.trim());
        let instead = "take its parts, or a struct that names them";
        Some(source.finding(at + 1, problem, instead))
    };
    (0..lines.len()).filter_map(finding).collect()
}

/// The parameters of a function, from its name on.
fn parameters(text: &str) -> Vec<&str> {
    let name = text.find(|c| !is_word(c)).unwrap_or(text.len());
    if name == 0 || !text[name..].starts_with(['(', '<']) {
        return Vec::new();
    }
    let (mut depth, mut inside, mut start, mut found) = (0, None, 0, Vec::new());
    for (at, c) in text.char_indices().skip(name) {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        match (c, inside) {
            ('(', None) if depth == 1 => (inside, start) = (Some(depth), at + 1),
            (',', Some(level)) if depth == level => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            (')', Some(level)) if depth < level => {
                found.push(&text[start..at]);
                break;
            }
            _ => {}
        }
    }
    found
}

fn is_tuple(parameter: &str) -> bool {
    let parameter = parameter.trim();
    let kind = parameter
        .split_once(": ")
        .map_or("", |(_, kind)| kind)
        .trim_start_matches('&')
        .trim_start_matches("mut ");
    [parameter, kind]
        .iter()
        .any(|text| text.starts_with('(') && !text.starts_with("()") && !text.starts_with("(dyn "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn twice(text: &str) -> Vec<usize> {
        let findings = bound_twice(&Source::new("crates/a/src/b.rs", text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_name_for_two_values_in_a_row_is_found() {
        let chained = "    let a = b.iter();\n    let a: Vec<_> = a.collect();\n";
        assert_eq!(twice(chained), [2]);
        let later = "let mut a = f();\na.push(1);\n// Why.\nlet a = &a[1..];\n";
        assert_eq!(twice(later), [4]);
        let broken = "let a = f();\nlet a =\n    a.map(|it| it + 1);\n";
        assert_eq!(twice(broken), [2]);
    }

    #[test]
    fn other_names_blocks_and_far_lines_are_not() {
        assert_eq!(
            twice("let a = f();\nlet ab = a.g();\nlet b = a.g();\n"),
            NONE
        );
        assert_eq!(
            twice("let folder = folder();\nlet a = a::b();\nlet a = a!();\n"),
            NONE
        );
        let block = "if x {\n    let a = f();\n}\nif y {\n    let a = a.g();\n}\n";
        assert_eq!(twice(block), NONE);
        let far = format!("let a = f();\n{}let a = a.g();\n", "go(a);\n".repeat(NEAR));
        assert_eq!(twice(&far), NONE);
    }

    #[test]
    fn tuples_as_parameters_are_found() {
        let of = |path, text| {
            let findings = tuple_parameters(&Source::new(path, text));
            findings
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>()
        };
        let path = "crates/a/src/b.rs";
        assert_eq!(of(path, "fn f(a: u8, (b, c): (u8, u8)) {}\n"), [1]);
        let lines = "/// fn no(a: (u8, u8))\npub(crate) fn f<T: Fn(u8) -> u8>(\n    a: T,\n    \
                     b: &(u8, u8),\n) {\n}\n";
        assert_eq!(of(path, lines), [2]);
        let fine = "fn f(a: Vec<(u8, u8)>, b: &(dyn World + Sync), (): ()) -> (u8, u8) {}\n";
        assert_eq!(of(path, fine), NONE);
        assert_eq!(
            of("crates/a/tests/b.rs", "fn f((a, b): (u8, u8)) {}\n"),
            NONE
        );
    }
}
