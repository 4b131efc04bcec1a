//! Which tin goes next: with a shaper by their clocks, without one by turns.

use super::Cake;
use crate::Packet;
use crate::shaper::Pace;
use sojourn_units::Time;

impl<P: Packet, C: Pace> Cake<P, C> {
    /// The tin to serve; something is held.
    #[inline]
    pub(super) fn choose(&mut self, now: Time) -> usize {
        if self.rate.is_zero() {
            return self.turns.next();
        }
        self.first_tin(now)
    }

    /// The highest tin whose clock is due, else the one whose clock is due soonest.
    #[inline]
    pub(super) fn first_tin(&self, now: Time) -> usize {
        let mut best = (0, Time::from_nanos(u64::MAX));
        for index in self.turns.busy() {
            let due = self.tins[index].clock.due();
            if due <= now || due <= best.1 {
                best = (index, due);
            }
        }
        best.0
    }
}
