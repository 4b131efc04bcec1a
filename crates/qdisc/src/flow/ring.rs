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
//! dissolves the ring, which gives each flow what it has coming. The ring is made again after
//! [`CALM_ROUNDS`] rounds without a change: until then, flows that come and go cost no more than
//! a walk does.
//!
//! Memory: 1600 bytes, made when first used.

use super::policy::{FlowPolicy, FlowTurns};
use super::{Flow, FlowQueue};
use crate::{Aqm, Packet};
use alloc::boxed::Box;
use core::mem::take;

/// Up to so many flows, rounds are walked: that costs less.
pub(super) const FEW: u32 = 12;
/// Places of a ring: the bits of a word.
const PLACES: usize = 64;
/// Rounds that are known ahead, a power of two. A flow that needs more comes back in between.
const ROUNDS: usize = 128;
/// A ring is made after so many rounds of which each was like the one before.
const CALM_ROUNDS: u32 = 4;
/// A ring costs as much as so many visits for each packet. Where packets take fewer, as small ones
/// do and those of hosts with few flows, flows are walked.
const WORTH: u32 = 8;

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
}

/// What a walk has left behind, by which the next one sees that nothing has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calm {
    first: u32,
    len: u32,
    exact: u64,
    /// Visits since the last change.
    visits: u32,
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
        })
    }

    /// Whether a list with this first flow and so many is still the one of the ring. Between two
    /// walks flows join at its end, and none leaves but the first.
    const fn is_of(&self, first: u32, len: u32) -> bool {
        self.len == len && self.ids[self.head as usize % PLACES] == first
    }

    /// The flow in a place has its turn in this round: says when it comes back. Its `deficit` is
    /// not positive.
    #[inline]
    fn put_off(&mut self, place: u32, deficit: i64) {
        // What the dice give at most. A flow of which this is too little is not looked at.
        let most = (self.exact >> 16) + 1;
        let missing = deficit.unsigned_abs() + 1;
        let farthest = ROUNDS as u32 - 1;
        let rounds = if missing < most * u64::from(farthest) {
            missing.div_ceil(most) as u32
        } else {
            farthest
        };
        self.since[place as usize % PLACES] = self.round;
        let round = self.round.wrapping_add(rounds);
        self.due[round as usize % ROUNDS] |= 1 << (place % PLACES as u32);
    }

    /// Goes on to the next flow that may have credit. Returns its place and the turns that it has
    /// had.
    #[inline]
    fn advance(&mut self) -> (u32, u32) {
        // Places behind the head come in this round.
        let mut due = self.due[self.round as usize % ROUNDS] & (!1 << (self.head % PLACES as u32));
        while due == 0 {
            self.round = self.round.wrapping_add(1);
            due = self.due[self.round as usize % ROUNDS];
        }
        let place = due.trailing_zeros();
        self.due[self.round as usize % ROUNDS] &= !(1 << place);
        self.head = place;
        (
            place,
            self.round.wrapping_sub(self.since[place as usize % PLACES]),
        )
    }

    /// The last flow of the list.
    #[inline]
    fn last(&self) -> u32 {
        let place = self.head.checked_sub(1).unwrap_or(self.len - 1);
        self.ids[place as usize % PLACES]
    }
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Walks until a flow has credit, or does what that comes to.
    #[inline(never)]
    pub(super) fn walk_many(&mut self) {
        let (first, len) = (self.old.first, self.old.len);
        if self.has_ring() {
            if self.is_in_force(first, len) {
                return self.turn_ring();
            }
            self.dissolve();
        }
        let visits = self.visit::<true>();
        if visits < WORTH {
            return;
        }
        let exact = self.policy.exact(u64::from(self.quantum));
        let calm = &mut self.calm;
        if (calm.first, calm.len, calm.exact) != (first, len, exact) {
            calm.visits = 0;
        }
        (calm.first, calm.len, calm.exact) = (self.old.first, len, exact);
        calm.visits = calm.visits.saturating_add(visits);
        if len > FEW && calm.visits / CALM_ROUNDS >= len {
            self.calm = Calm::default();
            self.form_ring(exact);
        }
    }

    #[inline]
    pub(super) const fn has_ring(&self) -> bool {
        self.walked_up_to < FEW
    }

    /// Whether the ring is the one of the flows that are old now, with the shares of now.
    #[inline]
    fn is_in_force(&mut self, first: u32, len: u32) -> bool {
        let Some(ring) = self.ring.as_ref().filter(|ring| ring.is_of(first, len)) else {
            return false;
        };
        let Some(flow) = self.flows.get(first as usize) else {
            return false;
        };
        // Flows of other hosts may have asked for their share.
        self.policy.share(&flow.share);
        self.policy.exact(u64::from(self.quantum)) == ring.exact
    }

    /// Makes the ring of the old flows, if their turns are alike. The first one has credit.
    #[inline(never)]
    fn form_ring(&mut self, exact: u64) {
        let turns = self.policy.turns(u64::from(self.quantum));
        let mut id = self.old.first;
        for _ in 0..self.old.len {
            let flow = &self.flows[id as usize];
            if !turns.fits(&flow.share) {
                return;
            }
            id = flow.next;
        }
        let ring = self.ring.get_or_insert_with(Ring::boxed);
        (ring.due, ring.exact) = ([0; ROUNDS], exact);
        (ring.len, ring.head, ring.round) = (self.old.len, 0, 0);
        self.walked_up_to = 0;
        for place in 0..self.old.len {
            ring.ids[place as usize % PLACES] = id;
            let flow = &self.flows[id as usize];
            if place > 0 && flow.deficit > 0 {
                ring.since[place as usize % PLACES] = 0;
                ring.due[0] |= 1 << place;
            } else if place > 0 {
                ring.put_off(place, flow.deficit);
            }
            id = flow.next;
        }
    }

    /// Gives turns to the flows of the ring until the first one has credit.
    #[inline]
    fn turn_ring(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        let Some(Flow { deficit, .. }) = self.flows.get(self.old.first as usize) else {
            return;
        };
        let mut deficit = *deficit;
        while deficit <= 0 {
            ring.put_off(ring.head, deficit);
            let (place, turns) = ring.advance();
            let Some(flow) = self
                .flows
                .get_mut(ring.ids[place as usize % PLACES] as usize)
            else {
                return;
            };
            flow.deficit += self.policy.gain(ring.exact, turns);
            deficit = flow.deficit;
        }
        self.old.first = ring.ids[ring.head as usize % PLACES];
        self.old.last = ring.last();
    }

    /// Ends the ring, if there is one: each flow gets what it has coming.
    #[inline(never)]
    pub(super) fn dissolve(&mut self) {
        self.walked_up_to = FEW;
        let Some(ring) = &mut self.ring else { return };
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
