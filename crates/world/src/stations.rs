//! Where the stations of a radio were, and what went from one to another.

use crate::{Place, Radio};

/// The stations of a run's radio, in the order of its links, which are theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stations {
    /// Distance up to which frames can be received, in m.
    pub range: f64,
    /// Distance up to which frames are heard, in m.
    pub sense: f64,
    /// Where each was in the end.
    pub places: Vec<Place>,
    /// The hops that were taken, by sender and receiver.
    pub hops: Vec<Hop>,
}

/// What one station sent to another, from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Data frames, repetitions included.
    pub frames: u64,
    /// Packets that came through.
    pub packets: u64,
}

impl Hop {
    /// Share of the frames that brought nothing.
    pub fn loss(&self) -> f64 {
        1.0 - self.packets as f64 / self.frames.max(self.packets).max(1) as f64
    }
}

impl Stations {
    /// Those of a radio, with where they are in the end and what was sent.
    pub fn of(radio: &Radio, places: Vec<Place>, hops: Vec<Hop>) -> Self {
        Self {
            range: radio.profile.range,
            sense: radio.profile.sense,
            places,
            hops,
        }
    }
}
