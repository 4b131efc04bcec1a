//! A medium with its stations: the distributed coordination function over thresholds of power.
//!
//! Source: IEEE 802.11-2007 clause 9.2 (physical and virtual carrier sense, backoff and its
//! freezing, ACK, RTS and CTS, retries, EIFS); ns-2.35 where [`Rules::Ns2`] says so.
//!
//! What makes it fast: one event when a frame begins, which tells all that hear it, and one when it
//! ends. Each station has one timer; who drives them sees the earliest alone. A frame reaches each
//! station after its own delay: stations learn of a frame when it is sent, but act as of the time
//! at which it reaches them.
//! Reservations and interframe spaces need no events: they are known when a frame ends.
//!
//! Left out: rate adaptation, fragmentation, power save, beacons; noise and interference below the
//! threshold of hearing.

use crate::phy::{Neighbour, Neighbours, Place};
use crate::profile::{ACK, Profile, RTS, Rules};
use crate::station::{Answer, Counts, Hearing, Phase, Station};
use crate::timers::Timers;
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet, to one station or to all.
    Data,
    /// The answer to one.
    Ack,
    /// The question before a long one.
    Rts,
    /// The answer to that.
    Cts,
}

/// A packet for a station to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<P> {
    /// The packet.
    pub packet: P,
    /// Bytes of its frame ([`Profile::frame`]).
    pub bytes: u32,
    /// To whom; None: to all that can receive it.
    pub to: Option<u32>,
}

/// What a station gets that asks for a packet.
#[derive(Clone, Copy, Debug)]
pub enum Taken<P> {
    /// One.
    Packet(Outgoing<P>),
    /// None before this time, at which it asks again.
    NotBefore(Time),
    /// None: [`Air::waited_for`] says when there is one.
    Nothing,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a, P> {
    /// Its kind.
    pub kind: FrameKind,
    /// Who sends it.
    pub from: u32,
    /// To whom; None: to all.
    pub to: Option<u32>,
    /// When it begins.
    pub start: Time,
    /// How long it takes.
    pub airtime: Span,
    /// How long it reserves the medium after its end.
    pub reserves: Span,
    /// Of a data frame.
    pub packet: Option<&'a P>,
    /// Whether it was sent before.
    pub repeated: bool,
}

/// Who drives the stations and has their packets.
pub trait Upper {
    /// What stations carry.
    type Packet: Copy;

    /// The next packet of a station.
    fn take(&mut self, station: u32, now: Time) -> Taken<Self::Packet>;

    /// A packet has come to station `to` and is to be handed on there at `at`.
    fn deliver(&mut self, from: u32, to: u32, packet: Self::Packet, at: Time);

    /// A station has given up sending a packet to `to`.
    fn fail(&mut self, station: u32, to: u32, packet: Self::Packet, now: Time);

