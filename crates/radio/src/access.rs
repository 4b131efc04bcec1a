//! The access of stations to a medium, one by one: what each does with packets, answers and what
//! it hears. Nothing here asks who hears a station, or begins a frame: that is the medium's.
//!
//! Source: IEEE 802.11-2007 clause 9.2 (backoff and its freezing, ACK, CTS, retries, EIFS);
//! ns-2.35 where [`Rules::Ns2`] says so.

use crate::ear::{Ear, Hearing};
use crate::errors::Errors;
use crate::phy::Neighbour;
use crate::profile::{ACK, Profile, RTS, Rules};
use crate::station::{Answer, Backoff, Near, Parts, Phase, Spaces, Station, Work};
use crate::timers::Timers;
use crate::upper::{FrameKind, Outgoing, Taken, Upper};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// All stations of a medium, with its constants.
#[derive(Clone, Debug)]
pub(crate) struct Access<P> {
    pub(crate) profile: Profile,
    pub(crate) spaces: Spaces,
    /// Airtime of an ACK, which is that of a CTS.
    pub(crate) ack: Span,
    pub(crate) rts: Span,
    /// Length of the header: of data to one station, of data to all, of everything else.
    headers: [Span; 3],
    /// Of the same, errors in the header and after it.
    pub(crate) errors: [[Errors; 2]; 3],
    /// Bytes of the last data frame, whether it was to all, and its airtime.
    aired: (u32, bool, Span),
    /// How long a station waits for an answer after its own frame.
    pub(crate) patience: Span,
    pub(crate) near: Vec<Near>,
    /// By station too.
    pub(crate) works: Vec<Work<P>>,
    /// When each station has to do something.
    pub(crate) timers: Timers,
}

/// A frame that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) frame: u32,
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) parts: Parts,
}

/// A frame that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) from: u32,
    pub(crate) frame: u32,
    pub(crate) kind: FrameKind,
    pub(crate) to: Option<u32>,
    /// How long it reserves the medium from now on.
    pub(crate) reserves: Span,
    pub(crate) now: Time,
}

/// Least SINR of a preamble that is detected, as a factor of power: 4 dB, the default of ns-3's
/// `ThresholdPreambleDetectionModel`.
const PREAMBLE: f64 = 2.511_886;
/// ns-2's allowance for the way of a frame.
const NS2_PROPAGATION: Span = Span::from_micros(2);

impl<P: Copy> Access<P> {
    /// Of so many stations; `dice` makes the stream of each.
    pub(crate) fn new(
        profile: Profile,
        stations: usize,
        mut dice: impl FnMut(usize) -> Stream,
    ) -> Self {
        let ack = profile.airtime(ACK, profile.answer_rate);
        let rates = [profile.data_rate, profile.basic_rate, profile.answer_rate];
        let patience = match profile.rules {
            Rules::Ns2 => profile.sifs + ack + NS2_PROPAGATION * 2,
            // aSIFSTime + aSlotTime + aPHY-RX-START-Delay; a frame heard by then is waited for.
            Rules::Standard => profile.sifs + profile.slot + profile.receive_start(),
        };
        let work = |index| Work::new(profile.cw_min, dice(index));
        Self {
            spaces: Spaces {
                difs: profile.difs(),
                eifs: profile.eifs(),
                slot: profile.slot,
            },
            ack,
            rts: profile.airtime(RTS, profile.answer_rate),
            headers: rates.map(|rate| profile.header_at(rate).0),
            errors: rates.map(|rate| [profile.header_at(rate).1, rate].map(Errors::of)),
            aired: (0, true, profile.airtime(0, profile.basic_rate)),
            patience,
            near: vec![Near::new(); stations],
            works: (0..stations).map(work).collect(),
            timers: Timers::new(stations),
            profile,
        }
    }

    /// Something about a station has changed that may move what it has to do.
    pub(crate) fn arm(&mut self, station: u32) {
        self.arm_here(station);
    }

    /// [`arm`](Self::arm), compiled into what every event does.
    #[expect(clippy::inline_always, reason = "it is half of what the loop does")]
    #[inline(always)]
    pub(crate) fn arm_here(&mut self, station: u32) {
        let (ear, own, work) = self.all(station);
        let due = own.due(ear, work);
        self.timers.set(station, due);
    }

