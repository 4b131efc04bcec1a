//! Rounds of few flows, which are walked as Linux walks them: each flow gets its quantum in its
//! turn, with dice of its own.

use super::FlowQueue;
use super::policy::{FlowPolicy, FlowTurns};
use super::round::Round;
use crate::{Aqm, Packet};
use core::mem::replace;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Gives turns to the old flows, of which there are some, until the first one has credit.
    #[inline]
    pub(super) fn walk(&mut self) {
        if self.old.len > self.walked_up_to {
            self.walk_many();
        } else {
            self.visit::<false>();
        }
    }

    /// The same, one flow after another. Returns how many got a turn, where that `COUNTS`.
    #[inline]
    pub(super) fn visit<const COUNTS: bool>(&mut self) -> u32 {
        let quantum = u64::from(self.quantum);
        let Round {
            mut first,
            mut last,
            ..
        } = self.old;
        let mut visits = 0_u32;
        let flows = &mut self.flows[..];
        // A list that is closed to a ring turns without a write.
        flows[last as usize].next = first;
        loop {
            // Many turns are alike. The dice are copied for these, so that they stay in registers.
            let mut turns = self.policy.turns(quantum);
            while let Some(flow) = flows.get_mut(first as usize)
                && flow.deficit <= 0
                && turns.fits(&flow.share)
            {
                flow.deficit += turns.next();
                last = replace(&mut first, flow.next);
                visits = visits.wrapping_add(u32::from(COUNTS));
            }
            self.policy.keep(turns);
            let Some(flow) = flows
                .get_mut(first as usize)
                .filter(|flow| flow.deficit <= 0)
            else {
                break;
            };
            // An empty flow gets its quantum too: it leaves the round only in its turn, when it is
            // served and found empty.
            if flow.count > 0 {
                self.policy.stands(&mut flow.share);
            }
            let share = self.policy.share(&flow.share);
            flow.deficit += self.policy.quantum(share, quantum);
            last = replace(&mut first, flow.next);
            visits = visits.wrapping_add(u32::from(COUNTS));
        }
        (self.old.first, self.old.last) = (first, last);
        visits
    }
}
