//! What is told of a way round, where something may change all the time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Most messages within [`SAYS_AGAIN`]. Somebody may change something all the time.
const SAYS: usize = 10;
/// Somebody breaks the same thing again and again: then it is mended each time, and told so often.
const SAYS_AGAIN: Duration = Duration::from_secs(60);

/// What is told of all that there is to say.
#[derive(Debug, Default)]
pub(super) struct Voice {
    /// What had been mended when something was told last, and when that was.
    mended: (String, Option<Instant>),
    /// Times of the messages of the last [`SAYS_AGAIN`].
    said: VecDeque<Instant>,
    /// Something has not been told, for there was too much.
    holds_back: bool,
}

impl Voice {
    /// What to tell of a state with this text, which is the `same` as before or another one, and of
    /// what has been mended.
    pub(super) fn of_state(
        &mut self,
        text: &str,
        is_same: bool,
        mended: Option<String>,
        now: Instant,
    ) -> Option<String> {
        let (last, at) = &self.mended;
        let is_new = |mended: &String| {
            mended != last || at.is_none_or(|at| now.duration_since(at) >= SAYS_AGAIN)
        };
        if is_same && !mended.as_ref().is_some_and(is_new) && !self.holds_back {
            return None;
        }
        let what = match &mended {
            Some(mended) => format!("{mended}; {text}"),
            None => text.to_owned(),
        };
        self.mended = (mended.unwrap_or_default(), Some(now));
        self.of(what, now)
    }

    /// A message, unless there have been too many; the last one says so.
    pub(super) fn of(&mut self, text: String, now: Instant) -> Option<String> {
        while let Some(first) = self.said.front()
            && now.duration_since(*first) >= SAYS_AGAIN
        {
            self.said.pop_front();
        }
        self.holds_back = self.said.len() >= SAYS;
        if self.holds_back {
            return None;
        }
        self.said.push_back(now);
        let is_last = self.said.len() == SAYS;
        let more = "; this changes often, so the next message may come a minute later";
        Some(text + if is_last { more } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody changes something all the time: after ten messages there are as many a minute, and
    /// what holds at last is told.
    #[test]
    fn what_changes_often_is_told_now_and_then() {
        let (start, mut voice) = (Instant::now(), Voice::default());
        let mut told = |ms, text, is_same| {
            let now = start + Duration::from_millis(ms);
            voice.of_state(text, is_same, None, now)
        };
        let texts = |at: u64| if at.is_multiple_of(2) { "bad" } else { "well" };
        let said: Vec<_> = (0..99)
            .filter_map(|at| told(100 * at, texts(at), false))
            .collect();
        assert_eq!(said.len(), SAYS);
        assert_eq!(said[0], "bad");
        assert!(said[SAYS - 1].contains("changes often"), "{said:?}");
        assert_eq!(told(30_000, "well", true), None);
        let late = told(60_000, "well", true).expect("it was held back");
        assert!(late.starts_with("well"), "{late}");
        assert_eq!(told(60_100, "well", true), None, "it is told");
    }
}
