//! The live world: a cell on real sockets, through the bridge, in namespaces of its own.
//!
//! Every run has its own test bed, so several can go on at once; they share the machine's
//! processors, and latencies show it when these are busy.
//!
//! Differs from the simulator:
//! - TCP's round-trip times are recovered from the kernel's smoothed one (`tcpi_rtt`), which is
//!   read every 10 ms: the mean of the ACKs since the last reading, counted once for each of
//!   them. A probe's are exact.
//! - An access rate is not emulated: hosts send as fast as they can.
//! - TCP is the kernel's: of its parameters those that it cannot take are refused. ECN, SACK,
//!   timestamps, RACK and the initial window are settings of a whole host, so all flows of a cell
//!   must agree.

mod guest;
mod kernel;
mod links;
mod programs;
mod run;

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use sojourn_tcp::{Config, Ecn};
use sojourn_units::{Span, Time};
use sojourn_world::{
    Cell, Cost, Line, Progress, RunResult, Taps, Transport, World, WorldError, WorldName,
    flow_recorders,
};

use crate::host::{self, Machine, Shared, Side};
use crate::lab::graph::{self, Graph, Joint, is_dumbbell};
use crate::lab::{Gateway, Host, Lab, Plan};
use crate::taps::{Between, Capture};
use crate::unfit::Unfit;
pub use guest::{Guests, Queues};
use links::{Gauge, Pairs};
use programs::{Programs, addresses};
use run::{ETHERNET_HEADER, Outcome, Run, way};
use sojourn_bridge::Namespace;
use sojourn_bridge::{Clock, read_nanos};

/// How often progress is told and the threads are looked after.
const TICK: Duration = Duration::from_millis(50);
/// From the clock's making to its zero: time for the bridge to start.
const LEAD: Span = Span::from_millis(100);
/// How long the path must stay empty after the end until nothing can be under way any more,
/// beyond its delays.
const QUIET: Span = Span::from_millis(100);

/// The world of real packets. See the module's documentation for what differs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live;

impl Live {
    /// What it is called.
    pub const NAME: WorldName = WorldName::new("live");

    /// Whether this machine can run cells live: tries to build and remove a test bed.
    ///
    /// # Errors
    /// A sentence that says what is missing and what to do.
    pub fn available() -> io::Result<()> {
        let lab = Lab::new(&Plan::default())?;
        let raw = lab.bridge.run(|| {
            use rustix::net::{AddressFamily, SocketType, socket};
            Ok(socket(AddressFamily::PACKET, SocketType::RAW, None)?)
        });
        raw.map(drop).map_err(|error| {
            let what = format!("cannot open a packet socket (AF_PACKET): {error}");
            io::Error::new(error.kind(), what)
        })
    }
}

impl World for Live {
    fn name(&self) -> WorldName {
        Live::NAME
    }

    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        Guests::default().run(cell, taps, progress)
    }
}

impl World for Guests {
    fn name(&self) -> WorldName {
        Live::NAME
    }

    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let began = Instant::now();
        let joints = check(cell, Machine::This).map_err(WorldError::unfit)?;
        let plan = self.plan(cell, &joints).map_err(WorldError::unfit)?;
        let bed = Bed::new(cell, &plan, &joints).map_err(WorldError::machine)?;
        let shared = Shared {
            recorders: flow_recorders(cell).into_iter().map(Mutex::new).collect(),
            stop: AtomicBool::new(false),
        };
        let programs = Programs::of(cell, self.has_programs()).map(Mutex::new);
        let pairs = Pairs::of(&shared.recorders, joints.len()).map(Mutex::new);
        let mut captures = captures(cell, taps, &joints).map_err(WorldError::machine)?;
        let links = joints.iter().map(|joint| joint.links);
        let runs = links.zip(&bed.labs).map(|(numbers, lab)| Run {
            cell,
            numbers,
            links: numbers.map(|link| way(&cell.network, link)),
            lab,
            shared: &shared,
            pairs: pairs.as_ref(),
            programs: programs.as_ref(),
            gauge: Gauge::default(),
            capture: Mutex::new(captures.next()),
            guests: self,
        });
        let whole = Whole {
            cell,
            nodes: &bed.nodes,
            runs: runs.collect(),
            shared: &shared,
            guests: self,
        };
        let outcome = whole.go(progress)?;
        drop(whole);
        if let Some(pairs) = pairs {
            let pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
            pairs.keep(&shared.recorders);
        }
        let digest = if self.repeats { outcome.digest } else { 0 };
        let mut result = result(cell, shared, outcome, began);
        if let Some(programs) = programs {
            let programs = programs
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            result.flows.extend(programs.results());
        }
        Ok(RunResult { digest, ..result })
    }
}

