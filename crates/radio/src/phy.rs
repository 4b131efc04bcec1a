//! Who hears whom: lists of neighbours, linear in their number.
//!
//! In a grid most stations have the same neighbours, counted from themselves. They share one list,
//! which stays in the processor's first cache: those of thousands would fill the second.

use crate::profile::{Profile, SPEED_OF_LIGHT};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sojourn_memory::{LINE, fetch};
use sojourn_units::Span;

/// From so many stations on, memory is asked for ahead. What belongs to fewer is in a processor's
/// second cache.
pub(crate) const MANY: usize = 256;

/// A place in the plane, in m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl Place {
    /// Distance to another place in m.
    pub fn distance(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        libm::sqrt(x * x + y * y)
    }
}

/// A station that hears another. 16 bytes: each frame goes through a list of dozens twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its number; in a list how much greater that is than the sender's, around the end.
    pub station: u32,
    /// Time from one to the other in ns, twice, and one more if it can receive frames.
    way: u32,
    /// Received power over the profile's sent power.
    pub power: f64,
}

const _: () = assert!(size_of::<Neighbour>() == 16);
/// Neighbours in a cache line.
const IN_LINE: usize = LINE / size_of::<Neighbour>();

impl Neighbour {
    /// One of a list, with its number.
    #[inline]
    pub(crate) const fn seen_from(&self, sender: u32) -> Self {
        let station = sender.wrapping_add(self.station);
        Self { station, ..*self }
    }

    /// Time from one to the other.
    #[inline]
    pub const fn delay(&self) -> Span {
        Span::from_nanos((self.way >> 1) as u64)
    }

    /// Whether it can receive frames; else it only hears that there is one.
    #[inline]
    pub const fn decodes(&self) -> bool {
        self.way & 1 != 0
    }
}

/// Of each station those that hear it. What is below the threshold of hearing does not exist.
#[derive(Clone, Debug)]
pub struct Neighbours {
    places: Vec<Place>,
    /// Sent power over the profile's, by station.
    powers: Vec<f64>,
    /// By sender: which list is its own.
    list_of: Vec<u32>,
    lists: Vec<Vec<Neighbour>>,
    /// Stations by the square of the plane in which they are; a side is the hearing distance.
    squares: BTreeMap<(i64, i64), Vec<u32>>,
    side: f64,
}

/// A threshold is this much below the power at its distance, so that a station exactly there
/// hears.
const HAIR: f64 = 0.9999;

impl Neighbours {
    /// Of stations at these places, which send with so much power over the profile's; those beyond
    /// the end of that list with the profile's.
    pub fn new(profile: &Profile, places: &[Place], powers: &[f64]) -> Self {
        let power = |station| powers.get(station).copied().unwrap_or(1.0);
        let most = powers.iter().copied().fold(1.0, f64::max);
        let mut this = Self {
            places: places.to_vec(),
            powers: (0..places.len()).map(power).collect(),
            list_of: Vec::new(),
            lists: Vec::new(),
            squares: BTreeMap::new(),
            // Squares of no size would be too many. Power falls with the square at least.
            side: profile.sense.max(1.0) * 1.001 * libm::sqrt(most),
        };
        for (station, place) in places.iter().enumerate() {
            let square = this.square(*place);
            this.squares.entry(square).or_default().push(station as u32);
        }
        let mut known = BTreeMap::new();
        for station in 0..places.len() {
            let list = this.heard(profile, station);
            let key = |neighbour: &Neighbour| {
                let Neighbour {
                    station,
                    way,
                    power,
                } = *neighbour;
                (station, way, power.to_bits())
            };
            let number = known.len() as u32;
            let number = *known
                .entry(list.iter().map(key).collect::<Vec<_>>())
                .or_insert(number);
            this.list_of.push(number);
            if number as usize == this.lists.len() {
                this.lists.push(list);
            }
        }
        this
    }

    /// Those that hear a station.
    #[inline]
    pub fn of(&self, station: u32) -> impl Iterator<Item = Neighbour> + Clone {
        self.list(station)
            .iter()
            .map(move |neighbour| neighbour.seen_from(station))
    }

    /// The same, with numbers less the station's.
    #[inline]
    pub(crate) fn list(&self, station: u32) -> &[Neighbour] {
        &self.lists[self.list_of[station as usize] as usize]
    }

