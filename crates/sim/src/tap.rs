//! Simulated packets as frames for a capture; those on the air in `dot11.rs`.
//!
//! Addresses and ports are those that the live world gives to the same flows, so that one display
//! filter fits the captures of both worlds. Payloads are zeros, but a datagram begins with its
//! number and times as a live one does.
//!
//! Differs from what the model counts: a SYN carries the options that it would have, 4 to 20 bytes
//! that the model's SYN lacks. Sequence numbers begin at the model's zero. The IPv4 identification
//! is a hash of the headers.

use crate::dot11;
use crate::packet::{Body, Packet, Way};
use sojourn_radio::{Frame, Message, Profile};
use sojourn_tcp::{Config, Flags, Segment};
use sojourn_units::Time;
use sojourn_wire::build::{ETHERNET, Envelope, Headers, TcpSegment};
use sojourn_world::{Cell, Flow, TapPoint, Taps, Transport};

/// Ports of the first connection's two ends; the others follow, as in the live world.
const PORTS: [u16; 2] = [30_001, 5_001];
/// Addresses are of 198.18.0.0/15, the block for benchmarks (RFC 2544).
const NETWORK: u32 = 0xc612_0000;

/// The taps of a run, and what is needed to make frames.
pub(crate) struct Tapped {
    taps: Taps,
    ways: Vec<WayFacts>,
    nodes: usize,
    ethernet: bool,
    frame: Vec<u8>,
}

/// What the packets of one direction have in common.
struct WayFacts {
    envelope: Envelope,
    /// Of a connection.
    tcp: Config,
    from: usize,
    to: usize,
}

impl Tapped {
    pub(crate) fn new(cell: &Cell, taps: Taps) -> Self {
        let nodes = &cell.network.nodes;
        // Behind a translation all hosts have the first one's address.
        let number = |node: usize, number| if nodes[node].nat { 0 } else { number };
        let way = |index: usize, flow: &Flow, forth: bool| {
            let ends = [
                Host::new(nodes.len(), flow.from, number(flow.from, flow.hosts[0])),
                Host::new(nodes.len(), flow.to, number(flow.to, flow.hosts[1])),
            ];
            let mut envelope = Envelope {
                macs: ends.map(|host| host.mac),
                addresses: ends.map(|host| host.address.to_be_bytes()),
                ports: PORTS.map(|port| port.wrapping_add(index as u16)),
                ..Envelope::default()
            };
            let (mut from, mut to) = (flow.from, flow.to);
            if !forth {
                envelope.macs.reverse();
                envelope.addresses.reverse();
                envelope.ports.reverse();
                (from, to) = (to, from);
            }
            WayFacts {
                envelope,
                tcp: match flow.transport {
                    Transport::Tcp(config) => config,
                    Transport::Udp => Config::default(),
                },
                from,
                to,
            }
        };
        let instances = cell.instances();
        let connections = instances.iter().flat_map(|instance| {
            let count = usize::from(instance.spec.app.connections());
            std::iter::repeat_n(&instance.spec, count)
        });
        Self {
            taps,
            ways: connections
                .enumerate()
                .flat_map(|(index, flow)| [way(index, flow, true), way(index, flow, false)])
                .collect(),
            nodes: nodes.len(),
            ethernet: cell.link_header > 0,
            frame: Vec::new(),
        }
    }

    /// A station sends a frame, or has received it with a share of the power sent.
    pub(crate) fn on_air(
        &mut self,
        station: u32,
        frame: &Frame<'_, Packet>,
        profile: &Profile,
        power: Option<f64>,
    ) {
        let point = TapPoint::Air(station as usize);
        if !self.taps.points.iter().any(|(at, _)| *at == point) {
            return;
        }
        let (mut out, nodes) = (std::mem::take(&mut self.frame), self.nodes);
        out.clear();
        dot11::radiotap(&mut out, frame, profile, power.map(dot11::dbm));
        dot11::header(&mut out, frame, nodes);
        if let Some(packet) = frame.packet {
            if let Some(message) = packet.asks_address() {
                dot11::arp(&mut out, message, nodes);
            } else if let Some(words) = packet.routing() {
                let message = Message::from_words(&words);
                dot11::aodv(&mut out, &message, [Some(frame.from), frame.to], nodes);
            } else {
                dot11::ip(&mut out, &self.way(packet.way).headers(packet, false));
            }
        }
        let len = out.len() as u32;
        out.truncate(self.taps.snap_len);
        for (_, tap) in self.taps.points.iter_mut().filter(|(at, _)| *at == point) {
            tap.frame(frame.start, power.is_none(), &out, len);
        }
        self.frame = out;
    }

    fn way(&self, way: Way) -> &WayFacts {
        &self.ways[way.index()]
    }

