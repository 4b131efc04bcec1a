//! Set-associative hashing: a flow may stand in any of eight buckets.
//!
//! Source: "Piece of CAKE" section III-B; compared with Linux `sch_cake.c`.
//!
//! The order of looking: the flow's own bucket, then the other ways of its set for its tag, then
//! an empty way, own bucket first. Only when all ways are busy with other flows does it share its
//! own bucket.
//!
//! As in Linux, flows that share a bucket may be reordered when another way becomes free: a
//! bucket has the tag of one flow only.

use super::policy::FlowPolicy;
use super::{FlowQueue, NONE, Turn};
use crate::{Aqm, Packet};
use sojourn_units::Time;

/// Buckets of a set.
pub(super) const WAYS: u32 = 8;

/// What set-associative hashing counts, with the names of `tc -s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WayCounters {
    /// Packets whose flow stands in another way than its own.
    pub way_indirect_hits: u64,
    /// Flows that found an empty way.
    pub way_misses: u64,
    /// Flows that found none, and share their own.
    pub way_collisions: u64,
}

/// What a look through a set has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The flow is there.
    Hit(u32),
    /// It is free.
    Free(u32),
    /// All are busy; its own.
    Collision(u32),
}

/// Looks through the set of `own` for the bucket that has the tag, else for one that is free.
#[inline]
pub(super) fn find(own: u32, is_hit: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> Way {
    let set = own - own % WAYS;
    let mut ways = (0..WAYS).map(|i| set + (own + i) % WAYS);
    if let Some(way) = ways.clone().find(|&way| is_hit(way)) {
        return Way::Hit(way);
    }
    let free = ways.find(|&way| is_free(way));
    free.map_or(Way::Collision(own), Way::Free)
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// The flow of a packet with this hash.
    pub(super) fn associate(&mut self, hash: u32, now: Time) -> u32 {
        if self.table.is_empty() {
            let whole_sets = self.buckets.next_multiple_of(WAYS) as usize;
            self.table.resize(whole_sets, NONE);
            self.tags.resize(whole_sets, 0);
        }
        let own = self.bucket(hash);
        let is_hit =
            |bucket: u32| self.tags[bucket as usize] == hash && self.table[bucket as usize] != NONE;
        let is_free = |bucket: u32| {
            let flow = self.flows.get(self.table[bucket as usize] as usize);
            flow.is_none_or(|flow| flow.turn == Turn::Idle)
        };
        if is_hit(own) && !is_free(own) {
            return self.table[own as usize];
        }
        let way = find(own, is_hit, is_free);
        match way {
            Way::Hit(bucket) => self.ways.way_indirect_hits += u64::from(bucket != own),
            Way::Free(_) => self.ways.way_misses += 1,
            Way::Collision(_) => self.ways.way_collisions += 1,
        }
        let (Way::Hit(bucket) | Way::Free(bucket) | Way::Collision(bucket)) = way;
        let id = match self.table[bucket as usize] {
            NONE => self.open(bucket, now),
            id => id,
        };
        self.tags[bucket as usize] = hash;
        if matches!(way, Way::Collision(_)) {
            self.policy.moved(&mut self.flows[id as usize].share);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_looking() {
        assert_eq!(find(3, |_| false, |_| true), Way::Free(3));
        assert_eq!(find(11, |b| b == 9, |_| true), Way::Hit(9));
        assert_eq!(find(11, |_| false, |b| b == 9 || b == 14), Way::Free(14));
        assert_eq!(find(15, |_| false, |b| b == 8 || b == 14), Way::Free(8));
        assert_eq!(find(15, |_| false, |_| false), Way::Collision(15));
    }

    /// C1 of the study: a flow collides when its set of eight holds eight flows already. With
    /// n flows thrown at 128 sets, a set holds a binomial number of them; a set with more than
    /// eight has collisions. Python: `sum(comb(n,k)*(1/128)**k*(127/128)**(n-k) for k in
    /// range(8, n+1))` is 0.00103 for n = 256 and 0.05043 for n = 512.
    #[test]
    fn collisions_follow_the_binomial() {
        let mut dice = sojourn_random::Stream::named(3, "ways");
        for (flows, wanted, slack) in [(256, 0.001_03, 0.000_8), (512, 0.050_43, 0.005)] {
            let (mut collisions, rounds) = (0_u32, 20_000);
            for _ in 0..rounds {
                let mut held = [0_u8; 128];
                for _ in 0..flows {
                    let set = dice.below(128) as usize;
                    held[set] = (held[set] + 1).min(WAYS as u8);
                }
                let own = dice.below(1024) as u32;
                let busy = u32::from(held[(own / WAYS) as usize]);
                let way = find(own, |_| false, |bucket| bucket % WAYS >= busy);
                collisions += u32::from(matches!(way, Way::Collision(_)));
            }
            let share = f64::from(collisions) / f64::from(rounds);
            assert!((share - wanted).abs() < slack, "{flows}: {share}");
        }
    }
}