    /// What a station is, in all parts.
    #[inline]
    pub(crate) fn all(&mut self, station: u32) -> (&mut Ear, &mut Station, &mut Work<P>) {
        let station = station as usize;
        let Near { ear, station: own } = &mut self.near[station];
        (ear, own, &mut self.works[station])
    }

    /// Takes the next packet and begins to wait for its turn.
    pub(crate) fn fetch(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let taken = upper.take(station, now);
        let (rules, spaces) = (self.profile.rules, self.spaces);
        let (ear, own, work) = self.all(station);
        own.ask_at(work, Time::MAX);
        let packet = match taken {
            Taken::Packet(packet) => packet,
            Taken::NotBefore(at) => return own.ask_at(work, at),
            Taken::Nothing => return,
        };
        (work.packet, own.delivered) = (Some(packet), false);
        if ear.backoff != Backoff::None || matches!(own.phase, Phase::Awaiting(_)) {
            return;
        }
        if rules == Rules::Standard && own.is_free(ear) && own.idle_since(ear) <= now {
            // Idle: after DIFS at once (9.2.5.1).
            own.slots = 0;
            let from = (own.idle_since(ear) + ear.space(&spaces)).max(now);
            return own.count_from(ear, from, spaces.slot);
        }
        self.back_off(station, now);
    }

    /// Draws a backoff, which counts from DIFS after the medium is idle.
    pub(crate) fn back_off(&mut self, station: u32, now: Time) {
        let (rules, spaces) = (self.profile.rules, self.spaces);
        let (ear, own, work) = self.all(station);
        let values = match rules {
            Rules::Ns2 => work.window,
            Rules::Standard => work.window + 1,
        };
        own.slots = work.dice.below(values.max(1).into()) as u32;
        ear.backoff = Backoff::Halted;
        own.resume(ear, now, &spaces);
    }

    /// The parts of a frame that begins at `now`.
    #[inline]
    pub(crate) fn parts(&self, kind: FrameKind, to: Option<u32>, now: Time) -> Parts {
        let rate = match (kind, to) {
            (FrameKind::Data, Some(_)) => 0,
            (FrameKind::Data, None) => 1,
            _ => 2,
        };
        let payload_from = now + self.headers[rate];
        Parts { rate, payload_from }
    }

    pub(crate) fn needs_rts(&self, bytes: u32) -> bool {
        self.profile.rts_above.is_some_and(|above| bytes > above)
    }

    /// Airtime of a data frame of so many bytes: most often that of the one before.
    pub(crate) fn data_airtime(&mut self, bytes: u32, to_all: bool) -> Span {
        if (bytes, to_all) == (self.aired.0, self.aired.1) {
            return self.aired.2;
        }
        let rate = if to_all {
            self.profile.basic_rate
        } else {
            self.profile.data_rate
        };
        let airtime = self.profile.airtime(bytes, rate);
        self.aired = (bytes, to_all, airtime);
        airtime
    }

    /// Airtime of a station's frame of this kind.
    fn airtime(&mut self, station: u32, kind: FrameKind) -> Span {
        let packet = self.works[station as usize].packet.as_ref();
        match (kind, packet) {
            (FrameKind::Data, Some(&Outgoing { bytes, to, .. })) => {
                self.data_airtime(bytes, to.is_none())
            }
            (FrameKind::Rts, _) => self.rts,
            _ => self.ack,
        }
    }

    /// By SINR: a frame begins at stations that hear it among others.
    ///
    /// A station receives it if it receives none yet and its preamble stands out ([`PREAMBLE`]); it
    /// stays with a frame to its end, as ns-3's does.
    #[inline(never)]
    pub(crate) fn begin_among(
        &mut self,
        beginning: &Beginning,
        neighbours: impl Iterator<Item = Neighbour>,
    ) {
        let &Beginning { frame, now, .. } = beginning;
        let slot = self.spaces.slot;
        for neighbour in neighbours {
            let at = neighbour.station as usize;
            let Near {
                ear,
                station: other,
            } = &mut self.near[at];
            let work = &mut self.works[at];
            ear.judge(work, &self.errors, now);
            let delay = neighbour.delay();
            let start = now + delay;
            let halts = !other.hears(ear) && other.halt(ear, start, slot);
            let stands_out = neighbour.power >= PREAMBLE * work.interference(frame);
            other.reach(work, frame, neighbour.power);
            let receives = ear.frame == 0 && neighbour.decodes() && stands_out;
            if receives && !other.is_sending_at(start) {
                (ear.frame, ear.hearing) = (frame, Hearing::Clear);
                (ear.power, ear.heard_until) = (neighbour.power, beginning.end + delay);
                (work.parts, work.judged) = (beginning.parts, now);
            }
            if halts {
                let due = other.due(ear, work);
                self.timers.set(neighbour.station, due);
            }
        }
    }

