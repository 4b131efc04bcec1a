//! The flows that wait for a later round to pay their debts (see `debts`), by that round.

use super::lists::NONE;
use alloc::boxed::Box;
use alloc::vec;
use core::mem::replace;

/// Rounds that a flow waits at most, and one: one who needs more comes back and waits again. A
/// packet of full size is paid for in 1040 rounds by one of 1024 flows.
pub(super) const SLOTS: usize = 2048;

/// The flows that wait, in the order of leaving, by the round in which they come back.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// The last flow of each slot, whose next one is the first. A vector's memory, because an array
    /// would be made on the stack: 8 KiB, and a kernel has 16.
    slots: Box<[u32]>,
    /// A bit for each slot with flows.
    filled: [u64; SLOTS / 64],
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            slots: vec![NONE; SLOTS].into_boxed_slice(),
            filled: [0; SLOTS / 64],
        }
    }
}

impl Wheel {
    /// Apart, or every call that may make one would keep stack for it.
    #[cold]
    #[inline(never)]
    pub(super) fn boxed() -> Box<Self> {
        Box::default()
    }

    const fn slot(round: u64) -> usize {
        (round % SLOTS as u64) as usize
    }

    pub(super) fn slot_mut(&mut self, round: u64) -> &mut u32 {
        let slot = Self::slot(round);
        self.filled[slot / 64] |= 1 << (slot % 64);
        &mut self.slots[slot]
    }

    /// Last of the flows that come back in this round.
    pub(super) fn take(&mut self, round: u64) -> u32 {
        let slot = Self::slot(round);
        self.filled[slot / 64] &= !(1 << (slot % 64));
        replace(&mut self.slots[slot], NONE)
    }

    /// The first round from this one on in which a flow comes back; some flow waits.
    pub(super) fn next(&self, round: u64) -> u64 {
        let slot = Self::slot(round);
        // The first word is looked at twice: its bits before the slot belong to the last rounds.
        for word in 0..=self.filled.len() {
            let index = (slot / 64 + word) % self.filled.len();
            let mask = if word == 0 {
                u64::MAX << (slot % 64)
            } else {
                u64::MAX
            };
            let bits = self.filled[index] & mask;
            if bits != 0 {
                let found = index * 64 + bits.trailing_zeros() as usize;
                return round + ((found + SLOTS - slot) % SLOTS) as u64;
            }
        }
        debug_assert!(false, "no flow waits");
        round
    }
}

/// The flows that wait, and the rounds that they wait for. Rounds are counted only while a flow
/// does.
#[derive(Clone, Debug, Default)]
pub(super) struct Debts {
    /// Made when the first flow waits: 8 KiB.
    pub(super) wheel: Option<Box<Wheel>>,
    /// Flows that wait.
    pub(super) waiting: u32,
    pub(super) round: u64,
    /// Old flows whose turn in this round is still to come: the first ones of their list.
    pub(super) turns_left: u32,
}

impl Debts {
    /// Flows that wait.
    pub(super) const fn len(&self) -> u32 {
        self.waiting
    }

    /// An old flow has had its turn, or has left.
    #[inline]
    pub(super) fn turn_over(&mut self) {
        self.turns_left = self.turns_left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Rounds over more than a turn of the wheel, the first slot and the last bit of a word among
    /// them.
    #[test]
    fn the_next_round_is_found_over_the_end_of_the_wheel() {
        let mut wheel = Wheel::default();
        for round in [1000_u64, 1023, 1024, 2047, 2048, 3047] {
            *wheel.slot_mut(round) = round as u32;
        }
        let mut found = Vec::new();
        for _ in 0..6 {
            let next = wheel.next(found.last().map_or(1000, |&round| round + 1));
            assert_eq!(u64::from(wheel.take(next)), next);
            found.push(next);
        }
        assert_eq!(found, [1000, 1023, 1024, 2047, 2048, 3047]);
        assert_eq!(wheel.filled, [0; SLOTS / 64]);
    }
}
