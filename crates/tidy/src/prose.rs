//! Rules for the sentences of documents: short, in short lines, in today's words.
//!
//! Headings, code and comments are no sentences; each cell of a table and each item of a list is a
//! paragraph of its own. Parts that are made from the code are judged too, but for their lines,
//! which nobody breaks by hand.

use crate::docs::outside_blocks;
use crate::{Finding, Source, extension, has_word};

/// Most words of a sentence.
pub const SENTENCE_MAX: usize = 40;

/// Longest line, in characters, outside tables, code and addresses.
pub const LINE_MAX: usize = 100;

/// Words that are not used, and what is said instead.
const WORDS: [(&str, &str); 17] = [
    ("aught", "anything"),
    ("betimes", "early"),
    ("equal shares", "fairness"),
    ("fares", "what happens to it: a figure, or a verb"),
    ("for naught", "without effect"),
    ("hitherto", "so far"),
    ("how it fares", "its status"),
    ("lest", "so that … not"),
    ("looks on", "observes"),
    ("naught", "nothing"),
    ("of nobody", "that match nothing"),
    ("onlooker", "observer"),
    ("thereof", "of it"),
    ("whereby", "by which"),
    ("wherein", "in which"),
    ("whither", "where"),
    ("whose each", "of which each"),
];

/// How American words begin whose British form documents have, and that form. Names (`global
/// synchronization protection`) and what the field writes in one way only are not among them.
const SPELLINGS: [(&str, &str); 17] = [
    ("analyz", "analys"),
    ("behavior", "behaviour"),
    ("favor", "favour"),
    ("initializ", "initialis"),
    ("labeled", "labelled"),
    ("maximiz", "maximis"),
    ("minimiz", "minimis"),
    ("modeled", "modelled"),
    ("modeling", "modelling"),
    ("neighbor", "neighbour"),
    ("normaliz", "normalis"),
    ("optimiz", "optimis"),
    ("randomiz", "randomis"),
    ("recogniz", "recognis"),
    ("serializ", "serialis"),
    ("summariz", "summaris"),
    ("utiliz", "utilis"),
];

/// A paragraph: where it begins, and its text with code and links' targets left out.
struct Paragraph {
    line: usize,
    text: String,
}

/// The paragraphs of a document.
fn paragraphs(source: &Source) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut last = 0;
    let mut is_open = false;
    for (number, line) in outside_blocks(source) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let is_item = ["- ", "* "].iter().any(|mark| text.starts_with(mark)) || is_numbered(text);
        // What was inside a block is missing between the two.
        is_open &= number == last + 1;
        last = number;
        if text.is_empty() || text.starts_with('#') || text.starts_with("<!--") {
            is_open = false;
        } else if text.starts_with('|') {
            is_open = false;
            let cells = text.split('|').map(|cell| Paragraph {
                line: number,
                text: plain(cell),
            });
            found.extend(cells);
        } else if is_open && !is_item {
            let paragraph = found.last_mut().expect("one is open");
            paragraph.text.push(' ');
            paragraph.text += text;
        } else if is_item || indent < 4 {
            is_open = true;
            found.push(Paragraph {
                line: number,
                text: text.to_owned(),
            });
        }
    }
    for paragraph in &mut found {
        paragraph.text = plain(&paragraph.text);
    }
    found
}

/// True for `1. `, `23. `.
fn is_numbered(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < text.len() && digits.starts_with(". ")
}

/// A text with a word in the place of each piece of code, and of links their text alone.
fn plain(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let words = pieces.map(|(index, piece)| if index % 2 == 0 { piece } else { "Code" });
    let text: String = words.collect();
    let mut found = String::new();
    let mut rest = &*text;
    while let Some((before, link)) = rest.split_once("](") {
        found += before;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    found + rest
}

/// The sentences of a text: they end with `.`, `!` or `?`, and another begins.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence: Vec<&str> = Vec::new();
    let words: Vec<&str> = text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        sentence.push(word);
        let end = word.trim_end_matches(['"', '”', '’', ')', '*', '_']);
        let next = words
            .get(index + 1)
            .map(|word| word.trim_start_matches(|c| "\"“'‘(*[".contains(c)));
        let begins = next.is_none_or(|word| !word.starts_with(|c: char| c.is_lowercase()));
        if end.ends_with(['.', '!', '?']) && begins {
            found.push(sentence.join(" "));
            sentence.clear();
        }
    }
    if !sentence.is_empty() {
        found.push(sentence.join(" "));
    }
    found
}