    /// A packet is seen somewhere; `payload` are the bytes of a datagram from outside.
    pub(crate) fn show(&mut self, seen: Seen, packet: &Packet, payload: Option<&[u8]>, now: Time) {
        let (point, outgoing) = match seen {
            Seen::Emitted => (TapPoint::Node(self.way(packet.way).from), true),
            Seen::Received => (TapPoint::Node(self.way(packet.way).to), false),
            Seen::Offered(link) => (TapPoint::Offered(link), false),
            Seen::Dequeued(link) => (TapPoint::Dequeued(link), true),
        };
        if packet.told_to().is_some() || !self.taps.points.iter().any(|(at, _)| *at == point) {
            return;
        }
        let headers = self.way(packet.way).headers(packet, payload.is_some());
        let skip = if self.ethernet { 0 } else { ETHERNET };
        let len = headers.frame_len() - skip;
        debug_assert!(
            len == usize::from(packet.len) || is_syn(packet),
            "a frame of {len} bytes from a packet of {}",
            packet.len
        );
        self.frame.clear();
        self.frame.extend(&headers.bytes()[skip..]);
        self.frame.extend(payload.unwrap_or_default());
        self.frame.resize(len.min(self.taps.snap_len), 0);
        for (_, tap) in self.taps.points.iter_mut().filter(|(at, _)| *at == point) {
            tap.frame(now, outgoing, &self.frame, len as u32);
        }
    }
}

/// Where a packet is seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// It leaves its host.
    Emitted,
    /// It reaches its host.
    Received,
    /// It is offered to an interface's queue.
    Offered(usize),
    /// It leaves an interface's queue.
    Dequeued(usize),
}

/// A host's addresses: of two nodes those of the live world's lab, otherwise 256 for each node.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    pub(crate) address: u32,
    pub(crate) mac: [u8; 6],
}

impl Host {
    pub(crate) fn new(nodes: usize, node: usize, number: u32) -> Self {
        let node = node as u32;
        let within = if nodes == 2 { node << 16 } else { node << 8 };
        let [_, _, high, low] = (node + 1).to_be_bytes();
        Self {
            address: NETWORK + within + 1 + number,
            mac: [2, 0, 0, 0, high, low],
        }
    }
}

impl WayFacts {
    /// The headers of a packet, and with them the number and times with which the model's datagrams
    /// begin; `is_bare` for one that begins with bytes of its own.
    fn headers(&self, packet: &Packet, is_bare: bool) -> Headers {
        let envelope = Envelope {
            tos: packet.tos,
            identification: packet.identity() as u16,
            ..self.envelope
        };
        match packet.body() {
            Body::Datagram { datagram, .. } if is_bare => envelope.udp(&[], datagram.len),
            Body::Datagram { datagram, sent } => {
                let mut prefix = [0; 20];
                prefix[..4].copy_from_slice(&datagram.number.to_be_bytes());
                prefix[4..12].copy_from_slice(&datagram.sent.as_nanos().to_be_bytes());
                prefix[12..].copy_from_slice(&sent.as_nanos().to_be_bytes());
                envelope.udp(&prefix, datagram.len)
            }
            Body::Segment(segment) => {
                let mut blocks = [(0, 0); 3];
                for (to, block) in blocks.iter_mut().zip(segment.sack_blocks()) {
                    *to = (block.start, block.end);
                }
                let accecn = segment.accecn();
                envelope.tcp(&TcpSegment {
                    accecn: accecn
                        .as_ref()
                        .map(|option| (option.kind(), option.fields())),
                    sack: &blocks[..segment.sack_blocks().len()],
                    ..tcp_header(segment, &self.tcp)
                })
            }
        }
    }
}

fn is_syn(packet: &Packet) -> bool {
    matches!(packet.body(), Body::Segment(segment) if segment.flags.has(Flags::SYN))
}

/// The header and the options but for SACK blocks and AccECN's.
fn tcp_header(segment: &Segment, config: &Config) -> TcpSegment<'static> {
    let syn = segment.flags.has(Flags::SYN);
    let scale = config.window_scale();
    let window = segment.window >> if syn { 0 } else { scale };
    // The option counts in milliseconds, as Linux's does; the model has nanoseconds.
    let stamp = |time: Time| (time.as_nanos() / 1_000_000) as u32;
    TcpSegment {
        sequence: segment.seq,
        acknowledgement: segment.ack,
        flags: segment.flags.bits(),
        window: window.min(u32::from(u16::MAX)) as u16,
        // Timestamps are taken off what a segment may hold, not off the option (RFC 6691).
        mss: syn.then(|| config.mss + config.header_len(0) - 40),
        window_scale: syn.then_some(scale),
        sack_permitted: syn && config.sack,
        timestamps: config
            .timestamps
            .then(|| (stamp(segment.ts), stamp(segment.ts_echo))),
        accecn: None,
        sack: &[],
        payload: segment.payload,
    }
}