    /// Shows a frame that ends to observers, if it comes through to a neighbour.
    #[cold]
    pub(crate) fn show(
        &mut self,
        ending: &Ending,
        neighbour: &Neighbour,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let at = ending.now + neighbour.delay();
        let station = neighbour.station as usize;
        let Near {
            ear,
            station: other,
        } = &mut self.near[station];
        if self.profile.capture.is_none() {
            ear.judge(&mut self.works[station], &self.errors, ending.now);
        }
        let comes_through =
            ear.frame == ending.frame && ear.hearing == Hearing::Clear && !other.is_sending_at(at);
        if comes_through {
            let airtime = self.airtime(ending.from, ending.kind);
            let sender = &self.works[ending.from as usize];
            let frame = sender.sent(ending.from, ending.kind, at - airtime, airtime);
            upper.received(neighbour.station, &frame, neighbour.power);
        }
    }

    /// A frame to all has come through to a station.
    #[inline]
    pub(crate) fn hand_on(
        &mut self,
        ending: &Ending,
        station: u32,
        at: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        if let Some(packet) = &self.works[ending.from as usize].packet {
            let at = at + self.profile.relay;
            upper.deliver(ending.from, station, packet.packet, at);
        }
    }

    /// By SINR: a frame ends at all that hear it.
    #[inline(never)]
    pub(crate) fn heard_among(
        &mut self,
        ending: &Ending,
        neighbours: impl Iterator<Item = Neighbour>,
        upper: &mut impl Upper<Packet = P>,
    ) {
        for neighbour in neighbours {
            let station = neighbour.station;
            let Near {
                ear,
                station: other,
            } = &mut self.near[station as usize];
            let work = &mut self.works[station as usize];
            ear.judge(work, &self.errors, ending.now);
            other.leave(work, ending.frame);
            if ear.frame == ending.frame {
                self.heard(ending, neighbour, upper);
            } else {
                let at = ending.now + neighbour.delay();
                self.left_unreceived(ending, station, at, upper);
            }
        }
    }

    /// A frame ends at its addressee, which has heard it and sends nothing.
    #[inline(never)]
    pub(crate) fn meant(
        &mut self,
        ending: &Ending,
        neighbour: Neighbour,
        at: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let station = neighbour.station;
        let ear = &mut self.near[station as usize].ear;
        let hearing = ear.hearing;
        if hearing == Hearing::Clear {
            ear.erred = false;
            self.reached(ending, station, at, upper);
        } else {
            ear.garbled(neighbour.decodes(), at, self.profile.rules, &self.spaces);
            if ending.kind == FrameKind::Data && hearing == Hearing::Collided {
                self.collided(ending.from, ending.now, upper);
            }
        }
        let spaces = self.spaces;
        let (ear, own, _) = self.all(station);
        own.resume(ear, ending.now, &spaces);
        self.arm(station);
    }

    /// By SINR: a frame ends at a station that did not receive it but heard its energy.
    fn left_unreceived(
        &mut self,
        ending: &Ending,
        station: u32,
        at: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let spaces = self.spaces;
        let (ear, other, work) = self.all(station);
        if !other.hears(ear) {
            ear.heard_until = at;
        }
        let is_sending = other.is_sending_at(at);
        if !is_sending && other.resume(ear, ending.now, &spaces) {
            let due = other.due(ear, work);
            self.timers.set(station, due);
        }
        if !is_sending && ending.to == Some(station) && ending.kind == FrameKind::Data {
            self.collided(ending.from, ending.now, upper);
        }
    }

