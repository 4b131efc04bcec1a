//! Thousands of keys: those of a short time sorted, later ones in buckets by time, and what is
//! beyond all buckets in a heap.
//!
//! Source: the ladder queue (Tang, Goh and Thng 2005), with one rung. A key is put into a bucket
//! and sorted once among a few. A heap compares and moves it on every level, most of which lie in
//! no cache. The order is the same.

use super::heap::Heap;
use super::key::{Key, high};

/// Buckets, a power of two.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
/// How many keys a bucket is to hold, and the most before it is made shorter.
const USUAL: usize = 16;
const MOST: usize = 8 * USUAL;
/// After so many buckets it is asked whether they are too long or too short, and as soon as so many
/// keys are near.
const PERIOD: usize = 64;
const CROWD: usize = 4 * MOST;

/// What is counted between two questions.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    buckets: usize,
    /// Keys in them.
    keys: usize,
    /// How many times they had: of links in step many have one, which no shorter bucket parts.
    times: usize,
    /// Keys that had been beyond the buckets.
    moved: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// The keys before the buckets, latest first. Empty only if there are none at all.
    near: Vec<Key>,
    /// Number of the first bucket. A key's is its high half shifted to the right.
    edge: u64,
    shift: u32,
    /// By their number's low bits.
    buckets: Vec<Vec<Key>>,
    /// A bit for each bucket with keys.
    filled: [u64; WORDS],
    beyond: Heap,
    tally: Tally,
}

impl Ladder {
    /// Apart from the caller, which mostly has one or needs none.
    #[cold]
    pub(super) fn of(mut keys: Vec<Key>) -> Self {
        keys.sort_unstable_by(|one, other| other.cmp(one));
        let half = keys.len() / 2;
        // The earlier half tells how close keys are, as a few may be far away.
        let width = match (keys.last(), keys.get(keys.len() - half)) {
            (Some(least), Some(middle)) => (high(*middle) - high(*least)) / (half.max(1) as u64),
            _ => 0,
        };
        let mut ladder = Self {
            near: Vec::new(),
            edge: 0,
            shift: (width.saturating_mul(USUAL as u64).max(1)).ilog2(),
            buckets: vec![Vec::new(); BUCKETS],
            filled: [0; WORDS],
            beyond: Heap::default(),
            tally: Tally::default(),
        };
        ladder.begin(keys);
        ladder
    }

    /// Takes these keys in, the latest first, while there are no others.
    fn begin(&mut self, keys: Vec<Key>) {
        self.edge = keys.last().map_or(0, |least| self.number(*least));
        for key in keys.into_iter().rev() {
            self.put_late(key);
        }
        self.advance();
    }

    /// The keys that come first, the least one last.
    #[inline]
    pub(super) fn near(&self) -> &[Key] {
        &self.near
    }

    #[inline]
    const fn number(&self, key: Key) -> u64 {
        high(key) >> self.shift
    }

    /// The least key; the greatest possible one when there is none.
    #[inline]
    pub(super) fn top(&self) -> Key {
        self.near.last().copied().unwrap_or(Key::MAX)
    }

    #[inline(never)]
    pub(super) fn put(&mut self, key: Key) {
        if self.number(key) >= self.edge {
            self.put_late(key);
            if self.near.is_empty() {
                self.advance();
            }
            return;
        }
        let place = self.near.partition_point(|other| *other > key);
        self.near.insert(place, key);
        self.tally.keys += 1;
        self.tally.times += 1;
        if self.near.len() > CROWD && self.tally.times > CROWD {
            self.adapt();
        }
    }

    #[inline]
    fn put_late(&mut self, key: Key) {
        let number = self.number(key);
        if number - self.edge >= BUCKETS as u64 {
            return self.beyond.put(key);
        }
        let bucket = number as usize % BUCKETS;
        self.filled[bucket / 64] |= 1 << (bucket % 64);
        self.buckets[bucket].push(key);
    }

