//! Which tin goes next: with a shaper by their clocks, without one by turns.

use super::Cake;
use super::tin::Tin;
use crate::Packet;
use crate::shaper::Pace;
use sojourn_units::Time;

impl<P: Packet, C: Pace> Cake<P, C> {
    /// The tin to serve; something is held.
    #[inline]
    pub(super) fn choose(&mut self, now: Time) -> usize {
        if self.rate.is_zero() {
            return self.next_turn();
        }
        self.first_tin(now)
    }

    /// The highest tin whose clock is due, else the one whose clock is due soonest.
    #[inline]
    pub(super) fn first_tin(&self, now: Time) -> usize {
        let mut best = (0, Time::from_nanos(u64::MAX));
        for (index, tin) in self.tins.iter().enumerate() {
            let due = tin.clock.due();
            if tin.queue.held().packets > 0 && (due <= now || due <= best.1) {
                best = (index, due);
            }
        }
        best.0
    }

    /// Deficit round robin: the tin of this turn, when it has credit and packets.
    fn next_turn(&mut self) -> usize {
        let mut turn = self.turn as usize;
        let tin = &self.tins[turn];
        if tin.queue.held().packets > 0 && tin.deficit > 0 {
            return turn;
        }
        // The rounds in which no tin could send need not be walked.
        let cannot = |tin: &mut Tin<P>| tin.deficit <= -i64::from(tin.weight.max(1));
        if self.busy_tins().all(cannot) {
            self.skip_rounds();
        }
        loop {
            turn += 1;
            if turn == self.tins.len() {
                turn = 0;
            }
            let tin = &mut self.tins[turn];
            if tin.queue.held().packets == 0 {
                // A tin without packets keeps its debt, but saves nothing up.
                tin.deficit = tin.deficit.min(0);
                continue;
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.weight.max(1));
            }
            if tin.deficit > 0 {
                self.turn = turn as u32;
                return turn;
            }
        }
    }

    /// Gives every tin with packets the rounds in which none of them could send.
    #[cold]
    fn skip_rounds(&mut self) {
        let rounds = |tin: &mut Tin<P>| -tin.deficit / i64::from(tin.weight.max(1));
        let least = self.busy_tins().map(rounds).min().unwrap_or(0);
        for tin in self.busy_tins() {
            tin.deficit += least * i64::from(tin.weight.max(1));
        }
    }

    fn busy_tins(&mut self) -> impl Iterator<Item = &mut Tin<P>> {
        let tins = self.tins.iter_mut();
        tins.filter(|tin| tin.queue.held().packets > 0)
    }
}
