//! A test bed of three network namespaces, `client — bridge — server`, on this machine. Between
//! the bridge and the hosts there can be stages, namespaces that hand all frames through.
//!
//! Hosts have addresses of 198.18.0.0/15, the block for benchmarks (RFC 2544, RFC 5735); the
//! bridge has none. Everything is held by file descriptors of this process only: when it ends,
//! also by `kill -9`, the kernel removes namespaces and devices.
//!
//! Not here: IPv6 (off in all three namespaces, so that no router or neighbour solicitation
//! stands in the queues under test); the bridge itself.

mod ethtool;
mod gateway;
pub(crate) mod graph;
mod netfilter;
mod netlink;

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use crate::tc;
use netlink::{Mac, Netlink, VethEnd};
use sojourn_bridge::{Interface, Namespace};

/// Largest IP packet on the lab's links.
pub(crate) const MTU: u32 = 1500;
const CLIENT_MAC: Mac = [2, 0, 0, 0, 0, 1];
const SERVER_MAC: Mac = [2, 0, 0, 0, 0, 2];
/// Of both hosts: one subnet, since a bridge does not route.
const PREFIX: u8 = 15;
/// The kernel's own initial window, in segments.
const USUAL_WINDOW: u32 = 10;

/// Which host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// At the bridge's left port.
    Client,
    /// At the bridge's right port.
    Server,
}

impl Host {
    /// Most hosts of a side: all addresses of its half of the subnet but the first, the half's own,
    /// and the last, the subnet's broadcast.
    pub const MOST: u32 = (1 << (32 - PREFIX - 1)) - 2;

    /// The address of the host with this number on its side, below [`Host::MOST`].
    pub fn address(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network().to_bits() + 1 + number)
    }

    /// Half of the hosts' subnet.
    const fn network(self) -> Ipv4Addr {
        match self {
            Self::Client => Ipv4Addr::new(198, 18, 0, 0),
            Self::Server => Ipv4Addr::new(198, 19, 0, 0),
        }
    }

    const fn mac(self) -> Mac {
        match self {
            Self::Client => CLIENT_MAC,
            Self::Server => SERVER_MAC,
        }
    }

    const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Who translates the addresses of the client's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// The client's machine: the bridge sees what is translated.
    Client,
    /// The place of the bridge, which is a router then and not a bridge: what it sends to the
    /// server is translated before it stands in the queue of [`Lab::RIGHT`], and what comes from
    /// there stands in the queue of [`Lab::INWARD`] before it is translated back.
    Bridge,
}

/// What the hosts shall be like.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Hosts on each side, which are addresses of one machine; at least one is made.
    pub hosts: u32,
    /// Kernel parameters of both hosts, as paths below `/proc/sys/net` and their values.
    pub sysctls: Vec<(&'static str, String)>,
    /// Initial congestion window of connections in segments; the kernel's own is 10.
    pub initial_window: Option<u32>,
    /// Who translates what leaves the client's side to its first host's address, if it is
    /// translated.
    pub nat: Option<Gateway>,
    /// Stages between the client and the bridge, and between the bridge and the server.
    pub stages: [usize; 2],
    /// Whether hosts hand on trains of segments, as one packet each, and everything on their way
    /// does.
    pub trains: bool,
    /// Whether TCP's segments leave hosts at the times of its pacing: their devices have `fq`.
    pub paces: bool,
}

/// The test bed. Dropping it removes everything.
#[derive(Debug)]
pub struct Lab {
    /// Where the clients' sockets are.
    pub client: Namespace,
    /// Where the bridge's two ports [`Lab::LEFT`] and [`Lab::RIGHT`] are.
    pub bridge: Namespace,
    /// Where the servers' sockets are.
    pub server: Namespace,
    /// Those of [`Plan::stages`], in their order from the client to the server. Their devices have
    /// the bridge's names.
    pub stages: [Vec<Namespace>; 2],
    /// The devices of the client and the server that lead here.
    pub hosts: [String; 2],
}

impl Lab {
    /// A host's device.
    pub const HOST: &'static str = "eth0";
    /// The bridge's port towards the client.
    pub const LEFT: &'static str = "left";
    /// The bridge's port towards the server.
    pub const RIGHT: &'static str = "right";
    /// By which a gateway hands itself what comes from the server.
    pub const INWARD: &'static str = "inward";

    /// Builds the test bed.
    ///
    /// # Errors
    /// A sentence that says what the machine refused.
    pub fn new(plan: &Plan) -> io::Result<Self> {
        let hosts = [namespace()?, namespace()?];
        for host in &hosts {
            host.run(|| sysctls(&IPV6_OFF))?;
        }
        let devices = [Self::HOST, Self::HOST].map(str::to_owned);
        let macs = [CLIENT_MAC, SERVER_MAC];
        let routes = plan.nat == Some(Gateway::Bridge);
        let bridge = plan.stages[0] + 1;
        let lab = Self::between(hosts, devices, macs, plan, |place, port| {
            if routes && (usize::from(place), port) == (bridge, 1) {
                return gateway::LEFT_MAC;
            }
            [2, 0, 0, 0, place, port]
        })?;
        lab.host(Host::Client, plan)?;
        lab.host(Host::Server, plan)?;
        match plan.nat {
            None => {}
            Some(Gateway::Client) => lab.client.run(gateway::translate)?,
            Some(Gateway::Bridge) => gateway::set_up(&lab.bridge, plan.hosts.max(1), plan.trains)?,
        }
        lab.wait()?;
        Ok(lab)
    }

