//! Which of Flent's tests has the flows of a cell, and what it calls them.

use sojourn_world::{Cell, Flow, Transport};

/// A test of Flent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Four flows each way, in CS0, CS1, CS5 and EF.
    Rrul,
    /// Four flows each way, best effort.
    RrulBe,
    /// Any other flows both ways.
    RrulBeNflows,
    /// Flows from the clients only.
    TcpNup,
    /// Flows to the clients only.
    TcpNdown,
    /// Probes alone.
    Ping,
}

/// What a flow is in a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// TCP from the clients, with the series' name.
    Upload(String),
    /// TCP to the clients.
    Download(String),
    /// A probe.
    Ping(String),
    /// Nothing that the test knows.
    Other,
}

/// The classes of `rrul`: DSCP and the word for it in series' names.
const CLASSES: [(u8, &str); 4] = [(0, "BE"), (8, "BK"), (40, "CS5"), (46, "EF")];

impl Test {
    /// The test with the flows of this cell; none when there is neither TCP nor a probe.
    pub fn of(cell: &Cell) -> Option<Self> {
        let classes = |is_up: bool| {
            let flows = cell
                .flows
                .iter()
                .filter(|flow| is_tcp(flow))
                .filter(|flow| is_upload(flow) == is_up);
            let mut classes: Vec<u8> = flows.map(|flow| flow.dscp).collect();
            classes.sort_unstable();
            classes
        };
        let (up, down) = (classes(true), classes(false));
        let marked = CLASSES.map(|(dscp, _)| dscp);
        Some(match (&up[..], &down[..]) {
            ([], []) if !cell.flows.iter().any(is_ping) => return None,
            ([], []) => Self::Ping,
            (up, down) if up == marked && down == marked => Self::Rrul,
            ([0, 0, 0, 0], [0, 0, 0, 0]) => Self::RrulBe,
            (_, []) => Self::TcpNup,
            ([], _) => Self::TcpNdown,
            _ => Self::RrulBeNflows,
        })
    }

    /// Its name, as on Flent's command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rrul => "rrul",
            Self::RrulBe => "rrul_be",
            Self::RrulBeNflows => "rrul_be_nflows",
            Self::TcpNup => "tcp_nup",
            Self::TcpNdown => "tcp_ndown",
            Self::Ping => "ping",
        }
    }

    /// What each flow of the cell is in it.
    pub(crate) fn roles(self, cell: &Cell) -> Vec<Role> {
        let icmp = cell
            .flows
            .iter()
            .position(|flow| is_ping(flow) && flow.name.to_lowercase().contains("icmp"))
            .or_else(|| cell.flows.iter().position(is_ping));
        let (mut up, mut down, mut pings) = (0, 0, 0);
        let role = |(index, flow): (usize, &Flow)| {
            if is_tcp(flow) {
                let (is_up, count) = if is_upload(flow) {
                    (true, &mut up)
                } else {
                    (false, &mut down)
                };
                *count += 1;
                let name = self.stream(*count, flow.dscp);
                return if is_up {
                    Role::Upload(format!("TCP upload{name}"))
                } else {
                    Role::Download(format!("TCP download{name}"))
                };
            }
            if !is_ping(flow) {
                return Role::Other;
            }
            if icmp == Some(index) {
                return Role::Ping("Ping (ms) ICMP".to_owned());
            }
            pings += 1;
            Role::Ping(format!("Ping (ms) UDP {}", self.ping(pings, flow.dscp)))
        };
        cell.flows.iter().enumerate().map(role).collect()
    }

    /// What stands behind the direction in the name of the stream with this number, from 1.
    fn stream(self, number: usize, dscp: u8) -> String {
        match self {
            Self::Rrul => format!(" {}", class(dscp)),
            Self::RrulBe if number == 1 => " BE".to_owned(),
            Self::RrulBe => format!(" BE{number}"),
            Self::RrulBeNflows => format!(" BE::{number}"),
            Self::TcpNup | Self::TcpNdown | Self::Ping => format!("::{number}"),
        }
    }

    fn ping(self, number: usize, dscp: u8) -> String {
        match self {
            Self::Rrul => class(dscp).to_owned(),
            Self::RrulBeNflows if number == 1 => "BE".to_owned(),
            _ => format!("BE{number}"),
        }
    }
}

/// The class of a DSCP; best effort where Flent has no word for it.
fn class(dscp: u8) -> &'static str {
    let known = CLASSES.iter().find(|(known, _)| *known == dscp);
    known.map_or("BE", |(_, word)| word)
}

/// The DSCP of a stream by what stands behind the direction in its name, `BE`, `CS5::2` and so on.
pub(crate) fn dscp_of(rest: &str) -> u8 {
    let known = CLASSES.iter().find(|(_, word)| rest.starts_with(word));
    known.map_or(0, |(dscp, _)| *dscp)
}

fn is_tcp(flow: &Flow) -> bool {
    matches!(flow.transport, Transport::Tcp(_))
}

fn is_ping(flow: &Flow) -> bool {
    flow.app.kind().name == "ping"
}

/// From the clients: a dumbbell's are its first node.
fn is_upload(flow: &Flow) -> bool {
    flow.from < flow.to
}
