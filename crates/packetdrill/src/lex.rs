//! The text of a script, read from its beginning to its end with the place known.

/// Something in a script that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct Problem {
    /// The script's file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// A place in the text.
pub(crate) struct Cursor<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The line of the place.
    pub(crate) fn line(&self) -> u32 {
        let lines = self.text[..self.at].matches('\n').count();
        u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1
    }

    /// A problem at this place.
    pub(crate) fn problem(&self, what: impl Into<String>) -> Problem {
        let start = self.text[..self.at].rfind('\n').map_or(0, |end| end + 1);
        let column = self.text[start..self.at].chars().count() + 1;
        Problem {
            file: self.file.to_owned(),
            line: self.line(),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            what: what.into(),
        }
    }

    /// What stands here, for a message.
    pub(crate) fn here(&self) -> String {
        let word: String = self
            .rest()
            .chars()
            .take_while(|char| !char.is_whitespace())
            .take(20)
            .collect();
        if word.is_empty() {
            "the end".to_owned()
        } else {
            format!("`{word}`")
        }
    }

    /// Goes past spaces, line ends and comments.
    pub(crate) fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                self.at += comment.find("*/").map_or(trimmed.len(), |end| end + 4);
            } else {
                return;
            }
        }
    }

    /// Takes `word`, after spaces, if it stands here.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Takes `word`, which must stand here.
    pub(crate) fn expect(&mut self, word: &str) -> Result<(), Problem> {
        if self.take(word) {
            return Ok(());
        }
        Err(self.problem(format!("{} where `{word}` belongs", self.here())))
    }

    /// Takes characters while they are of a kind.
    pub(crate) fn take_while(&mut self, of_kind: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|char| !of_kind(char)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Takes a name: letters, digits and `_`.
    pub(crate) fn word(&mut self) -> &'a str {
        self.skip();
        self.take_while(|char| char.is_ascii_alphanumeric() || char == '_')
    }

    /// Takes what stands before `end`, and `end`.
    pub(crate) fn until(&mut self, end: &str) -> Result<&'a str, Problem> {
        let rest = self.rest();
        let Some(len) = rest.find(end) else {
            return Err(self.problem(format!("no `{end}` ends what begins here")));
        };
        self.at += len + end.len();
        Ok(&rest[..len])
    }

    /// Takes the rest of the line.
    pub(crate) fn rest_of_line(&mut self) -> &'a str {
        self.take_while(|char| char != '\n')
    }

    /// Takes a whole number, decimal or hexadecimal.
    pub(crate) fn number<T: TryFrom<i128>>(&mut self, what: &str) -> Result<T, Problem> {
        self.skip();
        let problem = self.problem(format!("{} where {what} belongs", self.here()));
        let minus = self.take("-");
        let digits = self.take_while(|char| char.is_ascii_alphanumeric());
        let parsed = match digits.strip_prefix("0x") {
            Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16),
            None => digits.parse(),
        };
        parsed
            .ok()
            .map(|value| if minus { -value } else { value })
            .and_then(|value| T::try_from(value).ok())
            .ok_or(problem)
    }
}
