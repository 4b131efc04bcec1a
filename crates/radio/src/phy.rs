//! Who hears whom: lists of neighbours, linear in their number.

use crate::profile::{Profile, SPEED_OF_LIGHT};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sojourn_units::Span;

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

/// A station that hears another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its number.
    pub station: u32,
    /// Whether it can receive frames; else it only hears that there is one.
    pub decodes: bool,
    /// Received over sent power.
    pub power: f64,
    /// Time from one to the other.
    pub delay: Span,
}

/// Of each station those that hear it. What is below the threshold of hearing does not exist.
#[derive(Clone, Debug)]
pub struct Neighbours {
    places: Vec<Place>,
    lists: Vec<Vec<Neighbour>>,
    /// Stations by the square of the plane in which they are; a side is the hearing distance.
    squares: BTreeMap<(i64, i64), Vec<u32>>,
    side: f64,
}

/// A threshold is this much below the power at its distance, so that a station exactly there hears.
const HAIR: f64 = 0.9999;

impl Neighbours {
    /// Of stations at these places.
    pub fn new(profile: &Profile, places: &[Place]) -> Self {
        let mut this = Self {
            places: places.to_vec(),
            lists: Vec::new(),
            squares: BTreeMap::new(),
            // Squares of no size would be too many.
            side: profile.sense.max(1.0) * 1.001,
        };
        for (station, place) in places.iter().enumerate() {
            let square = this.square(*place);
            this.squares.entry(square).or_default().push(station as u32);
        }
        this.lists = (0..places.len())
            .map(|station| this.heard(profile, station))
            .collect();
        this
    }

    /// Those that hear a station.
    #[inline]
    pub fn of(&self, station: u32) -> &[Neighbour] {
        &self.lists[station as usize]
    }

    /// Where a station is.
    pub fn place(&self, station: u32) -> Place {
        self.places[station as usize]
    }

    /// Puts a station elsewhere. Frames under way are received as they began.
    pub fn put(&mut self, profile: &Profile, station: u32, place: Place) {
        let before = core::mem::take(&mut self.lists[station as usize]);
        for neighbour in &before {
            let list = &mut self.lists[neighbour.station as usize];
            list.retain(|other| other.station != station);
        }
        let from = self.square(self.places[station as usize]);
        if let Some(square) = self.squares.get_mut(&from) {
            square.retain(|other| *other != station);
        }
        self.places[station as usize] = place;
        let to = self.square(place);
        self.squares.entry(to).or_default().push(station);
        let list = self.heard(profile, station as usize);
        for neighbour in &list {
            let back = Neighbour {
                station,
                ..*neighbour
            };
            let others = &mut self.lists[neighbour.station as usize];
            let at = others.partition_point(|other| other.station < station);
            others.insert(at, back);
        }
        self.lists[station as usize] = list;
    }

    fn square(&self, place: Place) -> (i64, i64) {
        let of = |length: f64| libm::floor(length / self.side) as i64;
        (of(place.x), of(place.y))
    }

    fn heard(&self, profile: &Profile, station: usize) -> Vec<Neighbour> {
        let here = self.places[station];
        let (x, y) = self.square(here);
        let receives = HAIR * profile.power(profile.range);
        let hears = HAIR * profile.power(profile.sense.max(profile.range));
        let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy)));
        let squares = around.filter_map(|square| self.squares.get(&square));
        let mut list = Vec::new();
        for &other in squares.flatten() {
            if other as usize == station {
                continue;
            }
            let distance = here.distance(self.places[other as usize]);
            let power = profile.power(distance);
            if power >= hears {
                list.push(Neighbour {
                    station: other,
                    decodes: power >= receives,
                    power,
                    delay: Span::from_secs_f64(distance / SPEED_OF_LIGHT),
                });
            }
        }
        list.sort_by_key(|neighbour| neighbour.station);
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
        Neighbours::new(&Profile::NS2_B, &places)
    }

    #[test]
    fn the_next_decodes_the_one_behind_hears_the_third_does_not() {
        let neighbours = chain(25.0, 5);
        let of: Vec<(u32, bool)> = (neighbours.of(1).iter())
            .map(|n| (n.station, n.decodes))
            .collect();
        assert_eq!(of, [(0, true), (2, true), (3, false)]);
        assert_eq!(chain(30.0, 2).of(0)[0].delay, Span::from_nanos(100));
        assert!(chain(30.0, 2).of(0)[0].decodes, "exactly at the range");
        assert!(!chain(30.01, 2).of(0)[0].decodes);
    }

    /// Lists are as long as there are stations within hearing: 66 m in a grid of 25 m.
    #[test]
    fn memory_is_linear_in_neighbours() {
        let most = |side: u32| {
            let place = |n: u32| Place {
                x: f64::from(n % side) * 25.0,
                y: f64::from(n / side) * 25.0,
            };
            let places: Vec<Place> = (0..side * side).map(place).collect();
            let neighbours = Neighbours::new(&Profile::NS2_B, &places);
            let lengths = neighbours.lists.iter().map(Vec::capacity);
            lengths.max().expect("there are stations")
        };
        assert_eq!(most(8), 32, "20 stations, as Vec grows");
        assert_eq!(most(32), 32);
    }

    proptest! {
        /// Against all pairs; hearing is mutual, before and after somebody has moved.
        #[test]
        fn lists_are_those_of_all_pairs(
            places in prop::collection::vec((-300.0..300.0_f64, -300.0..300.0_f64), 1..60),
            moved in any::<prop::sample::Index>(),
            to in (-300.0..300.0_f64, -300.0..300.0_f64),
        ) {
            let profile = Profile::NS2_B;
            let mut places: Vec<Place> = places.into_iter().map(|(x, y)| Place { x, y }).collect();
            let mut neighbours = Neighbours::new(&profile, &places);
            let moved = moved.index(places.len());
            places[moved] = Place { x: to.0, y: to.1 };
            neighbours.put(&profile, moved as u32, places[moved]);
            let fresh = Neighbours::new(&profile, &places);
            for (station, place) in places.iter().enumerate() {
                prop_assert_eq!(neighbours.of(station as u32), fresh.of(station as u32));
                let all = places.iter().enumerate().filter(|(other, there)| {
                    *other != station && profile.power(place.distance(**there))
                        >= HAIR * profile.power(profile.sense)
                });
                let all: Vec<u32> = all.map(|(other, _)| other as u32).collect();
                let listed: Vec<u32> = fresh.of(station as u32).iter().map(|n| n.station).collect();
                prop_assert_eq!(listed, all);
            }
        }
    }
}
