//! What a frame does to all that hear it, where thresholds of power decide.

use crate::access::{Access, Beginning, Ending};
use crate::ear::Hearing;
use crate::phy::Neighbour;
use crate::profile::Rules;
use crate::station::Near;
use crate::upper::{FrameKind, Upper};
use core::hint::select_unpredictable as select;

impl<P: Copy> Access<P> {
    /// A frame of a station begins at those that hear it.
    #[inline]
    pub(crate) fn begin(&mut self, beginning: &Beginning, from: u32, list: &[Neighbour]) {
        let capture = self.profile.capture.unwrap_or_default();
        let (rules, spaces) = (self.profile.rules, self.spaces);
        for neighbour in list {
            let station = neighbour.seen_from(from).station;
            let Near {
                ear,
                station: other,
            } = &mut self.near[station as usize];
            let (delay, power) = (neighbour.delay(), neighbour.power);
            let (start, end) = (beginning.now + delay, beginning.end + delay);
            if ear.frame == 0 {
                // Seldom: those that hear a frame wait.
                let sends = ear.sends && other.is_sending_at(start);
                // Without a branch: of dozens of stations a processor would guess it wrong.
                let is_lost = !neighbour.decodes() | sends;
                ear.hearing = select(is_lost, Hearing::Garbled, Hearing::Clear);
                (ear.frame, ear.heard_until, ear.power) = (beginning.frame, end, power);
                if other.halt(ear, start, spaces.slot) {
                    let due = other.due(ear, &self.works[station as usize]);
                    self.timers.set(station, due);
                }
            } else if ear.power >= capture * power {
                if rules == Rules::Ns2 {
                    ear.reserved = ear.reserved.max(end + spaces.eifs);
                }
            } else {
                ear.hearing = Hearing::Collided;
                if end > ear.heard_until {
                    (ear.frame, ear.heard_until, ear.power) = (beginning.frame, end, power);
                }
            }
        }
    }

    /// A frame ends at those that hear it.
    #[inline]
    pub(crate) fn end(
        &mut self,
        ending: &Ending,
        list: &[Neighbour],
        upper: &mut impl Upper<Packet = P>,
    ) {
        for neighbour in list {
            self.heard(ending, neighbour.seen_from(ending.from), upper);
        }
    }