    /// A data frame of a station was lost at its addressee, which hears another frame.
    pub(crate) fn collided(&mut self, from: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        self.works[from as usize].counts.collided += 1;
        upper.collided(from, now);
    }

    /// A frame has come to its addressee.
    #[inline]
    fn reached(
        &mut self,
        ending: &Ending,
        station: u32,
        at: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let (kind, from) = (ending.kind, ending.from);
        let (ear, own, _) = self.all(station);
        match kind {
            FrameKind::Data => self.received(from, station, at, upper),
            FrameKind::Rts => {
                // Only where the medium is not reserved (9.2.5.7).
                if ear.reserved <= at && !own.owes && own.phase == Phase::Free {
                    let reserves = ending.reserves - (self.ack + self.profile.sifs);
                    self.owe(station, FrameKind::Cts, from, reserves, at);
                }
            }
            FrameKind::Ack if own.phase == Phase::Awaiting(FrameKind::Ack) => {
                own.phase = Phase::Free;
                self.done(station, ending.now, upper);
            }
            FrameKind::Cts if own.phase == Phase::Awaiting(FrameKind::Cts) => {
                own.phase = Phase::Free;
                self.works[station as usize].short = 0;
                let reserves = self.profile.sifs + self.ack;
                self.owe(station, FrameKind::Data, from, reserves, at);
            }
            FrameKind::Ack | FrameKind::Cts => {}
        }
    }

    /// Something is to be sent a SIFS from now.
    #[inline]
    fn owe(&mut self, station: u32, kind: FrameKind, to: u32, reserves: Span, at: Time) {
        let (slot, due) = (self.profile.slot, at + self.profile.sifs);
        let (ear, own, work) = self.all(station);
        own.halt(ear, at, slot);
        let answer = Answer {
            kind,
            to,
            due,
            reserves,
        };
        own.owe(work, answer);
    }

    /// A packet has come to its addressee, which says so and hands it on.
    fn received(&mut self, from: u32, station: u32, at: Time, upper: &mut impl Upper<Packet = P>) {
        if self.near[station as usize].station.owes {
            return;
        }
        self.owe(station, FrameKind::Ack, from, Span::ZERO, at);
        let sender = &mut self.near[from as usize].station;
        if sender.delivered {
            self.works[station as usize].counts.duplicates += 1;
            return;
        }
        sender.delivered = true;
        if let Some(packet) = self.works[from as usize].packet {
            upper.deliver(from, station, packet.packet, at + self.profile.relay);
        }
    }

    /// A packet is done with: backoff before the next one.
    pub(crate) fn done(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        self.works[station as usize].forget(self.profile.cw_min);
        self.back_off(station, now);
        upper.finished(station, now);
        self.fetch(station, now, upper);
    }

    /// No answer came in time.
    pub(crate) fn unanswered(
        &mut self,
        station: u32,
        awaited: FrameKind,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let (rules, sifs) = (self.profile.rules, self.profile.sifs);
        let (ear, own, work) = self.all(station);
        if rules == Rules::Standard && ear.frame != 0 && ear.heard_until > now {
            work.patience = ear.heard_until;
            return;
        }
        own.phase = Phase::Free;
        // An answer of its own that had to wait goes first.
        if let Some(answer) = own.owed(work) {
            answer.due = answer.due.max(now + sifs);
        }
        let Some(packet) = work.packet else {
            return;
        };
        let after_rts = awaited == FrameKind::Ack && self.needs_rts(packet.bytes);
        let work = &mut self.works[station as usize];
        let (count, most) = if after_rts {
            (&mut work.long, self.profile.long_retries)
        } else {
            (&mut work.short, self.profile.short_retries)
        };
        *count += 1;
        if *count < most {
            work.window = (work.window * 2 + 1).min(self.profile.cw_max);
            return self.back_off(station, now);
        }
        work.counts.given_up += 1;
        work.forget(self.profile.cw_min);
        if let Some(to) = packet.to {
            upper.fail(station, to, packet.packet, now);
        }
        upper.finished(station, now);
        if self.profile.rules == Rules::Standard {
            self.back_off(station, now);
        }
        if self.works[station as usize].packet.is_none() {
            self.fetch(station, now, upper);
        }
    }
}
