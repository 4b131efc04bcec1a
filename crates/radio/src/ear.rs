//! What a station hears: the frame that reaches it first or strongest, and how that will end.

use crate::errors::Errors;
use crate::profile::Rules;
use crate::station::{Backoff, Spaces, Work};
use sojourn_units::{Span, Time};

/// How the frame that it hears will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    Clear,
    /// It cannot be received.
    Garbled,
    /// Another frame came in between.
    Collided,
}

/// What a frame changes of each station that hears it.
#[derive(Clone, Debug)]
pub(crate) struct Ear {
    pub(crate) heard_until: Time,
    /// The medium is reserved until then.
    pub(crate) reserved: Time,
    pub(crate) power: f64,
    /// The frame that it hears, by its [sender](frame_of); zero for none. By SINR: the one that it
    /// receives.
    pub(crate) frame: u32,
    pub(crate) hearing: Hearing,
    /// Whether the last frame heard was in error, so that EIFS takes the place of DIFS.
    pub(crate) erred: bool,
    pub(crate) backoff: Backoff,
    /// Whether the station sends a frame itself.
    pub(crate) sends: bool,
}

/// The frame of a station, which sends one at a time.
#[inline]
pub(crate) const fn frame_of(station: u32) -> u32 {
    station + 1
}

impl Ear {
    pub(crate) const fn new() -> Self {
        Self {
            heard_until: Time::ZERO,
            reserved: Time::ZERO,
            power: 0.0,
            frame: 0,
            hearing: Hearing::Clear,
            erred: false,
            backoff: Backoff::None,
            sends: false,
        }
    }

    /// How long the medium has to be idle before its slots count.
    #[inline]
    pub(crate) fn space(&self, spaces: &Spaces) -> Span {
        if self.erred { spaces.eifs } else { spaces.difs }
    }

    /// A frame ends that it cannot receive.
    #[inline]
    pub(crate) fn garbled(&mut self, decodes: bool, at: Time, rules: Rules, spaces: &Spaces) {
        match rules {
            Rules::Ns2 => self.reserved = self.reserved.max(at + spaces.eifs),
            Rules::Standard => {
                self.erred = decodes || self.hearing == Hearing::Collided;
            }
        }
    }

    /// By SINR: what comes to it changes now. The frame that it receives was disturbed by the same
    /// others since the last change.
    pub(crate) fn judge<P>(&mut self, work: &mut Work<P>, errors: &[[Errors; 2]; 3], now: Time) {
        if self.frame == 0 || self.hearing != Hearing::Clear {
            return;
        }
        let from = core::mem::replace(&mut work.judged, now);
        let others = work.interference(self.frame);
        if others <= 0.0 || from >= now {
            return;
        }
        let border = work.parts.payload_from.clamp(from, now);
        let [header, payload] = &errors[work.parts.rate];
        let sinr = self.power / others;
        let survival = header.survival(sinr, border - from) * payload.survival(sinr, now - border);
        if survival < 1.0 && !work.dice.chance(survival) {
            self.hearing = Hearing::Collided;
        }
    }
}
