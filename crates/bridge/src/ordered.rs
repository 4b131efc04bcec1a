//! What several threads saw, in the order of its times: each is late by less than a second, and
//! what came is held until nothing from before it can come any more.

use sojourn_units::{Span, Time};
use std::collections::BTreeMap;

/// How late a thread may be: much longer than one sleeps.
const LATE: Span = Span::from_millis(500);
/// Items that are held at most.
const MOST: usize = 1 << 16;

/// Items by their times; equal times in the order in which they came.
#[derive(Debug)]
pub struct Ordered<T> {
    held: BTreeMap<(Time, u64), T>,
    count: u64,
    late: Span,
}

impl<T> Ordered<T> {
    /// Of this many threads: what one alone tells is in order already.
    pub fn of(threads: usize) -> Self {
        Self {
            held: BTreeMap::new(),
            count: 0,
            late: if threads > 1 { LATE } else { Span::ZERO },
        }
    }

    /// Adds an item.
    pub fn put(&mut self, at: Time, item: T) {
        self.count += 1;
        self.held.insert((at, self.count), item);
    }

    /// The first item, if nothing from before it is awaited.
    pub fn take(&mut self) -> Option<(Time, T)> {
        let ((first, _), _) = self.held.first_key_value()?;
        let ((newest, _), _) = self.held.last_key_value()?;
        let due = *newest - *first >= self.late || self.held.len() > MOST;
        due.then(|| self.rest())?
    }

    /// The first item: nothing more comes.
    pub fn rest(&mut self) -> Option<(Time, T)> {
        let ((at, _), item) = self.held.pop_first()?;
        Some((at, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_comes_in_its_place() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut ordered = Ordered::of(2);
        for (ms, item) in [(10, 'b'), (5, 'a'), (10, 'c'), (509, 'd')] {
            ordered.put(at(ms), item);
        }
        assert_eq!(ordered.take(), Some((at(5), 'a')));
        assert_eq!(ordered.take(), None);
        let rest: Vec<char> = std::iter::from_fn(|| Some(ordered.rest()?.1)).collect();
        assert_eq!(rest, ['b', 'c', 'd']);
        for number in 0..=MOST as u64 {
            ordered.put(Time::from_nanos(number), 'x');
        }
        assert!(ordered.take().is_some() && ordered.take().is_none());
    }

    #[test]
    fn one_thread_is_not_waited_for() {
        let mut ordered = Ordered::of(1);
        ordered.put(Time::ZERO, 'a');
        assert_eq!(ordered.take(), Some((Time::ZERO, 'a')));
    }
}
