//! Rounds of more than twelve flows of one host: the ring visits a flow only when it may have
//! credit.
//!
//! Linux visits every flow in every round. In most visits the flow only gets its share of the
//! quantum, rounded to whole bytes by 16 random bits. With 32 flows a packet takes 32 visits.
//!
//! A visit gives a flow one of two numbers of bytes. So its debt tells the least number of rounds
//! until it can have credit. The ring leaves the flow alone for these rounds. Then it throws the
//! dice of all of them, each round with its own 16 bits, and adds what they give. If the flow still
//! has no credit, it comes back when the rest of its debt can be paid. No decision depends on dice
//! that are not thrown yet. So flows get credit in the same rounds and in the same order as in a
//! walk, with exactly the same probabilities. A packet takes two visits, with any number of flows.
//!
//! Source: this project's own mechanism for what Linux's `cake_dequeue` does in a loop.
//! Differs from Linux: the random numbers are other ones; their distribution is the same.
//!
//! A flow's place in the ring is its place in the list of old flows. That list turns as in a walk.
//! The deficit of its first flow is always right. The deficits of the others lack what they got
//! since their last visit. Before anything else reads them, the ring is dissolved: each flow gets
//! what it lacks. This happens when a flow joins or leaves the list, when the host's load or the
//! quantum changes, when a flow's hosts change, and when a flow has to wait in the wheel (`debts`).
//!
//! Making and dissolving a ring costs as much as some rounds. So a ring is made only after
//! [`PATIENCE`] walks with the same number of flows, and after a longer time where rings did not
//! last. Flows that come and go cost about 1 % more than without rings.
//!
//! Memory: 1600 bytes, made when first used.
//!
//! Not here: flows of different hosts in one list, which are walked.

use super::FlowQueue;
use super::policy::{FlowPolicy, FlowTurns, MOST_TURNS};
use crate::{Aqm, Packet};
use alloc::boxed::Box;
use core::mem::take;

/// Up to so many flows are walked: that costs less than a ring.
pub(super) const FEW: u32 = 12;
/// Places of a ring: the bits of a word.
const PLACES: usize = 64;
/// Rounds that are planned ahead: a power of two above [`MOST_TURNS`]. A flow that needs more turns
/// than that is visited in between.
const ROUNDS: usize = 128;
/// A ring is made after so many walks with the same number of flows. A packet takes one walk.
const PATIENCE: u32 = 64;
/// Most walks until the next ring, after rings that did not last.
const LONGEST_PATIENCE: u32 = 1024;
/// A ring that lasted for so many rounds has saved more than it cost.
const PAYS: u32 = 16;
/// A ring saves time if flows are in debt for so many rounds on average. Flows with small packets
/// and flows of hosts with few flows are in debt for fewer, and walking them costs less.
const WORTH: u64 = 5;
/// Shares of a quantum from this on, in bytes, do not fit the ring's arithmetic.
const MOST_SHARE: u64 = 1 << 24;

/// The old flows by the round of their next visit.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Flow in each place.
    ids: [u32; PLACES],
    /// Round of the flow's last visit. What that visit and the later rounds give is not in its
    /// deficit yet.
    since: [u32; PLACES],
    /// Places to visit in each round, a bit each.
    due: [u64; ROUNDS],
    /// Number of flows; zero while there is no ring.
    len: u32,
    /// Place of the first flow of the list.
    head: u32,
    round: u32,
    /// Share of the quantum that a round gives, in 1/65536 byte.
    exact: u64,
    /// Least bytes of a round.
    least: i64,
    /// Most bytes of a round.
    most: u32,
    /// Most bytes of [`MOST_TURNS`] rounds; below 2³¹.
    farthest: i64,
}

/// How long the number of old flows has stayed the same: a ring pays only if it lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    /// Old flows in the last walk.
    len: u32,
    /// Walks with so many flows until a ring is made.
    left: u32,
    /// Value of `left` after a change.
    patience: u32,
}

impl Default for Calm {
    fn default() -> Self {
        Self {
            len: 0,
            left: 0,
            patience: PATIENCE,
        }
    }
}

impl Calm {
    /// Whether it is time for a ring, after a walk of so many flows.
    #[inline]
    pub(super) const fn is_long(&mut self, len: u32) -> bool {
        if self.len != len {
            (self.len, self.left) = (len, self.patience);
        }
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// After a ring that did not pay the next one comes later.
    fn learn(&mut self, has_paid: bool) {
        self.patience = if has_paid {
            PATIENCE
        } else {
            self.patience.saturating_mul(2).min(LONGEST_PATIENCE)
        };
        self.left = self.patience;
    }
}

impl Ring {
    /// A function of its own, because its callers would else reserve stack for a ring in each call.
    #[cold]
    #[inline(never)]
    fn boxed() -> Box<Self> {
        Box::new(Self {
            ids: [0; PLACES],
            since: [0; PLACES],
            due: [0; ROUNDS],
            len: 0,
            head: 0,
            round: 0,
            exact: 0,
            least: 0,
            most: 1,
            farthest: 0,
        })
    }

    /// Whether a list with this first flow and this length is still that of the ring. Between two
    /// walks, flows join at the end of the list, and only the first one leaves.
    #[inline]
    const fn is_of(&self, first: u32, len: u32) -> bool {
        self.len == len && self.ids[self.head as usize % PLACES] == first
    }

