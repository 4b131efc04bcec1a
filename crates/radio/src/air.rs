//! A medium with its stations: the distributed coordination function over thresholds of power.
//!
//! Source: IEEE 802.11-2007 clause 9.2 (physical and virtual carrier sense, RTS and CTS); ns-2.35
//! where [`Rules::Ns2`] says so. What a station does by itself is in `access.rs`.
//!
//! What makes it fast: one event when a frame begins, which tells all that hear it, and one when
//! it ends. Each station has one timer; who drives them sees the earliest alone. A frame reaches
//! each station after its own delay: stations learn of a frame when it is sent, but act as of the
//! time at which it reaches them. Reservations and interframe spaces need no events: they are
//! known when a frame ends.
//!
//! Left out: rate adaptation, fragmentation, power save, beacons; noise and interference below the
//! threshold of hearing.

use crate::access::{Access, Beginning, Ending};
use crate::ear::{Hearing, frame_of};
use crate::phy::{MANY, Neighbours, Place};
use crate::profile::Profile;
use crate::station::{Answer, Backoff, Counts, Phase};
use crate::upper::{FrameKind, Upper};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A frame that a station begins to send.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    kind: FrameKind,
    /// The addressee, or all.
    to: Option<u32>,
    airtime: Span,
    /// How long the medium stays reserved after it.
    reserves: Span,
}

/// A medium with its stations.
#[derive(Clone, Debug)]
pub struct Air<P> {
    /// Apart from the stations: those that hear a frame are walked while they change.
    pub(crate) neighbours: Neighbours,
    pub(crate) access: Access<P>,
    /// Whether there are so many stations that memory is asked for, and whose was last.
    is_large: bool,
    pub(crate) asked: [(u32, bool); 4],
}

impl<P: Copy> Air<P> {
    /// Stations at these places, which send with so much power over the profile's
    /// ([`Neighbours::new`]); `dice` makes the stream of each.
    pub fn new(
        profile: Profile,
        places: &[Place],
        powers: &[f64],
        dice: impl FnMut(usize) -> Stream,
    ) -> Self {
        Self {
            neighbours: Neighbours::new(&profile, places, powers),
            access: Access::new(profile, places.len(), dice),
            is_large: places.len() >= MANY,
            asked: [(0, false); 4],
        }
    }

    /// Whether there are so many stations that memory is asked for ahead.
    pub const fn is_large(&self) -> bool {
        self.is_large
    }

    /// The constants.
    pub const fn profile(&self) -> &Profile {
        &self.access.profile
    }

    /// Who hears whom.
    pub const fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// What a station has done.
    pub fn counts(&self, station: u32) -> Counts {
        self.access.works[station as usize].counts
    }

    /// The packets that stations have taken and no addressee has got yet.
    pub fn held(&self) -> impl Iterator<Item = &P> {
        let stations = self.access.near.iter().zip(&self.access.works);
        let taken = stations.filter(|(near, _)| !near.station.delivered);
        taken.filter_map(|(_, work)| work.packet.as_ref().map(|packet| &packet.packet))
    }

    /// Puts a station elsewhere. A frame under way between it and one that is out of hearing then
    /// is lost, and its time passes there all the same.
    pub fn put(&mut self, station: u32, place: Place) {
        let before = self.neighbours.links(station);
        self.neighbours.put(&self.access.profile, station, place);
        let after = self.neighbours.links(station);
        for (from, to) in before.into_iter().filter(|link| !after.contains(link)) {
            self.part(from, to);
        }
    }

    /// The end of a station's frame will not be heard by another, which does not wait for it.
    fn part(&mut self, from: u32, to: u32) {
        let sender = &self.access.near[from as usize].station;
        if !matches!(sender.phase, Phase::Sending(_)) {
            return;
        }
        let (frame, spaces) = (frame_of(from), self.access.spaces);
        let (ear, other, work) = self.access.all(to);
        let left = other.leave(work, frame);
        if ear.frame == frame || left {
            if ear.frame == frame {
                ear.frame = 0;
            }
            // From the time on at which the frame ends, which is to come.
            other.resume(ear, Time::ZERO, &spaces);
            self.access.arm(to);
        }
    }

    /// A packet waits at a station.
    #[inline]
    pub fn waited_for(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        if self.access.works[station as usize].packet.is_none() {
            self.access.fetch(station, now, upper);
            self.access.arm(station);
        }
    }

    /// When a station has to do something next, if that is before `limit`, and [`Air::run`] is to
    /// be called.
    #[inline]
    pub fn due_before(&mut self, limit: Time) -> Option<Time> {
        let (_, at) = self.access.timers.first();
        (at < limit).then_some(at)
    }

    /// Does what is due. Returns when something is next, if ever.
    #[inline]
    pub fn run(&mut self, now: Time, upper: &mut impl Upper<Packet = P>) -> Option<Time> {
        loop {
            let (station, at) = self.access.timers.first();
            if at > now {
                return (at < Time::MAX).then_some(at);
            }
            if self.is_large {
                self.look_ahead(upper);
            }
            self.act(station, now, upper);
            self.access.arm_here(station);
        }
    }

