//! When each station has to do something: the earliest is at hand.
//!
//! A tree of fours: the times of four stations are side by side, above them the earliest of each
//! four with its station, and so on. An event moves the times of several neighbours, one after the
//! other, which lie in few groups, so that what is above a group is brought up to date when another
//! one is changed or the earliest of all is asked for: once for all that move in it. Most changes
//! are not seen a level or two higher, where another station comes first before and after them.
//! What is above stays as it is then, so that a change costs the same with any number of stations.

use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::Time;

/// Times side by side: two comparisons, and one between their winners.
const GROUP: usize = 4;
/// In the place of a group.
const NONE: u32 = u32::MAX;

/// The earliest of some groups, and whose they are: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Node {
    times: [Time; GROUP],
    stations: [u32; GROUP],
}

/// A time for each station; `Time::MAX` for none.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// By station.
    groups: Vec<[Time; GROUP]>,
    /// Above them level by level, up to one node.
    levels: Vec<Vec<Node>>,
    /// The group that has changed since what is above it was brought up to date, or [`NONE`].
    stale: u32,
    /// The station with the earliest time of all, the lowest of equals, but for that group.
    first: (u32, Time),
}

impl Timers {
    /// So many, none of them set.
    pub(crate) fn new(stations: usize) -> Self {
        let groups = stations.div_ceil(GROUP).max(1);
        let (mut levels, mut length) = (Vec::new(), groups);
        while length > 1 {
            length = length.div_ceil(GROUP);
            let node = Node {
                times: [Time::MAX; GROUP],
                stations: [0; GROUP],
            };
            levels.push(vec![node; length]);
        }
        Self {
            groups: vec![[Time::MAX; GROUP]; groups],
            levels,
            stale: NONE,
            first: (0, Time::MAX),
        }
    }

    /// Sets the time of a station.
    #[inline]
    pub(crate) fn set(&mut self, station: u32, time: Time) {
        let group = station / GROUP as u32;
        if group != self.stale {
            if self.stale != NONE {
                self.catch_up();
            }
            self.stale = group;
        }
        self.groups[group as usize][station as usize % GROUP] = time;
    }

    /// The station with the earliest time, the lowest one of equals.
    #[inline]
    pub(crate) fn first(&mut self) -> (u32, Time) {
        if self.stale != NONE {
            self.first = self.winner();
            self.stale = NONE;
        }
        self.first
    }

    /// The stations that come first of each fourth of all, among which most often the next ones
    /// are. Of more than four stations.
    pub(crate) fn soon(&self) -> [u32; GROUP] {
        let root = self.levels.last().and_then(|level| level.first());
        root.map_or([0; GROUP], |root| root.stations)
    }

    /// Apart from [`Timers::set`], which is in many places.
    #[inline(never)]
    fn catch_up(&mut self) {
        self.first = self.winner();
    }

    /// Brings what is above the group that has changed up to date. Returns the winner of all.
    #[inline]
    fn winner(&mut self) -> (u32, Time) {
        let mut place = self.stale as usize;
        let (own, mut time) = earliest(&self.groups[place]);
        let mut station = (place * GROUP + own) as u32;
        for (height, level) in self.levels.iter_mut().enumerate() {
            let (node, slot) = (&mut level[place / GROUP], place % GROUP);
            // Not asked of few stations, where it is seldom so.
            if height > 0 && (node.times[slot], node.stations[slot]) == (time, station) {
                return self.first;
            }
            (node.times[slot], node.stations[slot]) = (time, station);
            let (own, earliest) = earliest(&node.times);
            (station, time) = (node.stations[own], earliest);
            place /= GROUP;
        }
        (station, time)
    }
}

/// Place of the earliest time, the first one of equals, and the time.
#[inline]
fn earliest(&[a, b, c, d]: &[Time; GROUP]) -> (usize, Time) {
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
            stations in 1..300_usize,
            sets in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..30_u64, any::<bool>()),
                0..300,
            ),
        ) {
            let mut timers = Timers::new(stations);
            let mut model = vec![Time::MAX; stations];
            prop_assert_eq!(timers.first().1, Time::MAX);
            for (station, at, looks) in sets {
                let station = station.index(stations);
                let time = if at == 0 { Time::MAX } else { Time::from_nanos(at) };
                model[station] = time;
                timers.set(station as u32, time);
                if !looks {
                    continue;
                }
                let earliest = *model.iter().min().expect("there are some");
                let (first, at) = timers.first();
                prop_assert_eq!(at, earliest);
                if earliest < Time::MAX {
                    let lowest = model.iter().position(|time| *time == earliest);
                    prop_assert_eq!(Some(first as usize), lowest);
                    prop_assert!(stations <= GROUP || timers.soon().contains(&first));
                }
            }
        }
    }
}
