//! A cell: everything a world needs to know for one run.

use crate::{Line, LineChange, Network};
use sojourn_apps::Spec as AppSpec;
use sojourn_qdisc::{Label, Spec as QdiscSpec};
use sojourn_radio::Place;
use sojourn_tcp::Config as TcpConfig;
use sojourn_units::{Ecn, Span, Time};
use std::path::PathBuf;
use std::sync::Arc;

/// One combination of a scenario's grid, with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: String,
    /// What was swept or set for this cell: field path and value, as written.
    pub params: Vec<(String, String)>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Length of the run.
    pub duration: Span,
    /// Statistics start here.
    pub warmup: Span,
    /// Datagrams under way at the end get this long to arrive.
    pub drain: Span,
    /// Interval of the series. Worlds widen it so that no series has more than 2000 points.
    pub sample_every: Span,
    /// Bytes added to every IP packet before queues and links count it: 14 for Ethernet, as
    /// Linux counts, or 0 for bare IP, as ns-2 counts.
    pub link_header: u16,
    /// How much later than network and flows say packets reach a host: what a host that they are
    /// compared with takes. Worlds with real hosts have it by themselves.
    pub host_delay: Span,
    /// Whether all hosts and queues are on one machine, as in a test bed: Linux does not send a
    /// segment again of which a copy is still under way there. Worlds with real hosts are as they
    /// are.
    pub one_machine: bool,
    /// How hosts hand what they send to their queues.
    pub hosts: Hosts,
    /// Whether flows get round-trip times from packets at both ends
    /// ([`FlowResult::spp_rtt`](crate::FlowResult::spp_rtt)).
    pub spp: bool,
    /// Whether flows keep series beside their figures.
    pub flow_series: bool,
    /// What packets cross.
    pub network: Network,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// What becomes of links while it runs, in the order of time.
    pub changes: Vec<Change>,
    /// Where it was written; none for a cell that no scenario has.
    pub source: Option<Arc<Source>>,
}

/// How hosts hand what they send to their queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// One segment at a time, as a wire has them.
    #[default]
    Linux,
    /// Trains of up to 64 KiB, as Linux with TSO or GSO: a train is one packet for a queue.
    LinuxGso,
    /// One segment at a time, each at the time that TCP's pacing gives it, as Linux whose
    /// interface has `fq` (tc-fq(8)).
    LinuxFq,
    /// Trains, each at its time: TSO or GSO, and `fq`.
    LinuxGsoFq,
}

impl Hosts {
    /// Whether several segments may be one packet for a queue.
    pub fn has_trains(self) -> bool {
        matches!(self, Self::LinuxGso | Self::LinuxGsoFq)
    }

    /// Whether each segment of TCP, or train of them, has a time before which it does not leave,
    /// whatever its congestion control. BBR and Prague give times with other hosts too.
    pub fn pace(self) -> bool {
        matches!(self, Self::LinuxFq | Self::LinuxGsoFq)
    }
}

/// The scenario that cells come from. With a cell's [`params`](Cell::params) and seed the cell can
/// be made anew from it, in another process too.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// As messages show it, such as the file's path.
    pub name: String,
    /// The text.
    pub text: String,
    /// The folder from which paths in the text are seen.
    pub base: PathBuf,
}

impl PartialEq for Source {
    /// Where a cell was written is no part of what it is.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Cell {
    /// How long datagrams under way at the end get to arrive, unless a scenario says otherwise.
    pub const DRAIN: Span = Span::from_secs(10);

    /// A cell of Ethernet links with seed 1, measured from its start every 100 ms.
    pub fn new(scenario: &str, network: Network, flows: Vec<Flow>, duration: Span) -> Self {
        Self {
            scenario: scenario.into(),
            params: Vec::new(),
            seed: 1,
            duration,
            warmup: Span::ZERO,
            drain: Self::DRAIN,
            sample_every: Span::from_millis(100),
            link_header: 14,
            host_delay: Span::ZERO,
            one_machine: false,
            hosts: Hosts::default(),
            spp: false,
            flow_series: true,
            network,
            flows,
            changes: Vec::new(),
            source: None,
        }
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }

    /// Every beginning of every flow, flow by flow.
    pub fn instances(&self) -> Vec<Instance> {
        let of = |(flow, spec): (usize, &Flow)| -> Vec<Instance> {
            let instances = spec.instances(self.end()).into_iter();
            instances.map(|spec| Instance { flow, spec }).collect()
        };
        self.flows.iter().enumerate().flat_map(of).collect()
    }

    /// The line of a link at first, and after each of its changes. None of what is no wire.
    pub fn lines(&self, link: usize) -> Vec<Line> {
        let Some(wire) = self.network.wire(link) else {
            return Vec::new();
        };
        let mut lines = vec![wire.line.clone()];
        for change in self.changes.iter().filter(|change| change.link == link) {
            let mut line = lines[lines.len() - 1].clone();
            change.line.apply(&mut line);
            lines.push(line);
        }
        lines
    }

    /// Whether packets may arrive twice.
    pub fn duplicates(&self) -> bool {
        let mut links = 0..self.network.interfaces.len();
        links.any(|link| self.lines(link).iter().any(|line| line.duplicate.can_be()))
    }

    /// Of each flow that is one direction of a call, the flow that is the other: the first such
    /// flow one way between two hosts belongs to the first of the same kind the other way, and so
    /// on. Their packets make the pairs of which round-trip times are measured; none when nobody
    /// asks for these.
    pub fn other_ways(&self) -> Vec<Option<usize>> {
        let alike = |a: &Flow, b: &Flow| a.app == b.app && a.base_rtt == b.base_rtt;
        let same = |a: &Flow, b: &Flow| {
            alike(a, b) && (a.from, a.to) == (b.from, b.to) && a.hosts == b.hosts
        };
        let back = |a: &Flow, b: &Flow| {
            let [from, to] = b.hosts;
            alike(a, b) && (a.from, a.to) == (b.to, b.from) && a.hosts == [to, from]
        };
        let of = |(index, flow): (usize, &Flow)| {
            if !self.spp || !flow.app.kind().is_call {
                return None;
            }
            let before = &self.flows[..index];
            let rank = before.iter().filter(|other| same(flow, other)).count();
            let mut others = self
                .flows
                .iter()
                .enumerate()
                .filter(|(_, other)| back(flow, other));
            others.nth(rank).map(|(other, _)| other)
        };
        self.flows.iter().enumerate().map(of).collect()
    }
}

/// What becomes of a link while the cell runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The link, as an index into [`Network::interfaces`].
    pub link: usize,
    /// Its line from then on.
    pub line: LineChange,
    /// The queue from then on; no packet is lost by the change itself.
    pub qdisc: Option<QdiscSpec>,
    /// Where its node is from then on, of a radio.
    pub place: Option<Place>,
}

/// What carries a flow, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// A connection; `from` opens it.
    Tcp(TcpConfig),
    /// Datagrams.
    Udp,
}

/// A transport of another project, which carries a flow in place of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// QUIC by `quinn-proto`, with this congestion control.
    Quinn(StackControl),
}

/// Congestion controls of such a transport, which has code of its own for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackControl {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 9002, section 7: NewReno.
    Reno,
    /// BBR version 1.
    Bbr,
}

impl Stack {
    /// Its name in scenarios, and that of the Cargo feature with which a program has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quinn(_) => "quinn",
        }
    }
}