    /// The flow in a place, whose `deficit` is not positive, is visited in `round`: plans its next
    /// visit.
    #[inline]
    fn put_off(&mut self, place: u32, round: u32, deficit: i64) {
        // One round gives it credit whatever the dice show, unless it owes more.
        let mut rounds = 1;
        if deficit <= -self.least {
            // In fewer rounds it has no credit even with the best dice.
            rounds = MOST_TURNS;
            if deficit > -self.farthest {
                let missing = deficit.unsigned_abs() as u32 + 1;
                rounds = missing.div_ceil(self.most);
            }
        }
        self.since[place as usize % PLACES] = round;
        let then = round.wrapping_add(rounds);
        self.due[then as usize % ROUNDS] |= 1 << (place % PLACES as u32);
    }

    /// The next place to visit, which is behind this one or in a later round, and its round.
    #[inline]
    fn advance(&mut self, place: u32, mut round: u32) -> (u32, u32) {
        let behind = !1 << (place % PLACES as u32);
        let mut due = self.due[round as usize % ROUNDS] & behind;
        while due == 0 {
            round = round.wrapping_add(1);
            due = self.due[round as usize % ROUNDS];
        }
        // The lowest bit is this visit's.
        self.due[round as usize % ROUNDS] = due & (due - 1);
        (due.trailing_zeros(), round)
    }
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Makes a ring of the old flows, if all have the same hosts and debts of several rounds. The
    /// first one has credit.
    #[inline(never)]
    pub(super) fn form_ring(&mut self) {
        let quantum = u64::from(self.quantum);
        let (turns, exact) = (self.policy.turns(quantum), self.policy.exact(quantum));
        let mut id = self.old.first;
        let mut debts = 0;
        for _ in 0..self.old.len {
            let flow = &self.flows[id as usize];
            if !turns.fits(&flow.share) {
                return self.calm.learn(false);
            }
            debts += flow.deficit.min(0).unsigned_abs();
            id = flow.next;
        }
        let least = exact >> 16;
        if debts < u64::from(self.old.len) * WORTH * least || least >= MOST_SHARE {
            return self.calm.learn(false);
        }
        let ring = self.ring.get_or_insert_with(Ring::boxed);
        ring.due = [0; ROUNDS];
        (ring.exact, ring.least) = (exact, least.cast_signed());
        ring.most = least as u32 + 1;
        ring.farthest = i64::from(ring.most) * i64::from(MOST_TURNS);
        (ring.len, ring.head, ring.round) = (self.old.len, 0, 0);
        self.has_ring = true;
        for place in 0..self.old.len {
            ring.ids[place as usize % PLACES] = id;
            let flow = &self.flows[id as usize];
            if place > 0 && flow.deficit > 0 {
                ring.since[place as usize % PLACES] = 0;
                ring.due[0] |= 1 << place;
            } else if place > 0 {
                ring.put_off(place, 0, flow.deficit);
            }
            id = flow.next;
        }
    }

    /// Gives turns to the flows of the ring until the first one has credit. If the flows or their
    /// shares have changed, dissolves the ring instead and returns false.
    #[inline(never)]
    pub(super) fn turn_ring(&mut self) -> bool {
        let has_turned = self.turn_as_before();
        if !has_turned {
            self.dissolve();
        }
        has_turned
    }

    #[inline]
    fn turn_as_before(&mut self) -> bool {
        let flows = &mut self.flows[..];
        let old = &mut self.old;
        let Some(ring) = self
            .ring
            .as_deref_mut()
            .filter(|ring| ring.is_of(old.first, old.len))
        else {
            return false;
        };
        let Some(mut flow) = flows.get_mut(old.first as usize) else {
            return false;
        };
        // The policy keeps the share that was asked for last, which may be that of other hosts.
        self.policy.share(&flow.share);
        if self.policy.exact(u64::from(self.quantum)) != ring.exact {
            return false;
        }
        let (mut place, mut round) = (ring.head, ring.round);
        while flow.deficit <= 0 {
            ring.put_off(place, round, flow.deficit);
            (place, round) = ring.advance(place, round);
            old.first = ring.ids[place as usize % PLACES];
            let Some(next) = flows.get_mut(old.first as usize) else {
                break;
            };
            flow = next;
            let turns = round.wrapping_sub(ring.since[place as usize % PLACES]);
            flow.deficit += self.policy.gain(ring.exact, turns);
        }
        (ring.head, ring.round) = (place, round);
        let before = place.checked_sub(1).unwrap_or(ring.len - 1);
        old.last = ring.ids[before as usize % PLACES];
        true
    }

    /// Ends the ring, if there is one: each flow gets what its deficit lacks.
    #[inline(never)]
    pub(super) fn dissolve(&mut self) {
        let Some(ring) = self.ring.as_mut().filter(|_| self.has_ring) else {
            return;
        };
        self.has_ring = false;
        self.calm.learn(ring.round >= PAYS);
        for place in 0..take(&mut ring.len) {
            let at = place as usize % PLACES;
            // The deficit of the flow at the head is right, and the flow may have left.
            if place == ring.head {
                continue;
            }
            // Flows before the head had a turn in this round too.
            let had = u32::from(place < ring.head);
            let turns = ring.round.wrapping_sub(ring.since[at]).wrapping_add(had);
            if let Some(flow) = self.flows.get_mut(ring.ids[at] as usize)
                && turns > 0
            {
                flow.deficit += self.policy.gain(ring.exact, turns);
            }
        }
    }
}

#[cfg(test)]
mod tests;
