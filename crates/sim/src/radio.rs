//! A radio medium: its stations' queues below, the access to the air above them.
//!
//! Every node of a network with a radio has one interface, and a station of the same index. A
//! frame that has come through is handed on after the way through its station; what becomes of the
//! packet then is forwarding's business ([`crate::mesh`]).

use crate::arrivals::Arrival;
use crate::calendar::{Owner, OwnerKey};
use crate::packet::{Addressee, Packet};
use crate::passage::Passage;
use crate::tap::Seen;
use sojourn_memory::fetch;
use sojourn_qdisc::{Dequeue, Packet as _};
use sojourn_radio::{self as air, Air, Frame, FrameKind, Outgoing, Place, Profile, Upper};
use sojourn_random::Stream;
use sojourn_units::Time;
use sojourn_world::{Cell, Hop, Radio as Spec, RadioEvent, Stations};
use std::collections::VecDeque;

#[derive(Clone)]
pub(crate) struct Radio {
    air: Air<Packet>,
    /// Its index among the media.
    medium: u32,
    /// Time of the event that the calendar holds for this medium; `Time::MAX` for none.
    armed: Time,
    drivers: Drivers,
}

/// What lies between the stations' queues and the air.
#[derive(Clone)]
struct Drivers {
    profile: Profile,
    /// Bytes of link header in a packet's length, which a radio has none of.
    link_header: u32,
    /// By station: packets that have left its queue and wait in the radio, with the times since
    /// which they have been in the queue.
    waiting: Vec<VecDeque<(Packet, Time)>>,
    /// Most of them.
    depth: usize,
    /// By sender: what it has sent to whom.
    hops: Vec<Vec<Hop>>,
    /// Whether memory is asked for ahead.
    is_large: bool,
}

impl Radio {
    pub(crate) fn new(cell: &Cell, spec: &Spec, medium: usize) -> Self {
        let dice = |station: usize| {
            let name = &cell.network.nodes[station].name;
            Stream::named(cell.seed, &format!("radio.{name}"))
        };
        let air = Air::new(spec.profile, spec.places(), spec.powers(), dice);
        Self {
            medium: medium as u32,
            armed: Time::MAX,
            drivers: Drivers {
                profile: spec.profile,
                link_header: cell.link_header.into(),
                waiting: vec![VecDeque::new(); spec.places().len()],
                depth: spec.driver_queue as usize,
                hops: vec![Vec::new(); spec.places().len()],
                is_large: air.is_large(),
            },
            air,
        }
    }

    /// A packet waits at a station.
    #[inline]
    pub(crate) fn waited_for(&mut self, station: usize, passage: &mut Passage, now: Time) {
        let armed = self.armed;
        let (air, mut above) = self.split(passage);
        air.waited_for(station as u32, now, &mut above);
        above.fill(station, now);
        if let Some(due) = air.due_before(armed) {
            self.armed = due;
            let source = OwnerKey::of(Owner::Medium(self.medium as usize));
            passage.calendar.push(due, source);
        }
    }

    /// Asks for what a station needs that is going to send a message.
    pub(crate) fn expect(&self, station: u32) {
        self.air.expect(station);
    }

    /// Stations do what is due, and what has come through is handed on. Returns when the next
    /// thing is due.
    #[inline]
    pub(crate) fn event(&mut self, passage: &mut Passage, now: Time) -> Option<Time> {
        if self.armed != now {
            return None; // stale
        }
        let (air, mut above) = self.split(passage);
        let due = air.run(now, &mut above).unwrap_or(Time::MAX);
        self.armed = due.min(passage.arrivals.let_go(now));
        (self.armed < Time::MAX).then_some(self.armed)
    }

    /// Where its stations are, and what has gone from one to another.
    pub(crate) fn stations(&self, spec: &Spec) -> Stations {
        let by_station = &self.drivers.hops;
        let places = (0..by_station.len() as u32)
            .map(|station| self.air.neighbours().place(station))
            .collect();
        let hops = by_station.iter().flatten().copied().collect();
        Stations::of(spec, places, hops)
    }

    /// The packets that have left queues and have not come to a neighbour.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Packet> {
        let waiting = self
            .drivers
            .waiting
            .iter()
            .flatten()
            .map(|(packet, _)| packet);
        self.air.held().chain(waiting)
    }

    /// Puts a station elsewhere.
    pub(crate) fn put(&mut self, station: usize, place: Place) {
        self.air.put(station as u32, place);
    }

    fn split<'a>(&'a mut self, passage: &'a mut Passage) -> (&'a mut Air<Packet>, Above<'a>) {
        let drivers = &mut self.drivers;
        let above = Above { passage, drivers };
        (&mut self.air, above)
    }
}

/// What lies above the stations.
struct Above<'a> {
    passage: &'a mut Passage,
    drivers: &'a mut Drivers,
}

