//! What has arrived beyond a gap: an ordered list of disjoint ranges, newest appended fast.
//! Source: RFC 2018 section 4 for the order of the reported blocks.
//! Invariants: ranges are disjoint, not adjacent, ascending, and above RCV.NXT.

use alloc::collections::VecDeque;

/// Half-open range of offsets.
pub(crate) type Range = (u64, u64);

/// Blocks remembered for reporting.
pub(crate) const RECENT: usize = 4;

/// The out-of-order store.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Reassembly {
    recent_len: usize,
    /// Sum of the ranges' lengths.
    bytes: u64,
    ranges: VecDeque<Range>,
    /// The blocks that changed last, newest first.
    recent: [Range; RECENT],
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The range that begins first.
    pub(crate) fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    /// All ranges.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter()
    }

    /// How much waits.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The blocks to report, newest first.
    pub(crate) fn recent(&self) -> &[Range] {
        &self.recent[..self.recent_len]
    }

    /// How many blocks there are to report, and these.
    pub(crate) fn reported(&self) -> (usize, [Range; RECENT]) {
        (self.recent_len, self.recent)
    }

    /// Stores `start..end`. Returns whether all of it was there already.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        if start >= end {
            return false;
        }
        // Mostly the newest range grows, or a newer one begins.
        let from = match self.ranges.back() {
            Some(&(first, last)) if start >= first => {
                self.ranges.len() - usize::from(start <= last)
            }
            Some(_) => self.ranges.partition_point(|&(_, last)| last < start),
            None => 0,
        };
        let mut merged = (start, end);
        let mut to = from;
        while let Some(&(first, last)) = self.ranges.get(to) {
            if first > end {
                break;
            }
            if first <= start && end <= last {
                self.remember((first, last));
                return true;
            }
            merged = (merged.0.min(first), merged.1.max(last));
            self.bytes -= last - first;
            to += 1;
        }
        self.bytes += merged.1 - merged.0;
        match to - from {
            0 => self.ranges.insert(from, merged),
            1 => self.ranges[from] = merged,
            _ => {
                self.ranges[from] = merged;
                self.ranges.drain(from + 1..to);
            }
        }
        self.remember(merged);
        false
    }

    /// [`insert`](Self::insert) of what begins where the newest block ends, if that is the last
    /// range. Anything else is not stored, and this returns false.
    #[expect(
        clippy::inline_always,
        reason = "the way that most segments behind a gap take"
    )]
    #[inline(always)]
    pub(crate) fn extend(&mut self, start: u64, end: u64) -> bool {
        let goes_on = self.recent_len > 0 && self.recent[0].1 == start && start < end;
        match self.ranges.back_mut() {
            Some((_, last)) if goes_on && *last == start => *last = end,
            _ => return false,
        }
        self.recent[0].1 = end;
        self.bytes += end - start;
        true
    }

    /// Moves `block` to the front; older blocks that it contains disappear.
    fn remember(&mut self, block: Range) {
        if self.recent_len > 0 && block.0 <= self.recent[0].0 && self.recent[0].1 <= block.1 {
            self.recent[0] = block;
            if self.recent_len == 1 {
                return;
            }
        }
        let mut kept = [(0, 0); RECENT];
        kept[0] = block;
        let mut len = 1;
        for &old in &self.recent[..self.recent_len] {
            if !(block.0 <= old.0 && old.1 <= block.1) && len < RECENT {
                kept[len] = old;
                len += 1;
            }
        }
        self.recent = kept;
        self.recent_len = len;
    }

    /// Everything below `next` is in order now: returns how far the order reaches.
    pub(crate) fn advance(&mut self, mut next: u64) -> u64 {
        if self.ranges.is_empty() {
            return next;
        }
        while let Some(&(first, last)) = self.ranges.front() {
            if first > next {
                break;
            }
            next = next.max(last);
            self.bytes -= last - first;
            self.ranges.pop_front();
        }
        let mut kept = 0;
        for index in 0..self.recent_len {
            if self.recent[index].0 > next {
                self.recent[kept] = self.recent[index];
                kept += 1;
            }
        }
        self.recent_len = kept;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::vec::Vec;

    #[test]
    fn blocks_are_reported_newest_first() {
        let mut store = Reassembly::default();
        assert!(!store.insert(10, 20));
        assert!(!store.insert(30, 40));
        assert!(!store.insert(50, 60));
        assert_eq!(store.recent(), [(50, 60), (30, 40), (10, 20)]);
        assert!(!store.insert(20, 30));
        assert_eq!(store.recent(), [(10, 40), (50, 60)]);
        assert!(store.insert(12, 38), "a duplicate");
        assert_eq!(store.advance(5), 5);
        assert_eq!(store.advance(10), 40);
        assert_eq!(store.recent(), [(50, 60)]);
        assert_eq!(store.advance(70), 70);
        assert!(store.is_empty() && store.recent().is_empty());
    }

    proptest! {
        /// Against a bitmap.
        #[test]
        fn keeps_exactly_what_was_inserted(
            parts in prop::collection::vec((1_u64..200, 1_u64..20), 1..60)
        ) {
            let mut store = Reassembly::default();
            let mut bitmap = [false; 256];
            for (start, len) in parts {
                let range = start as usize..(start + len) as usize;
                let known = bitmap[range.clone()].iter().all(|&set| set);
                bitmap[range].fill(true);
                let mut other = store.clone();
                if other.extend(start, start + len) {
                    let mut inserted = store.clone();
                    inserted.insert(start, start + len);
                    prop_assert_eq!(format!("{other:?}"), format!("{inserted:?}"));
                }
                prop_assert_eq!(store.insert(start, start + len), known);
                let mut expected: Vec<Range> = Vec::new();
                for at in 0..256_u64 {
                    if bitmap[at as usize] {
                        match expected.last_mut() {
                            Some(last) if last.1 == at => last.1 = at + 1,
                            _ => expected.push((at, at + 1)),
                        }
                    }
                }
                prop_assert!(store.ranges.iter().eq(expected.iter()));
                for block in store.recent() {
                    prop_assert!(store.ranges.contains(block));
                }
            }
        }
    }
}
