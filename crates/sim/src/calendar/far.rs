//! The timers of a calendar: those that come soonest in a short sorted list, the others behind it
//! (`later`).
//!
//! Why a list: few connections have few timers, and a new one is mostly among the next. The list
//! takes half of the instructions of a heap. Of thousands of timers the list has the first ones,
//! and most new ones go behind it.

use super::key::{Key, high};
use super::later::Later;

/// Places of the list, of which the first holds no event.
const PLACES: usize = 32;
/// More keys than these are no longer kept in a heap. Hundreds of connections have fewer.
const MANY: usize = 2048;
/// How many keys go from the heap into an empty list, or from a full one into the heap.
const HALF: usize = PLACES / 2;

#[derive(Clone, Debug)]
pub(super) struct Far {
    /// The least key; the greatest possible one when there is none.
    pub(super) top: Key,
    /// No key in the list is greater: the least of the heap.
    bound: Key,
    /// How many keys the list holds.
    len: usize,
    /// The list, latest first, behind a place with the greatest possible key.
    list: [Key; PLACES],
    later: Later,
}

impl Default for Far {
    fn default() -> Self {
        Self {
            top: Key::MAX,
            bound: Key::MAX,
            len: 0,
            list: [Key::MAX; PLACES],
            later: Later::new(MANY),
        }
    }
}

impl Far {
    /// Adds a key that is the last one in the order of scheduling, so that the high halves tell.
    #[inline(never)]
    pub(super) fn put(&mut self, key: Key) {
        if self.len == PLACES - 1 {
            self.put_off();
        }
        if high(key) >= high(self.bound) {
            return self.later.put(key);
        }
        self.len += 1;
        insert(&mut self.list[..=self.len], key);
        self.top = self.list[self.len % PLACES];
    }

    /// The list is full: moves the latest half of it into the heap.
    #[cold]
    fn put_off(&mut self) {
        for place in 1..=HALF {
            self.later.put(self.list[place]);
        }
        self.list.copy_within(1 + HALF..=self.len, 1);
        self.len -= HALF;
        self.bound = self.later.top();
    }

    /// Takes the least key, of which there is one.
    #[inline(never)]
    pub(super) fn take(&mut self) -> Key {
        let key = self.top;
        self.len -= 1;
        if self.len == 0 {
            self.refill();
        }
        self.top = self.list[self.len % PLACES];
        key
    }

    /// The list is empty: takes the first of the heap.
    #[cold]
    fn refill(&mut self) {
        self.len = self.later.take_into(&mut self.list[1..=HALF]);
        self.bound = self.later.top();
    }
}

/// Puts a key that is the last one in the order of scheduling into a list with one place more, past
/// those that are less. The first place stops it.
#[expect(clippy::inline_always, reason = "for each of the two lists")]
#[inline(always)]
pub(super) fn insert(mut list: &mut [Key], key: Key) {
    while let Some((hole, rest)) = list.split_last_mut() {
        match rest.last() {
            Some(&before) if high(before) <= high(key) => *hole = before,
            _ => {
                *hole = key;
                return;
            }
        }
        list = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: the least key first, of equal high halves the one that came first.
        #[test]
        fn gives_the_least_key_first(
            steps in prop::collection::vec((0..5_u8, 0..200_u64), 1..600),
        ) {
            let (mut far, mut model) = (Far::default(), Vec::new());
            for (order, (kind, at)) in (0_u64..).zip(steps) {
                if kind < 3 {
                    let key = u128::from(at) << 64 | u128::from(order);
                    far.put(key);
                    model.push(key);
                } else if let Some(&least) = model.iter().min() {
                    prop_assert_eq!(far.take(), least);
                    model.retain(|key| *key != least);
                }
                prop_assert_eq!(far.top, model.iter().min().copied().unwrap_or(Key::MAX));
            }
        }
    }
}
