//! A cell: everything a world needs to know for one run.

use sojourn_apps::Spec as AppSpec;
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_tcp::Config as TcpConfig;
use sojourn_units::{Rate, Span, Time};
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
    /// Interval of the series. Worlds widen it so that no series has more than 2000 points.
    pub sample_every: Span,
    /// Bytes added to every IP packet before queues and links count it: 14 for Ethernet, as
    /// Linux counts, or 0 for bare IP, as ns-2 counts.
    pub link_header: u16,
    /// Whether flows get round-trip times from packets at both ends
    /// ([`FlowResult::spp_rtt`](crate::FlowResult::spp_rtt)).
    pub spp: bool,
    /// Whether flows keep series beside their figures.
    pub flow_series: bool,
    /// Nodes and links.
    pub topology: Topology,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// What becomes of links while it runs, in the order of time.
    pub changes: Vec<Change>,
}

impl Cell {
    /// A cell of Ethernet links with seed 1, measured from its start every 100 ms.
    pub fn new(scenario: &str, topology: Topology, flows: Vec<Flow>, duration: Span) -> Self {
        Self {
            scenario: scenario.into(),
            params: Vec::new(),
            seed: 1,
            duration,
            warmup: Span::ZERO,
            sample_every: Span::from_millis(100),
            link_header: 14,
            spp: false,
            flow_series: true,
            topology,
            flows,
            changes: Vec::new(),
        }
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }

    /// The links with a queue, in the scenario's order; in a dumbbell `up`, then `down`.
    pub fn hops(&self) -> Box<dyn Iterator<Item = &Hop> + '_> {
        self.topology.hops()
    }

    /// Every beginning of every flow, flow by flow.
    pub fn instances(&self) -> Vec<Instance> {
        let of = |(flow, spec): (usize, &Flow)| -> Vec<Instance> {
            let instances = spec.instances(self.end());
            instances.map(|spec| Instance { flow, spec }).collect()
        };
        self.flows.iter().enumerate().flat_map(of).collect()
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
            if !self.spp || !flow.app.is_call() {
                return None;
            }
            let before = &self.flows[..index];
            let rank = before.iter().filter(|other| same(flow, other)).count();
            let others = self.flows.iter().enumerate();
            let mut others = others.filter(|(_, other)| back(flow, other));
            others.nth(rank).map(|(other, _)| other)
        };
        self.flows.iter().enumerate().map(of).collect()
    }
}

/// Nodes and links.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one per cell")]
pub enum Topology {
    /// One bottleneck each way.
    Dumbbell(Dumbbell),
    /// Anything.
    Graph(Graph),
}

impl Topology {
    /// The links with a queue, in the scenario's order; in a dumbbell `up`, then `down`.
    pub fn hops(&self) -> Box<dyn Iterator<Item = &Hop> + '_> {
        match self {
            Self::Dumbbell(dumbbell) => Box::new([&dumbbell.up, &dumbbell.down].into_iter()),
            Self::Graph(graph) => Box::new(graph.links.iter().map(|link| &link.hop)),
        }
    }
}

/// Clients on the left, servers on the right, one bottleneck each way.
///
/// `client — up queue → up link — delay → server`, and back through `down`. A flow from
/// `client` to `server` crosses `up`; its ACKs cross `down`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// From client to server.
    pub up: Hop,
    /// From server to client.
    pub down: Hop,
    /// Rate of each host's own access link; none: infinitely fast. With a rate, each flow must
    /// have hosts of its own.
    pub access: Option<Rate>,
    /// Whether the clients stand behind a network address translation, before the queues: on the
    /// links their hosts have one address. Queues with `nat` look behind it.
    pub nat: bool,
}

impl Dumbbell {
    /// The clients' node name.
    pub const CLIENT: &'static str = "client";
    /// The servers' node name.
    pub const SERVER: &'static str = "server";

    /// Hosts without access links of their own or a translation before them.
    pub const fn new(up: Hop, down: Hop) -> Self {
        Self {
            up,
            down,
            access: None,
            nat: false,
        }
    }
}

/// Any set of nodes and one-way links; packets take the path with the fewest hops, the earlier
/// listed link first among equals.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Node names.
    pub nodes: Vec<String>,
    /// One-way links.
    pub links: Vec<GraphLink>,
}

impl Graph {
    /// Indices of the links on the way from one node to another; none when there is no way,
    /// empty when it is the same node.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Hops left from each node, by breadth-first search against the links' direction.
        let mut left = vec![usize::MAX; self.nodes.len()];
        *left.get_mut(to)? = 0;
        let mut queue = std::collections::VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for link in self.links.iter().filter(|l| l.to == node) {
                if left[link.from] == usize::MAX {
                    left[link.from] = left[node] + 1;
                    queue.push_back(link.from);
                }
            }
        }
        let mut hops = *left.get(from)?;
        let (mut path, mut node) = (Vec::new(), from);
        while hops != 0 {
            // `position` takes the earlier listed link among equals.
            let next = |l: &GraphLink| l.from == node && left[l.to] == hops - 1;
            let index = self.links.iter().position(next)?;
            path.push(index);
            (node, hops) = (self.links[index].to, hops - 1);
        }
        Some(path)
    }

    /// The links' own delays on the way there and back; none when there is no way.
    pub fn path_rtt(&self, from: usize, to: usize) -> Option<Span> {
        let sum = |path: Vec<usize>| {
            path.iter()
                .fold(Span::ZERO, |sum, &link| sum + self.links[link].hop.delay)
        };
        Some(sum(self.path(from, to)?) + sum(self.path(to, from)?))
    }
}

