//! What is wrong with a string, where, and what would be right.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use sojourn_units::Excerpt;

/// A string that names no discipline. Displays as one sentence; [`SpecError::pretty`] points
/// at the place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecError {
    pub(super) text: String,
    /// Where: bytes of the string. Empty at the place where something is missing.
    pub at: Range<usize>,
    /// What is wrong, without what would be right.
    pub what: String,
    /// The option concerned, by tc's name.
    pub field: Option<&'static str>,
    /// What would be right.
    pub wanted: Option<String>,
    /// The known word nearest to the one that is not known.
    pub suggestion: Option<&'static str>,
}

impl SpecError {
    /// The sentence, the string and a line that points at the place.
    ///
    /// ```
    /// let error = "codel taregt 5ms".parse::<sojourn_qdisc::Spec>().unwrap_err();
    /// assert_eq!(
    ///     error.pretty(),
    ///     "`taregt` is not an option of codel; did you mean `target`?\n  \
    ///      codel taregt 5ms\n        ^^^^^^\n"
    /// );
    /// ```
    pub fn pretty(&self) -> String {
        // Control characters would break the line that points; one character stays one column.
        let Excerpt {
            text,
            column,
            width,
        } = Excerpt::new(&self.text, self.at.clone());
        let shown = text.replace(char::is_control, " ");
        format!("{self}\n  {shown}\n  {:column$}{:^<width$}\n", "", "")
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(suggestion) = self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")
        } else if let Some(wanted) = &self.wanted {
            write!(f, "; {wanted}")
        } else {
            Ok(())
        }
    }
}

impl core::error::Error for SpecError {}

/// The word nearest to `typed`, when it is near enough to be meant.
pub(super) fn nearest(
    typed: &str,
    words: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    // A long word is no slip of a name, and the distance costs time in its length.
    if typed.len() > 40 {
        return None;
    }
    words
        .map(|word| (distance(typed, word), word))
        .filter(|&(distance, word)| distance <= 1 + word.len() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Edits between two words: insertions, deletions, replacements and swaps of neighbours
/// (restricted Damerau-Levenshtein), letters in either case.
fn distance(a: &str, b: &str) -> usize {
    let a = a.to_ascii_lowercase().into_bytes();
    let b = b.as_bytes();
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}
