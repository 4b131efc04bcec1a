//! Rounds of more than a few flows of one host, which are not walked but reckoned.
//!
//! Between two packets of such a flow lie many rounds in which it only gets its share of the
//! quantum. The dice of a round settle one byte, so the least number of rounds that its debt takes
//! is known at once. The flow is left alone until then. When its turn comes in that round, it gets
//! what all these rounds gave: the dice of them are thrown at that time, and they are the same
//! independent dice. If it has no credit yet, it comes back after the rounds that the rest takes.
//! So every flow has credit in the rounds and in the order that a walk gives, with the same
//! probabilities, and a packet costs O(1) visits instead of O(flows).
//!
//! Source: this project's own; Linux `sch_cake.c` walks. Does not differ from Linux but in the
//! numbers that the dice show.
//!
//! A flow's place in the ring is its place in the list of the old flows. The list turns as in a
//! walk, so that its first flow has its right deficit; the deficits of the others are those of
//! their last turn here. So whatever changes the list, the flows' shares or the way of walking
//! dissolves the ring, which gives each flow what it has coming. The ring is made again some rounds
//! later, if nothing changes: until then, flows that come and go cost no more than a walk does.
//!
//! Memory: 1600 bytes, made when first used.

use super::FlowQueue;
use super::policy::{FlowPolicy, FlowTurns, MOST_TURNS};
use crate::{Aqm, Packet};
use alloc::boxed::Box;
use core::mem::take;

/// Up to so many flows, rounds are walked: that costs less.
pub(super) const FEW: u32 = 12;
/// Places of a ring: the bits of a word.
const PLACES: usize = 64;
/// Rounds that are known ahead: a power of two above [`MOST_TURNS`]. A flow that needs more turns
/// than that comes back in between.
const ROUNDS: usize = 128;
/// A ring is made after so many walks, mostly packets, with as many flows.
const PATIENCE: u32 = 16;
/// As many as that after rings that did not last.
const LONGEST_PATIENCE: u32 = 1024;
/// It has paid for being made and dissolved after so many rounds.
const PAYS: u32 = 16;
/// It pays if flows have so many rounds to wait on average. Where they wait for fewer, as those with
/// small packets do and those of hosts with few flows, walking costs less.
const WORTH: u64 = 5;

/// Shares of a quantum below this are reckoned in 32 bits.
const MOST_SHARE: u64 = 1 << 24;

/// When each flow of the list has its next turn in which it may have credit.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// The flow in each place.
    ids: [u32; PLACES],
    /// The round of its last turn, which is not in its deficit yet.
    since: [u32; PLACES],
    /// By round: the places whose flows may have credit by then.
    due: [u64; ROUNDS],
    /// None while there is no ring.
    len: u32,
    /// Place of the first flow of the list.
    head: u32,
    round: u32,
    /// What a turn gives, in 1/65536 byte.
    exact: u64,
    /// Whole bytes of that.
    least: i64,
    /// What it may give with the dice.
    most: u32,
    /// The same of all rounds that are known ahead; below 2³¹.
    farthest: i64,
}

/// How long the list has been the same: a ring pays only if it stays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    /// Old flows in the last walk.
    len: u32,
    /// Walks with so many flows until a ring is tried.
    left: u32,
    /// The same after a change.
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
    /// After a walk: whether the same flows, so many, have stood for so long that a ring may pay.
    #[inline]
    pub(super) const fn is_long(&mut self, len: u32) -> bool {
        if self.len != len {
            (self.len, self.left) = (len, self.patience);
        }
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// A ring has paid, or not: the next one is tried as soon as the first was, or later.
    fn learn(&mut self, has_paid: bool) {
        self.patience = if has_paid {
            PATIENCE
        } else {
            (2 * self.patience).min(LONGEST_PATIENCE)
        };
        self.left = self.patience;
    }
}

impl Ring {
    /// Apart, or every call that may make one would keep stack for it.
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

    /// Whether a list with this first flow and so many is still the one of the ring. Between two
    /// walks flows join at its end, and none leaves but the first.
    #[inline]
    const fn is_of(&self, first: u32, len: u32) -> bool {
        self.len == len && self.ids[self.head as usize % PLACES] == first
    }

    /// The flow in a place has its turn in this round: says when it comes back. Its `deficit` is
    /// not positive.
    #[inline]
    fn put_off(&mut self, place: u32, round: u32, deficit: i64) {
        // A turn that settles it whatever the dice show, or none of them.
        let mut rounds = 1;
        if deficit <= -self.least {
            // A flow of which the most that the dice give is too little is not looked at.
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

    /// The next place behind this one whose flow may have credit, and its round.
    #[inline]
    fn advance(&mut self, place: u32, mut round: u32) -> (u32, u32) {
        let behind = !1 << (place % PLACES as u32);
        let mut due = self.due[round as usize % ROUNDS] & behind;
        while due == 0 {
            round = round.wrapping_add(1);
            due = self.due[round as usize % ROUNDS];
        }
        // Places up to this one are due no more.
        self.due[round as usize % ROUNDS] = due & (due - 1);
        (due.trailing_zeros(), round)
    }
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Makes the ring of the old flows, if their turns are alike. The first one has credit.
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
        (ring.exact, ring.least) = (exact, (exact >> 16).cast_signed());
        ring.most = (exact >> 16) as u32 + 1;
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

    /// Gives turns to the flows of the ring until the first one has credit. If they or their shares
    /// are others now, there is no ring any more.
    #[inline(never)]
    pub(super) fn turn_ring(&mut self) -> bool {
        let turns = self.turn_as_before();
        if !turns {
            self.dissolve();
        }
        turns
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
        // Flows of other hosts may have asked for their share since.
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

    /// Ends the ring, if there is one: each flow gets what it has coming.
    #[inline(never)]
    pub(super) fn dissolve(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        self.has_ring = false;
        self.calm.learn(ring.round >= PAYS);
        for place in 0..take(&mut ring.len) {
            let at = place as usize % PLACES;
            // The flow at the head has got all, and may have left.
            if place == ring.head {
                continue;
            }
            // Those before it have had their turn in this round too.
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