impl Above<'_> {
    /// Moves packets from a station's queue to those that wait in the radio, while there is room.
    #[inline]
    fn fill(&mut self, station: usize, now: Time) {
        let depth = self.drivers.depth;
        if depth == 0 {
            return;
        }
        let waiting = &mut self.drivers.waiting[station];
        while waiting.len() < depth
            && let Dequeue::Packet { packet, sojourn } = self.passage.interfaces[station].take(now)
        {
            waiting.push_back((packet, now - sojourn));
            if self.passage.tapped.is_some() {
                self.passage.show(Seen::Dequeued(station), &packet, now);
            }
        }
    }

    /// The next packet of a station: the first that waits in the radio, or else in the queue.
    #[inline]
    fn next(&mut self, station: usize, now: Time) -> Dequeue<Packet> {
        if self.drivers.depth > 0
            && let Some((packet, since)) = self.drivers.waiting[station].pop_front()
        {
            let sojourn = now - since;
            return Dequeue::Packet { packet, sojourn };
        }
        self.passage.interfaces[station].take(now)
    }

    /// What has gone from one station to another.
    #[inline]
    fn hop(&mut self, from: u32, to: u32) -> &mut Hop {
        let hops = &mut self.drivers.hops[from as usize];
        let (from, to) = (from as usize, to as usize);
        let place = hops.iter().position(|hop| hop.to == to).unwrap_or_else(|| {
            hops.push(Hop {
                from,
                to,
                ..Hop::default()
            });
            hops.len() - 1
        });
        &mut hops[place]
    }
}

impl Upper for Above<'_> {
    type Packet = Packet;

    fn take(&mut self, station: u32, now: Time) -> air::Taken<Packet> {
        let index = station as usize;
        loop {
            let (packet, since) = match self.next(index, now) {
                Dequeue::Packet { packet, sojourn } => (packet, now - sojourn),
                Dequeue::NotBefore(time) => return air::Taken::NotBefore(time),
                Dequeue::Empty => return air::Taken::Nothing,
            };
            let bytes = packet.len().saturating_sub(self.drivers.link_header);
            let bytes = self.drivers.profile.frame(bytes, packet.has_udp());
            let mesh = self.passage.forwarding.mesh();
            if let Some(to) = mesh.and_then(|mesh| mesh.next_of_queued(station, &packet, since)) {
                let to = match to {
                    Addressee::Station(to) => Some(to),
                    Addressee::All => None,
                };
                if self.drivers.depth == 0 && self.passage.tapped.is_some() {
                    self.passage.show(Seen::Dequeued(index), &packet, now);
                }
                self.passage.interfaces[index].recorder.radio_begins(since);
                self.fill(index, now);
                return air::Taken::Packet(Outgoing { packet, bytes, to });
            }
            // The link that it was to take has broken while it waited.
            let recorder = &mut self.passage.interfaces[index].recorder;
            recorder.radio(now, RadioEvent::NoRoute);
        }
    }

    fn deliver(&mut self, from: u32, to: u32, packet: Packet, at: Time) {
        if packet.told_to() != Some(Addressee::All) {
            self.hop(from, to).packets += 1;
        }
        if self.drivers.is_large
            && let Some(mesh) = self.passage.forwarding.as_mesh()
        {
            mesh.fetch_router(to, &packet);
        }
        let arrivals = &mut self.passage.arrivals;
        arrivals.add(at, Arrival { from, to, packet });
    }

    fn fail(&mut self, station: u32, to: u32, packet: Packet, now: Time) {
        let passage = &mut *self.passage;
        if let Some(mesh) = passage.forwarding.mesh()
            && mesh.failed(station, to, packet, now, &mut passage.mail)
        {
            return;
        }
        let recorder = &mut passage.interfaces[station as usize].recorder;
        recorder.radio(now, RadioEvent::GivenUp);
    }

    fn expect(&self, station: u32) {
        self.passage.interfaces[station as usize].fetch_first();
        fetch(&self.drivers.hops[station as usize]);
        if self.drivers.depth > 0 {
            fetch(&self.drivers.waiting[station as usize]);
        }
        if let Some(mesh) = self.passage.forwarding.as_mesh() {
            mesh.fetch_first(station);
        }
    }

    fn expect_soon(&self, station: u32) {
        self.passage.interfaces[station as usize].fetch_radio();
        let hops = &self.drivers.hops[station as usize];
        hops.first().inspect(|hop| fetch(*hop));
        if let Some(mesh) = self.passage.forwarding.as_mesh() {
            mesh.fetch(station);
        }
    }

    fn sent(&mut self, frame: &Frame<'_, Packet>) {
        if let Some(tapped) = &mut self.passage.tapped {
            // A copy, so that the frame itself stays in registers.
            let frame = *frame;
            tapped.on_air(frame.from, &frame, &self.drivers.profile, None);
        }
        if let (FrameKind::Data, Some(to)) = (frame.kind, frame.to) {
            self.hop(frame.from, to).frames += 1;
        }
        let airtime = frame.airtime;
        let event = match frame.kind {
            FrameKind::Data => RadioEvent::Data {
                airtime,
                repeated: frame.repeated,
            },
            FrameKind::Ack | FrameKind::Rts | FrameKind::Cts => RadioEvent::Answer(airtime),
        };
        let recorder = &mut self.passage.interfaces[frame.from as usize].recorder;
        recorder.radio(frame.start, event);
    }

    fn looks_on(&self) -> bool {
        self.passage.tapped.is_some()
    }

    fn received(&mut self, station: u32, frame: &Frame<'_, Packet>, power: f64) {
        if let Some(tapped) = &mut self.passage.tapped {
            tapped.on_air(station, frame, &self.drivers.profile, Some(power));
        }
    }

    fn finished(&mut self, station: u32, now: Time) {
        self.passage.interfaces[station as usize]
            .recorder
            .radio_done(now);
    }

    fn collided(&mut self, station: u32, now: Time) {
        let recorder = &mut self.passage.interfaces[station as usize].recorder;
        recorder.radio(now, RadioEvent::Collided);
    }
}
