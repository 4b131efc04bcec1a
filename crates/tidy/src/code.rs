//! Rust code without its comments and literals, so that rules look at code only.

/// The same text with comments, string and character literals blanked. Lines stay where they are.
///
/// Knows line and nested block comments, escaped and raw strings, and tells character literals
/// from lifetimes. It need not be a full lexer: the compiler has already accepted the text.
pub fn strip(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(
                chars[at..end]
                    .iter()
                    .map(|&c| if c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself if none starts there.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    let after_word = at > 0 && is_word(chars[at - 1]);
    match chars[at] {
        '/' if next == Some('/') => find(chars, at, |rest| rest[0] == '\n'),
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => string_end(chars, at),
        'r' if !after_word || byte_prefix(chars, at) => raw_string_end(chars, at),
        '\'' => char_end(chars, at),
        _ => at,
    }
}

/// True at the `r` of `br"…"`.
fn byte_prefix(chars: &[char], at: usize) -> bool {
    chars[at - 1] == 'b' && !(at > 1 && is_word(chars[at - 2]))
}

fn find(chars: &[char], from: usize, stop: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len())
        .find(|&i| stop(&chars[i..]))
        .unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut i = at;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// The end of `r"…"` or `r#"…"#`; `at` if this `r` begins a name.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|&c| c == '#')
    };
    (find(chars, open + 1, closes) + 1 + hashes).min(chars.len())
}

/// The end of `'x'` or `'\n'`; `at` if this is a lifetime.
fn char_end(chars: &[char], at: usize) -> usize {
    match chars.get(at + 1) {
        Some('\\') => find(chars, at + 3, |rest| rest[0] == '\'') + 1,
        Some(_) if chars.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

/// A character of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// True if `line` has `word` as a whole word, or as a whole path if it has `::` in it.
pub fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_kept() {
        let text = "a // Instant\n/* b /* c */\n d */ e \"f // \\\" g\" h 'i' j<'k> r#\"l\"m\"# n";
        let stripped = strip(text);
        let words: Vec<&str> = stripped.split_whitespace().collect();
        assert_eq!(words, ["a", "e", "h", "j<'k>", "n"]);
        assert_eq!(stripped.lines().count(), text.lines().count());
    }

    #[test]
    fn escaped_quotes_do_not_end_a_character() {
        assert_eq!(strip(r"x '\'' y '\u{41}' z").split_whitespace().count(), 3);
    }

    #[test]
    fn a_name_that_begins_with_r_is_no_raw_string() {
        assert_eq!(
            strip("rate for r in br\"x\" r#type"),
            "rate for r in b     r#type"
        );
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("let t: Instant = x;", "Instant"));
        assert!(!has_word("let t: MyInstant = x;", "Instant"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
    }
}
