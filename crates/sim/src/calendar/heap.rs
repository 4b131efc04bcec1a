//! The heap of a calendar.

use super::key::Key;

/// A heap of keys, four children a node. Places that a node lacks hold the greatest possible key,
/// so that there are no nodes with fewer.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    keys: Vec<Key>,
    /// How many of them are taken.
    pub(super) len: usize,
}

impl Default for Heap {
    fn default() -> Self {
        Self {
            keys: vec![Key::MAX],
            len: 0,
        }
    }
}

impl Heap {
    /// The least key; the greatest possible one when there is none.
    #[inline]
    pub(super) fn top(&self) -> Key {
        self.keys[0]
    }

    /// All keys, in no order.
    pub(super) fn into_keys(mut self) -> Vec<Key> {
        self.keys.truncate(self.len);
        self.keys
    }

    #[inline]
    pub(super) fn put(&mut self, key: Key) {
        let mut hole = self.len;
        if hole == self.keys.len() {
            self.keys.resize(hole + 4, Key::MAX);
        }
        self.len += 1;
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.keys[parent] < key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    /// Takes the least key, of which there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Key {
        let top = self.top();
        self.len -= 1;
        let last = std::mem::replace(&mut self.keys[self.len], Key::MAX);
        if self.len > 0 {
            self.sink(last);
        }
        top
    }

    /// Puts `key` where it belongs, starting from a hole at the top.
    #[inline]
    fn sink(&mut self, key: Key) {
        let heap = self.keys.as_mut_slice();
        let mut hole = 0;
        // Of four children: two independent comparisons and one between their winners, without
        // branches. Guessing the winner with branches would cost more than the comparisons.
        while let Some(children) = heap.get(4 * hole + 1..).and_then(<[Key]>::first_chunk::<4>) {
            let low = usize::from(children[1] < children[0]);
            let high = 2 + usize::from(children[3] < children[2]);
            let least = if children[high] < children[low] {
                high
            } else {
                low
            };
            let least_key = children[least & 3];
            if key < least_key {
                break;
            }
            heap[hole] = least_key;
            hole = 4 * hole + 1 + least;
        }
        heap[hole] = key;
    }
}
