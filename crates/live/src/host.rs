//! A host of the lab: runs the apps of one side over the kernel's sockets.
//!
//! One thread, one epoll. Timers are absolute on CLOCK_MONOTONIC through a timerfd, so that
//! the thread's timer slack does not blur them.

mod datagram;
mod end;
mod message;
mod socket;

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, SocketFlags, sockopt};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use sojourn_apps::{App, Input, Transport as Carrier, Wish, Wishes};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, FlowRecorder, Instance, Transport};

use crate::lab::{Host, graph};
use crate::unfit::{Unfit, UnfitFlow};
pub(crate) use end::locked;
use end::{End, Socket, Turn};
use sojourn_bridge::Clock;

/// How often TCP_INFO is read.
const SAMPLE_EVERY: Span = Span::from_millis(10);
/// How soon a side notices that the run is over.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// Room for one read: more than a receive window fills between two wake-ups.
const READ_BUFFER: usize = 256 << 10;
/// Ports of the first connection's two ends; the others follow.
const FROM_PORT: u16 = 30_001;
const TO_PORT: u16 = 5_001;
/// Connections that have ports of their own.
const MAX_CONNECTIONS: usize = 20_000;

/// What both sides and the run share.
pub(crate) struct Shared {
    /// One for each flow.
    pub(crate) recorders: Vec<Mutex<FlowRecorder>>,
    /// Set to end both sides.
    pub(crate) stop: AtomicBool,
}

/// The two ends of a connection on the wire: at its flow's `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// Index of the flow.
    pub(crate) flow: usize,
    /// Index of its instance.
    pub(crate) instance: usize,
    /// Number of the connection within the instance.
    pub(crate) connection: u8,
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    /// Where the server sees the client, behind a translation.
    pub(crate) client_outside: Option<Ipv4Addr>,
}

impl Ends {
    /// Those of all connections of a cell's instances, one by one.
    pub(crate) fn of(cell: &Cell, instances: &[Instance]) -> Vec<Self> {
        let nat = cell.network.nodes[0].nat;
        let dumbbell = graph::is_dumbbell(&cell.network);
        let mut all = Vec::new();
        for (index, Instance { flow, spec }) in instances.iter().enumerate() {
            let hosts = [Host::Client, Host::Server];
            let address = |node: usize, number| {
                if dumbbell {
                    hosts[node].address(number)
                } else {
                    graph::address(node, number)
                }
            };
            for connection in 0..spec.app.connections() {
                let port = all.len() as u16;
                let from = address(spec.from, spec.hosts[0]);
                let to = address(spec.to, spec.hosts[1]);
                all.push(Self {
                    flow: *flow,
                    instance: index,
                    connection,
                    from: SocketAddrV4::new(from, FROM_PORT + port),
                    to: SocketAddrV4::new(to, TO_PORT + port),
                    // A translation keeps the ports, of which no two are the same.
                    client_outside: nat.then(|| Host::Client.address(0)),
                });
            }
        }
        all
    }
}

/// Whose kernel a cell is checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The one that this program runs on: what it lacks can be looked up.
    This,
    /// A guest's, which says itself what it lacks.
    Guest,
}

/// Whether the apps and transports of a cell can run over the kernel's sockets.
pub(crate) fn check(cell: &Cell, machine: Machine) -> Result<(), Unfit> {
    let of = |instance: &Instance| usize::from(instance.spec.app.connections());
    let connections: usize = cell.instances().iter().map(of).sum();
    if connections > MAX_CONNECTIONS {
        return Err(Unfit::Connections {
            count: connections,
            most: MAX_CONNECTIONS,
        });
    }
    for flow in &cell.flows {
        let checked = check_flow(cell, flow, machine).and_then(|()| check_nat(cell, flow));
        checked.map_err(|reason| Unfit::Flow {
            flow: flow.name.clone(),
            reason,
        })?;
    }
    Ok(())
}

/// Whether a flow begins on the side from which a translation lets it.
fn check_nat(cell: &Cell, flow: &Flow) -> Result<(), UnfitFlow> {
    let nat = cell.network.nodes[0].nat;
    let opens = if flow.app.kind().second_opens {
        flow.to
    } else {
        flow.from
    };
    if nat && opens != 0 {
        return Err(UnfitFlow::ServerFirst);
    }
    Ok(())
}

