//! What waits behind a list of the soonest keys: a heap, and a ladder once there are many.

use super::Key;
use super::heap::Heap;
use super::ladder::Ladder;

/// With more keys than these a heap no longer fits into the first cache beside all else.
const MANY: usize = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct Later {
    /// Empty once there is a ladder, which then stays.
    heap: Heap,
    ladder: Option<Box<Ladder>>,
}

impl Later {
    /// The least key; the greatest possible one when there is none.
    #[inline]
    pub(super) fn top(&self) -> Key {
        match &self.ladder {
            None => self.heap.top(),
            Some(ladder) => ladder.top(),
        }
    }

    /// The next keys, the least one last, as far as they are in order.
    #[inline]
    pub(super) fn near(&self) -> &[Key] {
        self.ladder.as_ref().map_or(&[], |ladder| ladder.near())
    }

    #[inline]
    pub(super) fn put(&mut self, key: Key) {
        match &mut self.ladder {
            None => {
                self.heap.put(key);
                if self.heap.len > MANY {
                    let keys = std::mem::take(&mut self.heap).into_keys();
                    self.ladder = Some(Box::new(Ladder::of(keys)));
                }
            }
            Some(ladder) => ladder.put(key),
        }
    }

    /// Takes the least keys into a list that they fill from its end on, the latest first. Returns
    /// how many there were.
    #[inline]
    pub(super) fn take_into(&mut self, list: &mut [Key]) -> usize {
        match &mut self.ladder {
            None => {
                let len = self.heap.len.min(list.len());
                for place in list[..len].iter_mut().rev() {
                    *place = self.heap.take();
                }
                len
            }
            Some(ladder) => {
                let mut len = 0;
                while len < list.len() && ladder.top() != Key::MAX {
                    list[len] = ladder.take();
                    len += 1;
                }
                list[..len].reverse();
                len
            }
        }
    }
}
