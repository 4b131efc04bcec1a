//! How a flow queue finds the flow of a packet in the ways of its set (see `ways`).

use super::FlowQueue;
use super::lists::NONE;
use super::policy::FlowPolicy;
use super::ways::{Set, WAYS, Way, bits, find, first};
use crate::{Aqm, Packet};
use sojourn_units::Time;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// The flow of a packet with this hash.
    #[inline]
    pub(super) fn associate(&mut self, hash: u32, now: Time) -> u32 {
        let own = self.bucket(hash);
        if let Some(set) = self.sets.get((own / WAYS) as usize) {
            // Mostly the flow is in its own bucket.
            if set.tags[(own % WAYS) as usize] == hash && set.known >> (own % WAYS) & 1 == 1 {
                return self.table[own as usize];
            }
            let hits = bits(&set.tags, |tag| tag == hash) & set.known;
            if hits != 0 {
                let way = first(own % WAYS, hits);
                self.ways.way_indirect_hits += u64::from(way != own % WAYS);
                return self.table[(own - own % WAYS + way) as usize];
            }
        }
        self.settle(own, hash, now)
    }

    /// The flow of a packet that no bucket is known for.
    #[inline(never)]
    fn settle(&mut self, own: u32, hash: u32, now: Time) -> u32 {
        if self.sets.is_empty() {
            let sets = self.buckets.div_ceil(WAYS) as usize;
            self.table.resize(sets * WAYS as usize, NONE);
            self.sets.resize(sets, Set::default());
        }
        let set = &mut self.sets[(own / WAYS) as usize];
        let way = find(own % WAYS, 0, set.busy);
        match way {
            Way::Free(_) => self.ways.way_misses += 1,
            _ => self.ways.way_collisions += 1,
        }
        let (Way::Hit(to) | Way::Free(to) | Way::Collision(to)) = way;
        set.tags[to as usize] = hash;
        set.known |= 1 << to;
        let bucket = own - own % WAYS + to;
        let id = match self.table[bucket as usize] {
            NONE => self.open(bucket, now),
            id => id,
        };
        if matches!(way, Way::Collision(_)) {
            // Its hosts are other ones from now on.
            self.dissolve();
            self.policy.moved(&mut self.flows[id as usize].share);
        }
        id
    }

    /// The flow of a bucket joins the round, or leaves it.
    #[inline]
    pub(super) fn set_busy(&mut self, bucket: u32, is_busy: bool) {
        if self.policy.is_associative()
            && let Some(set) = self.sets.get_mut((bucket / WAYS) as usize)
        {
            let bit = 1 << (bucket % WAYS);
            set.busy = if is_busy {
                set.busy | bit
            } else {
                set.busy & !bit
            };
        }
    }

    /// A bucket has no flow any more.
    pub(super) fn forget(&mut self, bucket: u32) {
        self.table[bucket as usize] = NONE;
        if let Some(set) = self.sets.get_mut((bucket / WAYS) as usize) {
            set.known &= !(1 << (bucket % WAYS));
        }
    }
}
