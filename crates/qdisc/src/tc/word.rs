//! The words of a string, which know where they stand in it.

use core::ops::Range;

/// A word and its place in the string.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl Word<'_> {
    pub(super) fn at(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    text.split_whitespace().map(move |word| Word {
        text: word,
        start: word.as_ptr() as usize - text.as_ptr() as usize,
    })
}
