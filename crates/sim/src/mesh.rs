//! Forwarding over a radio: the next station of every packet, by static routes or by AODV, and its
//! address.

use crate::packet::{Addressee, Packet, Way};
use sojourn_memory::fetch;
use sojourn_qdisc::Packet as _;
use sojourn_radio::{Aodv, AodvParams, Arp, ArpMessage, Ends, Lost, Message, Outbox, Resolution};
use sojourn_random::Stream;
use sojourn_units::Time;
use sojourn_world::{Cell, Instance, Radio, Routing};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of IPv4 and UDP headers of a routing message.
const HEADERS: u16 = 28;

/// Something to be done once whoever has found it is through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mail {
    /// A packet is to be queued at a station; of the routing protocol, before all others.
    Queue { station: u32, packet: Packet },
    /// Routing has lost a packet.
    Lost { station: u32, why: Lost },
}

impl Mail {
    const fn lost_in_buffer(station: u32) -> Self {
        let why = Lost::Buffer;
        Self::Lost { station, why }
    }
}

/// Where a packet is that has come to a station.
pub(crate) enum Arrived {
    /// At its host.
    Host,
    /// On its way: it goes into the queue of the station.
    Relay,
    /// It was for the station itself, waits, or is lost.
    Nowhere,
}

/// Where packets go over a radio.
#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    /// By way: the station where it ends.
    targets: Vec<u32>,
    /// By way: the station where it begins.
    sources: Vec<u32>,
    routes: Routes,
    /// None: stations know each other's addresses.
    arp: Option<Arp<Packet>>,
    link_header: u16,
    /// By station: neighbours for which all that was queued until then is lost.
    purged: Vec<Vec<(u32, Time)>>,
    /// Time of the event that the calendar holds for routing; `Time::MAX` for none.
    pub(crate) armed: Time,
}

#[derive(Clone, Debug)]
enum Routes {
    /// By target: the next station from each; none where there is no way.
    Static(BTreeMap<u32, Vec<Option<u32>>>),
    Aodv(Box<Aodv<Packet>>),
}

impl Mesh {
    pub(crate) fn new(cell: &Cell, radio: &Radio, instances: &[Instance]) -> Self {
        let (mut targets, mut sources) = (Vec::new(), Vec::new());
        for Instance { spec, .. } in instances {
            for _ in 0..spec.app.connections() {
                sources.extend([spec.from as u32, spec.to as u32]);
                targets.extend([spec.to as u32, spec.from as u32]);
            }
        }
        let routes = match &radio.routing {
            Routing::Static { .. } => Routes::Static(nearest(cell, &targets)),
            Routing::Aodv(params) => Routes::Aodv(Box::new(aodv(cell, *params))),
        };
        Self {
            targets,
            sources,
            routes,
            arp: radio.arp.then(|| Arp::new(cell.network.nodes.len())),
            link_header: cell.link_header,
            purged: vec![Vec::new(); cell.network.nodes.len()],
            armed: Time::MAX,
        }
    }

    /// The packets that wait for a route or for a neighbour's address.
    pub(crate) fn held(&self) -> Vec<Packet> {
        let mut held = Vec::new();
        if let Routes::Aodv(aodv) = &self.routes {
            held.extend(aodv.held());
        }
        if let Some(arp) = &self.arp {
            held.extend(arp.held());
        }
        held
    }

    /// Asks for what tells what a packet from a station's queue needs.
    pub(crate) fn fetch_first(&self, station: u32) {
        fetch(&self.purged[station as usize]);
    }

    /// Asks for what a packet from a station's queue needs.
    pub(crate) fn fetch(&self, station: u32) {
        let purged = &self.purged[station as usize];
        purged.first().inspect(|first| fetch(*first));
    }

    /// Asks for what a message of the routing protocol needs that comes to a station.
    #[inline]
    pub(crate) fn fetch_router(&self, station: u32, packet: &Packet) {
        if let (Routes::Aodv(aodv), Some(words)) = (&self.routes, packet.routing()) {
            aodv.fetch(station, &words);
        }
    }

    /// The stations whose turn to send a message is next and may be after that, where there are
    /// many.
    pub(crate) fn next_senders(&self) -> Option<(u32, impl Iterator<Item = u32>)> {
        match &self.routes {
            Routes::Static(_) => None,
            Routes::Aodv(aodv) => aodv.next_senders(),
        }
    }

