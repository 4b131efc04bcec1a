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

use super::policy::{FlowPolicy, Tag};
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

/// Looks through the set of `own`. `look` tells of a bucket whether it has the tag and whether
/// it is free.
pub(super) fn find(own: u32, look: impl Fn(u32) -> (bool, bool)) -> Way {
    let set = own - own % WAYS;
    let way = |i: u32| set + (own + i) % WAYS;
    let mut free = None;
    for i in 0..WAYS {
        let (is_hit, is_free) = look(way(i));
        if is_hit {
            return Way::Hit(way(i));
        }
        if is_free && free.is_none() {
            free = Some(way(i));
        }
    }
    free.map_or(Way::Collision(own), Way::Free)
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// The flow of a packet with this hash.
    pub(super) fn associate(&mut self, hash: u32, now: Time) -> u32 {
        if self.table.is_empty() {
            let whole_sets = self.buckets.next_multiple_of(WAYS);
            self.table.resize(whole_sets as usize, NONE);
        }
        let own = self.bucket(hash);
        let direct = self.table[own as usize];
        if direct != NONE {
            let flow = &self.flows[direct as usize];
            if flow.share.tag() == hash && flow.turn != Turn::Idle {
                return direct;
            }
        }
        let way = find(own, |bucket| match self.table[bucket as usize] {
            NONE => (false, true),
            id => {
                let flow = &self.flows[id as usize];
                (flow.share.tag() == hash, flow.turn == Turn::Idle)
            }
        });
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
        let flow = &mut self.flows[id as usize];
        flow.share.set_tag(hash);
        if matches!(way, Way::Collision(_)) {
            self.policy.moved(&mut flow.share);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_looking() {
        assert_eq!(find(3, |_| (false, true)), Way::Free(3));
        assert_eq!(find(11, |b| (b == 9, true)), Way::Hit(9));
        assert_eq!(find(11, |b| (false, b == 9 || b == 14)), Way::Free(14));
        assert_eq!(find(15, |b| (false, b == 8 || b == 14)), Way::Free(8));
        assert_eq!(find(15, |_| (false, false)), Way::Collision(15));
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
                let way = find(own, |bucket| (false, bucket % WAYS >= busy));
                collisions += u32::from(matches!(way, Way::Collision(_)));
            }
            let share = f64::from(collisions) / f64::from(rounds);
            assert!((share - wanted).abs() < slack, "{flows}: {share}");
        }
    }
}