fn check_flow(cell: &Cell, flow: &Flow, machine: Machine) -> Result<(), UnfitFlow> {
    let nodes = cell.network.nodes.len();
    if flow.from == flow.to || flow.from >= nodes || flow.to >= nodes {
        return Err(UnfitFlow::Ends);
    }
    let (other, carrier) = match flow.transport {
        Transport::Tcp(_) => (Carrier::Udp, "UDP"),
        Transport::Udp => (Carrier::Tcp, "TCP"),
    };
    if flow.app.kind().transport == Some(other) {
        let app = flow.app.kind().name;
        return Err(UnfitFlow::Carrier { app, carrier });
    }
    match &flow.transport {
        Transport::Tcp(config) => socket::check(config, machine),
        Transport::Udp => flow
            .app
            .datagrams()
            .into_iter()
            .flatten()
            .try_for_each(|sent| {
                let least = if sent.echo {
                    datagram::ECHOED
                } else {
                    datagram::ONE_WAY
                };
                check_size(sent.size, least)
            }),
    }
}

fn check_size(size: u16, least: u16) -> Result<(), UnfitFlow> {
    let most = datagram::LARGEST;
    if (least..=most).contains(&size) {
        return Ok(());
    }
    Err(UnfitFlow::Size { size, least, most })
}

/// Something due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An end's flow begins.
    Start(usize),
    /// An end's app wants to be woken.
    Wake(usize),
    /// An end's app is stopped.
    Stop(usize),
    /// TCP_INFO of all ends is read.
    Sample,
    /// The run is over: only datagrams under way still count.
    Over,
}

/// One side of the lab.
pub(crate) struct Side<'a> {
    /// A flow's connections in a row.
    ends: Vec<End>,
    /// One for each instance of a flow.
    apps: Vec<Box<dyn App>>,
    wishes: Wishes,
    due: BTreeSet<(Time, Due)>,
    epoll: OwnedFd,
    timer: OwnedFd,
    timer_at: Time,
    buffer: Vec<u8>,
    shared: &'a Shared,
    end: Time,
    /// Whether packets may arrive twice.
    duplicates: bool,
}

/// Marks the timer among the epoll tokens, which are indices of ends.
const TIMER: u64 = u64::MAX;

