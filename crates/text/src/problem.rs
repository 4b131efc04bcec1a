//! What is wrong with a scenario: every problem with its place, its field and a way out.

use sojourn_units::{Excerpt, shortened};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Characters of what is said: it may quote values of any length.
const MOST_SAID: usize = 300;
const MOST_OF_FIELD: usize = 200;
const MOST_HELP: usize = 2000;
/// A longer word is no slip of a name, and comparing it costs time and memory in its length.
const LONGEST_SLIP: usize = 100;

/// A place in one of the [`Problems`]' sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// Index of the source: 0 is the file, then the `--set` arguments or a study's data.
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl Origin {
    /// A file as a whole.
    pub const NOWHERE: Self = Self {
        source: 0,
        start: usize::MAX,
        end: usize::MAX,
    };

    /// A piece of the source with this index.
    pub fn new(source: usize, span: Range<usize>) -> Self {
        Self {
            source,
            start: span.start,
            end: span.end,
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    at: Origin,
    field: String,
    message: String,
    help: Option<String>,
}

impl Problem {
    /// A problem with a field; `message` is a sentence without its subject.
    #[must_use]
    pub fn new(at: Origin, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            at,
            field: shortened(&field.into(), MOST_OF_FIELD),
            message: shortened(&message.into(), MOST_SAID),
            help: None,
        }
    }

    /// The same with what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(shortened(&help.into(), MOST_HELP));
        self
    }

    /// The field path, for example `dumbbell.up.rate`; empty for the file as a whole.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would be right; none where nothing can be said.
    pub fn way_out(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// Where a problem is, for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The file's name, or what kind of argument it is (`--set`).
    pub source: &'a str,
    /// Line and column in the file, both from 1, the column in characters. None for a file as a
    /// whole, and for an argument.
    pub position: Option<(usize, usize)>,
}

/// A text of a file for a terminal, which control characters would command: their pictures of
/// Unicode stand in their place, each as wide as another character.
fn legible(text: &str) -> Cow<'_, str> {
    let commands = |c: char| c.is_control() && c != '\t' && c != '\n';
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let picture = |c: char| match u32::from(c) {
        0x7f => '\u{2421}',
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        _ => '\u{fffd}',
    };
    let shown = text
        .chars()
        .map(|c| if commands(c) { picture(c) } else { c });
    Cow::Owned(shown.collect())
}

/// A text that positions refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceText {
    /// File name, or `--set KEY=VALUE`.
    name: String,
    text: String,
    /// Whether it is a file, so that line and column say something.
    file: bool,
}

impl SourceText {
    /// Line and column, both from 1, the column in characters, and the line itself.
    fn position(&self, byte: usize) -> (usize, usize, &str) {
        let byte = (0..=byte.min(self.text.len()))
            .rev()
            .find(|&b| self.text.is_char_boundary(b))
            .unwrap_or(0);
        let before = &self.text[..byte];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[start..];
        let end = rest.find('\n').unwrap_or(rest.len());
        (
            line,
            before[start..].chars().count() + 1,
            rest[..end].trim_end(),
        )
    }
}

/// Everything that is wrong with a scenario. Prints for people: each problem as
/// `file:line:column: field: message` with the line itself, and what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    sources: Vec<SourceText>,
    list: Vec<Problem>,
    /// What is right and may not be meant.
    warnings: Vec<Problem>,
}

impl Problems {
    /// Most problems that are kept; a file that is no scenario at all needs no more.
    const MOST: usize = 50;

    /// No problem yet; positions in the file have index 0.
    pub fn with_source(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut problems = Self::default();
        problems.add_file(name, text);
        problems
    }

    /// A file's only problem, with the file as a whole.
    pub fn alone(name: impl Into<String>, message: impl Into<String>) -> Self {
        let mut problems = Self::with_source(name, "");
        problems.add(Problem::new(Origin::NOWHERE, "", message));
        problems
    }

    /// Adds a file; positions in it have the returned index.
    pub fn add_file(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.sources.push(SourceText {
            name: name.into(),
            text: text.into(),
            file: true,
        });
        self.sources.len() - 1
    }