    /// Does what is due.
    fn act(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let access = &mut self.access;
        let (ear, own, work) = access.all(station);
        match own.phase {
            Phase::Sending(kind) => self.end(station, kind, now, upper),
            Phase::Awaiting(kind) => access.unanswered(station, kind, now, upper),
            Phase::Free => {
                if let Some(answer) = own.answer(work, now) {
                    self.answer(station, answer, now, upper);
                } else {
                    if ear.backoff == Backoff::Counting && own.backoff_end <= now {
                        ear.backoff = Backoff::None;
                    }
                    if work.packet.is_none() && work.asks_at(now) {
                        access.fetch(station, now, upper);
                    } else if work.packet.is_some() && ear.backoff == Backoff::None {
                        self.attempt(station, now, upper);
                    }
                }
            }
        }
    }

    /// Its turn has come.
    fn attempt(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let access = &mut self.access;
        let Some(packet) = &access.works[station as usize].packet else {
            return;
        };
        let (to, bytes) = (packet.to, packet.bytes);
        if to.is_some() && access.needs_rts(bytes) {
            let data = access.data_airtime(bytes, false);
            let rts = Transmission {
                kind: FrameKind::Rts,
                to,
                airtime: access.rts,
                reserves: access.ack * 2 + data + access.profile.sifs * 3,
            };
            self.transmit(station, rts, now, upper);
        } else {
            self.send_data(station, now, upper);
        }
    }

    fn send_data(&mut self, station: u32, now: Time, upper: &mut impl Upper<Packet = P>) {
        let access = &mut self.access;
        let work = &mut access.works[station as usize];
        let Some(packet) = &work.packet else {
            return;
        };
        let (to, bytes) = (packet.to, packet.bytes);
        work.counts.sent += 1;
        work.counts.repeated += u64::from(work.short + work.long > 0);
        let data = Transmission {
            kind: FrameKind::Data,
            to,
            airtime: access.data_airtime(bytes, to.is_none()),
            reserves: match to {
                Some(_) => access.profile.sifs + access.ack,
                None => Span::ZERO,
            },
        };
        self.transmit(station, data, now, upper);
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
        let frame = Transmission {
            kind: answer.kind,
            to: Some(answer.to),
            airtime: self.access.ack,
            reserves: answer.reserves,
        };
        self.transmit(station, frame, now, upper);
    }

    /// A frame begins.
    fn transmit(
        &mut self,
        station: u32,
        transmission: Transmission,
        now: Time,
        upper: &mut impl Upper<Packet = P>,
    ) {
        let Transmission {
            kind,
            to,
            airtime,
            reserves,
        } = transmission;
        let access = &mut self.access;
        let slot = access.profile.slot;
        let by_sinr = access.profile.capture.is_none();
        let (ear, own, work) = access.all(station);
        own.halt(ear, now, slot);
        (own.phase, own.own_until) = (Phase::Sending(kind), now + airtime);
        ear.sends = true;
        (work.to, work.reserves) = (to, reserves);
        work.counts.airtime += airtime;
        if by_sinr {
            // It breaks its reception off.
            ear.frame = 0;
        } else if ear.frame != 0 && ear.hearing == Hearing::Clear {
            // What it hears while it sends is lost.
            ear.hearing = Hearing::Garbled;
        }
        upper.sent(&work.sent(station, kind, now, airtime));
        let beginning = Beginning {
            frame: frame_of(station),
            now,
            end: now + airtime,
            parts: access.parts(kind, to, now),
        };
        if by_sinr {
            access.begin_among(&beginning, self.neighbours.of(station));
        } else {
            access.begin(&beginning, station, self.neighbours.list(station));
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
        let access = &mut self.access;
        let (ear, own, work) = access.all(station);
        (own.phase, ear.sends) = (Phase::Free, false);
        let ending = Ending {
            from: station,
            frame: frame_of(station),
            kind,
            to: work.to,
            reserves: work.reserves,
            now,
        };
        if upper.looks_on() {
            for neighbour in self.neighbours.of(station) {
                access.show(&ending, &neighbour, upper);
            }
        }
        if access.profile.capture.is_none() {
            access.heard_among(&ending, self.neighbours.of(station), upper);
        } else {
            access.end(&ending, self.neighbours.list(station), upper);
        }
        let (patience, spaces) = (now + access.patience, access.spaces);
        let (ear, own, work) = access.all(station);
        match (kind, ending.to) {
            (FrameKind::Data, Some(_)) => {
                own.phase = Phase::Awaiting(FrameKind::Ack);
                work.patience = patience;
            }
            (FrameKind::Rts, _) => {
                own.phase = Phase::Awaiting(FrameKind::Cts);
                work.patience = patience;
            }
            (FrameKind::Data, None) => access.done(station, now, upper),
            (FrameKind::Ack | FrameKind::Cts, _) => {
                if work.packet.is_some() && ear.backoff == Backoff::None {
                    access.back_off(station, now);
                } else {
                    own.resume(ear, now, &spaces);
                }
            }
        }
    }
}
