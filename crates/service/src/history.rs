//! What has changed in the running bridges, when, and by whom.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Entries that are kept; the oldest goes for the newest.
const MOST: usize = 1000;
/// Longest entry, in characters.
const LONGEST: usize = 4000;

/// The last changes, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<VecDeque<Entry>>);

/// A change.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    at: SystemTime,
    by: String,
    what: String,
}

impl Entry {
    /// `by` has changed `what` then.
    pub(crate) fn new(at: SystemTime, by: &str, what: &str) -> Self {
        let cut = |text: &str| text.chars().take(LONGEST).collect();
        Self {
            at,
            by: cut(by),
            what: cut(what),
        }
    }
}

impl History {
    /// `by` has changed `what`, now.
    pub(crate) fn note(&self, by: &str, what: &str) {
        let entry = Entry::new(SystemTime::now(), by, what);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MOST {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// All that is kept, and others with it, the oldest first.
    pub(crate) fn json_with(&self, mut entries: Vec<Entry>) -> Vec<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.extend(kept.iter().cloned());
        drop(kept);
        entries.sort_by_key(|entry| entry.at);
        let shown =
            |Entry { at, by, what }: &Entry| json!({"time": utc(*at), "by": by, "what": what});
        entries.iter().map(shown).collect()
    }
}

/// A time as RFC 3339 writes it.
fn utc(at: SystemTime) -> String {
    DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// `date -u -d @1735689599 +%FT%TZ` of GNU coreutils.
    #[test]
    fn times_are_in_utc_to_the_millisecond() {
        let at = UNIX_EPOCH + Duration::from_millis(1_735_689_599_007);
        assert_eq!(utc(at), "2024-12-31T23:59:59.007Z");
    }

    #[test]
    fn the_oldest_goes_for_the_newest() {
        let history = History::default();
        for number in 0..=MOST {
            history.note("test", &format!("change {number}"));
        }
        history.note("long", &"a".repeat(LONGEST + 1));
        let kept = history.json_with(Vec::new());
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept[0]["what"], "change 2");
        assert_eq!(kept[MOST - 1]["what"].as_str().map(str::len), Some(LONGEST));
    }
}