/// Sentences of more than [`SENTENCE_MAX`] words.
pub fn long_sentences(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for paragraph in paragraphs(source) {
        for sentence in sentences(&paragraph.text) {
            let is_word = |word: &&str| word.contains(char::is_alphanumeric);
            let words = sentence.split(' ').filter(is_word).count();
            if words > SENTENCE_MAX {
                let start: String = sentence.chars().take(60).collect();
                let problem = format!("{words} words in the sentence “{start}…”");
                let instead = format!("one idea a sentence, {SENTENCE_MAX} words at most");
                findings.push(source.finding(paragraph.line, problem, &instead));
            }
        }
    }
    findings
}

/// Lines of more than [`LINE_MAX`] characters.
pub fn long_lines(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut is_made = false;
    for (number, line) in outside_blocks(source) {
        let text = line.trim_start();
        if text.starts_with("<!-- ") {
            is_made = text.ends_with(": begin -->");
        }
        if is_made {
            continue;
        }
        let may = text.starts_with('|') || text.starts_with('#') || line.starts_with("    ");
        let length = line.chars().count();
        // A single word, or piece of code, has nowhere to be broken.
        let is_one = !plain(text).contains(' ');
        if length > LINE_MAX && !may && !line.contains("://") && !is_one {
            let problem = format!("{length} characters, the limit is {LINE_MAX}");
            findings.push(source.finding(number, problem, "break the line"));
        }
    }
    findings
}

/// Words that are not used.
pub fn unplain_words(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for paragraph in paragraphs(source) {
        let text = paragraph.text.to_lowercase();
        for (word, instead) in WORDS {
            if has_word(&text, word) {
                let problem = format!("“{word}” is not a word of this project's documents");
                let instead = format!("say “{instead}”");
                findings.push(source.finding(paragraph.line, problem, &instead));
            }
        }
    }
    findings
}

/// The same words in the comments of Rust code.
pub fn unplain_comments(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "rs" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            continue;
        };
        let text = plain(&comment.to_lowercase());
        for (word, instead) in WORDS {
            if has_word(&text, word) {
                let problem = format!("“{word}” is not a word of this project's comments");
                findings.push(source.finding(number + 1, problem, &format!("say “{instead}”")));
            }
        }
    }
    findings
}

/// Messages that say of something what it is no example of.
pub fn negated_nouns(source: &Source) -> Vec<Finding> {
    if !["py", "rs"].contains(&extension(&source.path)) {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate();
    let wrong = lines.filter(|(_, line)| {
        let is_comment = ["//", "#"]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark));
        !is_comment
            && ["` is no\u{20}", "} is no\u{20}"]
                .iter()
                .any(|words| line.contains(words))
    });
    let problem = || "“is no …” in a message".to_owned();
    let instead = "say what is wrong and what would be right: “is not a …; write …”";
    wrong
        .map(|(number, _)| source.finding(number + 1, problem(), instead))
        .collect()
}

/// Sentences that begin with a bare “Who”, “What” or “Whose”, and are no questions.
pub fn bare_subjects(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lines: Vec<&str> = source.text.lines().collect();
    for paragraph in paragraphs(source) {
        // The meaning of a key or column is a noun's: a table says whose.
        if lines[paragraph.line - 1].trim_start().starts_with('|') {
            continue;
        }
        for sentence in sentences(&paragraph.text) {
            let is_bare = ["Who ", "What ", "Whose "]
                .iter()
                .any(|word| sentence.trim_start_matches("- ").starts_with(word));
            if is_bare && sentence.ends_with('.') {
                let start: String = sentence.chars().take(60).collect();
                let problem = format!("no subject in the sentence “{start}…”");
                let instead = "begin with the thing that the sentence is about";
                findings.push(source.finding(paragraph.line, problem, instead));
            }
        }
    }
    findings
}

