//! Memory of one instance, by the buddy system (Knowlton 1965).
//!
//! The library takes memory as any program does, and does not expect that there is none. In a
//! kernel there may be none at any time, and nobody to wait for. So an instance has all of its
//! memory from the start, and before each packet [`Arena::has_room`] says whether it could need
//! more than there is. A packet for which it could is dropped.
//!
//! This holds because the library's queues grow by doubling: one call needs at most a block twice
//! as large as the largest that is in use, and small ones beside it.
//!
//! Blocks are known by their place, so that nothing here touches the memory itself.

/// The smallest block: bytes.
const SMALLEST: usize = 64;
/// Sizes of blocks: each twice the one before. The largest is 64 MiB.
const ORDERS: usize = 21;
/// No block.
const NONE: u32 = u32::MAX;

/// What is known of a place that a block may begin at.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Neighbours in the list of free blocks of its size.
    next: u32,
    previous: u32,
    /// Order of the free block that begins here; [`ORDERS`] if none does.
    order: u32,
}

impl Block {
    /// A place where no free block begins.
    pub const TAKEN: Self = Self {
        next: NONE,
        previous: NONE,
        order: ORDERS as u32,
    };
}

/// Memory of one instance.
#[derive(Debug)]
pub struct Arena<'a> {
    blocks: &'a mut [Block],
    /// The first free block of each order, and how many there are.
    free: [u32; ORDERS],
    count: [u32; ORDERS],
    /// Blocks in use, by order.
    used: [u32; ORDERS],
    /// A bit for each order of which there are free blocks, and of which blocks are in use.
    available: u32,
    in_use: u32,
    /// See [`Arena::has_room`]; blocks change seldom, and each packet asks.
    has_room: bool,
}

impl<'a> Arena<'a> {
    /// An arena with a [`Block`] for each 64 bytes of its memory, all of it free.
    pub fn new(blocks: &'a mut [Block]) -> Self {
        blocks.fill(Block::TAKEN);
        let end = blocks.len().min(NONE as usize);
        let mut arena = Self {
            blocks,
            free: [NONE; ORDERS],
            count: [0; ORDERS],
            used: [0; ORDERS],
            available: 0,
            in_use: 0,
            has_room: false,
        };
        let mut at = 0;
        while at < end {
            let aligned = if at == 0 {
                ORDERS
            } else {
                at.trailing_zeros() as usize
            };
            let fits = (end - at).ilog2() as usize;
            let order = aligned.min(fits).min(ORDERS - 1);
            arena.push(at as u32, order);
            at += 1 << order;
        }
        arena.has_room = arena.looks_for_room();
        arena
    }

    /// Bytes of memory for which there are so many blocks.
    pub const fn bytes(blocks: usize) -> usize {
        blocks * SMALLEST
    }

    /// Takes memory; returns where it begins: bytes from the start. None if there is no such block.
    pub fn take(&mut self, size: usize, align: usize) -> Option<usize> {
        let wanted = order_of(size, align)?;
        let larger = self.available >> wanted;
        if larger == 0 {
            return None;
        }
        let mut order = wanted + larger.trailing_zeros() as usize;
        let at = self.free[order];
        self.remove(at, order);
        while order > wanted {
            order -= 1;
            self.push(at + (1 << order), order);
        }
        self.use_one(wanted);
        self.has_room = self.looks_for_room();
        Some(at as usize * SMALLEST)
    }

    /// Gives back what [`Arena::take`] returned for the same size and alignment.
    pub fn give(&mut self, start: usize, size: usize, align: usize) {
        let Some(mut order) = order_of(size, align) else {
            return;
        };
        let mut at = (start / SMALLEST) as u32;
        self.unuse_one(order);
        while order + 1 < ORDERS {
            let buddy = at ^ (1 << order);
            let is_free = self.blocks.get(buddy as usize);
            if is_free.is_none_or(|block| block.order as usize != order) {
                break;
            }
            self.remove(buddy, order);
            at = at.min(buddy);
            order += 1;
        }
        self.push(at, order);
        self.has_room = self.looks_for_room();
    }

    /// Makes memory larger where it is; tells whether it could. The memory is what [`Arena::take`]
    /// returned for this size and alignment. From then on it is given back by its new size.
    ///
    /// A queue that grows in place leaves the free memory in larger pieces.
    pub fn extend(&mut self, start: usize, size: usize, align: usize, wanted: usize) -> bool {
        let (Some(held), Some(order)) = (order_of(size, align), order_of(wanted, align)) else {
            return false;
        };
        let at = (start / SMALLEST) as u32;
        let upper = |order: usize| at + (1 << order);
        // All upper halves on the way must be free; the block must be the lower half each time.
        let is_free = |order: usize| {
            let block = self.blocks.get(upper(order) as usize);
            at & (1 << order) == 0 && block.is_some_and(|block| block.order as usize == order)
        };
        if order < held || !(held..order).all(is_free) {
            return false;
        }
        for half in held..order {
            self.remove(upper(half), half);
        }
        self.unuse_one(held);
        self.use_one(order);
        self.has_room = self.looks_for_room();
        true
    }

