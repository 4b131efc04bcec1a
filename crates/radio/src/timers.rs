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
    /// The winner of all and its time: asked for so soon after it is set that to look it up would
    /// mean to wait.
    first: (u32, Time),
}

impl Timers {
    /// So many, none of them set.
    pub(crate) fn new(stations: usize) -> Self {
        let groups = stations.div_ceil(GROUP).next_power_of_two();
        let mut this = Self {
            times: vec![[Time::MAX; GROUP]; groups],
            winners: vec![0; 2 * groups],
            first: (0, Time::MAX),
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
    pub(crate) const fn first(&self) -> (u32, Time) {
        self.first
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
        let (place, earliest) = earliest(times);
        let winner = (group * GROUP) as u32 + place;
        let node = self.times.len() + group;
        if winner == self.winners[node] && winner != station {
            return; // nothing changes above
        }
        self.winners[node] = winner;
        self.first = self.play(node, (winner, earliest));
    }

    /// Who wins at the nodes above one that has a new winner. Returns the winner of all.
    #[inline]
    fn play(&mut self, mut node: usize, (mut winner, mut earliest): (u32, Time)) -> (u32, Time) {
        while node > 1 {
            let other = self.winners[node ^ 1];
            let time = self.of(other);
            // Of equals the left one. Without a branch, which nobody could foretell.
            let limit = earliest.as_nanos().saturating_add(node as u64 % 2);
            let loses = time.as_nanos() < limit;
            winner = if loses { other } else { winner };
            earliest = if loses { time } else { earliest };
            node /= 2;
            self.winners[node] = winner;
        }
        (winner, earliest)
    }
}

/// Place of the earliest time, the first one of equals, and the time.
#[inline]
fn earliest(&[a, b, c, d]: &[Time; GROUP]) -> (u32, Time) {
    let (low, low_time) = if b < a { (1, b) } else { (0, a) };
    let (high, high_time) = if d < c { (3, d) } else { (2, c) };
    if high_time < low_time {
        (high, high_time)
    } else {
        (low, low_time)
    }
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
