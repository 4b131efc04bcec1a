//! Rounds of few flows, which are walked as Linux walks them: each flow gets its quantum in its
//! turn, with dice of its own. More than twelve flows of one host form a ring (`ring`).

use super::FlowQueue;
use super::policy::{FlowPolicy, FlowTurns};
use super::ring::FEW;
use super::round::Round;
use crate::{Aqm, Packet};
use core::mem::replace;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Gives turns to the old flows, of which there are some, until the first one has credit.
    #[inline]
    pub(super) fn walk(&mut self) {
        if self.has_ring && self.turn_ring() {
            return;
        }
        self.visit();
        if self.old.len > FEW && self.calm.is_long(self.old.len) {
            self.form_ring();
        }
    }

    /// Visits one flow after another.
    #[inline]
    fn visit(&mut self) {
        let quantum = u64::from(self.quantum);
        let Round {
            mut first,
            mut last,
            ..
        } = self.old;
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
        }
        (self.old.first, self.old.last) = (first, last);
    }
}
