//! What a queue is told of packets that is not in them: hosts, marks, classes, and the hosts behind
//! a network address translation.
//!
//! A packet has no room for it, and few queues ask. Where one does, a [`Labelling`] stands around
//! it: it looks up in the cell's table what belongs to a packet's direction, and the queue below
//! holds both together. All other queues pay nothing.

use crate::packet::Packet;
use sojourn_qdisc::{
    AckFacts, Backlog, ChangeError, Counters, Dequeue, DropReason, Dual, Ecn, Gauge, InsideHashes,
    Outlet, Packet as QdiscPacket, Qdisc, Report, Setting, Spec,
};
use sojourn_random::mix;
use sojourn_units::{Time, forward};
use sojourn_world::{Cell, Instance};
use std::sync::Arc;

/// The gateway's number among hosts: none has it.
const GATEWAY: u32 = u32::MAX;

/// Which end of a direction a translation has given the gateway's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Translated {
    Source,
    Destination,
}

/// What belongs to a direction.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The sender's host and the receiver's.
    hosts: [u32; 2],
    mark: u32,
    class: u16,
    translated: Option<Translated>,
}

/// Of packets of no flow: those of a routing protocol.
const NOBODY: Entry = Entry {
    hosts: [GATEWAY; 2],
    mark: 0,
    class: 0,
    translated: None,
};

/// The table of a cell, by direction.
#[derive(Clone, Debug)]
pub(crate) struct Labels(Arc<[Entry]>);

impl Labels {
    pub(crate) fn of(cell: &Cell) -> Self {
        let nodes = &cell.network.nodes;
        let host = |node: usize, number: u32| node as u32 + nodes.len() as u32 * number;
        let mut entries = Vec::new();
        for Instance { spec: flow, .. } in &cell.instances() {
            let hosts = [host(flow.from, flow.hosts[0]), host(flow.to, flow.hosts[1])];
            let ends = match (nodes[flow.from].nat, nodes[flow.to].nat) {
                (true, _) => [Some(Translated::Source), Some(Translated::Destination)],
                (_, true) => [Some(Translated::Destination), Some(Translated::Source)],
                _ => [None; 2],
            };
            let entry = |hosts, translated| Entry {
                hosts,
                mark: flow.label.mark,
                class: flow.label.class,
                translated,
            };
            let [from, to] = hosts;
            let ways = [entry([from, to], ends[0]), entry([to, from], ends[1])];
            for _ in 0..flow.app.connections() {
                entries.extend(ways);
            }
        }
        Self(entries.into())
    }

    /// Whether the queue of a link may ask for anything that is here.
    pub(crate) fn serve(&self, cell: &Cell, link: usize) -> bool {
        let told =
            |entry: &Entry| (entry.mark, entry.class) != (0, 0) || entry.translated.is_some();
        let changes = cell.changes.iter().filter(|change| change.link == link);
        let mut specs = changes.filter_map(|change| change.qdisc.as_ref());
        self.0.iter().any(told)
            || cell.network.interfaces[link].qdisc.asks_hosts()
            || specs.any(Spec::asks_hosts)
    }

    fn label(&self, packet: Packet) -> Labelled {
        Labelled {
            packet,
            entry: *self.0.get(packet.way.index()).unwrap_or(&NOBODY),
        }
    }
}

/// What hosts' addresses hash to.
fn host_hashes(hosts: [u32; 2], perturbation: u64) -> (u32, u32) {
    let hash = |number: u32| (mix(u64::from(number) ^ mix(perturbation)) >> 32) as u32;
    (hash(hosts[0]), hash(hosts[1]))
}

/// A packet with what belongs to its direction.
#[derive(Clone, Copy, Debug)]
struct Labelled {
    packet: Packet,
    entry: Entry,
}

const _: () = assert!(size_of::<Labelled>() == 80);

