//! Classes by a time of theirs, the earliest first: timers, and who is next in a line.
//!
//! A binary heap whose entries know their places, so that a time that moves costs O(log n) and
//! none is ever stale. Equal times go by the number of the class. Who has several heaps of which a
//! class is in one at most has one list of places for all.

use alloc::vec::Vec;
use sojourn_units::Time;

/// A class that is in no heap.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A class and its time; the order is the heap's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Time,
    pub(super) class: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Heap(Vec<Due>);

impl Heap {
    /// The earliest.
    pub(super) fn first(&self) -> Option<Due> {
        self.0.first().copied()
    }

    /// Puts a class in, or gives it another time; `places` is by class.
    pub(super) fn set(&mut self, places: &mut [u32], class: u32, at: Time) {
        let kept = places[class as usize];
        if kept == NOWHERE {
            self.0.push(Due { at, class });
            return self.up(places, self.0.len() - 1);
        }
        let place = kept as usize;
        let was = core::mem::replace(&mut self.0[place].at, at);
        if at < was {
            self.up(places, place);
        } else if at > was {
            self.down(places, place);
        }
    }

    /// Takes a class out; one that is in no heap stays so.
    pub(super) fn remove(&mut self, places: &mut [u32], class: u32) {
        let kept = core::mem::replace(&mut places[class as usize], NOWHERE);
        if kept == NOWHERE {
            return;
        }
        let place = kept as usize;
        self.0.swap_remove(place);
        if let Some(&moved) = self.0.get(place) {
            self.up(places, place);
            self.down(places, places[moved.class as usize] as usize);
        }
    }

    /// Moves an entry towards the first.
    fn up(&mut self, places: &mut [u32], mut place: usize) {
        let entry = self.0[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if self.0[above] <= entry {
                break;
            }
            self.put(places, place, self.0[above]);
            place = above;
        }
        self.put(places, place, entry);
    }

    fn down(&mut self, places: &mut [u32], mut place: usize) {
        let entry = self.0[place];
        loop {
            let mut below = 2 * place + 1;
            if below >= self.0.len() {
                break;
            }
            if below + 1 < self.0.len() && self.0[below + 1] < self.0[below] {
                below += 1;
            }
            if entry <= self.0[below] {
                break;
            }
            self.put(places, place, self.0[below]);
            place = below;
        }
        self.put(places, place, entry);
    }

    fn put(&mut self, places: &mut [u32], place: usize, entry: Due) {
        self.0[place] = entry;
        places[entry.class as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a map that is searched.
        #[test]
        fn the_earliest_is_always_first(
            steps in prop::collection::vec((0_u32..9, 0_u64..20), 0..200)
        ) {
            let (mut heap, mut places) = (Heap::default(), [NOWHERE; 9]);
            let mut model = BTreeMap::new();
            for (class, at) in steps {
                if at < 4 {
                    heap.remove(&mut places, class);
                    model.remove(&class);
                } else {
                    heap.set(&mut places, class, Time::from_nanos(at));
                    model.insert(class, Time::from_nanos(at));
                }
                let first = model.iter().map(|(&class, &at)| Due { at, class }).min();
                prop_assert_eq!(heap.first(), first);
            }
        }
    }
}
