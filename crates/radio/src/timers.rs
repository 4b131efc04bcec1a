//! When each station has to do something: the earliest is at hand.
//!
//! Stations lie in groups, whose earliest are found by looking at each, which takes no branch; a
//! tournament is held between the groups.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::Time;

/// Stations of a group: two comparisons, and one between their winners.
const GROUP: usize = 4;

/// A time for each station; `Time::MAX` for none.
#[derive(Debug)]
pub(crate) struct Timers {
    /// By station, with as many more as fill their groups, which are a power of two.
    times: Vec<[Time; GROUP]>,
    /// The station with the earliest time of all under a node, the lowest of equals: the root is at
    /// 1, node k is above 2k and 2k + 1, and the second half are the groups.
    winners: Vec<u32>,
}

impl Timers {
    /// So many, none of them set.
    pub(crate) fn new(stations: usize) -> Self {
        let groups = stations.div_ceil(GROUP).next_power_of_two();
        let mut this = Self {
            times: vec![[Time::MAX; GROUP]; groups],
            winners: vec![0; 2 * groups],
        };
        for (group, winner) in this.winners[groups..].iter_mut().enumerate() {
            *winner = (group * GROUP) as u32;
        }
        for node in (1..groups).rev() {
            this.winners[node] = this.winners[2 * node];
        }
        this
    }

    /// Time of a station.
    #[inline]
    pub(crate) fn of(&self, station: u32) -> Time {
        self.times[station as usize / GROUP][station as usize % GROUP]
    }

    /// The station with the earliest time, the lowest one of equals.
    #[inline]
    pub(crate) fn first(&self) -> (u32, Time) {
        let station = self.winners[1];
        (station, self.of(station))
    }

    /// Sets the time of a station.
    #[inline]
    pub(crate) fn set(&mut self, station: u32, time: Time) {
        let group = station as usize / GROUP;
        let times = &mut self.times[group];
        let own = &mut times[station as usize % GROUP];
        if *own == time {
            return;
        }
        *own = time;
        let winner = (group * GROUP) as u32 + earliest(times);
        let node = self.times.len() + group;
        if winner == self.winners[node] && winner != station {
            return; // nothing changes above
        }
        self.winners[node] = winner;
        if node > 1 {
            self.play(node / 2);
        }
    }

    /// Who wins at a node and at those above, now that one below has changed.
    fn play(&mut self, mut node: usize) {
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            self.winners[node] = if self.of(right) < self.of(left) {
                right
            } else {
                left
            };
            node /= 2;
        }
    }
}

/// Place of the earliest time, the first one of equals.
#[inline]
fn earliest(&[a, b, c, d]: &[Time; GROUP]) -> u32 {
    let (low, low_time) = if b < a { (1, b) } else { (0, a) };
    let (high, high_time) = if d < c { (3, d) } else { (2, c) };
    if high_time < low_time { high } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a search of all.
        #[test]
        fn the_first_is_the_earliest(
            stations in 1..20_usize,
            sets in prop::collection::vec((any::<prop::sample::Index>(), 0..30_u64), 0..200),
        ) {
            let mut timers = Timers::new(stations);
            let mut model = vec![Time::MAX; stations];
            prop_assert_eq!(timers.first().1, Time::MAX);
            for (station, at) in sets {
                let station = station.index(stations);
                let time = if at == 0 { Time::MAX } else { Time::from_nanos(at) };
                model[station] = time;
                timers.set(station as u32, time);
                let earliest = *model.iter().min().expect("there are some");
                let (first, at) = timers.first();
                prop_assert_eq!(at, earliest);
                if earliest < Time::MAX {
                    let lowest = model.iter().position(|time| *time == earliest);
                    prop_assert_eq!(Some(first as usize), lowest);
                }
            }
        }
    }
}
