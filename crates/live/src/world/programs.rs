//! What programs beside the hosts send to each other, as flows of the results.
//!
//! A flow is what goes one way between the two sides under the port of a service, the lower one of
//! a packet's two: `program-tcp-5201-up`. So the names are the same in every run, whatever ports
//! the kernel chooses. Only a dumbbell has them: in a graph a packet passes several bridges.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sojourn_apps::Bulk;
use sojourn_qdisc::Packet as _;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, FlowRecorder, FlowResult, Transport, Window};

use super::ETHERNET_HEADER;
use crate::lab::Host;
use crate::lab::graph::{self, is_dumbbell};
use sojourn_bridge::{Frame, Side};

/// Most flows with names of their own; what else there is stands together.
const MOST: usize = 64;

/// The flows of the programs of a run.
pub(crate) struct Programs {
    window: Window,
    flows: BTreeMap<String, FlowRecorder>,
}

impl Programs {
    /// Those of a cell; none where nobody tells them apart.
    pub(super) fn of(cell: &Cell, has_programs: bool) -> Option<Self> {
        (has_programs && is_dumbbell(&cell.network)).then(|| Self {
            window: Window::of(cell),
            flows: BTreeMap::new(),
        })
    }

    /// A frame of theirs has left its sender, or come to its receiver.
    pub(super) fn seen(&mut self, now: Time, side: Side, has_left: bool, frame: &Frame) {
        let parsed = frame.parsed();
        let key = &parsed.flow;
        // ARP and the like are nobody's.
        if key.protocol == 0 {
            return;
        }
        let protocol = match i32::from(key.protocol) {
            libc::IPPROTO_TCP => "tcp",
            libc::IPPROTO_UDP => "udp",
            libc::IPPROTO_ICMP => "icmp",
            _ => "ip",
        };
        let port = match protocol {
            "tcp" | "udp" => key.src_port.min(key.dst_port),
            _ => 0,
        };
        let way = match side {
            Side::Up => "up",
            Side::Down => "down",
        };
        let payload = match parsed.header_len {
            0 => 0,
            headers => frame.len().saturating_sub(headers.into()),
        };
        let recorder = self.recorder(format!("program-{protocol}-{port}-{way}"), way);
        if has_left {
            recorder.sent(now, 1, 0);
        } else {
            recorder.received(now, frame.len().saturating_sub(ETHERNET_HEADER.into()));
            recorder.delivered(now, payload.into());
        }
    }

    fn recorder(&mut self, name: String, way: &str) -> &mut FlowRecorder {
        let is_new = !self.flows.contains_key(&name);
        let name = if is_new && self.flows.len() >= MOST {
            format!("program-others-{way}")
        } else {
            name
        };
        let fresh = || FlowRecorder::new(self.window, Span::ZERO);
        self.flows.entry(name).or_insert_with(fresh)
    }

    /// Their results, by name.
    pub(super) fn results(self) -> impl Iterator<Item = (String, FlowResult)> {
        self.flows.into_iter().map(|(name, recorder)| {
            // Of the flow only what is true of any is asked.
            let flow = Flow::new(&name, Transport::Udp, Bulk);
            let result = FlowResult {
                app: "program".into(),
                elastic: false,
                ..recorder.finish(&flow)
            };
            (name, result)
        })
    }
}

/// The addresses of the two sides' first hosts: the clients' and the servers'.
pub(super) fn addresses(cell: &Cell) -> [Ipv4Addr; 2] {
    if is_dumbbell(&cell.network) {
        return [Host::Client, Host::Server].map(|host| host.address(0));
    }
    [0, cell.network.nodes.len() - 1].map(|node| graph::address(node, 0))
}
