//! Both directions of a shaped link, seen from the side of the slow link behind it.

use crate::control::share;
use crate::meter::Meter;
use crate::passive::{Passive, Seen};
use crate::{Autorate, Decision, Load, Params, STEP};
use sojourn_units::{Rate, Span, Time};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the slow link.
    Out,
    /// From it.
    Back,
}

/// What a direction's rate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// It follows the slow link.
    Follows(Params),
    /// It stays; none: there is none.
    Stays(Option<Rate>),
}

impl Way {
    /// Both, in the order of lists.
    pub const BOTH: [Self; 2] = [Self::Out, Self::Back];
}

/// Both directions, of which one at least has a rate that follows.
#[derive(Clone, Debug)]
pub struct Monitor {
    ways: [Direction; 2],
    passive: Passive,
    due: Time,
}

#[derive(Clone, Debug)]
struct Direction {
    meter: Meter,
    /// Of one that does not follow; zero: none.
    rate: Rate,
    control: Option<Autorate>,
}

impl Monitor {
    /// Of a link whose two ways do this.
    pub fn new(ways: [Setting; 2]) -> Self {
        Self {
            ways: ways.map(|way| {
                let (rate, control) = match way {
                    Setting::Follows(params) => (None, Some(Autorate::new(params))),
                    Setting::Stays(rate) => (rate, None),
                };
                Direction {
                    meter: Meter::default(),
                    rate: rate.unwrap_or(Rate::ZERO),
                    control,
                }
            }),
            passive: Passive::default(),
            due: Time::ZERO,
        }
    }

    /// The controller of a direction that follows.
    pub fn control(&self, way: Way) -> Option<&Autorate> {
        self.ways[way as usize].control.as_ref()
    }

    /// A direction that does not follow has this rate from now on; none: it has none.
    pub fn stays(&mut self, way: Way, rate: Option<Rate>) {
        self.ways[way as usize].rate = rate.unwrap_or(Rate::ZERO);
    }

    /// A packet leaves a direction's queue.
    pub fn sent(&mut self, way: Way, bytes: u32) {
        self.ways[way as usize].meter.add(bytes);
    }

    /// A segment leaves towards the slow link.
    pub fn departs(&mut self, seen: &Seen, now: Time) {
        self.passive.departs(seen, now);
    }

    /// A segment comes from the slow link, before it is queued.
    pub fn returns(&mut self, seen: &Seen, now: Time) {
        if let Some(round) = self.passive.returns(seen, now) {
            self.sample(seen.source, round, now);
        }
    }

    /// A round trip over the slow link that somebody else has seen.
    pub fn sample(&mut self, source: u64, delay: Span, now: Time) {
        for control in self.ways.iter_mut().filter_map(|way| way.control.as_mut()) {
            control.sample(source, delay, now);
        }
    }

    /// How long a direction alone took, on clocks that may differ by some constant.
    pub fn one_way(&mut self, way: Way, source: u64, delay: Span, now: Time) {
        if let Some(control) = &mut self.ways[way as usize].control {
            control.sample(source, delay, now);
        }
    }

    /// When the next step is.
    pub const fn due(&self) -> Time {
        self.due
    }

    /// A step: of each direction what changes, if something does.
    pub fn step(&mut self, now: Time) -> [Option<Decision>; 2] {
        self.due = now + STEP;
        let sent = self.ways.each_mut().map(|way| way.meter.turn(now));
        let loads = [0, 1].map(|at| {
            let way = &self.ways[at];
            let rate = way.control.as_ref().map_or(way.rate, Autorate::rate);
            share(sent[at], rate)
        });
        let mut at = 0;
        self.ways.each_mut().map(|way| {
            let load = Load {
                sent: sent[at],
                other: loads[1 - at],
            };
            at += 1;
            way.control.as_mut()?.step(now, load)
        })
    }
}
