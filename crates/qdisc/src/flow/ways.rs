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

/// Buckets of a set.
pub(super) const WAYS: u32 = 8;

/// A bit for each way.
const ALL: u32 = (1 << WAYS) - 1;

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

/// What a look through a set has found: a way of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The flow is there.
    Hit(u32),
    /// It is free.
    Free(u32),
    /// All are busy; its own.
    Collision(u32),
}

/// The first of these ways, from `own` on.
#[inline]
pub(super) const fn first(own: u32, ways: u32) -> u32 {
    let twice = ways | ways << WAYS;
    (own + (twice >> own).trailing_zeros()) % WAYS
}

/// Looks through a set, from `own` on, for a way that has the tag, else for one that is free. A bit
/// says so of each way.
#[inline]
pub(super) const fn find(own: u32, hits: u32, busy: u32) -> Way {
    if hits != 0 {
        Way::Hit(first(own, hits))
    } else if busy != ALL {
        Way::Free(first(own, busy ^ ALL))
    } else {
        Way::Collision(own)
    }
}

/// A bit for each way of which it is true.
#[inline]
pub(super) fn bits(ways: &[u32; WAYS as usize], is: impl Fn(u32) -> bool) -> u32 {
    // Four and four, which the compiler compares at once.
    const HALF: usize = WAYS as usize / 2;
    let mut bits = [0; HALF];
    for (way, bits) in bits.iter_mut().enumerate() {
        let bit = |way: usize| if is(ways[way]) { 1 << way } else { 0_u32 };
        *bits = bit(way) | bit(way + HALF);
    }
    bits.iter().fold(0, |all, bits| all | bits)
}

/// Eight buckets: whom they are known to hold, and whether that flow is in the round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Set {
    /// Hash by which each bucket's flow is known.
    pub(super) tags: [u32; WAYS as usize],
    /// A bit for each bucket that has a flow.
    pub(super) known: u32,
    /// A bit for each one whose flow is in the round.
    pub(super) busy: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_looking() {
        assert_eq!(find(3, 0, 0), Way::Free(3));
        assert_eq!(find(3, 1 << 1, 0), Way::Hit(1));
        assert_eq!(find(3, 1 << 1 | 1 << 3, 0), Way::Hit(3));
        assert_eq!(find(3, 0, ALL ^ (1 << 1 | 1 << 6)), Way::Free(6));
        assert_eq!(find(7, 0, ALL ^ (1 | 1 << 6)), Way::Free(0));
        assert_eq!(find(7, 0, ALL), Way::Collision(7));
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
                let mut busy = [0_u8; 128];
                for _ in 0..flows {
                    let set = dice.below(128) as usize;
                    busy[set] = busy[set] << 1 | 1;
                }
                let own = dice.below(1024) as u32;
                let way = find(own % WAYS, 0, busy[(own / WAYS) as usize].into());
                collisions += u32::from(matches!(way, Way::Collision(_)));
            }
            let share = f64::from(collisions) / f64::from(rounds);
            assert!((share - wanted).abs() < slack, "{flows}: {share}");
        }
    }
}