    /// Takes the least key, of which there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Key {
        let key = self.near.pop().unwrap_or(Key::MAX);
        if self.near.is_empty() {
            self.advance();
        }
        key
    }

    /// Takes the least keys into a list, the latest first. Returns how many there were.
    pub(super) fn take_into(&mut self, list: &mut [Key]) -> usize {
        let mut len = 0;
        while len < list.len() && !self.near.is_empty() {
            list[len] = self.take();
            len += 1;
        }
        list[..len].reverse();
        len
    }

    /// Nothing is near: goes on to the next bucket with keys.
    #[inline(never)]
    fn advance(&mut self) {
        if self.filled == [0; WORDS] {
            if self.beyond.len == 0 {
                return;
            }
            self.edge = self.number(self.beyond.top());
            self.come_near();
        }
        let bucket = self.next_filled();
        self.edge += (bucket.wrapping_sub(self.edge as usize) % BUCKETS) as u64 + 1;
        self.filled[bucket / 64] &= !(1 << (bucket % 64));
        std::mem::swap(&mut self.near, &mut self.buckets[bucket]);
        self.near.sort_unstable_by(|one, other| other.cmp(one));
        self.come_near();
        let changes = self
            .near
            .windows(2)
            .filter(|two| high(two[0]) != high(two[1]));
        self.tally.times += 1 + changes.count();
        self.tally.keys += self.near.len();
        self.tally.buckets += 1;
        if self.tally.buckets == PERIOD || self.near.len() > CROWD {
            self.adapt();
        }
    }

    /// Moves what is no longer beyond all buckets into one.
    fn come_near(&mut self) {
        while self.beyond.len > 0 && self.number(self.beyond.top()) - self.edge < BUCKETS as u64 {
            let key = self.beyond.take();
            self.tally.moved += 1;
            self.put_late(key);
        }
    }

    /// The next bucket with keys, of which there is one.
    fn next_filled(&self) -> usize {
        let start = self.edge as usize % BUCKETS;
        // The first word is looked at twice: its bits before the start belong to the last buckets.
        for word in 0..=WORDS {
            let index = (start / 64 + word) % WORDS;
            let mask = if word == 0 {
                u64::MAX << (start % 64)
            } else {
                u64::MAX
            };
            let bits = self.filled[index] & mask;
            if bits != 0 {
                return index * 64 + bits.trailing_zeros() as usize;
            }
        }
        debug_assert!(false, "no bucket holds keys");
        start
    }

    /// Makes buckets shorter or longer, if they hold too many keys or too few.
    #[cold]
    fn adapt(&mut self) {
        let seen = std::mem::take(&mut self.tally);
        let buckets = seen.buckets.max(1);
        let is_long = seen.keys > MOST * buckets && seen.times > USUAL * buckets;
        let is_short = seen.moved * 4 > seen.keys && seen.times < USUAL * buckets;
        self.shift = match (is_long, is_short) {
            (true, _) if self.shift > 0 => self.shift.saturating_sub(2),
            (_, true) if self.shift < 60 => self.shift + 2,
            _ => return,
        };
        let mut keys = std::mem::take(&mut self.near);
        keys.extend(self.buckets.iter_mut().flat_map(|bucket| bucket.drain(..)));
        self.filled = [0; WORDS];
        while self.beyond.len > 0 {
            keys.push(self.beyond.take());
        }
        keys.sort_unstable_by(|one, other| other.cmp(one));
        self.begin(keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A key of this time; of equal times the order of scheduling decides.
    fn key(time: u64, order: u64) -> Key {
        u128::from(time) << 64 | u128::from(order)
    }

    proptest! {
        /// Against a sorted list, with times that are close together and far apart by turns, so that
        /// buckets are made longer and shorter and keys go beyond them.
        #[test]
        fn gives_the_least_key_first(
            begin in prop::collection::vec(0..1_u64 << 40, 0..600),
            steps in prop::collection::vec((0..5_u8, 0..44_u32, any::<u64>()), 1..3000),
        ) {
            let mut order = 0..;
            let mut next = |time| key(time, order.next().unwrap_or(u64::MAX));
            let mut model: std::collections::BTreeSet<Key> = begin.into_iter().map(&mut next).collect();
            let mut ladder = Ladder::of(model.iter().copied().collect());
            let mut now = 0;
            for (kind, bits, spread) in steps {
                if kind < 2 {
                    let key = next(now + (spread & ((1 << bits) - 1)));
                    ladder.put(key);
                    model.insert(key);
                } else if let Some(least) = model.pop_first() {
                    prop_assert_eq!(ladder.take(), least);
                    now = high(least);
                }
                prop_assert_eq!(ladder.top(), model.first().copied().unwrap_or(Key::MAX));
            }
        }
    }

    /// Thousands of timers that are set again and again, a few of them far away: buckets hold about
    /// as many as they are to hold.
    #[test]
    fn buckets_adapt() {
        for width in [1_u64, 1000, 1 << 30] {
            let mut dice = sojourn_random::Stream::named(7, "ladder");
            let mut order = 0..;
            let mut next = |time| key(time, order.next().unwrap_or(u64::MAX));
            let keys = (0..4000).map(|_| next(dice.below(1 << 44))).collect();
            let mut ladder = Ladder::of(keys);
            for _ in 0..100_000 {
                let now = high(ladder.take());
                ladder.put(next(now + 1 + dice.below(4000 * width)));
            }
            let held = ladder.buckets.iter().filter(|bucket| !bucket.is_empty());
            let mean = ladder.buckets.iter().map(Vec::len).sum::<usize>() / held.count().max(1);
            assert!(
                (1..=64).contains(&mean),
                "{mean} keys in a bucket of {width}"
            );
        }
    }
}