/// What shows frames to taps, one for each joint; none when there are no taps.
fn captures(
    cell: &Cell,
    taps: Taps,
    joints: &[Joint],
) -> io::Result<impl Iterator<Item = Capture>> {
    if taps.is_empty() {
        return Ok(Vec::new().into_iter());
    }
    let between = |&Joint { links, nodes }: &Joint| Between {
        links,
        nodes,
        routed: !is_dumbbell(&cell.network),
    };
    let bridges: Vec<Between> = joints.iter().map(between).collect();
    Ok(Capture::of(taps, &bridges)?.into_iter())
}

/// The namespaces of a run: by node, and for each joint those around its bridge.
struct Bed {
    nodes: Vec<Namespace>,
    labs: Vec<Lab>,
}

impl Bed {
    fn new(cell: &Cell, plan: &Plan, joints: &[Joint]) -> io::Result<Self> {
        let network = &cell.network;
        if is_dumbbell(network) {
            let lab = Lab::new(plan)?;
            return Ok(Self {
                nodes: vec![lab.client.clone(), lab.server.clone()],
                labs: vec![lab],
            });
        }
        let Graph { nodes, labs } = Graph::new(plan, network, joints)?;
        Ok(Self { nodes, labs })
    }
}

impl Guests {
    /// Whether a cell can run in a guest, without running it. The guest itself says what its kernel
    /// lacks.
    ///
    /// # Errors
    /// The first reason why it cannot.
    pub fn check(&self, cell: &Cell) -> Result<(), Unfit> {
        let joints = check(cell, Machine::Guest)?;
        self.plan(cell, &joints).map(drop)
    }

    fn plan(&self, cell: &Cell, joints: &[Joint]) -> Result<Plan, Unfit> {
        let plan = plan(cell)?;
        let Some(whose) = self.queues.in_kernel() else {
            return Ok(plan);
        };
        kernel::check(self, whose, cell, joints)?;
        Ok(kernel::plan(self, cell, joints, plan))
    }
}

/// The joints of a cell that can run here.
fn check(cell: &Cell, machine: Machine) -> Result<Vec<Joint>, Unfit> {
    let network = &cell.network;
    let joints = graph::joints(network).ok_or(Unfit::Radio)?;
    if joints.is_empty() {
        return Err(Unfit::NoLink);
    }
    if !network.following.is_empty() {
        return Err(Unfit::Autorate);
    }
    if let Some(flow) = cell.flows.iter().find(|flow| flow.is_outside()) {
        let (stack, flow) = (flow.stack, flow.name.clone());
        return Err(stack.map_or_else(
            || Unfit::Outside { flow: flow.clone() },
            |stack| Unfit::Stack {
                flow: flow.clone(),
                stack: stack.name(),
            },
        ));
    }
    let dumbbell = is_dumbbell(network);
    let plain = network.nodes.iter().skip(usize::from(dumbbell));
    if plain.into_iter().any(|node| node.nat) {
        return Err(Unfit::Nat);
    }
    let (count, most) = (network.nodes.len(), graph::MOST_NODES);
    if count > most {
        return Err(Unfit::Nodes { count, most });
    }
    if cell.link_header != ETHERNET_HEADER {
        return Err(Unfit::LinkHeader {
            header: cell.link_header,
            ethernet: ETHERNET_HEADER,
        });
    }
    host::check(cell, machine)?;
    Ok(joints)
}

