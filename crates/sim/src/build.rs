//! From a cell to the engine that runs it: links, pipes, routes, endpoints.

use crate::calendar::{Calendar, MAX_SOURCES};
use crate::engine::{Engine, Next, Routes};
use crate::host::{Access, Endpoint, Transport};
use crate::link::{Impairment, Link};
use crate::packet::{Hosts, Way};
use crate::pipe::Pipe;
use sojourn_apps::Spec as AppSpec;
use sojourn_qdisc::Setting;
use sojourn_random::Stream;
use sojourn_tcp::{Config, Connection};
use sojourn_units::{Rate, Span, Time, TxClock};
use sojourn_world::{
    Cell, Flow, FlowRecorder, Hop, HopRate, LinkRecorder, Topology, Transmitter,
    Transport as CellTransport, Window, WorldError,
};
use std::collections::BTreeMap;

/// Largest IP packet of a link: the default quantum is made from it.
const MTU: u32 = 1500;

/// Makes the engine for a cell.
pub(crate) fn engine(cell: &Cell) -> Result<Engine, WorldError> {
    let window = Window::of(cell);
    let links: Vec<Link> = cell.hops().map(|hop| link(cell, window, hop)).collect();
    let delays: Vec<Span> = cell.hops().map(|hop| hop.delay).collect();
    let mut layout = Layout::new(links.len(), 2 * cell.flows.len());
    for (flow, spec) in cell.flows.iter().enumerate() {
        let paths = [
            path(cell, spec.from, spec.to, spec)?,
            path(cell, spec.to, spec.from, spec)?,
        ];
        let along = |path: &[usize]| {
            path.iter()
                .map(|&l| delays[l])
                .fold(Span::ZERO, |a, b| a + b)
        };
        let spare = spec.base_rtt - (along(&paths[0]) + along(&paths[1]));
        let extra = [spare / 2, spare - spare / 2];
        for (side, path) in paths.iter().enumerate() {
            let way = if side == 0 {
                Way::forth(flow)
            } else {
                Way::forth(flow).back()
            };
            layout.route(way, path, &delays, extra[side]);
        }
    }
    let access = match &cell.topology {
        Topology::Dumbbell(dumbbell) => dumbbell.access,
        Topology::Graph(_) => None,
    };
    if access.is_some() {
        layout.add_uplinks();
    }
    let ways = layout.routes.ways;
    if links.len() + layout.pipes.len() + ways >= MAX_SOURCES {
        return Err(WorldError(format!(
            "the simulator holds up to {MAX_SOURCES} links, delays and endpoints; this cell has \
             {} flows over {} links",
            cell.flows.len(),
            links.len()
        )));
    }
    let accesses = |rate: Option<Rate>| -> Vec<Option<Access>> {
        let one = || {
            rate.map(|r| Access {
                clock: TxClock::new(r),
                free_at: Time::ZERO,
            })
        };
        (0..ways).map(|_| one()).collect()
    };
    Ok(Engine {
        calendar: Calendar::default(),
        links,
        pipes: layout.pipes,
        pipe_rows: layout.pipe_rows,
        routes: layout.routes,
        endpoints: cell
            .flows
            .iter()
            .enumerate()
            .flat_map(|(i, f)| endpoints(cell, i, f))
            .collect(),
        uplinks: accesses(access),
        downlinks: accesses(access),
        recorders: cell
            .flows
            .iter()
            .map(|f| FlowRecorder::new(window, f.base_rtt))
            .collect(),
        end: cell.end(),
        sample_every: window.every,
        events: 0,
        digest: 0xcbf2_9ce4_8422_2325,
        outbox: Vec::new(),
        reports: Vec::new(),
        bottleneck_packets: 0,
    })
}

fn link(cell: &Cell, window: Window, hop: &Hop) -> Link {
    let name = format!("link.{}", hop.name);
    let setting = Setting {
        seed: cell.seed,
        name: &name,
        mtu: MTU + u32::from(cell.link_header),
    };
    let rate = match hop.rate {
        HopRate::Fixed(rate) => Some(rate),
        HopRate::Infinite | HopRate::Trace(_) => None,
    };
    let impaired = !hop.jitter.is_zero() || hop.loss > 0.0;
    Link {
        qdisc: hop.qdisc.build(setting),
        transmitter: Transmitter::new(&hop.rate, cell.link_header),
        free_at: Time::ZERO,
        armed: Time::MAX,
        impairment: impaired.then(|| Impairment {
            jitter: hop.jitter,
            reorder: hop.reorder,
            loss: hop.loss,
            dice: Stream::named(cell.seed, &format!("{name}.impairment")),
        }),
        recorder: LinkRecorder::new(window, rate),
    }
}

