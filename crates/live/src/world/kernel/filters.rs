//! How frames go from port to port of a joint's places, as lines for tc: handed through, told apart
//! by their paths, marked by their labels.
//!
//! Sources: `tc-mirred(8)`, `tc-flower(8)`, `tc-skbedit(8)`, `tc-prio(8)`.

use sojourn_line::{Line, LineRate};
use sojourn_units::Span;
use sojourn_world::{Cell, Label, Transport};

use super::super::links::Crossing;
use super::{Paths, is_gateway};
use crate::lab::Lab;
use crate::tc;

/// How frames get to the queues, as lines for tc.
pub(super) fn at_the_queues(cell: &Cell, [up, down]: [&Paths; 2]) -> Vec<String> {
    if !is_gateway(cell) {
        let to = [Lab::RIGHT, Lab::LEFT].map(|to| format!("pipe {}", redirect(to)));
        let marks = [
            labelled(Lab::LEFT, "ingress", up, &to[0]),
            labelled(Lab::RIGHT, "ingress", down, &to[1]),
        ];
        return [handed_through(), marks.concat()].concat();
    }
    // What goes up is marked after the router has set its priority.
    let inward = redirect(Lab::INWARD);
    let mut lines = vec![
        format!("qdisc replace dev {} clsact", Lab::RIGHT),
        format!(
            "filter add dev {} ingress prio 9 matchall {inward}",
            Lab::RIGHT
        ),
    ];
    lines.extend(labelled(Lab::RIGHT, "egress", up, "pass"));
    lines.extend(labelled(
        Lab::RIGHT,
        "ingress",
        down,
        &format!("pipe {inward}"),
    ));
    lines
}

/// The action that hands a frame to a device.
fn redirect(to: &str) -> String {
    format!("action mirred egress redirect dev {to}")
}

/// A path from a host, as a line for tc.
pub(super) fn delay_or_wire(device: &str, parent: &str, delay: Span) -> String {
    let mut delayed = tc::line(device, parent, &Line::new(LineRate::Infinite), delay).into_iter();
    delayed.next().unwrap_or_else(|| tc::wire(device, parent))
}

/// The two ports of a place, and where each leads.
fn ports() -> [(&'static str, &'static str); 2] {
    [(Lab::LEFT, Lab::RIGHT), (Lab::RIGHT, Lab::LEFT)]
}

/// Frames go from one port to the other.
pub(super) fn handed_through() -> Vec<String> {
    let mut lines = Vec::new();
    for (from, to) in ports() {
        let handed = redirect(to);
        lines.push(format!("qdisc replace dev {from} clsact"));
        lines.push(format!(
            "filter add dev {from} ingress prio 9 matchall {handed}"
        ));
    }
    lines
}

/// The words by which flower knows the packets of a connection.
fn packets_of(crossing: &Crossing) -> String {
    let protocol = match crossing.transport {
        Transport::Tcp(_) => "tcp",
        Transport::Udp => "udp",
    };
    format!("flower ip_proto {protocol} src_port {}", crossing.port)
}

/// A device behind which packets have a delay by their path: bands of a prio queue. Nothing when
/// all have the same.
pub(super) fn told_apart(device: &str, paths: &Paths) -> Vec<String> {
    if !paths.differ() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "qdisc add dev {device} root handle 1: prio bands {} priomap{}",
        paths.0.len(),
        " 0".repeat(16)
    )];
    for (band, (delay, crossings)) in (1..).zip(&paths.0) {
        let parent = format!("parent 1:{band:x}");
        lines.push(delay_or_wire(device, &parent, *delay));
        for packets in crossings.iter().map(packets_of) {
            lines.push(format!(
                "filter add dev {device} parent 1: protocol ip prio 1 {packets} classid 1:{band:x}"
            ));
        }
    }
    lines
}

/// Marks and classes of the flows that have one, at the beginning or end of their way through a
/// device, and what follows.
fn labelled(device: &str, way: &str, paths: &Paths, then: &str) -> Vec<String> {
    let crossings = paths
        .0
        .values()
        .flatten()
        .filter(|crossing| crossing.label != Label::default());
    crossings
        .map(|crossing| {
            let (packets, Label { mark, class }) = (packets_of(crossing), crossing.label);
            format!(
                "filter add dev {device} {way} protocol ip prio 1 {packets} action skbedit mark \
                 {mark} priority {:x}:{class:x} {then}",
                tc::LEAF
            )
        })
        .collect()
}