    /// The same texts, with no problem yet.
    #[must_use]
    pub fn texts(&self) -> Self {
        Self {
            sources: self.sources.clone(),
            ..Self::default()
        }
    }

    /// Adds an argument of the command line; positions in it have the returned index.
    pub fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        let index = self.add_file(name, text);
        self.sources[index].file = false;
        index
    }

    /// Adds a problem, unless it is known already (from another cell of the grid).
    pub fn add(&mut self, problem: Problem) {
        if self.list.len() < Self::MOST && !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }

    /// Adds a warning, unless it is known already: the file is right, and may not say what is
    /// meant.
    pub fn warn(&mut self, warning: Problem) {
        if self.warnings.len() < Self::MOST && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The warnings alone, with the texts that their places refer to.
    #[must_use]
    pub fn into_warnings(mut self) -> Warnings {
        self.warnings.sort_by_key(|warning| warning.at);
        Warnings(Self {
            list: std::mem::take(&mut self.warnings),
            ..self
        })
    }

    /// Adds a problem of a value that is none then.
    pub fn refuse<T>(&mut self, problem: Problem) -> Option<T> {
        self.add(problem);
        None
    }

    /// The text of the source with this index.
    pub fn source_text(&self, source: usize) -> &str {
        &self.sources[source].text
    }

    /// The problems in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether further problems would not be kept.
    pub fn is_full(&self) -> bool {
        self.list.len() >= Self::MOST
    }

    /// Has texts and messages say another word. Where one stands in a text, the places of problems
    /// move with what is behind it.
    pub fn reword(&mut self, word: &str, other: &str) {
        for (index, source) in self.sources.iter_mut().enumerate() {
            let found: Vec<usize> = whole_words(&source.text, word).collect();
            // From the last one, so that those before stay where they are.
            for at in found.into_iter().rev() {
                let behind = at + word.len();
                source.text.replace_range(at..behind, other);
                let moved = |place: &mut usize| {
                    if *place != usize::MAX && *place >= behind {
                        *place = *place - word.len() + other.len();
                    }
                };
                for problem in self.list.iter_mut().chain(&mut self.warnings) {
                    if problem.at.source == index {
                        moved(&mut problem.at.start);
                        moved(&mut problem.at.end);
                    }
                }
            }
        }
        for problem in self.list.iter_mut().chain(&mut self.warnings) {
            let found: Vec<usize> = whole_words(&problem.message, word).collect();
            for at in found.into_iter().rev() {
                problem.message.replace_range(at..at + word.len(), other);
            }
        }
    }

    /// Puts the problems in the order of their places.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|problem| problem.at);
    }

    /// Where one of these problems is.
    pub fn place(&self, problem: &Problem) -> Location<'_> {
        let source = &self.sources[problem.at.source];
        let known = source.file && problem.at.start != Origin::NOWHERE.start;
        let position = known.then(|| {
            let (line, column, _) = source.position(problem.at.start);
            (line, column)
        });
        Location {
            source: &source.name,
            position,
        }
    }

    /// The problems as JSON, in their order: `file`, `line`, `column`, `field`, `message`, `help`,
    /// null where there is none.
    pub fn json(&self) -> serde_json::Value {
        let list = self.iter().map(|problem| {
            let place = self.place(problem);
            serde_json::json!({
                "file": place.source,
                "line": place.position.map(|(line, _)| line),
                "column": place.position.map(|(_, column)| column),
                "field": problem.field(),
                "message": problem.message(),
                "help": problem.way_out(),
            })
        });
        list.collect()
    }

    /// A problem for people; `what` stands behind its place.
    fn show(&self, problem: &Problem, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = &self.sources[problem.at.source];
        if problem.at.start == Origin::NOWHERE.start {
            return writeln!(f, "{}: {what}{}", source.name, problem.message);
        }
        let (line, column, text) = source.position(problem.at.start);
        // An argument has one line only, and it is shown below.
        if source.file {
            write!(f, "{}:{line}:{column}: ", source.name)?;
        } else {
            write!(f, "{}: ", source.name)?;
        }
        f.write_str(what)?;
        if !problem.field.is_empty() {
            write!(f, "{}: ", legible(&problem.field))?;
        }
        writeln!(f, "{}", legible(&problem.message))?;
        let margin = line.to_string().len();
        if !text.is_empty() {
            let start = text
                .char_indices()
                .nth(column - 1)
                .map_or(text.len(), |(byte, _)| byte);
            let end = start.saturating_add(problem.at.end.saturating_sub(problem.at.start));
            let end = (start..=end.min(text.len())).rfind(|&byte| text.is_char_boundary(byte));
            let shown = Excerpt::new(text, start..end.unwrap_or(start));
            // Tabs stay tabs, so that the marks stand below what they mean.
            let before = shown.text.chars().take(shown.column);
            let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            writeln!(f, "{:margin$} |", "")?;
            writeln!(f, "{line} | {}", legible(&shown.text))?;
            writeln!(f, "{:margin$} | {indent}{}", "", "^".repeat(shown.width))?;
        }
        match &problem.help {
            Some(help) => writeln!(f, "{:margin$} = help: {}", "", legible(help)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            self.show(problem, "", f)?;
        }
        Ok(())
    }
}