    /// Asks for the memory of the list, where each station has one of its own.
    #[inline]
    pub(crate) fn fetch(&self, station: u32) {
        if self.lists.len() >= MANY {
            self.list(station).iter().step_by(IN_LINE).for_each(fetch);
        }
    }

    /// Gives each station a list of its own.
    fn part(&mut self) {
        if self.lists.len() < self.list_of.len() {
            let lists = self
                .list_of
                .iter()
                .map(|list| self.lists[*list as usize].clone());
            self.lists = lists.collect();
            self.list_of = (0..self.lists.len() as u32).collect();
        }
    }

    /// Where a station is.
    pub fn place(&self, station: u32) -> Place {
        self.places[station as usize]
    }

    /// Puts a station elsewhere. Frames under way are received as they began.
    pub fn put(&mut self, profile: &Profile, station: u32, place: Place) {
        self.part();
        for other in self.around(station as usize) {
            let list = &mut self.lists[self.list_of[other as usize] as usize];
            list.retain(|neighbour| neighbour.seen_from(other).station != station);
        }
        let from = self.square(self.places[station as usize]);
        if let Some(square) = self.squares.get_mut(&from) {
            square.retain(|other| *other != station);
        }
        self.places[station as usize] = place;
        let to = self.square(place);
        self.squares.entry(to).or_default().push(station);
        for other in self.around(station as usize) {
            if let Some(neighbour) = self.hears(profile, other, station) {
                let others = &mut self.lists[self.list_of[other as usize] as usize];
                let at = others.partition_point(|third| third.seen_from(other).station < station);
                others.insert(at, neighbour);
            }
        }
        let list = self.list_of[station as usize];
        self.lists[list as usize] = self.heard(profile, station as usize);
    }

    /// From whom to whom frames come of which a station is one end.
    pub(crate) fn links(&self, station: u32) -> Vec<(u32, u32)> {
        let to = self
            .of(station)
            .map(|neighbour| (station, neighbour.station));
        let around = self.around(station as usize).into_iter();
        let from = around.filter(|&other| {
            let mut list = self.of(other);
            list.any(|neighbour| neighbour.station == station)
        });
        to.chain(from.map(|other| (other, station))).collect()
    }

    fn square(&self, place: Place) -> (i64, i64) {
        let of = |length: f64| libm::floor(length / self.side) as i64;
        (of(place.x), of(place.y))
    }