    /// A frame begins. For those who look on.
    fn sent(&mut self, _frame: &Frame<'_, Self::Packet>) {}

    /// Whether [`Upper::received`] is to be called.
    fn looks_on(&self) -> bool {
        false
    }

    /// A frame has come through to a station that can receive it, whomever it is to, with this
    /// share of the power sent. For those who look on.
    fn received(&mut self, _station: u32, _frame: &Frame<'_, Self::Packet>, _power: f64) {}

    /// A station is done with the packet that it took last: acknowledged, sent to all or given up.
    /// For those who look on.
    fn finished(&mut self, _station: u32, _now: Time) {}

    /// A data frame of a station was lost at its addressee, which hears another frame. For those
    /// who look on.
    fn collided(&mut self, _station: u32, _now: Time) {}
}

/// A medium with its stations.
#[derive(Debug)]
pub struct Air<P> {
    profile: Profile,
    difs: Span,
    eifs: Span,
    /// Airtime of an ACK, which is that of a CTS.
    ack: Span,
    rts: Span,
    /// Bytes of the last data frame, whether it was to all, and its airtime.
    aired: (u32, bool, Span),
    /// How long a station waits for an answer after its own frame.
    patience: Span,
    neighbours: Neighbours,
    stations: Vec<Station<P>>,
    /// When each station has to do something.
    timers: Timers,
    frames: u64,
}

/// ns-2's allowance for the way of a frame.
const NS2_PROPAGATION: Span = Span::from_micros(2);

impl<P: Copy> Air<P> {
    /// Stations at these places; `dice` makes the stream of each.
    pub fn new(profile: Profile, places: &[Place], mut dice: impl FnMut(usize) -> Stream) -> Self {
        let ack = profile.airtime(ACK, profile.basic_rate);
        let patience = match profile.rules {
            Rules::Ns2 => profile.sifs + ack + NS2_PROPAGATION * 2,
            // aSIFSTime + aSlotTime + aPHY-RX-START-Delay; a frame heard by then is waited for.
            Rules::Standard => profile.sifs + profile.slot + profile.preamble,
        };
        let stations = (0..places.len()).map(|index| Station::new(profile.cw_min, dice(index)));
        Self {
            difs: profile.difs(),
            eifs: profile.eifs(),
            ack,
            rts: profile.airtime(RTS, profile.basic_rate),
            aired: (0, true, profile.airtime(0, profile.basic_rate)),
            patience,
            neighbours: Neighbours::new(&profile, places),
            stations: stations.collect(),
            timers: Timers::new(places.len()),
            frames: 0,
            profile,
        }
    }

    /// The constants.
    pub const fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Who hears whom.
    pub const fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// What a station has done.
    pub fn counts(&self, station: u32) -> Counts {
        self.stations[station as usize].counts
    }

    /// Puts a station elsewhere. A frame under way between it and one that is out of hearing then
    /// is lost, and its time passes there all the same.
    pub fn put(&mut self, station: u32, place: Place) {
        let before = self.neighbours.of(station).to_vec();
        self.neighbours.put(&self.profile, station, place);
        for other in before.into_iter().map(|neighbour| neighbour.station) {
            let mut near = self.neighbours.of(station).iter();
            if near.all(|neighbour| neighbour.station != other) {
                self.part(station, other);
                self.part(other, station);
            }
        }
    }

    /// The end of a station's frame will not be heard by another, which does not wait for it.
    fn part(&mut self, from: u32, to: u32) {
        let sender = &self.stations[from as usize];
        let (is_sending, frame) = (matches!(sender.phase, Phase::Sending(_)), sender.own);
        let other = &mut self.stations[to as usize];
        if is_sending && other.frame == frame {
            other.frame = 0;
            // From the time on at which the frame ends, which is to come.
            self.resume(to, Time::ZERO);
            self.arm(to);
        }
    }

    /// A packet waits at a station.
    #[inline]
    pub fn waited_for(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        if self.stations[station as usize].packet.is_none() {
            self.fetch(station, now, upper);
            self.arm(station);
        }
    }

    /// When a station has to do something next, if that is before `limit`, and [`Air::run`] is to
    /// be called.
    #[inline]
    pub fn due_before(&mut self, limit: Time) -> Option<Time> {
        let (_, at) = self.timers.first();
        (at < limit).then_some(at)
    }

    /// Does what is due. Returns when something is next, if ever.
    #[inline]
    pub fn run(&mut self, now: Time, upper: &mut impl Upper<Packet = P>) -> Option<Time> {
        loop {
            let (station, at) = self.timers.first();
            if at > now {
                return (at < Time::MAX).then_some(at);
            }
            self.act(station, now, upper);
            self.arm(station);
        }
    }

    /// Does what is due.
    fn act(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let slot = self.profile.slot;
        let own = &mut self.stations[station as usize];
        match own.phase {
            Phase::Sending(kind) => self.end(station, kind, now, upper),
            Phase::Awaiting(kind) => self.unanswered(station, kind, now, upper),
            Phase::Free => {
                if let Some(answer) = own.answer.take_if(|answer| answer.due <= now) {
                    self.answer(station, answer, now, upper);
                } else {
                    if own.backing_off && !own.halted && own.backoff_end(slot) <= now {
                        own.backing_off = false;
                    }
                    if own.packet.is_none() && own.asks <= now {
                        self.fetch(station, now, upper);
                    } else if own.packet.is_some() && !own.backing_off {
                        self.attempt(station, now, upper);
                    }
                }
            }
        }
    }

    /// Something about a station has changed that may move what it has to do.
    #[inline]
    fn arm(&mut self, station: u32) {
        let due = self.stations[station as usize].due(self.profile.slot);
        self.timers.set(station, due);
    }

    /// Takes the next packet and begins to wait for its turn.
    fn fetch(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let taken = upper.take(station, now);
        let own = &mut self.stations[station as usize];
        own.asks = Time::MAX;
        let packet = match taken {
            Taken::Packet(packet) => packet,
            Taken::NotBefore(at) => {
                own.asks = at;
                return;
            }
            Taken::Nothing => return,
        };
        let rules = self.profile.rules;
        let own = &mut self.stations[station as usize];
        (own.packet, own.delivered) = (Some(packet), false);
        if own.backing_off || matches!(own.phase, Phase::Awaiting(_)) {
            return;
        }
        if rules == Rules::Standard && own.is_free() && own.idle_since() <= now {
            // Idle: after DIFS at once (9.2.5.1).
            let space = if own.erred { self.eifs } else { self.difs };
            (own.backing_off, own.halted, own.slots) = (true, false, 0);
            own.counts_from = (own.idle_since() + space).max(now);
            return;
        }
        self.back_off(station, now);
    }

    /// Draws a backoff, which counts from DIFS after the medium is idle.
    fn back_off(&mut self, station: u32, now: Time) {
        let own = &mut self.stations[station as usize];
        let values = match self.profile.rules {
            Rules::Ns2 => own.window,
            Rules::Standard => own.window + 1,
        };
        own.slots = own.dice.below(values.max(1).into()) as u32;
        (own.backing_off, own.halted) = (true, true);
        self.resume(station, now);
    }

    /// Lets a halted backoff count again, if nothing stands in the way. Returns whether it does.
    #[inline]
    fn resume(&mut self, station: u32, now: Time) -> bool {
        let own = &mut self.stations[station as usize];
        let resumes = own.backing_off && own.halted && own.is_free();
        if resumes {
            let space = if own.erred { self.eifs } else { self.difs };
            own.counts_from = own.idle_since().max(now) + space;
            own.halted = false;
        }
        resumes
    }

    fn needs_rts(&self, bytes: u32) -> bool {
        self.profile.rts_above.is_some_and(|above| bytes > above)
    }

    /// Airtime of a data frame of so many bytes: most often that of the one before.
    fn data_airtime(&mut self, bytes: u32, to_all: bool) -> Span {
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
        let packet = self.stations[station as usize].packet.as_ref();
        match (kind, packet) {
            (FrameKind::Data, Some(&Outgoing { bytes, to, .. })) => {
                self.data_airtime(bytes, to.is_none())
            }
            (FrameKind::Rts, _) => self.rts,
            _ => self.ack,
        }
    }

    /// Its turn has come.
    fn attempt(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let Some(packet) = &self.stations[station as usize].packet else {
            return;
        };
        let (to, bytes) = (packet.to, packet.bytes);
        if to.is_some() && self.needs_rts(bytes) {
            let data = self.data_airtime(bytes, false);
            let rest = self.ack * 2 + data + self.profile.sifs * 3;
            let rts = (FrameKind::Rts, self.rts, rest);
            self.transmit(station, rts, to, now, upper);
        } else {
            self.send_data(station, now, upper);
        }
    }

    fn send_data(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let Some(packet) = &self.stations[station as usize].packet else {
            return;
        };
        let (to, bytes) = (packet.to, packet.bytes);
        let airtime = self.data_airtime(bytes, to.is_none());
        let reserves = match to {
            Some(_) => self.profile.sifs + self.ack,
            None => Span::ZERO,
        };
        let own = &mut self.stations[station as usize];
        own.counts.sent += 1;
        if own.short + own.long > 0 {
            own.counts.repeated += 1;
        }
        let data = (FrameKind::Data, airtime, reserves);
        self.transmit(station, data, to, now, upper);
    }

    fn answer(
        &mut self,
        station: u32,
        answer: Answer,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        if answer.kind == FrameKind::Data {
            return self.send_data(station, now, upper);
        }
        let frame = (answer.kind, self.ack, answer.reserves);
        self.transmit(station, frame, Some(answer.to), now, upper);
    }

    /// A frame begins: its kind, its airtime, and how long it reserves the medium after that.
    fn transmit(
        &mut self,
        station: u32,
        (kind, airtime, reserves): (FrameKind, Span, Span),
        to: Option<u32>,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        self.frames += 1;
        let frame = self.frames;
        let slot = self.profile.slot;
        let own = &mut self.stations[station as usize];
        own.halt(now, slot);
        own.phase = Phase::Sending(kind);
        (own.own, own.own_until, own.to, own.reserves) = (frame, now + airtime, to, reserves);
        own.counts.airtime += airtime;
        if own.frame != 0 && own.hearing == Hearing::Clear {
            // What it hears while it sends is lost.
            own.hearing = Hearing::Garbled;
        }
        upper.sent(&own.sent(station, kind, now, airtime));
        for neighbour in self.neighbours.of(station) {
            let other = &mut self.stations[neighbour.station as usize];
            let halts = begin(
                other,
                frame,
                neighbour,
                (now, airtime),
                &self.profile,
                self.eifs,
            );
            if halts {
                self.timers.set(neighbour.station, other.due(slot));
            }
        }
    }

    /// The frame of a station ends.
    fn end(
        &mut self,
        station: u32,
        kind: FrameKind,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        self.stations[station as usize].phase = Phase::Free;
        let (frame, to) = {
            let own = &self.stations[station as usize];
            (own.own, own.to)
        };
        // Taken out meanwhile: nothing that follows asks who hears this station.
        let neighbours = self.neighbours.lend(station);
        for neighbour in &neighbours {
            self.heard(station, frame, neighbour, (kind, to), now, upper);
        }
        self.neighbours.give_back(station, neighbours);
        let own = &mut self.stations[station as usize];
        match (kind, to) {
            (FrameKind::Data, Some(_)) => {
                own.phase = Phase::Awaiting(FrameKind::Ack);
                own.patience = now + self.patience;
            }
            (FrameKind::Rts, _) => {
                own.phase = Phase::Awaiting(FrameKind::Cts);
                own.patience = now + self.patience;
            }
            (FrameKind::Data, None) => self.done(station, now, upper),
            (FrameKind::Ack | FrameKind::Cts, _) => {
                if own.packet.is_some() && !own.backing_off {
                    self.back_off(station, now);
                } else {
                    self.resume(station, now);
                }
            }
        }
    }

    /// A frame ends at one of those that hear it.
    #[inline]
    fn heard(
        &mut self,
        from: u32,
        frame: u64,
        neighbour: &Neighbour,
        (kind, to): (FrameKind, Option<u32>),
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let other = &mut self.stations[neighbour.station as usize];
        let is_meant = to == Some(neighbour.station);
        if other.frame != frame {
            // Another frame goes on here, or went over this one.
            if is_meant && kind == FrameKind::Data {
                self.stations[from as usize].counts.collided += 1;
                upper.collided(from, now);
            }
            return;
        }
        let at = now + neighbour.delay;
        other.frame = 0;
        other.heard_until = at;
        if other.is_sending_at(at) {
            return;
        }
        if other.hearing == Hearing::Clear {
            other.erred = false;
            if upper.looks_on() {
                let airtime = self.airtime(from, kind);
                let sent = &self.stations[from as usize];
                let frame = sent.sent(from, kind, at - airtime, airtime);
                upper.received(neighbour.station, &frame, neighbour.power);
            }
            if is_meant {
                self.reached(from, neighbour.station, kind, (now, at), upper);
            } else if to.is_some() {
                let reserves = self.stations[from as usize].reserves;
                let other = &mut self.stations[neighbour.station as usize];
                other.reserved = other.reserved.max(at + reserves);
            } else if let Some(packet) = self.stations[from as usize].packet {
                let due = at + self.profile.relay;
                upper.deliver(from, neighbour.station, packet.packet, due);
            }
        } else {
            match self.profile.rules {
                Rules::Ns2 => other.reserved = other.reserved.max(at + self.eifs),
                Rules::Standard => {
                    other.erred = neighbour.decodes || other.hearing == Hearing::Collided;
                }
            }
            if is_meant && kind == FrameKind::Data && other.hearing == Hearing::Collided {
                self.stations[from as usize].counts.collided += 1;
                upper.collided(from, now);
            }
        }
        // A frame that is not for it changes nothing but its backoff.
        if self.resume(neighbour.station, now) || is_meant {
            self.arm(neighbour.station);
        }
    }

    /// A frame has come to its addressee.
    fn reached(
        &mut self,
        from: u32,
        station: u32,
        kind: FrameKind,
        (now, at): (Time, Time),
        upper: &mut impl Upper<Packet = P>,
    ) {
        let own = &self.stations[station as usize];
        match kind {
            FrameKind::Data => self.received(from, station, at, upper),
            FrameKind::Rts => {
                // Only where the medium is not reserved (9.2.5.7).
                if own.reserved <= at && own.answer.is_none() && own.phase == Phase::Free {
                    let asked = self.stations[from as usize].reserves;
                    let reserves = asked - (self.ack + self.profile.sifs);
                    self.owe(station, (FrameKind::Cts, from, reserves), at);
                }
            }
            FrameKind::Ack if own.phase == Phase::Awaiting(FrameKind::Ack) => {
                let own = &mut self.stations[station as usize];
                own.phase = Phase::Free;
                self.done(station, now, upper);
            }
            FrameKind::Cts if own.phase == Phase::Awaiting(FrameKind::Cts) => {
                let own = &mut self.stations[station as usize];
                (own.phase, own.short) = (Phase::Free, 0);
                let reserves = self.profile.sifs + self.ack;
                self.owe(station, (FrameKind::Data, from, reserves), at);
            }
            FrameKind::Ack | FrameKind::Cts => {}
        }
    }

    /// Something is to be sent a SIFS from now.
    fn owe(&mut self, station: u32, (kind, to, reserves): (FrameKind, u32, Span), at: Time) {
        let slot = self.profile.slot;
        let own = &mut self.stations[station as usize];
        own.halt(at, slot);
        own.answer = Some(Answer {
            kind,
            to,
            due: at + self.profile.sifs,
            reserves,
        });
    }

    /// A packet has come to its addressee, which says so and hands it on.
    fn received(&mut self, from: u32, station: u32, at: Time, upper: &mut impl Upper<Packet = P>) {
        if self.stations[station as usize].answer.is_some() {
            return;
        }
        self.owe(station, (FrameKind::Ack, from, Span::ZERO), at);
        let sender = &mut self.stations[from as usize];
        if sender.delivered {
            self.stations[station as usize].counts.duplicates += 1;
            return;
        }
        sender.delivered = true;
        if let Some(packet) = sender.packet {
            upper.deliver(from, station, packet.packet, at + self.profile.relay);
        }
    }

    /// A packet is done with: backoff before the next one.
    fn done(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let own = &mut self.stations[station as usize];
        (own.packet, own.short, own.long) = (None, 0, 0);
        own.window = self.profile.cw_min;
        self.back_off(station, now);
        upper.finished(station, now);
        self.fetch(station, now, upper);
    }

    /// No answer came in time.
    fn unanswered(
        &mut self,
        station: u32,
        awaited: FrameKind,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let own = &mut self.stations[station as usize];
        if self.profile.rules == Rules::Standard && own.frame != 0 && own.heard_until > now {
            own.patience = own.heard_until;
            return;
        }
        own.phase = Phase::Free;
        // An answer of its own that had to wait goes first.
        if let Some(answer) = &mut own.answer {
            answer.due = answer.due.max(now + self.profile.sifs);
        }
        let Some(packet) = own.packet else {
            return;
        };
        let after_rts = awaited == FrameKind::Ack && self.needs_rts(packet.bytes);
        let own = &mut self.stations[station as usize];
        let (count, most) = if after_rts {
            (&mut own.long, self.profile.long_retries)
        } else {
            (&mut own.short, self.profile.short_retries)
        };
        *count += 1;
        if *count < most {
            own.window = (own.window * 2 + 1).min(self.profile.cw_max);
            return self.back_off(station, now);
        }
        own.counts.given_up += 1;
        (own.packet, own.short, own.long) = (None, 0, 0);
        own.window = self.profile.cw_min;
        if let Some(to) = packet.to {
            upper.fail(station, to, packet.packet, now);
        }
        upper.finished(station, now);
        if self.profile.rules == Rules::Standard {
            self.back_off(station, now);
        }
        if self.stations[station as usize].packet.is_none() {
            self.fetch(station, now, upper);
        }
    }
}

/// A frame begins at a station that hears it. Returns whether its backoff stops for that.
#[inline]
fn begin<P>(
    station: &mut Station<P>,
    frame: u64,
    neighbour: &Neighbour,
    (now, airtime): (Time, Span),
    profile: &Profile,
    eifs: Span,
) -> bool {
    let start = now + neighbour.delay;
    let end = start + airtime;
    if station.frame == 0 {
        let halts = station.halt(start, profile.slot);
        let is_lost = !neighbour.decodes || station.is_sending_at(start);
        station.hearing = if is_lost {
            Hearing::Garbled
        } else {
            Hearing::Clear
        };
        (station.frame, station.heard_until) = (frame, end);
        station.power = neighbour.power;
        return halts;
    }
    if station.power >= profile.capture * neighbour.power {
        if profile.rules == Rules::Ns2 {
            station.reserved = station.reserved.max(end + eifs);
        }
        return false;
    }
    station.hearing = Hearing::Collided;
    if end > station.heard_until {
        (station.frame, station.heard_until) = (frame, end);
        station.power = neighbour.power;
    }
    false
}