/// What the hosts must be like for a cell.
fn plan(cell: &Cell) -> Result<Plan, Unfit> {
    let mut configs = cell.flows.iter().filter_map(|flow| match flow.transport {
        Transport::Tcp(config) => Some((&flow.name, config)),
        Transport::Udp => None,
    });
    let (name, first) = match configs.next() {
        Some((name, config)) => (name.as_str(), config),
        None => ("", Config::default()),
    };
    let memory = receive_memory(cell.flows.iter().filter_map(|flow| match flow.transport {
        Transport::Tcp(config) => Some(config),
        Transport::Udp => None,
    }));
    for (other, config) in configs {
        let switches = |c: &Config| {
            let [sack, timestamps, rack, frto] =
                [c.sack, c.timestamps, c.rack, c.frto].map(u32::from);
            let windows = [c.initial_window, c.receive_window];
            [
                tcp_ecn(c),
                sack,
                timestamps,
                rack,
                frto,
                windows[0],
                windows[1],
            ]
        };
        let names = [
            "ecn",
            "sack",
            "timestamps",
            "rack",
            "frto",
            "initial_window",
            "receive_window",
        ];
        let pairs = switches(&first).into_iter().zip(switches(&config));
        if let Some(((a, b), field)) = pairs.zip(names).find(|((a, b), _)| a != b) {
            return Err(Unfit::Disagree {
                flows: [name.to_owned(), other.clone()],
                field,
                values: [a, b],
            });
        }
    }
    let initial_window = first.initial_window;
    let usual = initial_window == Config::default().initial_window;
    Ok(Plan {
        hosts: hosts(cell)?,
        sysctls: settings(&first, memory),
        initial_window: (!usual).then_some(initial_window),
        nat: cell.network.nodes[0].nat.then_some(Gateway::Client),
        stages: [0, 0],
        trains: cell.hosts.has_trains(),
        paces: cell.hosts.pace(),
    })
}

/// How many hosts each side of a cell has.
fn hosts(cell: &Cell) -> Result<u32, Unfit> {
    let hosts = cell
        .instances()
        .iter()
        .flat_map(|instance| instance.spec.hosts)
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    let most = if is_dumbbell(&cell.network) {
        Host::MOST
    } else {
        graph::MOST_HOSTS
    };
    if hosts > most {
        return Err(Unfit::Hosts { count: hosts, most });
    }
    Ok(hosts)
}

/// Linux's `tcp_ecn`: who opens a connection asks for this much, and who is asked agrees to it.
fn tcp_ecn(config: &Config) -> u32 {
    match config.wanted_ecn() {
        Ecn::Off => 0,
        Ecn::Classic => 1,
        Ecn::Accurate => 3,
    }
}

/// Memory to receive for the largest window, half of which is for payload. Not more: when Linux
/// enlarges a buffer it raises the window's limit with it, also one that was set
/// (`TCP_WINDOW_CLAMP`).
fn receive_memory(configs: impl Iterator<Item = Config>) -> u32 {
    configs
        .map(|config| 2 * config.receive_window_max)
        .max()
        .unwrap_or(2 * Config::default().receive_window_max)
}