    /// All others near enough that one may hear the other.
    fn around(&self, station: usize) -> Vec<u32> {
        let (x, y) = self.square(self.places[station]);
        let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy)));
        let squares = around.filter_map(|square| self.squares.get(&square));
        let others = squares.flatten().copied();
        others.filter(|other| *other as usize != station).collect()
    }

    /// How `to` hears `from`, if it does, as in its list.
    fn hears(&self, profile: &Profile, from: u32, to: u32) -> Option<Neighbour> {
        let receives = HAIR * profile.power(profile.range);
        let hears = HAIR * profile.power(profile.sense.max(profile.range));
        let there = self.places[to as usize];
        let distance = self.places[from as usize].distance(there);
        let power = self.powers[from as usize] * profile.power(distance);
        // A frame's end comes before its answer's beginning, however near they are.
        let delay = Span::from_secs_f64(distance / SPEED_OF_LIGHT).max(Span::from_nanos(1));
        // Two seconds at most, which is more than half way to the moon and back.
        let nanos = delay.as_nanos().min(u64::from(u32::MAX >> 1)) as u32;
        (power >= hears).then_some(Neighbour {
            station: to.wrapping_sub(from),
            way: nanos << 1 | u32::from(power >= receives),
            power,
        })
    }

    fn heard(&self, profile: &Profile, station: usize) -> Vec<Neighbour> {
        let others = self.around(station).into_iter();
        let heard = others.filter_map(|other| self.hears(profile, station as u32, other));
        let mut list: Vec<Neighbour> = heard.collect();
        list.sort_by_key(|neighbour| neighbour.seen_from(station as u32).station);
        list.shrink_to_fit();
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chain(spacing: f64, stations: u32) -> Neighbours {
        let place = |n| Place {
            x: f64::from(n) * spacing,
            y: 1.0,
        };
        let places: Vec<Place> = (0..stations).map(place).collect();
        Neighbours::new(&Profile::NS2_B, &places, &[])
    }

    fn first(neighbours: &Neighbours) -> Neighbour {
        neighbours.of(0).next().expect("somebody hears it")
    }

    /// A station with a quarter of the power reaches half as far, and hears as far as others do.
    #[test]
    fn a_weak_station_hears_those_that_do_not_hear_it() {
        let places = [0.0, 20.0, 45.0].map(|x| Place { x, y: 0.0 });
        let mut neighbours = Neighbours::new(&Profile::NS2_B, &places, &[1.0, 0.25]);
        let of = |neighbours: &Neighbours, station| -> Vec<(u32, bool)> {
            let list = neighbours.of(station);
            list.map(|n| (n.station, n.decodes())).collect()
        };
        // 20 m and 25 m are beyond the 15 m over which it is received, within the 33 m over which
        // it is heard.
        assert_eq!(of(&neighbours, 1), [(0, false), (2, false)]);
        assert_eq!(of(&neighbours, 0), [(1, true), (2, false)]);
        assert_eq!(neighbours.links(1), [(1, 0), (1, 2), (0, 1), (2, 1)]);
        neighbours.put(&Profile::NS2_B, 1, Place { x: 80.0, y: 0.0 });
        assert_eq!(of(&neighbours, 1), []);
        assert_eq!(of(&neighbours, 2), [(0, false), (1, false)]);
        assert_eq!(neighbours.links(1), [(2, 1)]);
    }

    /// A delay that would round to nothing is a nanosecond: a frame is received before its answer.
    #[test]
    fn stations_side_by_side_have_a_delay() {
        for distance in [0.0, 0.01, 0.14] {
            let delay = first(&chain(distance, 2)).delay();
            assert_eq!(delay, Span::from_nanos(1), "{distance} m");
        }
    }

    #[test]
    fn the_next_decodes_the_one_behind_hears_the_third_does_not() {
        let neighbours = chain(25.0, 5);
        let of: Vec<(u32, bool)> = (neighbours.of(1))
            .map(|n| (n.station, n.decodes()))
            .collect();
        assert_eq!(of, [(0, true), (2, true), (3, false)]);
        assert_eq!(first(&chain(30.0, 2)).delay(), Span::from_nanos(100));
        assert!(first(&chain(30.0, 2)).decodes(), "exactly at the range");
        assert!(!first(&chain(30.01, 2)).decodes());
    }

    /// Lists are as long as there are stations within hearing: 66 m in a grid of 25 m. There are as
    /// many as places by two rows or columns from a border, with that of those within.
    #[test]
    fn memory_is_linear_in_neighbours() {
        let most = |side: u32| {
            let place = |n: u32| Place {
                x: f64::from(n % side) * 25.0,
                y: f64::from(n / side) * 25.0,
            };
            let places: Vec<Place> = (0..side * side).map(place).collect();
            let neighbours = Neighbours::new(&Profile::NS2_B, &places, &[]);
            let lengths = neighbours.lists.iter().map(Vec::capacity);
            let most = lengths.max().expect("there are stations");
            (most, neighbours.lists.len())
        };
        assert_eq!([most(8), most(32)], [(20, 25); 2]);
    }

    proptest! {
        /// Against all pairs, before and after somebody has moved.
        #[test]
        fn lists_are_those_of_all_pairs(
            places in prop::collection::vec((-300.0..300.0_f64, -300.0..300.0_f64), 1..60),
            moved in any::<prop::sample::Index>(),
            to in (-300.0..300.0_f64, -300.0..300.0_f64),
            powers in prop::collection::vec(0.01..10.0_f64, 0..60),
        ) {
            let profile = Profile::NS2_B;
            let mut places: Vec<Place> = places.into_iter().map(|(x, y)| Place { x, y }).collect();
            let mut neighbours = Neighbours::new(&profile, &places, &powers);
            let moved = moved.index(places.len());
            places[moved] = Place { x: to.0, y: to.1 };
            neighbours.put(&profile, moved as u32, places[moved]);
            let fresh = Neighbours::new(&profile, &places, &powers);
            for (station, place) in places.iter().enumerate() {
                let sent = powers.get(station).copied().unwrap_or(1.0);
                let (list, other) = (neighbours.of(station as u32), fresh.of(station as u32));
                prop_assert!(list.eq(other));
                let all: Vec<u32> = places.iter().enumerate().filter(|(other, there)| {
                    *other != station && sent * profile.power(place.distance(**there))
                        >= HAIR * profile.power(profile.sense)
                }).map(|(other, _)| other as u32).collect();
                let listed: Vec<u32> = fresh.of(station as u32).map(|n| n.station).collect();
                prop_assert_eq!(listed, all);
            }
        }
    }
}
