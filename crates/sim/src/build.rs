//! From a cell to the engine that runs it: links, pipes, routes, endpoints.

use crate::access::AccessLinks;
use crate::calendar::{Calendar, MAX_SOURCES, Source};
use crate::change::Changes;
use crate::engine::Engine;
use crate::host::{Endpoint, Outbox, Plan, Transport, UDP_HEADERS};
use crate::label::{Labelling, Labels};
use crate::link::Link;
use crate::packet::Way;
use crate::pipe::Pipe;
use crate::route::{Leg, Next, Route, Routes};
use sojourn_apps::App;
use sojourn_qdisc::Setting;
use sojourn_random::Stream;
use sojourn_tcp::{Config, Connection};
use sojourn_units::{Span, Time};
use sojourn_world::{
    Cell, Flow, FlowRecorder, Impairment, Instance, Interface, Line, LinkRecorder, Medium,
    SppRecorder, Transmitter, Transport as CellTransport, Window, WorldError,
};
use std::collections::BTreeMap;

/// Largest IP packet of a link: the default quantum is made from it.
const MTU: u32 = 1500;

/// Makes the engine for a cell.
#[expect(
    clippy::too_many_lines,
    reason = "one part of the engine after the other"
)]
pub(crate) fn engine(cell: &Cell) -> Result<Engine, WorldError> {
    let window = Window::of(cell);
    let labels = Labels::of(cell);
    let network = &cell.network;
    let lines: Vec<&Line> = (0..network.interfaces.len())
        .map(|interface| match network.medium(interface) {
            Medium::Wire(wire) => &wire.line,
        })
        .collect();
    let links: Vec<Link> = (lines.iter().enumerate())
        .map(|(index, line)| link(cell, window, index, line, &labels))
        .collect();
    let delays: Vec<Span> = lines.iter().map(|line| line.delay).collect();
    let instances = cell.instances();
    let connections = |instance: &Instance| usize::from(instance.spec.app.connections());
    let connections: usize = instances.iter().map(connections).sum();
    let ways = 2 * connections;
    let mut layout = Layout::new(links.len());
    for Instance { spec, .. } in &instances {
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
        for _ in 0..spec.app.connections() {
            layout.route(&paths[0], &delays, extra[0]);
            layout.route(&paths[1], &delays, extra[1]);
        }
    }
    let access = network.access;
    let uplinks = if access.is_some() { ways } else { 0 };
    let endpoints = links.len() + layout.pipes.len() + uplinks;
    if endpoints + ways >= MAX_SOURCES {
        return Err(WorldError(format!(
            "the simulator holds up to {MAX_SOURCES} links, delays and endpoints; this cell has \
             {} flows over {} links",
            instances.len(),
            links.len()
        )));
    }
    let calendar = Calendar::new(endpoints as Source);
    let (endpoints, apps) = ends(cell, &instances);
    let flow = |instance: &Instance| {
        let connections = usize::from(instance.spec.app.connections());
        std::iter::repeat_n(instance.flow as u32, connections)
    };
    let flows = instances.iter().flat_map(flow).collect();
    Ok(Engine {
        calendar,
        links,
        pipes: layout.pipes,
        routes: layout.routes,
        endpoints,
        apps,
        access: access.map(|rate| AccessLinks::new(rate, ways)),
        flows,
        recorders: cell
            .flows
            .iter()
            .map(|f| recorder(cell, window, f))
            .collect(),
        other_ways: cell.other_ways(),
        changes: Changes::new(cell),
        end: cell.end(),
        sample_every: window.every,
        events: 0,
        digest: 0xcbf2_9ce4_8422_2325,
        outbox: Outbox::default(),
        link_header: cell.link_header,
        reports: Vec::new(),
        bottleneck_packets: 0,
        tapped: None,
    })
}

fn recorder(cell: &Cell, window: Window, flow: &Flow) -> FlowRecorder {
    let mut recorder = FlowRecorder::new(window, flow.base_rtt);
    if !cell.flow_series {
        recorder.omit_series();
    }
    if cell.spp {
        recorder.set_spp(SppRecorder::new(window, flow.base_rtt));
    }
    recorder
}

fn link(cell: &Cell, window: Window, index: usize, line: &Line, labels: &Labels) -> Link {
    let interface = &cell.network.interfaces[index];
    let name = link_name(interface);
    let setting = setting(cell, &name);
    Link {
        qdisc: if labels.serve(cell, index) {
            Box::new(Labelling::new(&interface.qdisc, setting, labels.clone()))
        } else {
            interface.qdisc.build(setting)
        },
        transmitter: Transmitter::new(&line.rate, cell.link_header),
        free_at: Time::ZERO,
        armed: Time::MAX,
        impairment: Impairment::of(line, cell.seed, &format!("{name}.impairment")),
        recorder: LinkRecorder::new(window, line.rate.fixed()),
    }
}