/// A one-way link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it enters.
    pub to: usize,
    /// The link itself.
    pub hop: Hop,
}

/// A one-way link: a queue at its entrance, a transmitter, a delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Its name, unique in the cell.
    pub name: String,
    /// How fast it sends.
    pub rate: HopRate,
    /// The queue at its entrance.
    pub qdisc: QdiscSpec,
    /// Propagation delay of every packet, after transmission.
    pub delay: Span,
    /// Extra delay, uniform in `[0, jitter)`.
    pub jitter: Span,
    /// Whether jitter may reorder packets; otherwise a packet never overtakes another.
    pub reorder: bool,
    /// Probability that a packet is lost after transmission.
    pub loss: f64,
}

impl Hop {
    /// A link that takes no time but for sending, and loses nothing.
    pub fn new(name: &str, rate: HopRate, qdisc: QdiscSpec) -> Self {
        Self {
            name: name.into(),
            rate,
            qdisc,
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reorder: false,
            loss: 0.0,
        }
    }
}

/// How fast a link sends.
#[derive(Clone, Debug, PartialEq)]
pub enum HopRate {
    /// No serialisation at all.
    Infinite,
    /// Constant.
    Fixed(Rate),
    /// Opportunities from a recording.
    Trace(Arc<RateTrace>),
}

impl HopRate {
    /// The rate, if it is constant and not infinite.
    pub const fn fixed(&self) -> Option<Rate> {
        match self {
            Self::Fixed(rate) => Some(*rate),
            Self::Infinite | Self::Trace(_) => None,
        }
    }
}

/// A mahimahi trace: at each time a packet of up to 1500 bytes (or several smaller ones) may
/// leave; the trace repeats after its last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// Milliseconds of each opportunity, not decreasing, not empty; the last is above zero.
    pub opportunities_ms: Vec<u64>,
}

/// What becomes of a link while the cell runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The link, as an index into [`Cell::hops`].
    pub hop: usize,
    /// The rate from then on; a packet that is being sent is sent as it began.
    pub rate: Option<HopRate>,
    /// The queue from then on; no packet is lost by the change itself.
    pub qdisc: Option<QdiscSpec>,
}

/// What carries a flow, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// A connection; `from` opens it.
    Tcp(TcpConfig),
    /// Datagrams.
    Udp,
}

/// One flow: two hosts, a transport and a traffic model.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique in the cell.
    pub name: String,
    /// Index of the node with the app's first end: the sender of one-way traffic. In a dumbbell
    /// 0 is the client and 1 the server.
    pub from: usize,
    /// Index of the node with the app's second end.
    pub to: usize,
    /// Numbers of its hosts at `from` and at `to`. Each node counts its own: flows with the same
    /// number share a host there, in the live world an address.
    pub hosts: [u16; 2],
    /// When it begins.
    pub start: Time,
    /// When its app is stopped; the end of the run by default.
    pub stop: Option<Time>,
    /// When set, it begins anew after each such time, and stops as long after each beginning.
    pub every: Option<Span>,
    /// Round-trip time of the empty path without serialisation. In a dumbbell the delay stage
    /// adds what the links' own delays do not give, half each way. In a graph it must not be
    /// below the sum of the links' delays; the rest is added at the far end, half each way.
    pub base_rtt: Span,
    /// The TOS byte's DSCP, 0 to 63.
    pub dscp: u8,
    /// What a queue is told of its packets, both ways, that stands in no header.
    pub label: Label,
    /// What carries it.
    pub transport: Transport,
    /// The traffic model.
    pub app: AppSpec,
}

impl Flow {
    /// From client to server, from the first moment to the last, over an empty path without
    /// delay.
    pub fn new(name: &str, transport: Transport, app: AppSpec) -> Self {
        Self {
            name: name.into(),
            from: 0,
            to: 1,
            hosts: [0; 2],
            start: Time::ZERO,
            stop: None,
            every: None,
            base_rtt: Span::ZERO,
            dscp: 0,
            label: Label::default(),
            transport,
            app,
        }
    }

    /// Each of its beginnings before `end`, as a flow that begins once. All have sockets of their
    /// own; from the second on the name carries a number, which names their dice.
    pub fn instances(&self, end: Time) -> impl Iterator<Item = Self> + '_ {
        let every = self.every.filter(|every| !every.is_zero());
        let more = every
            .into_iter()
            .flat_map(|every| (1_u64..).map(move |n| every * n));
        let more = more.take_while(move |&shift| self.start + shift < end);
        let shifts = std::iter::once(Span::ZERO).chain(more);
        shifts.enumerate().map(|(number, shift)| Self {
            name: match number {
                0 => self.name.clone(),
                _ => format!("{}#{}", self.name, number + 1),
            },
            start: self.start + shift,
            stop: self.stop.map(|stop| stop + shift),
            every: None,
            ..self.clone()
        })
    }
}

/// What a firewall or a sender tells a queue of a packet, beside its headers. Zero is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The firewall's mark (`skb->mark`).
    pub mark: u32,
    /// The class of the queue's own: the minor number of `skb->priority`.
    pub class: u16,
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

#[cfg(test)]
mod tests;