    /// To whom a station sends a packet, or to all; none when it cannot.
    #[inline]
    pub(crate) fn next(&self, station: u32, packet: &Packet) -> Option<Addressee> {
        if let Some(to) = packet.told_to() {
            return Some(to);
        }
        let target = self.targets[packet.way.index()];
        let next = match &self.routes {
            Routes::Static(next) => *next.get(&target)?.get(station as usize)?,
            Routes::Aodv(aodv) => aodv.next(station, target),
        };
        next.map(Addressee::Station)
    }

    /// The same of a packet that comes from the queue, where it has been since then.
    #[inline]
    pub(crate) fn next_of_queued(
        &self,
        station: u32,
        packet: &Packet,
        since: Time,
    ) -> Option<Addressee> {
        let next = self.next(station, packet)?;
        let purged = &self.purged[station as usize];
        if let Addressee::Station(to) = next
            && purged
                .iter()
                .any(|&(lost, until)| lost == to && since <= until)
        {
            return None;
        }
        Some(next)
    }

    /// The stations where a way begins and ends.
    #[inline]
    fn ends(&self, way: Way) -> Ends {
        Ends {
            source: self.sources[way.index()],
            target: self.targets[way.index()],
        }
    }

    /// A host sends a packet. Returns its station when the packet goes into the queue there.
    pub(crate) fn emit(
        &mut self,
        packet: &Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> Option<u32> {
        let source = self.sources[packet.way.index()];
        let is_queued = self.submit(source, true, packet, now, mail);
        is_queued.then_some(source)
    }

    /// A packet is to be sent from a station, its source or on its way. Returns whether it goes
    /// into the queue there.
    fn submit(
        &mut self,
        station: u32,
        is_source: bool,
        packet: &Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> bool {
        if let Routes::Static(_) = self.routes {
            return self.resolve(station, packet, now, mail);
        }
        let ends = self.ends(packet.way);
        let next = self
            .aodv(now, mail, |aodv, out| {
                aodv.submit(station, is_source, packet, ends, now, out)
            })
            .flatten();
        next.is_some_and(|next| self.address(station, next, packet, now, mail))
    }

    /// A packet has come to a station.
    pub(crate) fn arrived(
        &mut self,
        from: u32,
        to: u32,
        packet: &mut Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> Arrived {
        if let Routes::Aodv(aodv) = &mut self.routes {
            aodv.heard(to, from, packet.told_to().is_none(), now);
        }
        if let Some(message) = packet.asks_address() {
            self.hear_address(to, message, mail);
            return Arrived::Nowhere;
        }
        let Some(words) = packet.routing() else {
            if self.targets[packet.way.index()] == to {
                return Arrived::Host;
            }
            let most = match &self.routes {
                Routes::Static(_) => None,
                Routes::Aodv(aodv) => Some(aodv.params().time_to_live - 1),
            };
            if most.is_some_and(|most| !packet.forward(most)) {
                let (station, why) = (to, Lost::NoRoute);
                mail.push_back(Mail::Lost { station, why });
                return Arrived::Nowhere;
            }
            let is_queued = self.submit(to, false, packet, now, mail);
            return if is_queued {
                Arrived::Relay
            } else {
                Arrived::Nowhere
            };
        };
        let message = Message::from_words(&words);
        self.aodv(now, mail, |aodv, out| {
            aodv.receive(to, from, &message, now, out);
        });
        Arrived::Nowhere
    }

    /// A packet is to be queued at a station. Returns whether the address of the next one is
    /// known.
    pub(crate) fn resolve(
        &mut self,
        station: u32,
        packet: &Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> bool {
        if self.arp.is_none() {
            return true;
        }
        // Without a next one it is lost when its turn comes.
        let Some(Addressee::Station(to)) = self.next(station, packet) else {
            return true;
        };
        self.address(station, to, packet, now, mail)
    }

    /// The same of a packet that goes to the neighbour `to`.
    fn address(
        &mut self,
        station: u32,
        to: u32,
        packet: &Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> bool {
        let Some(arp) = &mut self.arp else {
            return true;
        };
        let lost = match arp.resolve(station, to, packet) {
            Resolution::Known => return true,
            Resolution::Ask { lost } => {
                let question = ArpMessage {
                    sender: station,
                    target: to,
                    is_answer: false,
                };
                mail.push_back(self.arp_mail(question, None));
                lost
            }
            Resolution::Gone { lost } => {
                for packet in lost.into_iter().flatten() {
                    if !self.failed(station, to, packet, now, mail) {
                        mail.push_back(Mail::lost_in_buffer(station));
                    }
                }
                return false;
            }
        };
        if lost.is_some() {
            mail.push_back(Mail::lost_in_buffer(station));
        }
        false
    }

    fn arp_mail(&self, message: ArpMessage, to: Option<u32>) -> Mail {
        let len = ArpMessage::BYTES as u16 + self.link_header;
        Mail::Queue {
            station: message.sender,
            packet: Packet::arp(message, to, len),
        }
    }

    /// A station has heard a question for an address, or an answer.
    fn hear_address(&mut self, station: u32, message: ArpMessage, mail: &mut VecDeque<Mail>) {
        let Some(arp) = &mut self.arp else {
            return;
        };
        let (answer, released) = arp.receive(station, message);
        if let Some(packet) = released {
            mail.push_back(Mail::Queue { station, packet });
        }
        if let Some(answer) = answer {
            mail.push_back(self.arp_mail(answer, Some(answer.target)));
        }
    }

    /// A station has given up a packet to a neighbour. Returns whether the packet waits for
    /// another way.
    pub(crate) fn failed(
        &mut self,
        station: u32,
        neighbour: u32,
        packet: Packet,
        now: Time,
        mail: &mut VecDeque<Mail>,
    ) -> bool {
        let of_flow = packet
            .told_to()
            .is_none()
            .then(|| (packet, self.ends(packet.way)));
        let waits = self.aodv(now, mail, |aodv, out| {
            aodv.failed(station, neighbour, of_flow, now, out)
        });
        waits.unwrap_or(false)
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, now: Time, mail: &mut VecDeque<Mail>) {
        self.aodv(now, mail, |aodv, out| aodv.run(now, out));
    }

    /// When something is next due.
    pub(crate) fn due(&self) -> Option<Time> {
        match &self.routes {
            Routes::Static(_) => None,
            Routes::Aodv(aodv) => aodv.due(),
        }
    }

    /// Has AODV do something, where it is what routes.
    #[inline]
    fn aodv<T>(
        &mut self,
        now: Time,
        mail: &mut VecDeque<Mail>,
        act: impl FnOnce(&mut Aodv<Packet>, &mut Post<'_>) -> T,
    ) -> Option<T> {
        let Routes::Aodv(aodv) = &mut self.routes else {
            return None;
        };
        let mut out = Post {
            mail,
            purged: &mut self.purged,
            bytes: aodv.params().bytes,
            link_header: self.link_header,
            now,
        };
        Some(act(aodv, &mut out))
    }
}

/// The next station from each to every target: fewest hops, the lower number among equals.
fn nearest(cell: &Cell, targets: &[u32]) -> BTreeMap<u32, Vec<Option<u32>>> {
    let network = &cell.network;
    let nodes = network.nodes.len();
    let mut all = BTreeMap::new();
    for &target in targets {
        all.entry(target).or_insert_with(|| {
            let mut next = vec![None; nodes];
            let mut queue = VecDeque::from([target as usize]);
            while let Some(node) = queue.pop_front() {
                // Hearing is mutual.
                for &other in network.medium(node).hearers(node) {
                    if other != target as usize && next[other].is_none() {
                        next[other] = Some(node as u32);
                        queue.push_back(other);
                    }
                }
            }
            next
        });
    }
    all
}

fn aodv(cell: &Cell, params: AodvParams) -> Aodv<Packet> {
    let nodes = &cell.network.nodes;
    Aodv::new(params, nodes.len(), |node| {
        Stream::named(cell.seed, &format!("aodv.{}", nodes[node].name))
    })
}

/// Puts what routing wants into the mail.
struct Post<'a> {
    mail: &'a mut VecDeque<Mail>,
    purged: &'a mut [Vec<(u32, Time)>],
    /// Of questions and answers.
    bytes: [u16; 2],
    link_header: u16,
    now: Time,
}

impl Outbox<Packet> for Post<'_> {
    fn control(&mut self, station: u32, message: Message, to: Option<u32>) {
        let len = message.bytes(self.bytes) + HEADERS + self.link_header;
        let packet = Packet::route(message.words(), to, len);
        debug_assert!(packet.len() == u32::from(len));
        self.mail.push_back(Mail::Queue { station, packet });
    }

    fn forward(&mut self, station: u32, packet: Packet) {
        self.mail.push_back(Mail::Queue { station, packet });
    }

    fn lost(&mut self, station: u32, packet: Packet, why: Lost) {
        let _ = packet;
        self.mail.push_back(Mail::Lost { station, why });
    }

    fn purge(&mut self, station: u32, neighbour: u32) {
        let purged = &mut self.purged[station as usize];
        match purged.iter_mut().find(|(to, _)| *to == neighbour) {
            Some((_, until)) => *until = self.now,
            None => purged.push((neighbour, self.now)),
        }
    }
}