    /// The places between two hosts and the cables to them. A cable's ends there have the numbers
    /// of the place, from 1, and of the port as parts of their addresses.
    fn between(
        [client, server]: [Namespace; 2],
        hosts: [String; 2],
        host_macs: [Mac; 2],
        plan: &Plan,
        mac: impl Fn(u8, u8) -> Mac,
    ) -> io::Result<Self> {
        let stage = |count| (0..count).map(|_| namespace()).collect::<io::Result<_>>();
        let lab = Self {
            client,
            bridge: namespace()?,
            server,
            stages: [stage(plan.stages[0])?, stage(plan.stages[1])?],
            hosts,
        };
        let places: Vec<&Namespace> = lab.places().collect();
        let last = places.len() - 1;
        let end = |place: usize, number: u8, port: &str| {
            let host = [0, last].iter().position(|&end| end == place);
            let (name, mac) = match host {
                Some(host) => (&*lab.hosts[host], host_macs[host]),
                None => (port, mac(place as u8, number)),
            };
            let name = name.to_owned();
            let trains = plan.trains;
            VethEnd { name, mac, trains }
        };
        for place in &places[1..last] {
            place.run(|| sysctls(&IPV6_OFF))?;
        }
        for (number, pair) in places.windows(2).enumerate() {
            let (near, far) = (end(number, 2, Self::RIGHT), end(number + 1, 1, Self::LEFT));
            pair[0].run(|| {
                Netlink::open()?
                    .veth(&near, &far, pair[1].raw_fd())
                    .map_err(|error| said("make a veth pair (the kernel needs CONFIG_VETH)", error))
            })?;
        }
        for place in &places[1..last] {
            place.run(|| {
                let mut netlink = Netlink::open()?;
                for device in [Self::LEFT, Self::RIGHT] {
                    ethtool::set_offloads(device, plan.trains)?;
                    netlink.up(index(device)?)?;
                }
                Ok(())
            })?;
        }
        Ok(lab)
    }

    /// Waits until packets pass everywhere.
    fn wait(&self) -> io::Result<()> {
        let places: Vec<&Namespace> = self.places().collect();
        let middle = places[1..places.len() - 1].iter();
        let ports = middle.flat_map(|place| [(*place, Self::LEFT), (*place, Self::RIGHT)]);
        let [near, far] = &self.hosts;
        let hosts = [(&self.client, &**near), (&self.server, &**far)];
        for (namespace, device) in hosts.into_iter().chain(ports) {
            namespace.run(|| wait_until_operational(&mut Netlink::open()?, index(device)?))?;
        }
        Ok(())
    }

    /// All namespaces, from the client to the server.
    fn places(&self) -> impl Iterator<Item = &Namespace> {
        let [before, behind] = &self.stages;
        let bridge = before.iter().chain([&self.bridge]).chain(behind);
        [&self.client]
            .into_iter()
            .chain(bridge)
            .chain([&self.server])
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    /// Sets up one host.
    fn host(&self, host: Host, plan: &Plan) -> io::Result<()> {
        self.namespace(host).run(|| {
            for (path, value) in &plan.sysctls {
                sysctl(path, value)?;
            }
            let mut netlink = Netlink::open()?;
            ethtool::set_offloads(Self::HOST, plan.trains)?;
            let device = index(Self::HOST)?;
            netlink.up(index("lo")?)?;
            for number in 0..plan.hosts.max(1) {
                netlink.address(device, host.address(number), PREFIX)?;
            }
            netlink.up(device)?;
            pace(plan, Self::HOST)?;
            if let Some(window) = plan.initial_window {
                netlink.route(device, host.peer().network(), PREFIX + 1, window)?;
            }
            // Known neighbours: an ARP exchange would wait behind seconds of standing queue.
            for number in 0..plan.hosts.max(1) {
                netlink.neighbour(device, host.peer().address(number), host.peer().mac())?;
            }
            Ok(())
        })
    }
}

fn namespace() -> io::Result<Namespace> {
    Namespace::new().map_err(|error| {
        let error = said("make a network namespace", error);
        let advice = "the live world needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and a kernel \
                      with network namespaces; run it with sudo";
        io::Error::new(error.kind(), format!("{error}; {advice}"))
    })
}

/// Gives a host's device the queue that holds TCP's segments until their times.
fn pace(plan: &Plan, device: &str) -> io::Result<()> {
    if plan.paces {
        tc::run(&[format!("qdisc add dev {device} root fq")])?;
    }
    Ok(())
}

const IPV6_OFF: [(&str, &str); 2] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
];

fn sysctls(all: &[(&str, &str)]) -> io::Result<()> {
    all.iter().try_for_each(|(path, value)| sysctl(path, value))
}

/// Sets a parameter of the calling thread's namespace. A parameter that this kernel does not
/// know is passed over: there is then nothing to set.
fn sysctl(path: &str, value: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/{path}"), value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => {
            result.map_err(|error| said(&format!("write {value:?} to /proc/sys/net/{path}"), error))
        }
    }
}

fn index(device: &str) -> io::Result<u32> {
    Interface::index_of(device).map_err(|error| said(&format!("find the device {device}"), error))
}

/// The kernel reports a new cable's carrier a moment after both ends are up; until then what is
/// sent is lost.
fn wait_until_operational(netlink: &mut Netlink, device: u32) -> io::Result<()> {
    let patience = Instant::now() + Duration::from_secs(60);
    while !netlink.is_operational(device)? {
        if Instant::now() > patience {
            return Err(io::Error::other(
                "a veth pair did not come up within a minute",
            ));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn said(what: &str, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}