impl QdiscPacket for Labelled {
    forward! { self.packet;
        len(self: &Self) -> u32;
        memory(self: &Self) -> u32;
        flow_hash(self: &Self, perturbation: u64) -> u32;
        ecn(self: &Self) -> Ecn;
        set_ce(self: &mut Self) -> bool;
        dscp(self: &Self) -> u8;
        clear_dscp(self: &mut Self);
        ack(self: &Self) -> Option<AckFacts>;
        segments(self: &Self) -> Option<(u32, u32)>;
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        let [source, destination] = self.entry.hosts;
        let outside = match self.entry.translated {
            None => [source, destination],
            Some(Translated::Source) => [GATEWAY, destination],
            Some(Translated::Destination) => [source, GATEWAY],
        };
        host_hashes(outside, perturbation)
    }

    fn inside_hashes(&self, perturbation: u64) -> Option<InsideHashes> {
        self.entry.translated.map(|_| InsideHashes {
            // A translation keeps flows apart, so their hash may be the same on both sides.
            flow: self.packet.flow_hash(perturbation),
            hosts: host_hashes(self.entry.hosts, perturbation),
        })
    }

    fn mark(&self) -> u32 {
        self.entry.mark
    }

    fn class(&self) -> u16 {
        self.entry.class
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.packet.is_same_flow(&other.packet)
    }
}

/// A queue of labelled packets, for packets without labels.
pub(crate) struct Labelling {
    labels: Labels,
    queue: Box<dyn Qdisc<Labelled>>,
    /// What the queue is built with, but for the name.
    setting: Setting<'static>,
    name: String,
}

impl Labelling {
    pub(crate) fn new(spec: &Spec, setting: Setting<'_>, labels: Labels) -> Self {
        Self {
            labels,
            queue: spec.build(setting),
            name: setting.name.to_owned(),
            setting: Setting {
                name: "",
                ..setting
            },
        }
    }
}

/// Takes the labels off what a queue drops and marks.
struct Unlabelling<'a>(&'a mut dyn Outlet<Packet>);

impl Outlet<Labelled> for Unlabelling<'_> {
    fn dropped(&mut self, packet: Labelled, reason: DropReason) {
        self.0.dropped(packet.packet, reason);
    }

    fn marked(&mut self, packet: &Labelled) {
        self.0.marked(&packet.packet);
    }

    fn cut(&mut self, packet: &mut Labelled) -> Option<Labelled> {
        let segment = self.0.cut(&mut packet.packet)?;
        Some(Labelled {
            packet: segment,
            ..*packet
        })
    }
}

impl Qdisc<Packet> for Labelling {
    fn enqueue(&mut self, packet: Packet, now: Time, out: &mut dyn Outlet<Packet>) {
        let packet = self.labels.label(packet);
        self.queue.enqueue(packet, now, &mut Unlabelling(out));
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<Packet>) -> Dequeue<Packet> {
        match self.queue.dequeue(now, &mut Unlabelling(out)) {
            Dequeue::Packet { packet, sojourn } => Dequeue::Packet {
                packet: packet.packet,
                sojourn,
            },
            Dequeue::NotBefore(time) => Dequeue::NotBefore(time),
            Dequeue::Empty => Dequeue::Empty,
        }
    }

    forward! { self.queue;
        backlog(self: &Self) -> Backlog;
        counters(self: &Self) -> &Counters;
        report(self: &Self, now: Time) -> Report;
        spec(self: &Self) -> Option<Spec>;
        dual(self: &Self) -> Option<Dual>;
        gauges(self: &Self, now: Time, tell: &mut dyn FnMut(Gauge));
    }

    /// Takes any spec, and puts another queue in the place of its own where it must.
    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        let setting = self.setting.named(&self.name);
        spec.reconfigure(&mut self.queue, setting, now);
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<Packet>>> {
        Some(Box::new(Self {
            labels: self.labels.clone(),
            queue: self.queue.fork()?,
            setting: self.setting,
            name: self.name.clone(),
        }))
    }

    fn drain(&mut self) -> Vec<(Time, Packet)> {
        let held = self.queue.drain().into_iter();
        held.map(|(arrived, packet)| (arrived, packet.packet))
            .collect()
    }

    fn adopt(&mut self, held: Vec<(Time, Packet)>, counters: Counters) {
        let held = held
            .into_iter()
            .map(|(arrived, packet)| (arrived, self.labels.label(packet)));
        self.queue.adopt(held.collect(), counters);
    }
}
