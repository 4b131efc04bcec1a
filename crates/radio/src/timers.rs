//! When each station has to do something: the earliest is at hand (a tournament).

use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::Time;

/// A time for each station; `Time::MAX` for none.
#[derive(Debug)]
pub(crate) struct Timers {
    /// By station, with as many more as make a power of two.
    times: Vec<Time>,
    /// The earlier of two halves' winners, from the root at 1 on; node k is above 2k and 2k + 1.
    winners: Vec<u32>,
}

impl Timers {
    /// So many, none of them set.
    pub(crate) fn new(stations: usize) -> Self {
        let size = stations.next_power_of_two().max(2);
        let mut this = Self {
            times: vec![Time::MAX; size],
            winners: vec![0; size],
        };
        for node in (1..size).rev() {
            this.winners[node] = this.below(2 * node);
        }
        this
    }

    /// Time of a station.
    #[inline]
    pub(crate) fn of(&self, station: u32) -> Time {
        self.times[station as usize]
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
        self.times[station as usize] = time;
        let mut node = (self.times.len() + station as usize) >> 1;
        while node > 0 {
            let (left, right) = (self.below(2 * node), self.below(2 * node + 1));
            let winner = if self.of(right) < self.of(left) {
                right
            } else {
                left
            };
            if winner == self.winners[node] && winner != station {
                return; // nothing changes above
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The winner at a node, or the station of a leaf.
    #[inline]
    fn below(&self, node: usize) -> u32 {
        match node.checked_sub(self.times.len()) {
            Some(station) => station as u32,
            None => self.winners[node],
        }
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