    /// Whether there is a free block twice as large as the largest in use, and beside it another
    /// one half as large as that.
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.has_room
    }

    fn looks_for_room(&self) -> bool {
        let double = (u32::BITS - self.in_use.leading_zeros()).max(1) as usize;
        // A block larger than that is both.
        if self.available >> (double + 1) != 0 {
            return true;
        }
        let half = double.saturating_sub(2);
        let blocks = (half..ORDERS).map(|order| u64::from(self.count[order]) << (order - half));
        let has_double = self.count.iter().skip(double).any(|&count| count > 0);
        has_double && blocks.sum::<u64>() > 1 << (double - half)
    }

    /// Whether there is a free block of so many bytes.
    pub fn has_block(&self, size: usize) -> bool {
        order_of(size, 1).is_some_and(|order| self.count[order..].iter().any(|&count| count > 0))
    }

    /// Bytes that are free.
    pub fn free(&self) -> usize {
        let bytes = |order: usize| (self.count[order] as usize * SMALLEST) << order;
        (0..ORDERS).map(bytes).sum()
    }

    fn push(&mut self, at: u32, order: usize) {
        let next = self.free[order];
        if let Some(block) = self.blocks.get_mut(next as usize) {
            block.previous = at;
        }
        if let Some(block) = self.blocks.get_mut(at as usize) {
            *block = Block {
                next,
                previous: NONE,
                order: order as u32,
            };
        }
        self.free[order] = at;
        self.count[order] += 1;
        self.available |= 1 << order;
    }

    fn remove(&mut self, at: u32, order: usize) {
        let Some(block) = self.blocks.get_mut(at as usize) else {
            return;
        };
        let Block { next, previous, .. } = core::mem::replace(block, Block::TAKEN);
        if let Some(block) = self.blocks.get_mut(next as usize) {
            block.previous = previous;
        }
        match self.blocks.get_mut(previous as usize) {
            Some(block) => block.next = next,
            None => self.free[order] = next,
        }
        self.count[order] -= 1;
        if self.count[order] == 0 {
            self.available &= !(1 << order);
        }
    }

    fn use_one(&mut self, order: usize) {
        self.used[order] += 1;
        self.in_use |= 1 << order;
    }

    fn unuse_one(&mut self, order: usize) {
        self.used[order] = self.used[order].saturating_sub(1);
        if self.used[order] == 0 {
            self.in_use &= !(1 << order);
        }
    }
}

