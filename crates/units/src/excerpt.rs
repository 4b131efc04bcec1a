//! What of a text is shown to people: long ones are cut, so that a message stays one.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;

/// Longest line that is shown whole, in characters.
const LONGEST_LINE: usize = 160;
/// What is shown of a longer one before the place that is meant, in characters.
const BEFORE: usize = 60;

/// A line with a place in it that is meant, as a terminal shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line; of a long one the part around the place, with `…` for what is left out.
    pub text: String,
    /// Characters of `text` before the place.
    pub column: usize,
    /// Characters of the place, at least one.
    pub width: usize,
}

impl Excerpt {
    /// The line around some of its bytes, which begin and end between characters.
    ///
    /// ```
    /// use sojourn_units::Excerpt;
    /// let short = Excerpt::new("codel taregt 5ms", 6..12);
    /// assert_eq!((short.text.as_str(), short.column, short.width), ("codel taregt 5ms", 6, 6));
    /// let long = Excerpt::new(&"tbf ".repeat(1000), 2000..2003);
    /// assert!(long.text.starts_with("…") && long.text.ends_with("…"));
    /// assert!(long.text.chars().skip(long.column).take(long.width).eq("tbf".chars()));
    /// ```
    pub fn new(line: &str, place: Range<usize>) -> Self {
        let column = line[..place.start].chars().count();
        let width = line[place].chars().count().max(1);
        let length = line.chars().count();
        if length <= LONGEST_LINE {
            let text = line.to_string();
            return Self {
                text,
                column,
                width,
            };
        }
        let first = column.saturating_sub(BEFORE);
        let last = (first + LONGEST_LINE).min(length);
        let kept: String = line.chars().skip(first).take(last - first).collect();
        let dots = |left_out: bool| if left_out { "…" } else { "" };
        let (before, after) = (dots(first > 0), dots(last < length));
        Self {
            text: format!("{before}{kept}{after}"),
            column: column - first + before.chars().count(),
            width: width.min(last - column).max(1),
        }
    }
}

/// A text of at most so many characters: of a longer one its beginning and its end.
///
/// ```
/// assert_eq!(sojourn_units::shortened("abcdefghijkl", 12), "abcdefghijkl");
/// assert_eq!(sojourn_units::shortened("abcdefghijklm", 9), "abcdef…lm");
/// ```
pub fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_string();
    }
    let end = most / 4;
    let begin = most.saturating_sub(end + 1);
    let first: String = text.chars().take(begin).collect();
    let last: String = text.chars().skip(length - end).collect();
    format!("{first}…{last}")
}