/// The kernel parameters of hosts whose connections are like this one, with so much memory for
/// what one of them receives.
fn settings(first: &Config, memory: u32) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    vec![
        // A connection must not inherit what an earlier one has learnt.
        ("ipv4/tcp_no_metrics_save", flag(true)),
        // A retransmission timeout would otherwise change skb->hash, as no wire does.
        ("core/txrehash", flag(false)),
        ("ipv4/tcp_ecn", tcp_ecn(first).to_string()),
        ("ipv4/tcp_sack", flag(first.sack)),
        ("ipv4/tcp_timestamps", flag(first.timestamps)),
        ("ipv4/tcp_recovery", flag(first.rack)),
        // 2 is the kernel's default, and on.
        ("ipv4/tcp_frto", if first.frto { "2" } else { "0" }.into()),
        // The tail loss probe belongs to RACK; 3 is the kernel's default.
        (
            "ipv4/tcp_early_retrans",
            if first.rack { "3" } else { "0" }.into(),
        ),
        // New namespaces inherit these from the machine: set to the kernel's own defaults.
        (
            "ipv4/tcp_rmem",
            format!("4096 {} {memory}", 2 * first.receive_window),
        ),
        ("ipv4/tcp_wmem", "4096 16384 4194304".into()),
    ]
}

/// A run under way.
struct Whole<'a> {
    cell: &'a Cell,
    /// Where the hosts are, by node.
    nodes: &'a [Namespace],
    /// By joint.
    runs: Vec<Run<'a>>,
    shared: &'a Shared,
    guests: &'a Guests,
}