/// The links on the way between two nodes.
fn path(cell: &Cell, from: usize, to: usize, flow: &Flow) -> Result<Vec<usize>, WorldError> {
    let path = match &cell.topology {
        // Node 0 is the client; link 0 leads away from it.
        Topology::Dumbbell(_) => (from + to == 1).then(|| vec![from]),
        Topology::Graph(graph) => graph.path(from, to).filter(|path| !path.is_empty()),
    };
    path.ok_or_else(|| {
        WorldError(format!(
            "flow `{}`: no path from node {from} to node {to}",
            flow.name
        ))
    })
}

/// Pipes and routes while they are being laid out.
struct Layout {
    pipes: Vec<Pipe>,
    pipe_rows: Vec<u32>,
    routes: Routes,
    /// The pipe of each row and delay.
    known: BTreeMap<(usize, Span), u32>,
}

impl Layout {
    fn new(links: usize, ways: usize) -> Self {
        let cells = (links + 1) * ways;
        Self {
            pipes: Vec::new(),
            pipe_rows: Vec::new(),
            routes: Routes {
                ways,
                next: vec![Next::None; cells],
                pipe: vec![u32::MAX; cells],
            },
            known: BTreeMap::new(),
        }
    }

    /// The last row: the hosts' access links.
    fn access_row(&self) -> usize {
        self.routes.next.len() / self.routes.ways - 1
    }

    fn add_pipe(&mut self, row: usize, delay: Span) -> u32 {
        self.pipes.push(Pipe::new(delay));
        self.pipe_rows.push(row as u32);
        (self.pipes.len() - 1) as u32
    }

    /// Lays the way over `path`; the last pipe is longer by `extra`.
    fn route(&mut self, way: Way, path: &[usize], delays: &[Span], extra: Span) {
        let first = self.access_row() * self.routes.ways + way.index();
        self.routes.next[first] = Next::Link(path[0] as u32);
        for (hop, &link) in path.iter().enumerate() {
            let last = hop + 1 == path.len();
            let delay = delays[link] + if last { extra } else { Span::ZERO };
            let pipe = match self.known.get(&(link, delay)) {
                Some(&pipe) => pipe,
                None => self.add_pipe(link, delay),
            };
            self.known.insert((link, delay), pipe);
            let at = link * self.routes.ways + way.index();
            self.routes.pipe[at] = pipe;
            self.routes.next[at] = if last {
                Next::Host
            } else {
                Next::Link(path[hop + 1] as u32)
            };
        }
    }

    /// Gives every direction an access link of its own with its own pipe.
    fn add_uplinks(&mut self) {
        let row = self.access_row();
        for way in 0..self.routes.ways {
            self.routes.pipe[row * self.routes.ways + way] = self.add_pipe(row, Span::ZERO);
        }
    }
}

/// Both ends of a flow.
fn endpoints(cell: &Cell, index: usize, flow: &Flow) -> [Endpoint; 2] {
    let dice = Stream::named(cell.seed, &format!("flow.{}.app", flow.name));
    let (first, second) = flow.app.build(dice);
    let way = Way::forth(index);
    let expected = match flow.app {
        AppSpec::File { size } => Some(size),
        _ => None,
    };
    let hosts = match &cell.topology {
        // With access links each flow has hosts of its own.
        Topology::Dumbbell(dumbbell) if dumbbell.access.is_some() => Hosts {
            src: index,
            dst: index,
        },
        _ => Hosts {
            src: flow.from,
            dst: flow.to,
        },
    };
    let end = |app, way: Way| Endpoint {
        app,
        hosts: if way.is_forth() {
            hosts
        } else {
            hosts.reversed()
        },
        transport: transport(cell, flow, way),
        way,
        tos: flow.dscp << 2,
        start: flow.start,
        stop: if way.is_forth() {
            flow.stop.unwrap_or(Time::MAX)
        } else {
            Time::MAX
        },
        started: false,
        stopped: false,
        wake: Time::MAX,
        armed: Time::MAX,
        sample_at: Time::ZERO,
        delivered: 0,
        expected: if way.is_forth() { None } else { expected },
    };
    [end(first, way), end(second, way.back())]
}

fn transport(cell: &Cell, flow: &Flow, way: Way) -> Transport {
    match &flow.transport {
        CellTransport::Udp => Transport::Udp {
            header: cell.link_header,
        },
        CellTransport::Tcp(config) => {
            let config: &Config = config;
            let mut connection = Box::new(Connection::new(config));
            let (flow, end) = (&flow.name, if way.is_forth() { "first" } else { "second" });
            connection.seed(Stream::named(cell.seed, &format!("flow.{flow}.tcp.{end}")).bits());
            if !way.is_forth() {
                connection.listen();
            }
            let headers = |blocks: u8| config.header_len(blocks) + cell.link_header;
            Transport::Tcp {
                connection,
                headers: [headers(0), headers(1), headers(2), headers(3)],
            }
        }
    }
}
