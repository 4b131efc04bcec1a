//! Debts that take many rounds to pay.
//!
//! Deficit round robin visits every flow in each round. A flow that has sent a packet far longer
//! than its share of the quantum is visited in vain many times; Linux walks all those rounds.
//! Here they are skipped, in one of two ways.
//!
//! Where all flows have the same quantum, the rounds in which none of them could send are given
//! to all at once: the order stays that of RFC 8290.
//!
//! Where shares differ (a flow may have one thousandth of its host's), some flow can send in
//! almost every round, and still nearly all are visited in vain. With more than [`WALKED`] flows
//! in turn, a flow in debt leaves the list there, with its rounds given in advance, and comes back
//! when they are over and it has paid: O(1) for each packet instead of O(flows), with nearly the
//! same shares.
//! Differs from walking: it then stands at the end of the round, and its share in the rounds
//! given is that of the time when it left.
//!
//! Both differences show: eight flows on 1 Mbit/s (R3 of `docs/studies/cake.md`) kept an even
//! distance when all their rounds were given at once, where Linux's packets come in clusters. So
//! few flows are walked, or stand in a ring that has the same result (`ring`).

use super::FlowQueue;
use super::policy::FlowPolicy;
use super::round::Turn;
use super::wheel::{SLOTS, Wheel};
use crate::{Aqm, Packet};
use core::mem::replace;

/// Fewer rounds than these are walked.
const FEW_ROUNDS: u64 = 8;
/// Up to so many flows in turn, all rounds are walked, or a ring does what a walk does.
const WALKED: u32 = 64;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// After two rounds in which nobody could send, gives all flows at once the others in which
    /// none could. By then every flow is an old one.
    #[inline]
    pub(super) fn skip_rounds(&mut self, turns: &mut u64) {
        if *turns > 2 * (u64::from(self.new.len) + u64::from(self.old.len)) + 3 {
            *turns = 0;
            self.skip_common_rounds();
        }
    }

    #[cold]
    fn skip_common_rounds(&mut self) {
        let quantum = i64::from(self.quantum);
        let mut least = i64::MAX;
        let mut id = self.old.first;
        for _ in 0..self.old.len {
            let flow = &self.flows[id as usize];
            least = least.min(-flow.deficit / quantum);
            id = flow.next;
        }
        id = self.old.first;
        for _ in 0..self.old.len {
            let flow = &mut self.flows[id as usize];
            flow.deficit += least.max(0) * quantum;
            id = flow.next;
        }
    }

    /// A flow in debt, that is in no list, has its turn: it gets the quantum of this round and goes
    /// back among the old ones, or those of all rounds in which it cannot send and waits.
    #[inline]
    pub(super) fn pay(&mut self, id: u32) {
        // Few flows in turn, of which this is one, are walked.
        let is_few = self.flows_in_turn() < WALKED;
        if !is_few && self.has_ring {
            self.dissolve();
        }
        let flows = &mut self.flows[..];
        let flow = &mut flows[id as usize];
        let quantum = u64::from(self.quantum);
        let share = self.policy.share(&flow.share);
        // Without the dice, which only add.
        let debt = (flow.deficit.unsigned_abs() + 1) << 16;
        let waits = !is_few && debt > (FEW_ROUNDS - 1) * quantum * u64::from(share);
        if !waits {
            flow.deficit += self.policy.quantum(share, quantum);
            return self.append(id, Turn::Old);
        }
        let rounds = debt
            .div_ceil(quantum * u64::from(share))
            .min(SLOTS as u64 - 1);
        flow.deficit += self.policy.quantum(share, rounds * quantum);
        flow.turn = Turn::InDebt;
        if self.debts.waiting == 0 {
            self.debts.turns_left = self.old.len;
        }
        self.debts.waiting += 1;
        let wheel = self.debts.wheel.get_or_insert_with(Wheel::boxed);
        let slot = wheel.slot_mut(self.debts.round + rounds);
        let last = replace(slot, id);
        let first = match flows.get_mut(last as usize) {
            Some(last) => replace(&mut last.next, id),
            None => id,
        };
        flows[id as usize].next = first;
    }

    /// Whether the old flows are so few that all rounds are walked.
    #[inline]
    pub(super) fn are_walked(&self) -> bool {
        (1..=WALKED).contains(&self.old.len)
    }

    /// Begins the next round in which a flow has a turn.
    #[inline]
    pub(super) fn next_round(&mut self) {
        self.debts.round += 1;
        let Some(wheel) = &mut self.debts.wheel else {
            return;
        };
        if self.old.len == 0 {
            self.debts.round = wheel.next(self.debts.round);
        }
        let last = wheel.take(self.debts.round);
        if let Some(flow) = self.flows.get(last as usize) {
            let mut id = flow.next;
            loop {
                let next = self.flows[id as usize].next;
                self.debts.waiting -= 1;
                self.append(id, Turn::Old);
                if id == last {
                    break;
                }
                id = next;
            }
        }
        self.debts.turns_left = self.old.len;
    }
}
