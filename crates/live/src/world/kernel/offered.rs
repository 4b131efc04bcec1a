//! What was offered to a queue and has not been seen behind it.
//!
//! Nobody tells which packets a queue of the kernel's drops, so that what it has dropped stands
//! here as if it waited. The oldest are forgotten when many more stand here than the queue holds.

use std::collections::HashMap;

use sojourn_units::Time;

/// Packets beyond those that a queue holds that may have come after one which is remembered.
const SPARE: usize = 1 << 16;

/// Packets by their identity: when they came.
#[derive(Default)]
pub(super) struct Offered {
    new: HashMap<u64, Time>,
    /// Those before, fewer than will be forgotten together.
    old: HashMap<u64, Time>,
}

impl Offered {
    pub(super) fn insert(&mut self, identity: u64, at: Time) {
        self.new.insert(identity, at);
    }

    pub(super) fn take(&mut self, identity: u64) -> Option<Time> {
        let Self { new, old } = self;
        new.remove(&identity).or_else(|| old.remove(&identity))
    }

    /// Forgets what cannot wait any more in a queue that holds so many packets: it is older than
    /// that many and [`SPARE`] others that have not been seen again either.
    pub(super) fn forget(&mut self, held: u64) {
        if self.new.len() > SPARE.saturating_add(held as usize) {
            self.old = std::mem::take(&mut self.new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Time {
        Time::from_nanos(number)
    }

    #[test]
    fn what_was_dropped_is_forgotten_and_what_waits_is_not() {
        let mut offered = Offered::default();
        let held = 1000;
        // Of a million packets every second one is dropped, the others wait behind `held` more.
        for number in 0..1_000_000 {
            offered.insert(number, at(number));
            if let Some(left) = number.checked_sub(2 * held).filter(|left| left % 2 == 0) {
                assert_eq!(offered.take(left), Some(at(left)));
            }
            if number % 500 == 0 {
                offered.forget(held);
            }
            let remembered = offered.new.len() + offered.old.len();
            assert!(remembered <= 2 * (SPARE + 1500), "{remembered}");
        }
        assert_eq!(offered.take(1), None);
        assert_eq!(offered.take(999_999), Some(at(999_999)));
    }

    #[test]
    fn a_packet_is_seen_again_once() {
        let mut offered = Offered::default();
        offered.insert(7, at(1));
        assert_eq!(offered.take(7), Some(at(1)));
        assert_eq!(offered.take(7), None);
    }
}