    /// A frame ends at one of those that hear it.
    #[expect(clippy::inline_always, reason = "it is what the loop over them does")]
    #[inline(always)]
    pub(crate) fn heard(
        &mut self,
        ending: &Ending,
        neighbour: Neighbour,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let station = neighbour.station;
        let Near {
            ear,
            station: other,
        } = &mut self.near[station as usize];
        if ear.frame != ending.frame {
            // Another frame goes on here, or went over this one.
            if ending.to == Some(station) && ending.kind == FrameKind::Data {
                self.collided(ending.from, ending.now, upper);
            }
            return;
        }
        let at = ending.now + neighbour.delay();
        (ear.frame, ear.heard_until) = (0, at);
        if ear.sends && other.is_sending_at(at) {
            return;
        }
        if ending.to == Some(station) {
            return self.meant(ending, neighbour, at, upper);
        }
        let is_clear = ear.hearing == Hearing::Clear;
        if is_clear {
            ear.erred = false;
            // Of one to all that is no time after its end.
            ear.reserved = ear.reserved.max(at + ending.reserves);
        } else {
            ear.garbled(neighbour.decodes(), at, self.profile.rules, &self.spaces);
        }
        // A frame that is not for it changes nothing but its backoff.
        if other.resume(ear, ending.now, &self.spaces) {
            let due = other.due(ear, &self.works[station as usize]);
            self.timers.set(station, due);
        }
        if is_clear && ending.to.is_none() {
            self.hand_on(ending, station, at, upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ear::frame_of;
    use crate::phy::{Neighbours, Place};
    use crate::profile::Profile;
    use crate::station::Parts;
    use crate::upper::Taken;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use sojourn_random::Stream;
    use sojourn_units::{Span, Time};

    /// Nobody has packets.
    struct Idle;

    impl Upper for Idle {
        type Packet = ();

        fn take(&mut self, _station: u32, _now: Time) -> Taken<()> {
            Taken::Nothing
        }

        fn deliver(&mut self, _from: u32, _to: u32, _packet: (), _at: Time) {}

        fn fail(&mut self, _station: u32, _to: u32, _packet: (), _now: Time) {}
    }

    /// What a station hears, by frames that have numbers: none is like another one.
    #[derive(Clone, Debug, Default)]
    struct Model {
        hears: Option<(usize, f64, Hearing)>,
        until: Time,
        reserved: Time,
    }

    proptest! {
        /// Frames of stations at random places, which begin and end in any order, against a model
        /// that asks for nothing but the rules: who shares a list of neighbours, and that frames
        /// are known by their senders, makes no difference.
        #[test]
        fn ears_hear_what_the_rules_say(
            places in prop::collection::vec((0..6_u8, 0..6_u8), 2..30),
            steps in prop::collection::vec((any::<prop::sample::Index>(), 1..900_u64), 1..200),
        ) {
            let profile = Profile::NS2_B;
            let at = |&(x, y): &(u8, u8)| Place { x: f64::from(x) * 25.0, y: f64::from(y) * 25.0 };
            let places: Vec<Place> = places.iter().map(at).collect();
            let neighbours = Neighbours::new(&profile, &places, &[]);
            let dice = |index| Stream::named(1, &std::format!("{index}"));
            let mut access = Access::<()>::new(profile, places.len(), dice);
            let (capture, eifs) = (profile.capture.expect("by thresholds"), profile.eifs());
            let mut models = vec![Model::default(); places.len()];
            // By sender: the number and the end of its frame.
            let mut frames: Vec<Option<(usize, Time)>> = vec![None; places.len()];
            let mut now = Time::ZERO;
            for (number, (sender, micros)) in steps.into_iter().enumerate() {
                let (from, frame) = (sender.index(places.len()), sender.index(places.len()) as u32);
                let (list, frame) = (neighbours.list(frame), frame_of(frame));
                now += Span::from_micros(micros);
                match frames[from].take() {
                    None => {
                        let end = now + Span::from_micros(100 * micros);
                        frames[from] = Some((number, end));
                        let parts = Parts::default();
                        access.begin(&Beginning { frame, now, end, parts }, from as u32, list);
                        for neighbour in neighbours.of(from as u32) {
                            let model = &mut models[neighbour.station as usize];
                            let end = end + neighbour.delay();
                            let alone = if neighbour.decodes() { Hearing::Clear } else { Hearing::Garbled };
                            match &mut model.hears {
                                None => {
                                    model.hears = Some((number, neighbour.power, alone));
                                    model.until = end;
                                }
                                Some((_, power, _)) if *power >= capture * neighbour.power => {
                                    model.reserved = model.reserved.max(end + eifs);
                                }
                                Some((other, power, hearing)) => {
                                    *hearing = Hearing::Collided;
                                    if end > model.until {
                                        (*other, *power) = (number, neighbour.power);
                                        model.until = end;
                                    }
                                }
                            }
                        }
                    }
                    Some((number, end)) => {
                        now = now.max(end);
                        let (kind, from) = (FrameKind::Data, from as u32);
                        let (to, reserves) = (None, Span::from_micros(micros));
                        let ending = Ending { from, frame, kind, to, reserves, now };
                        access.end(&ending, list, &mut Idle);
                        for neighbour in neighbours.of(from) {
                            let model = &mut models[neighbour.station as usize];
                            let Some((_, _, hearing)) =
                                model.hears.take_if(|(other, ..)| *other == number)
                            else {
                                continue;
                            };
                            model.until = now + neighbour.delay();
                            let wait = if hearing == Hearing::Clear { reserves } else { eifs };
                            model.reserved = model.reserved.max(model.until + wait);
                        }
                    }
                }
                for (Near { ear, .. }, model) in access.near.iter().zip(&models) {
                    prop_assert_eq!(ear.frame != 0, model.hears.is_some());
                    if let Some((_, power, hearing)) = model.hears {
                        prop_assert_eq!((ear.power, ear.hearing), (power, hearing));
                    }
                    prop_assert_eq!((ear.heard_until, ear.reserved), (model.until, model.reserved));
                }
            }
        }
    }
}