/// One flow: two hosts, a transport and a traffic model.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique in the cell.
    pub name: String,
    /// Index of the node with the app's first end: the sender of one-way traffic.
    pub from: usize,
    /// Index of the node with the app's second end.
    pub to: usize,
    /// Numbers of its hosts at `from` and at `to`. Each node counts its own: flows with the same
    /// number share a host there, in the live world an address.
    pub hosts: [u32; 2],
    /// When it begins.
    pub start: Time,
    /// When its app is stopped; the end of the run by default.
    pub stop: Option<Time>,
    /// When set, it begins anew after each such time, and stops as long after each beginning.
    pub every: Option<Span>,
    /// The flows that it stands for, whose figures are gathered in its own. Empty: itself alone.
    pub members: Vec<Member>,
    /// Round-trip time of the empty path without serialisation. It must not be below the sum of
    /// the links' delays; the rest is added at the far end, half each way.
    pub base_rtt: Span,
    /// One-way delay above which a datagram is late; none where nobody asks.
    pub deadline: Option<Span>,
    /// The TOS byte's DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN field of its datagrams, both ways. TCP has its own: leave it at [`Ecn::NotEct`].
    pub ecn: Ecn,
    /// What a queue is told of its packets, both ways, that stands in no header.
    pub label: Label,
    /// What carries it.
    pub transport: Transport,
    /// The transport of another project above [`Transport::Udp`], which carries the model's bytes.
    pub stack: Option<Stack>,
    /// The traffic model.
    pub app: AppSpec,
}

impl Flow {
    /// From the first node to the second, from the first moment to the last, over an empty path
    /// without delay.
    pub fn new(name: &str, transport: Transport, app: impl Into<AppSpec>) -> Self {
        Self {
            name: name.into(),
            from: 0,
            to: 1,
            hosts: [0; 2],
            start: Time::ZERO,
            stop: None,
            every: None,
            members: Vec::new(),
            base_rtt: Span::ZERO,
            deadline: None,
            dscp: 0,
            ecn: Ecn::NotEct,
            label: Label::default(),
            transport,
            stack: None,
            app: app.into(),
        }
    }

    /// Whether its ends are outside of the world: in a stack, or in a program around the simulator.
    pub const fn is_outside(&self) -> bool {
        self.stack.is_some() || self.app.kind().is_outside
    }

    /// Whether it sends as L4S wants: its packets are ECT(1), for which Prague counts on AccECN.
    pub fn is_l4s(&self) -> bool {
        match &self.transport {
            Transport::Tcp(config) => config.algorithm == sojourn_tcp::Algorithm::Prague,
            Transport::Udp => self.ecn == Ecn::Ect1,
        }
    }

    /// The TOS byte of its datagrams; TCP sets the two ECN bits of its segments itself.
    pub const fn tos(&self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }

    /// Each of its beginnings before `end`, member by member, as a flow that begins once. All have
    /// sockets of their own. Members have the names, and so the dice, of flows that are no group;
    /// from the second beginning on the name carries a number too.
    pub fn instances(&self, end: Time) -> Vec<Self> {
        if self.members.is_empty() {
            return self.beginnings(end).collect();
        }
        let member = |(index, member): (usize, &Member)| -> Vec<Self> {
            let flow = Self {
                name: format!("{}-{}", self.name, index + 1),
                start: member.start,
                hosts: member.hosts,
                ..self.without_members()
            };
            flow.beginnings(end).collect()
        };
        self.members.iter().enumerate().flat_map(member).collect()
    }

    /// A copy that stands for itself alone.
    fn without_members(&self) -> Self {
        Self {
            name: String::new(),
            app: self.app.clone(),
            members: Vec::new(),
            ..*self
        }
    }

    /// Each of its own beginnings before `end`.
    fn beginnings(&self, end: Time) -> impl Iterator<Item = Self> + '_ {
        let every = self.every.filter(|every| !every.is_zero());
        let more = every
            .into_iter()
            .flat_map(|every| (1_u64..).map(move |n| every * n))
            .take_while(move |&shift| self.start + shift < end);
        let shifts = std::iter::once(Span::ZERO).chain(more);
        shifts.enumerate().map(|(number, shift)| Self {
            name: match number {
                0 => self.name.clone(),
                _ => format!("{}#{}", self.name, number + 1),
            },
            start: self.start + shift,
            stop: self.stop.map(|stop| stop + shift),
            every: None,
            ..self.without_members()
        })
    }
}

/// One of the flows that a [`Flow`] stands for: what differs between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// When it begins.
    pub start: Time,
    /// Numbers of its hosts, as [`Flow::hosts`].
    pub hosts: [u32; 2],
}

/// One beginning of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The flow that it belongs to, as an index into [`Cell::flows`]: its results are gathered
    /// there.
    pub flow: usize,
    /// The flow with its own times.
    pub spec: Flow,
}