impl Whole<'_> {
    /// Runs the cell on a thread for each node and each bridge.
    fn go(&self, progress: Progress<'_>) -> Result<Outcome, WorldError> {
        thread::scope(|scope| {
            let (ready, readiness) = mpsc::channel();
            let mut sides = Vec::new();
            let mut starters = Vec::new();
            for node in 0..self.nodes.len() {
                let (starter, start) = mpsc::channel();
                let ready = ready.clone();
                starters.push(starter);
                sides.push(scope.spawn(move || self.side(node, &ready, &start)));
            }
            // The sides, then the bridges: each says once that it is ready.
            let hosts = self.nodes.iter().all(|_| readiness.recv() == Ok(true));
            let clock = self.clock();
            let bridge = |run| {
                let ready = ready.clone();
                scope.spawn(move || match self.guests.queues.in_kernel() {
                    None => links::run(run, clock, &ready),
                    Some(whose) => kernel::run(run, whose, clock, &ready),
                })
            };
            let bridges: Vec<_> = self.runs.iter().map(bridge).collect();
            let all = hosts && bridges.iter().all(|_| readiness.recv() == Ok(true));
            let mut broken_off = false;
            if all {
                for starter in starters {
                    // A side that is gone has an error to tell below.
                    let _ = starter.send(clock);
                }
                let alive = || {
                    !bridges.iter().any(ScopedJoinHandle::is_finished)
                        && !sides.iter().any(ScopedJoinHandle::is_finished)
                };
                broken_off = self.watch(clock, progress, alive).is_break();
            } else {
                drop(starters);
            }
            self.shared.stop.store(true, Ordering::Relaxed);
            let sides: Vec<_> = sides.into_iter().map(joined).collect();
            let bridges: Vec<_> = bridges.into_iter().map(joined).collect();
            if broken_off {
                return Err(WorldError::Interrupted);
            }
            let mut cpu_nanos = 0;
            for side in sides {
                cpu_nanos += side?;
            }
            let bridges = bridges.into_iter().collect::<Result<Vec<_>, _>>()?;
            let whole = bridges.into_iter().reduce(Outcome::and);
            let mut outcome = whole.expect("a cell has links");
            // In the order of the scenario's links.
            let numbers = self.runs.iter().flat_map(|run| run.numbers);
            let links: BTreeMap<_, _> = numbers
                .zip(outcome.links)
                .filter_map(|(n, link)| Some((n?, link)))
                .collect();
            outcome.links = links.into_values().collect();
            outcome.cpu_nanos += cpu_nanos;
            Ok(outcome)
        })
    }

    /// The run's clock, whose zero is a little ahead.
    fn clock(&self) -> Clock {
        let clock = Clock::start_in(LEAD);
        if self.guests.repeats {
            clock.in_virtual_time()
        } else {
            clock
        }
    }

    /// Waits for the end of the run and for the last datagrams.
    fn watch(
        &self,
        clock: Clock,
        progress: Progress<'_>,
        alive: impl Fn() -> bool,
    ) -> ControlFlow<()> {
        let end = self.cell.end();
        let needs_drain = self
            .cell
            .flows
            .iter()
            .any(|f| f.transport == Transport::Udp);
        // The longest that each link has had.
        let most = |of: fn(&Line) -> Span| {
            let links = 0..self.cell.network.interfaces.len();
            let longest = |link| self.cell.lines(link).iter().map(of).max();
            links
                .filter_map(longest)
                .fold(Span::ZERO, |sum, span| sum + span)
        };
        let links = most(|line| line.delay);
        let path = |f: &sojourn_world::Flow| f.base_rtt.max(links);
        let longest = self.cell.flows.iter().map(path).max().unwrap_or_default();
        let quiet = longest + QUIET + most(|line| line.jitter);
        let mut busy_until = end;
        while alive() {
            let now = clock.now();
            progress(now.min(end))?;
            if self.runs.iter().any(|run| run.gauge.backlog() > 0) {
                busy_until = now.max(end);
            }
            let drained = !needs_drain || now >= busy_until + quiet || now >= end + self.cell.drain;
            if now >= end && drained {
                break;
            }
            let left = Duration::from_nanos((end - now).as_nanos());
            thread::sleep(if left.is_zero() { TICK } else { left.min(TICK) });
        }
        ControlFlow::Continue(())
    }

    /// The thread of one node's hosts; returns its processor time in nanoseconds.
    fn side(&self, node: usize, ready: &Sender<bool>, start: &Receiver<Clock>) -> io::Result<u64> {
        let opened = self.nodes[node]
            .enter()
            .and_then(|()| Side::open(self.cell, node, self.shared));
        // The other end of the channel waits for exactly this.
        let _ = ready.send(opened.is_ok());
        let mut side = opened?;
        // Without a clock something else has failed, and tells so.
        if let Ok(clock) = start.recv() {
            let last = self.nodes.len() - 1;
            let host = match node {
                0 => Some(Host::Client),
                _ => (node == last).then_some(Host::Server),
            };
            let start = |host| self.guests.start(host, addresses(self.cell));
            let _guest = host.map(start).transpose()?;
            side.run(clock)?;
        }
        Ok(read_nanos(rustix::time::ClockId::ThreadCPUTime))
    }
}

/// What a thread has yielded, as this world's error.
fn joined<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> Result<T, WorldError> {
    match thread.join() {
        Ok(result) => result.map_err(WorldError::machine),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn result(cell: &Cell, shared: Shared, outcome: Outcome, began: Instant) -> RunResult {
    let recorders = shared
        .recorders
        .into_iter()
        .map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner));
    RunResult {
        cost: Cost {
            events: outcome.frames,
            bottleneck_packets: outcome.bottleneck_packets,
            cpu_s: Time::from_nanos(outcome.cpu_nanos).as_secs_f64(),
            wall_s: began.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss(),
        },
        ..RunResult::of(Live::NAME, cell, outcome.links, recorders)
    }
}

/// Largest resident memory of this process so far; zero where /proc does not tell.
fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_cannot_enlarge_a_window_beyond_the_largest_of_the_cell() {
        let small = Config {
            receive_window_max: 448 << 10,
            ..Config::default()
        };
        assert_eq!(receive_memory([small].into_iter()), 896 << 10);
        let usual = 2 * Config::default().receive_window_max;
        let both = [small, Config::default()];
        assert_eq!(receive_memory(both.into_iter()), usual);
        assert_eq!(receive_memory([].into_iter()), usual);
    }
}
