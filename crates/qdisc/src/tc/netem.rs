//! What people bring who know netem as a discipline: here every link delays, loses, copies and
//! reorders by itself. Its words are told as the keys of a link.
//!
//! Source: tc-netem(8). Not here: `corrupt`, `slot`, `distribution` and correlated delays, which no
//! link has.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use sojourn_units::{parse_rate, parse_span, show_span};

/// Words of netem's that begin something new.
const WORDS: [&str; 12] = [
    "limit",
    "delay",
    "latency",
    "loss",
    "drop",
    "duplicate",
    "reorder",
    "gap",
    "rate",
    "corrupt",
    "slot",
    "distribution",
];

/// A way to write netem's words (those behind its name) as keys of a link.
pub(super) fn translated(words: &[&str]) -> String {
    let (mut keys, mut without) = (Vec::new(), Vec::new());
    let mut gap = None;
    let mut reorders = false;
    let mut has_rate = false;
    let mut rest = words;
    while let Some((word, tail)) = rest.split_first() {
        let ends = |word: &&str| WORDS.contains(word);
        let count = tail.iter().position(ends);
        let (values, after) = tail.split_at(count.unwrap_or(tail.len()));
        rest = after;
        let text = values.join(" ");
        let key = |key: &str| format!("{key} = \"{text}\"");
        match *word {
            "delay" | "latency" => {
                reorders |= delay(values, &mut keys, &mut without);
            }
            "loss" | "drop" => keys.push(key("loss").replacen("random ", "", 1)),
            "duplicate" => keys.push(key("duplicate")),
            "reorder" => keys.push(key("reorder")),
            "gap" => gap = Some(text),
            "rate" => {
                has_rate = true;
                let rate = values.first().filter(|rate| parse_rate(rate).is_ok());
                keys.extend(rate.map(|rate| format!("rate = \"{rate}\"")));
            }
            "limit" => keys.push(format!("qdisc = \"pfifo limit {text}\"")),
            other => without.push(format!("`{other}`")),
        }
    }
    if let Some(gap) = gap
        && let Some(key) = keys.iter_mut().find(|key| key.starts_with("reorder"))
    {
        let open = key.len() - 1;
        key.insert_str(open, &format!(" gap {gap}"));
    }
    // netem lets packets overtake others that its jitter holds longer, unless it has a rate.
    if reorders && !has_rate && !keys.iter().any(|key| key.starts_with("reorder")) {
        keys.push("reorder = true".to_string());
    }
    if keys.is_empty() {
        keys.push("delay = \"50ms\", loss = \"1%\"".to_string());
    }
    let mut text = format!("write the link's own keys: {}", keys.join(", "));
    if !without.is_empty() {
        let _ = write!(text, " (no link has {})", without.join(", "));
    }
    text
}

/// `delay TIME [JITTER [CORRELATION]]`: netem's jitter is around the delay, a link's behind it.
/// Returns whether there is any.
fn delay(values: &[&str], keys: &mut Vec<String>, without: &mut Vec<String>) -> bool {
    let span = |at: usize| values.get(at).and_then(|text| parse_span(text).ok());
    let Some(delay) = span(0) else { return false };
    let jitter = span(1).unwrap_or_default();
    let least = delay.saturating_sub(jitter);
    keys.push(format!("delay = \"{}\"", show_span(least)));
    if jitter.is_zero() {
        return false;
    }
    let width = delay + jitter - least;
    keys.push(format!("jitter = \"{}\"", show_span(width)));
    if values.len() > 2 {
        without.push("a correlation of its delays".to_string());
    }
    true
}
