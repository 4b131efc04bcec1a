//! What a radio's interface has beside a link's: delays of the access to the medium, losses by
//! place, airtime.

use super::spread::Spread;
use crate::figure::LinkResult;
use sojourn_memory::fetch_part;
use sojourn_units::{Span, Time};

/// Something that happened to a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioEvent {
    /// It sent a data frame of this airtime, for the first time or again.
    Data {
        /// How long it took.
        airtime: Span,
        /// Whether it had been sent before.
        repeated: bool,
    },
    /// It sent an answer of this airtime.
    Answer(Span),
    /// A data frame of it was lost at its addressee, which heard another one.
    Collided,
    /// It gave a packet up after the last attempt.
    GivenUp,
    /// A packet was lost for want of a route.
    NoRoute,
    /// A packet was lost while it waited for a route.
    Buffer,
}

/// In this order: of thousands of radios none is in a cache, and what most events change is in the
/// first cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct RadioRecorder {
    /// When the packet was queued that the radio is busy with.
    queued: Option<Time>,
    frames: u64,
    repeated: u64,
    airtime: Span,
    deadline: Option<Span>,
    known: u64,
    nodal: Spread,
    /// The last departure.
    last: Option<Time>,
    missed: u64,
    collided: u64,
    given_up: u64,
    no_route: u64,
    buffer: u64,
    mac: Spread,
}

impl RadioRecorder {
    pub(super) fn new(deadline: Option<Span>) -> Self {
        Self {
            mac: Spread::new(Span::ZERO),
            nodal: Spread::new(Span::ZERO),
            deadline,
            known: 0,
            missed: 0,
            last: None,
            queued: None,
            frames: 0,
            repeated: 0,
            collided: 0,
            given_up: 0,
            no_route: 0,
            buffer: 0,
            airtime: Span::ZERO,
        }
    }

    /// Asks for its memory.
    pub(super) fn fetch(&self) {
        fetch_part(self, 0..std::mem::offset_of!(Self, missed));
    }

    #[inline]
    pub(super) fn tell(&mut self, event: RadioEvent) {
        match event {
            RadioEvent::Data { airtime, repeated } => {
                self.frames += 1;
                self.repeated += u64::from(repeated);
                self.airtime += airtime;
            }
            RadioEvent::Answer(airtime) => self.airtime += airtime,
            RadioEvent::Collided => self.collided += 1,
            RadioEvent::GivenUp => self.given_up += 1,
            RadioEvent::NoRoute => self.no_route += 1,
            RadioEvent::Buffer => self.buffer += 1,
        }
    }

    /// A packet has left the queue after `sojourn`. The MAC delay of the one before it ends.
    #[inline]
    pub(super) fn left(&mut self, now: Time, sojourn: Span, counts: bool) {
        if let Some(left) = self.last
            && counts
            && !sojourn.is_zero()
        {
            self.mac.add(now - left);
        }
        self.last = Some(now);
    }

    /// The radio begins with a packet that has been queued since then.
    #[inline]
    pub(super) fn begins(&mut self, queued: Time) {
        self.queued = Some(queued);
    }

    /// The radio is done with that packet.
    #[inline]
    pub(super) fn done(&mut self, now: Time, counts: bool) {
        if let Some(queued) = self.queued.take()
            && counts
        {
            let nodal = now - queued;
            self.nodal.add(nodal);
            self.known += 1;
            let is_missed = self.deadline.is_some_and(|deadline| nodal > deadline);
            self.missed += u64::from(is_missed);
        }
    }

    /// Puts its figures into the result of so much time.
    pub(super) fn finish(mut self, result: &mut LinkResult, length: Span) {
        result.mac_delay = self.mac.distribution();
        result.nodal_delay = self.nodal.distribution();
        let missed = self.missed as f64 / self.known as f64;
        result.nodal_miss_ratio = self
            .deadline
            .map(|_| missed)
            .filter(|share| share.is_finite());
        for (figure, count) in [
            (&mut result.frames, self.frames),
            (&mut result.repeated_frames, self.repeated),
            (&mut result.collided_frames, self.collided),
            (&mut result.retry_drops, self.given_up),
            (&mut result.no_route_drops, self.no_route),
            (&mut result.routing_buffer_drops, self.buffer),
        ] {
            *figure = Some(count as f64);
        }
        result.airtime = Some(self.airtime.as_secs_f64() / length.as_secs_f64());
    }
}