impl<'a> Side<'a> {
    /// Opens the sockets of all ends at `node`. Must be called in the node's namespace; the
    /// sockets remember it.
    pub(crate) fn open(cell: &Cell, node: usize, shared: &'a Shared) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        epoll::add(
            &epoll,
            &timer,
            epoll::EventData::new_u64(TIMER),
            // Told once, so that it need not be read.
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )?;
        let mut side = Self {
            ends: Vec::new(),
            apps: Vec::new(),
            wishes: Wishes::default(),
            due: BTreeSet::from([
                (cell.end(), Due::Over),
                (Time::ZERO + SAMPLE_EVERY, Due::Sample),
            ]),
            epoll,
            timer,
            timer_at: Time::MAX,
            buffer: vec![0; READ_BUFFER],
            shared,
            end: cell.end(),
            duplicates: cell.duplicates(),
        };
        let instances = cell.instances();
        for Instance { spec: flow, .. } in &instances {
            let dice = Stream::named(cell.seed, &format!("app.{}", flow.name));
            let (first, second) = flow.app.build(dice);
            side.apps
                .push(if flow.from == node { first } else { second });
        }
        for at in Ends::of(cell, &instances) {
            let flow = &instances[at.instance].spec;
            if node != flow.from && node != flow.to {
                continue;
            }
            side.add(flow, at, node).map_err(|error| {
                io::Error::new(error.kind(), format!("flow {:?}: {error}", flow.name))
            })?;
        }
        Ok(side)
    }

    /// Opens the socket of this side's end of a connection.
    fn add(&mut self, flow: &Flow, at: Ends, node: usize) -> io::Result<()> {
        let first = flow.from == node;
        let (local, mut peer) = if first {
            (at.from, at.to)
        } else {
            (at.to, at.from)
        };
        if let (1, Some(outside)) = (node, at.client_outside) {
            peer.set_ip(outside);
        }
        let socket = match flow.transport {
            Transport::Udp => Socket::Open(socket::datagram(local, peer, flow)?),
            Transport::Tcp(config) => {
                let fd = socket::stream(local, &config, flow.tos())?;
                if first == flow.app.kind().second_opens {
                    net::listen(&fd, 1)?;
                    Socket::Listening(fd)
                } else {
                    Socket::Bound(fd)
                }
            }
        };
        let index = self.ends.len();
        if at.connection == 0 || !flow.app.kind().opens_later {
            self.due.insert((flow.start, Due::Start(index)));
        }
        // Of a conversation both ends stop, of one-way traffic its source.
        if let Some(stop) = flow.stop.filter(|_| first || flow.app.kind().has_messages) {
            self.due.insert((stop, Due::Stop(index)));
        }
        let mut end = End::new(flow, at, first, peer, socket);
        end.received = self.duplicates.then(Box::default);
        self.ends.push(end);
        self.settle(index)
    }

    /// Gives the app of an end its turn, then does what it has asked for.
    fn turn(
        &mut self,
        index: usize,
        now: Time,
        act: impl FnOnce(&mut End, &mut Turn<'_>, &mut [u8]),
    ) -> io::Result<()> {
        let end = &mut self.ends[index];
        let mut turn = Turn {
            now,
            recorder: &self.shared.recorders[end.flow],
            app: &mut *self.apps[end.instance],
            wishes: &mut self.wishes,
        };
        act(end, &mut turn, &mut self.buffer);
        // The app's timer is that of the flow's first connection.
        let home = index - usize::from(end.connection);
        if let Some(wake) = self.wishes.wake.take() {
            let io = &mut self.ends[home].io;
            io.wake = (!io.stopped).then_some(wake);
            self.settle(home)?;
        }
        for (connection, wish) in std::mem::take(&mut self.wishes.connections) {
            let to = home + usize::from(connection);
            let end = &mut self.ends[to];
            match wish {
                Wish::Message(message) => {
                    if !end.io.message(message) {
                        locked(&self.shared.recorders[end.flow]).blocked(now);
                    }
                }
                Wish::Open => self.start(to, now)?,
                Wish::Abort => {
                    end.sample(now, &self.shared.recorders[end.flow]);
                    end.abort();
                }
            }
            self.settle(to)?;
        }
        self.settle(index)
    }

    /// Runs until the run is over and the last datagrams had their time.
    pub(crate) fn run(&mut self, clock: Clock) -> io::Result<()> {
        run_ahead();
        clock.wait_for_zero();
        let mut events = Vec::with_capacity(64);
        let mut now = clock.now();
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.fire(now, clock)?;
            self.arm(clock)?;
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&PATIENCE),
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            now = clock.now();
            for event in &events {
                match event.data.u64() {
                    TIMER => self.timer_at = Time::MAX,
                    index => {
                        now = clock.now_after(now);
                        self.ready(index as usize, event.flags, now)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Does everything that is due.
    fn fire(&mut self, mut now: Time, clock: Clock) -> io::Result<()> {
        while let Some(&(time, due)) = self.due.first() {
            now = clock.now_after(now);
            if now < time {
                break;
            }
            self.due.pop_first();
            match due {
                Due::Start(index) => self.start(index, now)?,
                Due::Wake(index) => {
                    self.ends[index].armed = None;
                    self.ends[index].io.wake = None;
                    self.turn(index, now, |end, turn, _| end.tell(Input::Timer, turn))?;
                }
                Due::Stop(index) => {
                    self.ends[index].stop();
                    self.settle(index)?;
                }
                Due::Sample => {
                    self.sample(now);
                    self.due.insert((now + SAMPLE_EVERY, Due::Sample));
                }
                Due::Over => {
                    self.over()?;
                    break;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize, now: Time) -> io::Result<()> {
        let end = &mut self.ends[index];
        match std::mem::take(&mut end.io.socket) {
            Socket::Bound(fd) => {
                match net::connect(&fd, &end.peer) {
                    Ok(()) | Err(Errno::INPROGRESS) => {}
                    Err(error) => return Err(error.into()),
                }
                end.io.socket = Socket::Connecting(fd);
            }
            socket @ Socket::Open(_) => {
                end.io.socket = socket;
                return self.turn(index, now, |end, turn, _| end.begin(turn));
            }
            socket => end.io.socket = socket,
        }
        self.settle(index)
    }

    fn sample(&mut self, now: Time) {
        for end in &mut self.ends {
            end.sample(now, &self.shared.recorders[end.flow]);
        }
    }

    /// Sources stop, connections go at once; datagrams and their echoes still arrive.
    fn over(&mut self) -> io::Result<()> {
        self.sample(self.end);
        self.due.clear();
        for index in 0..self.ends.len() {
            self.ends[index].over();
            self.settle(index)?;
        }
        Ok(())
    }

    fn ready(&mut self, index: usize, flags: epoll::EventFlags, now: Time) -> io::Result<()> {
        use epoll::EventFlags as E;
        let end = &mut self.ends[index];
        match std::mem::take(&mut end.io.socket) {
            Socket::Listening(fd) => {
                // Only one connection will come: the listener is closed after it.
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                end.io.socket = match net::accept_with(&fd, flags) {
                    Ok(connection) => {
                        end.interest = None;
                        Socket::Open(connection)
                    }
                    Err(_) => Socket::Listening(fd),
                };
                if let Socket::Open(_) = end.io.socket {
                    return self.turn(index, now, |end, turn, _| end.begin(turn));
                }
            }
            Socket::Connecting(fd) => {
                match sockopt::socket_error(&fd)? {
                    Ok(()) => {
                        end.io.socket = Socket::Open(fd);
                        return self.turn(index, now, |end, turn, _| end.begin(turn));
                    }
                    // When the run is over the peer may be gone a moment before us.
                    Err(_) if now >= self.end || self.shared.stop.load(Ordering::Relaxed) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            socket => {
                end.io.socket = socket;
                return self.turn(index, now, |end, turn, buffer| {
                    if flags.intersects(E::IN | E::HUP | E::ERR) {
                        end.readable(turn, buffer);
                    }
                    if flags.contains(E::OUT) {
                        end.writable(turn);
                    }
                });
            }
        }
        self.settle(index)
    }

    /// Brings epoll and the timers in line with what an end now waits for.
    fn settle(&mut self, index: usize) -> io::Result<()> {
        let end = &mut self.ends[index];
        let wake = end.io.wake;
        if end.armed != wake {
            if let Some(time) = end.armed {
                self.due.remove(&(time, Due::Wake(index)));
            }
            if let Some(time) = wake {
                self.due.insert((time, Due::Wake(index)));
            }
            end.armed = wake;
        }
        let wanted = end.io.interest();
        let data = epoll::EventData::new_u64(index as u64);
        match (end.io.socket.fd(), end.interest) {
            // Closing a descriptor takes it out of the epoll.
            (None, _) => end.interest = None,
            (Some(_), Some(has)) if has == wanted => {}
            (Some(fd), Some(_)) => {
                epoll::modify(&self.epoll, fd, data, wanted)?;
                end.interest = Some(wanted);
            }
            (Some(_), None) if wanted.is_empty() => {}
            (Some(fd), None) => {
                epoll::add(&self.epoll, fd, data, wanted)?;
                end.interest = Some(wanted);
            }
        }
        Ok(())
    }

    /// Sets the timer to the next thing due.
    fn arm(&mut self, clock: Clock) -> io::Result<()> {
        let Some(&(time, _)) = self.due.first() else {
            return Ok(());
        };
        if time == self.timer_at {
            return Ok(());
        }
        let at = clock.monotonic(time);
        let nothing = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let new = Itimerspec {
            it_interval: nothing,
            it_value: Timespec {
                tv_sec: (at / 1_000_000_000).cast_signed(),
                // Zero would disarm it.
                tv_nsec: (at % 1_000_000_000).max(1).cast_signed(),
            },
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &new)?;
        self.timer_at = time;
        Ok(())
    }
}

/// Asks the kernel to prefer this thread, after the bridge's: late apps would be measured as
/// slow queues. Without permission it works as well, only less evenly on a busy machine.
fn run_ahead() {
    let _ = sojourn_bridge::real_time(5);
}
