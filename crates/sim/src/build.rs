//! From a cell to the engine that runs it: links, pipes, routes, endpoints.

use crate::access::AccessLinks;
use crate::arrivals::Arrivals;
use crate::autorate::Autorates;
use crate::calendar::{Calendar, MAX_OWNERS};
use crate::change::Changes;
use crate::engine::{Engine, MOST_PACKETS, Sending, is_large};
use crate::error::Unfit;
use crate::forwarding::Forwarding;
use crate::host::{Endpoint, Transport, UDP_HEADERS};
use crate::instead::Instead;
use crate::interface::{Interface, sees_copies};
use crate::label::Labels;
use crate::layout::Layout;
use crate::medium::Medium;
use crate::mesh::Mesh;
use crate::net::Net;
use crate::outside::Outside as EndsOutside;
use crate::packet::{Packet, Way};
use crate::passage::Passage;
use sojourn_apps::{App, Model, Outside, Wishes};
use sojourn_memory::{expect_much, on_large_pages};
use sojourn_random::Stream;
use sojourn_tcp::{Algorithm, Config, CongestionControl, Connection, Segment};
use sojourn_units::Time;
use sojourn_world::{
    Cell, Flow, Instance, Transport as CellTransport, Window, flow_recorders, link_recorders,
};
use std::collections::VecDeque;

/// Refuses congestion control that the simulator does not have.
fn check_algorithms(cell: &Cell) -> Result<(), Unfit> {
    for flow in &cell.flows {
        if let CellTransport::Tcp(config) = flow.transport
            && let Algorithm::Linux(name) = config.algorithm
        {
            let flow = flow.name.clone();
            return Err(Unfit::Algorithm { flow, name });
        }
    }
    Ok(())
}

/// Refuses flows from outside over a radio.
fn check_outside(cell: &Cell) -> Result<(), Unfit> {
    match outside(cell) {
        Some(flow) if cell.network.radio().is_some() => {
            let flow = flow.name.clone();
            Err(Unfit::OutsideRadio { flow })
        }
        _ => Ok(()),
    }
}

/// Refuses what the simulator cannot run.
fn check(cell: &Cell) -> Result<(), Unfit> {
    check_algorithms(cell)?;
    check_outside(cell)?;
    if cell.hosts.has_trains() && cell.network.radio().is_some() {
        return Err(Unfit::Trains);
    }
    Ok(())
}

/// The first flow of a cell whose ends are outside.
pub(crate) fn outside(cell: &Cell) -> Option<&Flow> {
    cell.flows.iter().find(|flow| flow.is_outside())
}

/// Where the sources of each kind begin, of so many each, when all are counted.
fn numbers(counts: [usize; 6]) -> [u64; 8] {
    let mut numbers = [0; 8];
    for (kind, count) in counts.into_iter().enumerate() {
        numbers[kind + 1] = numbers[kind] + count as u64;
    }
    numbers
}

/// Where packets go over the cell's radio, if it has one.
fn mesh(cell: &Cell, instances: &[Instance]) -> Option<Box<Mesh>> {
    let radio = cell.network.radio()?;
    Some(Box::new(Mesh::new(cell, radio, instances)))
}

/// The cell's interfaces, with their queues or those of one's own.
fn interfaces(cell: &Cell, own: &mut dyn Instead) -> Vec<Interface> {
    let labels = Labels::of(cell);
    let recorders = link_recorders(cell).into_iter().enumerate();
    let places = recorders.map(|(index, recorder)| {
        let interface = &cell.network.interfaces[index];
        let mut place = Interface::new(cell, index, &labels, recorder);
        let queue = match own.queue(interface, place.setting()) {
            Some(queue) => queue,
            None => place.qdisc,
        };
        place.qdisc = own.around(interface, queue);
        place
    });
    places.collect()
}

/// The ends of flows that are outside, if there are any.
fn ends_outside(instances: &[Instance]) -> Option<EndsOutside> {
    EndsOutside::of(instances.iter().flat_map(|instance| {
        let ends = 2 * usize::from(instance.spec.app.connections());
        std::iter::repeat_n(instance.spec.is_outside(), ends)
    }))
}

/// How the cell's hosts send.
fn sending(cell: &Cell) -> Sending {
    Sending {
        trains: cell.hosts.has_trains(),
        sees_copies: sees_copies(cell),
    }
}

/// About what a connection needs beside its endpoints, mostly for its scoreboard and recorder, and
/// what a link does for its packets.
const BYTES_A_CONNECTION: usize = 8 << 10;
const BYTES_A_LINK: usize = 64 << 10;

/// Asks for large pages for a large run.
fn expect(connections: usize, links: usize) {
    if is_large(connections, links) {
        let bytes = connections.saturating_mul(BYTES_A_CONNECTION);
        expect_much(bytes.saturating_add(links.saturating_mul(BYTES_A_LINK)));
    }
}

