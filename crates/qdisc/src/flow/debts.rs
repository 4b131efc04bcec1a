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
//! almost every round, and still nearly all are visited in vain. With more than [`WALKED`] flows in
//! turn, a flow in debt leaves the list there, with rounds given in advance, and comes back when
//! they are over: O(log² flows) for each packet instead of O(flows), with nearly the same shares.
//! Differs from walking: it then stands at the end of the round, and its share in the rounds
//! given is that of the time when it left; so it is given at most a quarter of those it needs.
//!
//! Both differences show: eight flows on 1 Mbit/s (R3 of `docs/studies/cake.md`) kept an even
//! distance when all their rounds were given at once, where Linux's packets come in clusters. So
//! few flows are walked.

use super::policy::FlowPolicy;
use super::{FlowQueue, NONE, Turn};
use crate::{Aqm, Packet};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

/// Fewer rounds than these are walked.
const FEW_ROUNDS: i64 = 8;
/// Up to so many flows in turn, all rounds are walked.
const WALKED: u32 = 64;

/// The flows that wait, and the rounds that they wait for. Rounds are counted only while a flow
/// does.
#[derive(Clone, Debug, Default)]
pub(super) struct Debts {
    /// Round in which each comes back, and its number.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    round: u64,
    /// Old flows whose turn in this round is still to come: the first ones of their list.
    turns_left: u32,
}

impl Debts {
    /// Flows that wait.
    pub(super) fn len(&self) -> u32 {
        self.heap.len() as u32
    }

    /// An old flow has had its turn, or has left.
    #[inline]
    pub(super) fn turn_over(&mut self) {
        self.turns_left = self.turns_left.saturating_sub(1);
    }
}

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
        let mut id = self.old.ends.first;
        while id != NONE {
            let flow = &self.flows[id as usize];
            least = least.min(-flow.deficit / quantum);
            id = flow.next;
        }
        id = self.old.ends.first;
        while id != NONE {
            let flow = &mut self.flows[id as usize];
            flow.deficit += least.max(0) * quantum;
            id = flow.next;
        }
    }

    /// A flow that is in no list, has had its quantum of this round and is still in debt: back
    /// among the old ones, or into the waiting room when it has many rounds to go.
    #[inline]
    pub(super) fn wait_out(&mut self, id: u32) {
        // It is one of them.
        if self.flows_in_turn() < WALKED {
            return self.append(id, Turn::Old);
        }
        let flow = &mut self.flows[id as usize];
        let load = self.policy.load(&flow.share);
        let quantum = i64::from(self.quantum);
        // The round that leaves a credit is walked.
        let rounds = (-flow.deficit).saturating_mul(load) / quantum;
        if rounds < FEW_ROUNDS {
            return self.append(id, Turn::Old);
        }
        let rounds = (rounds / 4).max(FEW_ROUNDS).unsigned_abs();
        let quanta = rounds * u64::from(self.quantum);
        flow.deficit += self.policy.quantum(&flow.share, quanta);
        flow.turn = Turn::InDebt;
        if self.debts.heap.is_empty() {
            self.debts.turns_left = self.old.len;
        }
        let back = self.debts.round + 1 + rounds;
        self.debts.heap.push(Reverse((back, id)));
    }

    /// Whether no flow in a list has a turn in this round any more.
    #[inline]
    pub(super) fn is_round_over(&self) -> bool {
        !self.debts.heap.is_empty() && self.debts.turns_left == 0 && self.new.ends.first == NONE
    }

    /// Begins the next round in which a flow has a turn.
    pub(super) fn next_round(&mut self) {
        self.debts.round += 1;
        let next = self.debts.heap.peek().map(|Reverse((back, _))| *back);
        if let Some(next) = next.filter(|_| self.old.len == 0) {
            self.debts.round = self.debts.round.max(next);
        }
        while let Some(&Reverse((back, id))) = self.debts.heap.peek() {
            if back > self.debts.round {
                break;
            }
            self.debts.heap.pop();
            self.append(id, Turn::Old);
        }
        self.debts.turns_left = self.old.len;
    }
}