/// What is right and may not be meant. Prints for people as [`Problems`] do, with the word
/// `warning` behind each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(Problems);

impl Warnings {
    /// The warnings in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`Problems::json`].
    pub fn json(&self) -> serde_json::Value {
        self.0.json()
    }
}

impl fmt::Display for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in self.iter() {
            self.0.show(warning, "warning: ", f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Where a text has a word that is no part of a longer one.
fn whole_words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |edge: Option<char>| edge.is_some_and(|edge| edge.is_ascii_alphanumeric());
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| {
            let behind = &text[at + word.len()..];
            !is_part(text[..at].chars().next_back()) && !is_part(behind.chars().next())
        })
}

/// The candidate that was probably meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_SLIP {
        return None;
    }
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&word, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            // One slip in three characters, and never a wholly different word.
            *distance <= 1.max(word.chars().count().max(candidate.chars().count()) / 3)
                && *distance < candidate.chars().count()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean", or else the list of what there is.
pub fn suggestion(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if candidates.is_empty() => "there is none to choose from".into(),
        None => format!("available: {}", candidates.join(", ")),
    }
}

/// Words that others have for one of ours, or for what is not here: each with the word of ours by
/// which a list is known to be meant, and what is said of it.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("bbr1", "bbr", "version 1 is `bbr`"),
    ("bbrv1", "bbr", "version 1 is `bbr`"),
    (
        "bbr2",
        "bbr3",
        "version 2 became version 3, which is `bbr3`; version 1 is `bbr`",
    ),
    (
        "bbrv2",
        "bbr3",
        "version 2 became version 3, which is `bbr3`; version 1 is `bbr`",
    ),
    ("bbrv3", "bbr3", "version 3 is `bbr3`"),
    ("prague", "prague", "TCP Prague is `prague`"),
    (
        "ledbat",
        "lp",
        "LEDBAT is not in Sojourn; `lp` yields to other flows too",
    ),
];

/// As [`suggestion`], with what is known of a word that others use.
pub fn from_elsewhere(word: &str, candidates: &[&str]) -> String {
    let word = word.trim().trim_start_matches("tcp_");
    if word.starts_with("python:") {
        return "only the commands `run`, `check` and `evaluate` and the Python package load Python \
                congestion controls, in the simulator"
            .into();
    }
    if word.starts_with("rust:") {
        return "only the commands `run`, `check` and `evaluate` load congestion controls from \
                libraries, in the simulator"
            .into();
    }
    let known = ELSEWHERE
        .iter()
        .find(|(theirs, ours, _)| theirs.eq_ignore_ascii_case(word) && candidates.contains(ours));
    known.map_or_else(
        || suggestion(word, candidates),
        |(.., said)| (*said).to_owned(),
    )
}
