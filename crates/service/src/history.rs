//! What has changed in the running bridges, when, and by whom.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Entries that are kept; the oldest goes for the newest.
const MOST: usize = 1000;
/// Longest entry, in characters.
const LONGEST: usize = 4000;

/// The last changes, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    at: SystemTime,
    by: String,
    what: String,
}

impl History {
    /// `by` has changed `what`, now.
    pub(crate) fn note(&self, by: &str, what: &str) {
        let cut = |text: &str| text.chars().take(LONGEST).collect();
        let entry = Entry {
            at: SystemTime::now(),
            by: cut(by),
            what: cut(what),
        };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MOST {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// All that is kept.
    pub(crate) fn json(&self) -> Vec<Value> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = |Entry { at, by, what }: &Entry| {
            let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let time = utc(since.as_secs(), since.subsec_millis());
            json!({"time": time, "by": by, "what": what})
        };
        entries.iter().map(shown).collect()
    }
}

/// A time of the Unix clock as RFC 3339 writes it.
fn utc(seconds: u64, millis: u32) -> String {
    const DAY: u64 = 86_400;
    let (days, second) = (seconds / DAY, seconds % DAY);
    // From 1 March 2000, so that the leap day is a year's last; 400 years have 146 097 days.
    let since = days.cast_signed() - 11_017;
    let (era, day) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 2000 + 400 * era + year + i64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d @N +%FT%TZ` of GNU coreutils.
    #[test]
    fn times_are_those_of_date_1() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_868_799, "2000-02-29T23:59:59"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (1_740_787_200, "2025-03-01T00:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(utc(seconds, 7), format!("{date}.007Z"));
        }
    }

    #[test]
    fn the_oldest_goes_for_the_newest() {
        let history = History::default();
        for number in 0..=MOST {
            history.note("test", &format!("change {number}"));
        }
        history.note("long", &"a".repeat(LONGEST + 1));
        let kept = history.json();
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept[0]["what"], "change 2");
        assert_eq!(kept[MOST - 1]["what"].as_str().map(str::len), Some(LONGEST));
    }
}
