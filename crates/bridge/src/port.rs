//! What brings the frames of a bridge's two interfaces in and out: AF_PACKET or AF_XDP.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::forwarding::{
    BridgeConfig, BridgeError, Doing, Frame, FramePort, Pool, PortChoice, PortCounters,
};
use crate::interface::Interface;
use crate::packet_socket::PacketSocket;
use crate::sys::Gate;
use crate::xdp_port::{self, XdpPort};
use sojourn_units::Time;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// One interface.
pub(crate) enum Port {
    /// As a packet socket sees it.
    Packet(Box<PacketSocket>),
    /// With its frames before the kernel.
    Xdp(Box<XdpPort>),
}

/// What a bridge's ports have become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortState {
    /// Both are AF_PACKET, as was asked for, or because AF_XDP is refused for a reason.
    Packet {
        /// Which interface, and why.
        refused: Option<String>,
    },
    /// Both are AF_XDP.
    Xdp {
        /// Whether the kernel copies no frame of either.
        zero_copy: bool,
    },
}

impl PortState {
    /// `packet`, `xdp copy` or `xdp zero-copy`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Packet { .. } => "packet",
            Self::Xdp { zero_copy: false } => "xdp copy",
            Self::Xdp { zero_copy: true } => "xdp zero-copy",
        }
    }

    /// Why it is not AF_XDP although that was asked for.
    pub fn refused(&self) -> Option<&str> {
        match self {
            Self::Packet { refused } => refused.as_deref(),
            Self::Xdp { .. } => None,
        }
    }
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet { refused: None } => write!(f, "port: AF_PACKET"),
            Self::Packet { refused: Some(why) } => {
                write!(f, "port: AF_PACKET, because AF_XDP is refused: {why}")
            }
            Self::Xdp { zero_copy: false } => write!(f, "port: AF_XDP, copied by the kernel"),
            Self::Xdp { zero_copy: true } => write!(f, "port: AF_XDP, zero-copy"),
        }
    }
}

/// Both ports of one worker.
type Ports = [Port; 2];

/// Opens both ports of each worker, which has its `pools`, as `config` wants them: frames arrive
/// from now on. Both are of one kind, so that what comes in through one can leave through the other
/// as it is.
pub(crate) fn open(
    config: &BridgeConfig,
    interfaces: [&Interface; 2],
    pools: &mut [[Pool; 2]],
) -> Result<(Vec<Ports>, PortState), BridgeError> {
    let refused = match config.port {
        PortChoice::Packet => None,
        // Queues of the interfaces do not spread flows so that both directions meet.
        PortChoice::Xdp | PortChoice::Auto if pools.len() > 1 => {
            Some("several workers share AF_PACKET".to_owned())
        }
        PortChoice::Xdp | PortChoice::Auto => {
            let needs_zero_copy = config.port == PortChoice::Auto;
            match xdp_port::open(interfaces, needs_zero_copy, &mut pools[0]) {
                Ok(ports) => {
                    let zero_copy = ports.iter().all(XdpPort::is_zero_copy);
                    let ports = ports.map(|port| Port::Xdp(Box::new(port)));
                    return Ok((vec![ports], PortState::Xdp { zero_copy }));
                }
                Err(why) => Some(why),
            }
        }
    };
    let mut opened: Vec<[Box<PacketSocket>; 2]> = Vec::with_capacity(pools.len());
    let mut groups = [None; 2];
    let is_alone = pools.len() == 1;
    for pools in pools {
        let mut open = |side: usize| {
            let (interface, name) = (interfaces[side], &interfaces[side].name);
            // Without one every frame wakes the thread up.
            let has_alarm = is_alone && config.saves_wakeups;
            let alarm = has_alarm.then(Alarm::open).and_then(Result::ok);
            let mut socket = PacketSocket::open(&mut pools[side], config.qdisc_bypass)
                .doing(&format!("open a packet socket on `{name}`"))?;
            socket.set_alarm(alarm);
            socket.bind(interface).doing(&format!("bind to `{name}`"))?;
            if !is_alone {
                let joined = socket.join(&mut groups[side], &mut pools[side], &config.clock);
                joined.doing(&format!("spread the frames of `{name}` over workers"))?;
            }
            Ok::<_, BridgeError>(Box::new(socket))
        };
        opened.push([open(0)?, open(1)?]);
    }
    let ports = opened.into_iter().map(|ports| ports.map(Port::Packet));
    Ok((ports.collect(), PortState::Packet { refused }))
}

impl Port {
    /// Takes from now on what `gate` says. AF_XDP decides for itself: see [`Self::take_until`].
    pub(crate) fn obey(&mut self, gate: &Gate) -> io::Result<()> {
        match self {
            Self::Packet(port) => port.obey(gate),
            Self::Xdp(_) => Ok(()),
        }
    }

    /// Takes frames that come up to this time; what comes later is the kernel's, until another
    /// time is set. Packet sockets do as their gate says.
    pub(crate) fn take_until(&self, time: Time, clock: Clock) {
        if let Self::Xdp(port) = self {
            port.take_until(time, clock);
        }
    }
}

/// Does as the port inside does.
macro_rules! either {
    ($port:expr, $method:ident $(, $argument:expr)*) => {
        match $port {
            Port::Packet(port) => port.$method($($argument),*),
            Port::Xdp(port) => port.$method($($argument),*),
        }
    };
}

impl FramePort for Port {
    fn receive(
        &mut self,
        pool: &mut Pool,
        clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize> {
        either!(self, receive, pool, clock, into)
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        either!(self, send, pool, frames)
    }

    fn fds(&self) -> &[OwnedFd] {
        either!(self, fds)
    }

    fn counters(&mut self) -> PortCounters {
        either!(self, counters)
    }

    fn is_alone(&self) -> bool {
        either!(self, is_alone)
    }

    fn gathers(&self) -> bool {
        either!(self, gathers)
    }

    fn joins(&self) -> bool {
        either!(self, joins)
    }

    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        either!(self, alarm)
    }

    fn clear_alarm(&self) {
        either!(self, clear_alarm);
    }

    fn moderate(&mut self, is_on: bool) {
        either!(self, moderate, is_on);
    }
}