/// The name of a link's random streams.
pub(crate) fn link_name(interface: &Interface) -> String {
    format!("link.{}", interface.name)
}

/// What the queue of the link with this name is built with.
pub(crate) fn setting<'a>(cell: &Cell, name: &'a str) -> Setting<'a> {
    Setting {
        seed: cell.seed,
        name,
        mtu: MTU + u32::from(cell.link_header),
        link_header: u32::from(cell.link_header),
    }
}

/// The links on the way between two nodes.
fn path(cell: &Cell, from: usize, to: usize, flow: &Flow) -> Result<Vec<usize>, WorldError> {
    let path = cell.network.path(from, to);
    path.filter(|path| !path.is_empty()).ok_or_else(|| {
        WorldError(format!(
            "flow `{}`: no path from node {from} to node {to}",
            flow.name
        ))
    })
}

/// Pipes and routes while they are being laid out.
struct Layout {
    links: usize,
    pipes: Vec<Pipe>,
    routes: Routes,
    /// The pipe of each link and delay.
    known: BTreeMap<(usize, Span), u32>,
}

impl Layout {
    fn new(links: usize) -> Self {
        Self {
            links,
            pipes: Vec::new(),
            routes: Routes::new(links),
            known: BTreeMap::new(),
        }
    }

    fn add_pipe(&mut self, link: usize, delay: Span) -> u32 {
        self.pipes.push(Pipe::new(link, delay));
        (self.pipes.len() - 1) as u32
    }

    /// Lays the next direction's way over `path`; the last pipe is longer by `extra`.
    fn route(&mut self, path: &[usize], delays: &[Span], extra: Span) {
        let mut route = Route::new(self.links, path[0]);
        for (hop, &link) in path.iter().enumerate() {
            let last = hop + 1 == path.len();
            let delay = delays[link] + if last { extra } else { Span::ZERO };
            let pipe = match self.known.get(&(link, delay)) {
                Some(&pipe) => pipe,
                None => self.add_pipe(link, delay),
            };
            self.known.insert((link, delay), pipe);
            let next = if last {
                Next::Host
            } else {
                Next::Link(path[hop + 1] as u32)
            };
            route.legs[link] = Leg { pipe, next };
        }
        self.routes.push(route);
    }
}

/// The ends of all connections, and the apps at both ends of each instance of a flow.
fn ends(cell: &Cell, instances: &[Instance]) -> (Vec<Endpoint>, Vec<Box<dyn App>>) {
    let (mut all, mut apps) = (Vec::new(), Vec::new());
    for instance in instances {
        let flow = &instance.spec;
        let dice = Stream::named(cell.seed, &format!("flow.{}.app", flow.name));
        let (first, second) = flow.app.build(dice);
        apps.extend([first, second]);
        for connection in 0..flow.app.connections() {
            let way = Way::forth(all.len() / 2);
            let app = apps.len() - 2;
            all.extend(endpoints(cell, instance, app, (connection, way)));
        }
    }
    (all, apps)
}

/// Both ends of one of a flow's connections.
fn endpoints(
    cell: &Cell,
    instance: &Instance,
    app: usize,
    (connection, way): (u8, Way),
) -> [Endpoint; 2] {
    let flow = &instance.spec;
    let expected = flow.app.total_bytes();
    let end = |way: Way| {
        Endpoint::new(Plan {
            app: app + usize::from(!way.is_forth()),
            connection,
            transport: transport(cell, flow, connection, way),
            way,
            dscp: flow.dscp,
            opens: way.is_forth() != flow.app.kind().second_opens,
            start: flow.start,
            // Of a conversation both ends stop, of one-way traffic its source.
            stop: if way.is_forth() || flow.app.kind().has_messages {
                flow.stop.unwrap_or(Time::MAX)
            } else {
                Time::MAX
            },
            expected: if way.is_forth() { None } else { expected },
        })
    };
    [end(way), end(way.back())]
}

fn transport(cell: &Cell, flow: &Flow, number: u8, way: Way) -> Transport {
    match &flow.transport {
        CellTransport::Udp => Transport::Udp {
            header: cell.link_header + UDP_HEADERS,
        },
        CellTransport::Tcp(config) => {
            let config: &Config = config;
            let mut connection = Connection::new(config);
            let (name, end) = (&flow.name, if way.is_forth() { "first" } else { "second" });
            let mut dice = Stream::named(cell.seed, &format!("flow.{name}.tcp.{end}"));
            for _ in 0..number {
                dice.bits();
            }
            connection.seed(dice.bits());
            if way.is_forth() == flow.app.kind().second_opens {
                connection.listen();
            }
            Transport::Tcp {
                connection,
                stamped: config.timestamps,
                header: config.header_len(0) + cell.link_header,
            }
        }
    }
}