/// Words in American spelling.
pub fn american_spellings(source: &Source) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for paragraph in paragraphs(source) {
        let text = paragraph.text.to_lowercase();
        for word in text.split(|c: char| !c.is_alphabetic()) {
            let mut spellings = SPELLINGS.iter();
            if let Some((american, british)) = spellings.find(|(start, _)| word.starts_with(start))
            {
                let rest = &word[american.len()..];
                let problem = format!("“{word}” is American; documents are in British spelling");
                let instead = format!("say “{british}{rest}”");
                findings.push(source.finding(paragraph.line, problem, &instead));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Source {
        Source::new("docs/x.md", text)
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_long_sentence_is_found_where_its_paragraph_begins() {
        let forty = format!("A {}word.", "a ".repeat(SENTENCE_MAX - 2));
        let text = format!(
            "# {forty} b\n\n{forty}\n{forty}\n\n```\n{forty} {forty}\n```\nHere: b {forty}\n"
        );
        assert_eq!(lines(&long_sentences(&page(&text))), [9]);
        // Code is a word, a link its text, a cell a paragraph, a numeral no end.
        let coded = forty.replacen("a a", "`a b c d` [a](b c)", 1);
        assert_eq!(long_sentences(&page(&coded)), []);
        let table = format!("| {forty} | {forty} |\n- {forty}\n- {forty}\n1. {forty}\n");
        assert_eq!(long_sentences(&page(&table)), []);
        let item = format!("- x {forty}\n");
        assert_eq!(lines(&long_sentences(&page(&item))), [1]);
        assert_eq!(
            lines(&long_sentences(&page(&forty.replacen(
                "a a",
                "1.5 e.g. b",
                1
            )))),
            [1]
        );
    }

    #[test]
    fn long_lines_are_found_outside_tables_and_code() {
        let long = "a ".repeat(LINE_MAX / 2) + "b";
        let text = format!(
            "{long}\n| {long}\n```\n{long}\n```\n    {long}\n{}\n",
            "x".repeat(200)
        );
        assert_eq!(lines(&long_lines(&page(&text))), [1]);
        assert_eq!(long_lines(&Source::new("a.rs", &text)), []);
    }

    #[test]
    fn words_that_are_not_used_are_found() {
        let text = "A `naught` is code.\n\nIt is for nought, or for\nnaught. Fares are paid.\n";
        let findings = unplain_words(&page(text));
        let found: Vec<&str> = findings.iter().map(|f| &*f.instead).collect();
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn words_that_are_not_used_are_found_in_comments() {
        let text = "/// State of an onlooker.\nlet onlooker = 1;\n// `naught` is a name.\n";
        let findings = unplain_comments(&Source::new("a.rs", text));
        assert_eq!(lines(&findings), [1]);
    }

    #[test]
    fn a_message_says_what_would_be_right() {
        let text =
            "// `a` is no\u{20}b\nformat!(\"`{a}` is no\u{20}b\")\nformat!(\"`{a}` is not a b\")\n";
        assert_eq!(lines(&negated_nouns(&Source::new("a.rs", text))), [2]);
    }

    #[test]
    fn a_sentence_has_a_subject() {
        let text = "What it does is unclear.\n\nWhat is it? It runs.\n\n- Whose it is, it says.\n";
        assert_eq!(lines(&bare_subjects(&page(text))), [1, 5]);
    }

    #[test]
    fn american_spellings_are_found_outside_code() {
        let text = "The Utilization of `utilization`, and its\nneighbors' serialisation.\n";
        let findings = american_spellings(&page(text));
        let found: Vec<&str> = findings.iter().map(|f| &*f.instead).collect();
        assert_eq!(found, ["say “utilisation”", "say “neighbours”"]);
    }
}
