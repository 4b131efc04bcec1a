//! What a frame does to all that hear it, where thresholds of power decide.

use crate::access::{Access, Beginning, Ending};
use crate::ear::Hearing;
use crate::phy::Neighbour;
use crate::profile::Rules;
use crate::station::Backoff;
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
            let ear = &mut self.ears[station as usize];
            let (delay, power) = (neighbour.delay(), neighbour.power);
            let (start, end) = (beginning.now + delay, beginning.end + delay);
            if ear.frame == 0 {
                // Seldom: those that hear a frame wait.
                let sends = ear.sends && self.stations[station as usize].is_sending_at(start);
                // Without a branch: of dozens of stations a processor would guess it wrong.
                let is_lost = !neighbour.decodes() | sends;
                ear.hearing = select(is_lost, Hearing::Garbled, Hearing::Clear);
                (ear.frame, ear.heard_until, ear.power) = (beginning.frame, end, power);
                if ear.backoff == Backoff::Counting {
                    let (ear, other, work) = self.all(station);
                    if other.halt(ear, start, spaces.slot) {
                        let due = other.due(ear, work);
                        self.timers.set(station, due);
                    }
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
        let ear = &mut self.ears[station as usize];
        if ear.frame != ending.frame {
            // Another frame goes on here, or went over this one.
            if ending.to == Some(station) && ending.kind == FrameKind::Data {
                self.collided(ending.from, ending.now, upper);
            }
            return;
        }
        let at = ending.now + neighbour.delay();
        (ear.frame, ear.heard_until) = (0, at);
        if ear.sends && self.stations[station as usize].is_sending_at(at) {
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
        if ear.backoff == Backoff::Halted {
            let spaces = self.spaces;
            let (ear, other, work) = self.all(station);
            if other.resume(ear, ending.now, &spaces) {
                let due = other.due(ear, work);
                self.timers.set(station, due);
            }
        }
        if is_clear && ending.to.is_none() {
            self.hand_on(ending, station, at, upper);
        }
    }
}