/// The order of the smallest block for this; None if none is large enough.
fn order_of(size: usize, align: usize) -> Option<usize> {
    let blocks = size.max(align).div_ceil(SMALLEST).max(1);
    let order = blocks.checked_next_power_of_two()?.trailing_zeros() as usize;
    (order < ORDERS).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_random::Stream;
    use std::vec;
    use std::vec::Vec;

    /// What [`Arena::has_room`] says, from the numbers of blocks alone.
    fn has_room_by_count(arena: &Arena<'_>) -> bool {
        let largest = arena.used.iter().rposition(|&blocks| blocks > 0);
        let double = largest.map_or(1, |order| order + 1);
        let half = double.saturating_sub(2);
        let blocks = |order: usize| u64::from(arena.count[order]) << (order - half);
        (double..ORDERS).any(|order| arena.count[order] > 0)
            && (half..ORDERS).map(blocks).sum::<u64>() > 1 << (double - half)
    }

    #[test]
    fn blocks_never_overlap_and_all_memory_comes_back() {
        let mut dice = Stream::named(1, "arena");
        // Not a power of two: 1000 places of 64 bytes.
        let mut blocks = vec![Block::TAKEN; 1000];
        let mut arena = Arena::new(&mut blocks);
        assert_eq!(arena.free(), 64_000);
        let mut held: Vec<(usize, usize, usize)> = Vec::new();
        let (mut refused, mut extended) = (0, 0);
        for _ in 0..20_000 {
            if dice.below(100) < 55 {
                let (size, align) = (1 + dice.below(3000) as usize, 1 << dice.below(8));
                match arena.take(size, align) {
                    Some(start) => {
                        assert_eq!(start % align, 0, "{start} for {align}");
                        assert!(start + size <= 64_000);
                        let apart = |&(s, n, _): &(usize, usize, usize)| {
                            s + n <= start || start + size <= s
                        };
                        assert!(held.iter().all(apart), "{start}+{size} among {held:?}");
                        held.push((start, size, align));
                    }
                    None => refused += 1,
                }
            } else if !held.is_empty() && dice.below(2) == 0 {
                let number = dice.below(held.len() as u64) as usize;
                let (start, size, align) = held[number];
                let wanted = 1 + dice.below(6000) as usize;
                if arena.extend(start, size, align, wanted) {
                    held[number].1 = wanted;
                    for (other, &(s, n, _)) in held.iter().enumerate() {
                        let is_apart = s + n <= start || start + wanted <= s;
                        assert!(other == number || is_apart, "{start}+{wanted}, {s}+{n}");
                    }
                    extended += usize::from(wanted > size);
                }
            } else if !held.is_empty() {
                let (start, size, align) = held.swap_remove(dice.below(held.len() as u64) as usize);
                arena.give(start, size, align);
            }
            assert_eq!(arena.has_room(), has_room_by_count(&arena));
        }
        assert!(refused > 100, "the arena was never full: {refused}");
        assert!(extended > 100, "nothing grew: {extended}");
        for (start, size, align) in held {
            arena.give(start, size, align);
        }
        assert_eq!(arena.free(), 64_000);
        // 512 places are the largest block of 1000.
        assert!(arena.take(512 * 64, 64).is_some());
        assert!(arena.take(512 * 64, 64).is_none());
    }

    #[test]
    fn room_is_a_block_twice_as_large_as_the_largest_in_use_and_another() {
        let mut blocks = vec![Block::TAKEN; 64];
        let mut arena = Arena::new(&mut blocks);
        assert!(arena.has_room());
        // Of 4096 bytes 1024 are in use; 2048 + 1024 are free.
        let first = arena.take(1024, 8).unwrap();
        assert!(arena.has_room());
        arena.take(64, 8).unwrap();
        assert!(arena.has_room(), "2048 + 512");
        let third = arena.take(512, 8).unwrap();
        assert!(!arena.has_room(), "2048 + 256");
        arena.give(third, 512, 8);
        arena.take(2048, 8).unwrap();
        assert!(!arena.has_room(), "nothing is twice as large");
        arena.give(first, 1024, 8);
        assert!(!arena.has_room());
    }

    #[test]
    fn memory_grows_where_it_is_if_what_is_behind_it_is_free() {
        let mut blocks = vec![Block::TAKEN; 64];
        let mut arena = Arena::new(&mut blocks);
        assert_eq!(arena.take(64, 8), Some(0));
        let second = arena.take(64, 8).unwrap();
        assert!(!arena.extend(second, 64, 8, 128), "an upper half");
        let third = arena.take(128, 8).unwrap();
        assert!(arena.extend(third, 128, 8, 100), "its block is as large");
        assert!(
            !arena.extend(third, 128, 8, 64),
            "less needs a smaller block"
        );
        let fourth = arena.take(256, 8).unwrap();
        assert!(!arena.extend(third, 128, 8, 256), "an upper half");
        arena.give(fourth, 256, 8);
        let fourth = arena.take(512, 8).unwrap();
        assert!(!arena.extend(fourth, 512, 8, 1024), "an upper half again");
        let fifth = arena.take(1024, 8).unwrap();
        let sixth = arena.take(1024, 8).unwrap();
        let seventh = arena.take(1024, 8).unwrap_or(4096);
        assert_eq!((fifth, sixth, seventh), (1024, 2048, 3072));
        assert!(
            !arena.extend(sixth, 1024, 8, 2048),
            "what is behind it is in use"
        );
        arena.give(seventh, 1024, 8);
        assert!(!arena.extend(sixth, 1024, 8, 4096), "beyond the arena");
        assert!(arena.extend(sixth, 1024, 8, 2048));
        assert_eq!(arena.free(), 4096 - 64 - 64 - 128 - 512 - 1024 - 2048);
        for (start, size) in [(0, 64), (second, 64), (third, 128), (fourth, 512)] {
            arena.give(start, size, 8);
        }
        arena.give(fifth, 1024, 8);
        arena.give(sixth, 2048, 8);
        assert_eq!(arena.take(4096, 8), Some(0));
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let mut blocks = vec![Block::TAKEN; 8];
        let mut arena = Arena::new(&mut blocks);
        assert_eq!(arena.take(usize::MAX, 1), None);
        assert_eq!(arena.take(513, 1), None);
        assert!(arena.has_block(512) && !arena.has_block(513));
        assert_eq!(arena.take(512, 64), Some(0));
        assert!(!arena.has_block(1));
        assert_eq!(arena.take(1, 1), None);
        assert_eq!(Arena::bytes(8), 512);
    }
}
