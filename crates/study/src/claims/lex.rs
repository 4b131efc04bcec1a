//! The words of the claim language.

use std::ops::Range;

/// A word and where it stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name: of a figure, an axis, a value, a word of the language.
    Name(String),
    /// A number; per cent are already divided by a hundred.
    Number(f64),
    /// A text in quotes, for values that are no names.
    Text(String),
    /// `<`, `<=`, `..` and so on.
    Mark(&'static str),
    End,
}

impl TokenKind {
    /// For messages.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(text) => format!("`'{text}'`"),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Longer ones first.
const MARKS: [&str; 20] = [
    "<=", ">=", "..", "<", ">", "=", "~", "(", ")", "[", "]", "{", "}", ",", ":", "+", "-", "*",
    "/", "%",
];

/// Splits a text into words; the last one is [`TokenKind::End`].
///
/// # Errors
/// Where a character belongs to no word, and why.
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, (Range<usize>, String)> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, len) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() {
            number(rest).map_err(|(len, message)| (at..at + len, message))?
        } else if c.is_ascii_alphabetic() || c == '_' {
            let len = name_length(rest);
            (TokenKind::Name(rest[..len].to_owned()), len)
        } else if c == '\'' {
            let Some(len) = rest[1..].find('\'') else {
                return Err((at..text.len(), "a text without its closing `'`".into()));
            };
            (TokenKind::Text(rest[1..=len].to_owned()), len + 2)
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            (TokenKind::Mark(mark), mark.len())
        } else {
            let message = format!("`{c}` means nothing here");
            return Err((at..at + c.len_utf8(), message));
        };
        tokens.push(Token {
            kind,
            span: at..at + len,
        });
        at += len;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        span: text.len()..text.len(),
    });
    Ok(tokens)
}

/// Names may hold dots (`link.sojourn_ms.p75`) and, between letters, dashes (`fq-codel`), and
/// end in `*` where a pattern is meant.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let letter = |i: usize| {
        bytes
            .get(i)
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    let mut len = 0;
    while letter(len) || (matches!(bytes.get(len), Some(b'.' | b'-')) && letter(len + 1)) {
        len += 1;
    }
    // `voip-*`: all flows of that name.
    if text[len..].starts_with("-*") {
        return len + 2;
    }
    len
}

/// A number with an optional `%`; `..` behind it is not its decimal point.
fn number(text: &str) -> Result<(TokenKind, usize), (usize, String)> {
    let digits = |from: usize| {
        let rest = text[from..].bytes();
        from + rest.take_while(u8::is_ascii_digit).count()
    };
    let mut len = digits(0);
    if text[len..].starts_with('.') && !text[len..].starts_with("..") {
        len = digits(len + 1);
    }
    if text[len..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let word = len + name_length(&text[len..]);
        let message = format!(
            "`{}` is neither a number nor a name; numbers have no unit but `%`",
            &text[..word]
        );
        return Err((word, message));
    }
    let value: f64 = text[..len]
        .parse()
        .map_err(|_| (len, format!("`{}` is not a number", &text[..len])))?;
    if text[len..].starts_with('%') {
        return Ok((TokenKind::Number(value / 100.0), len + 1));
    }
    Ok((TokenKind::Number(value), len))
}
