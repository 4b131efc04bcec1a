//! What waits behind a list of the soonest keys: a heap, and a ladder once there are many.

use super::heap::Heap;
use super::key::Key;
use super::ladder::Ladder;

#[derive(Clone, Debug)]
pub(super) struct Later {
    /// Empty once there is a ladder, which then stays.
    heap: Heap,
    ladder: Option<Box<Ladder>>,
    /// Most keys of the heap.
    most: usize,
}

impl Later {
    /// An empty one, whose heap holds no more than `most` keys.
    pub(super) fn new(most: usize) -> Self {
        Self {
            heap: Heap::default(),
            ladder: None,
            most,
        }
    }

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

    // One function each, so that the callers pass no more than they did to a heap.
    #[inline(never)]
    pub(super) fn put(&mut self, key: Key) {
        if let Some(ladder) = &mut self.ladder {
            return ladder.put(key);
        }
        self.heap.put(key);
        if self.heap.len > self.most {
            let keys = std::mem::take(&mut self.heap).into_keys();
            self.ladder = Some(Box::new(Ladder::of(keys)));
        }
    }

    /// Takes the least keys into a list, the latest first. Returns how many there were.
    #[inline(never)]
    pub(super) fn take_into(&mut self, list: &mut [Key]) -> usize {
        if let Some(ladder) = &mut self.ladder {
            return ladder.take_into(list);
        }
        let len = self.heap.len.min(list.len());
        for place in list[..len].iter_mut().rev() {
            *place = self.heap.take();
        }
        len
    }
}