/// Makes the engine for a cell.
pub(crate) fn engine(cell: &Cell, own: &mut dyn Instead) -> Result<Engine, Unfit> {
    check(cell)?;
    let instances = cell.instances();
    let connections = |instance: &Instance| usize::from(instance.spec.app.connections());
    let ways = 2 * instances.iter().map(connections).sum::<usize>();
    expect(ways / 2, cell.network.interfaces.len());
    let interfaces = interfaces(cell, own);
    let mesh = mesh(cell, &instances);
    let layout = match mesh {
        Some(_) => Layout::default(),
        None => Layout::of(cell, &instances)?,
    };
    let access = cell.network.access;
    let most = [interfaces.len(), layout.pipes.len(), ways];
    if most.into_iter().any(|count| count > MAX_OWNERS) {
        return Err(Unfit::TooLarge {
            flows: instances.len(),
            links: interfaces.len(),
        });
    }
    let media = Medium::of(cell, &layout.table);
    let uplinks = if access.is_some() { ways } else { 0 };
    let numbers = numbers([media.len(), layout.pipes.len(), uplinks, ways, 1, 1]);
    let (endpoints, apps) = ends(cell, &instances, ways, own);
    Ok(Engine {
        net: Net {
            media,
            passage: Passage {
                calendar: Calendar::default(),
                interfaces,
                pipes: layout.pipes,
                forwarding: match mesh {
                    Some(mesh) => Forwarding::Mesh(mesh),
                    None => Forwarding::Table(layout.table),
                },
                arrivals: Arrivals::new(),
                mail: VecDeque::new(),
                access: access.map(|rate| AccessLinks::new(rate, ways)),
                tapped: None,
                outside: ends_outside(&instances).map(Box::new),
                autorates: Autorates::of(cell, &instances).map(Box::new),
            },
            changes: Changes::of(cell),
        },
        numbers,
        endpoints,
        apps,
        flows: flows(&instances),
        recorders: flow_recorders(cell),
        other_ways: cell.other_ways(),
        end: cell.end(),
        drain: cell.drain,
        sample_every: Window::of(cell).every,
        sample_at: Time::ZERO,
        look_at: Time::ZERO,
        ahead_before: Time::ZERO,
        sent: Packet::segment(Segment::default(), Way::forth(0), 0, 0),
        left: 0,
        pause: 0,
        digest: 0xcbf2_9ce4_8422_2325,
        wishes: Wishes::default(),
        datagrams: Vec::new(),
        link_header: cell.link_header,
        sending: sending(cell),
        reports: Vec::new(),
        bottleneck_packets: 0,
        room: MOST_PACKETS,
        large: false,
    })
}

/// Flow of the cell, by connection.
fn flows(instances: &[Instance]) -> Vec<u32> {
    let flow = |instance: &Instance| {
        let connections = usize::from(instance.spec.app.connections());
        std::iter::repeat_n(instance.flow as u32, connections)
    };
    instances.iter().flat_map(flow).collect()
}

/// The ends of all connections, and the apps at both ends of each instance of a flow.
fn ends(
    cell: &Cell,
    instances: &[Instance],
    ways: usize,
    own: &mut dyn Instead,
) -> (Vec<Endpoint>, Vec<Box<dyn App>>) {
    let (mut all, mut apps) = (Vec::with_capacity(ways), Vec::new());
    on_large_pages(&all);
    let duplicates = cell.duplicates();
    for instance in instances {
        let flow = &instance.spec;
        let dice = Stream::named(cell.seed, &format!("flow.{}.app", flow.name));
        // A stack does what the model asks for.
        let (first, second) = match flow.stack {
            Some(_) => Outside.build(dice),
            None => flow.app.build(dice),
        };
        apps.extend([first, second]);
        for connection in 0..flow.app.connections() {
            let way = Way::forth(all.len() / 2);
            let app = apps.len() - 2;
            all.extend([(way, app), (way.back(), app + 1)].map(|(way, app)| {
                let control = match &flow.transport {
                    CellTransport::Tcp(config) => own.control(&cell.flows[instance.flow], config),
                    CellTransport::Udp => None,
                };
                let transport = transport(cell, duplicates, flow, connection, way, control);
                let hears = apps[app].hears_deliveries();
                Endpoint::new(flow, way, app, connection, hears, transport)
            }));
        }
    }
    (all, apps)
}

/// What carries a flow in a cell, where packets may arrive twice or not, with a congestion control
/// of one's own or not.
fn transport(
    cell: &Cell,
    duplicates: bool,
    flow: &Flow,
    number: u8,
    way: Way,
    control: Option<Box<dyn CongestionControl + Send>>,
) -> Transport {
    match &flow.transport {
        CellTransport::Udp => Transport::Udp {
            header: cell.link_header + UDP_HEADERS,
            received: duplicates.then(Box::default),
        },
        CellTransport::Tcp(config) => {
            let header = config.header_len(0) + cell.link_header;
            let config = &Config {
                train: if cell.hosts.has_trains() {
                    // As many as a packet has a length for.
                    u16::MAX / config.mss.saturating_add(header).max(1)
                } else {
                    1
                },
                pacing: config.pacing || cell.hosts.pace(),
                ..*config
            };
            let mut connection = Connection::new(config);
            connection.count_limits_from(Time::ZERO + cell.warmup);
            if let Some(control) = control {
                connection.set_control(control);
            }
            let (name, end) = (&flow.name, if way.is_forth() { "first" } else { "second" });
            let mut dice = Stream::named(cell.seed, &format!("flow.{name}.tcp.{end}"));
            for _ in 0..number {
                dice.bits();
            }
            connection.seed(dice.bits());
            if sees_copies(cell) {
                connection.see_copies();
            }
            if way.is_forth() == flow.app.kind().second_opens {
                connection.listen();
            }
            Transport::Tcp {
                connection,
                stamped: config.timestamps,
                header,
            }
        }
    }
}
