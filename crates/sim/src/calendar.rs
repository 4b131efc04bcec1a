//! The calendar of pending events: a four-way heap on (time, order of scheduling).
//!
//! Why not `BinaryHeap`: most events re-arm their own source, which is one sift of the top here
//! and a pop and a push there; and four children of 16 bytes are one cache line.

use sojourn_units::Time;

/// What an event belongs to; numbered by the engine.
pub(crate) type Source = u32;

pub(crate) const SOURCE_BITS: u32 = 24;
/// Most sources a run may have.
pub(crate) const MAX_SOURCES: usize = 1 << SOURCE_BITS;

/// Time in the high half; order of scheduling, then source, in the low half. The order is unique,
/// so the source never decides.
type Key = u128;

#[derive(Debug, Default)]
pub(crate) struct Calendar {
    heap: Vec<Key>,
    scheduled: u64,
}

impl Calendar {
    fn key(&mut self, time: Time, source: Source) -> Key {
        self.scheduled += 1;
        debug_assert!(
            self.scheduled < 1 << (64 - SOURCE_BITS),
            "10^12 events are out of reach"
        );
        let low = (self.scheduled << SOURCE_BITS) | u64::from(source);
        (u128::from(time.as_nanos()) << 64) | u128::from(low)
    }

    /// The earliest event.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, Source)> {
        let key = *self.heap.first()?;
        let source = key as u32 & (MAX_SOURCES as u32 - 1);
        Some((Time::from_nanos((key >> 64) as u64), source))
    }

    /// Adds an event. While the first event is being handled it stays in place: everything
    /// that is added then sorts after it.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        let key = self.key(time, source);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent] < key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = key;
    }

    /// Takes the first event away.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    /// Moves the first event, of `source`, to `time`.
    #[inline]
    pub(crate) fn move_first(&mut self, time: Time, source: Source) {
        let key = self.key(time, source);
        self.sink(key);
    }

    /// Puts `key` where it belongs, starting from a hole at the top.
    #[inline]
    fn sink(&mut self, key: Key) {
        let heap = self.heap.as_mut_slice();
        let mut hole = 0;
        // Nodes with four children: two independent comparisons and one between their winners,
        // which the compiler turns into conditional moves. Guessing the winner with branches
        // would cost more than the comparisons.
        while let Some(&[a, b, c, d]) = heap.get(4 * hole + 1..4 * hole + 5) {
            let (low, low_key) = if b < a { (1, b) } else { (0, a) };
            let (high, high_key) = if d < c { (3, d) } else { (2, c) };
            let (least, least_key) = if high_key < low_key {
                (high, high_key)
            } else {
                (low, low_key)
            };
            if key < least_key {
                heap[hole] = key;
                return;
            }
            heap[hole] = least_key;
            hole = 4 * hole + 1 + least;
        }
        // The last node may have fewer.
        let rest = heap.iter().enumerate().skip(4 * hole + 1);
        if let Some((child, &child_key)) = rest.min_by_key(|&(_, key)| *key)
            && child_key < key
        {
            heap[hole] = child_key;
            hole = child;
        }
        heap[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: earliest first, equal times in the order of scheduling.
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0..3_u8, 0..50_u64), 1..400)) {
            let mut calendar = Calendar::default();
            let mut model: Vec<(u64, u64, Source)> = Vec::new();
            for (order, (kind, at)) in steps.into_iter().enumerate() {
                let (order, source) = (order as u64, order as Source);
                let first = model.iter().min().copied();
                prop_assert_eq!(
                    calendar.first(),
                    first.map(|(t, _, s)| (Time::from_nanos(t), s))
                );
                match (kind, first) {
                    (1, Some(gone)) => {
                        calendar.pop();
                        model.retain(|e| *e != gone);
                    }
                    (2, Some(gone)) => {
                        model.retain(|e| *e != gone);
                        calendar.move_first(Time::from_nanos(gone.0 + at), gone.2);
                        model.push((gone.0 + at, order, gone.2));
                    }
                    _ => {
                        calendar.push(Time::from_nanos(at), source);
                        model.push((at, order, source));
                    }
                }
            }
        }
    }
}
