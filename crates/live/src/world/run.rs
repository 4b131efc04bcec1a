//! A run at the queues of one joint, and what it leaves behind.

use std::sync::Mutex;

use sojourn_qdisc::{Report, Spec};
use sojourn_world::{Cell, Line, LineRate, LinkRecorder, Network};

use super::guest::Guests;
use super::links::{Gauge, Pairs};
use super::programs::Programs;
use crate::host::Shared;
use crate::lab::Lab;
use crate::taps::Capture;

/// Bytes of link-layer header of the lab's frames.
pub(super) const ETHERNET_HEADER: u16 = 14;

/// What of it happens at the queues of a joint.
pub(super) struct Run<'a> {
    pub(super) cell: &'a Cell,
    /// The numbers of its two links.
    pub(super) numbers: [Option<usize>; 2],
    pub(super) links: [Way; 2],
    pub(super) lab: &'a Lab,
    pub(super) shared: &'a Shared,
    pub(super) pairs: Option<&'a Mutex<Pairs>>,
    pub(super) programs: Option<&'a Mutex<Programs>>,
    pub(super) gauge: Gauge,
    /// Shows frames to whom wants to see them; taken by the bridge's thread.
    pub(super) capture: Mutex<Option<Capture>>,
    pub(super) guests: &'a Guests,
}

/// What the threads leave behind.
pub(super) struct Outcome {
    pub(super) links: Vec<(LinkRecorder, Report)>,
    pub(super) frames: u64,
    pub(super) bottleneck_packets: u64,
    pub(super) cpu_nanos: u64,
    /// A rolling hash over the frames at the queues: when, where, how long.
    pub(super) digest: u64,
}

impl Outcome {
    /// This one and another joint's.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            links: self.links.into_iter().chain(other.links).collect(),
            frames: self.frames + other.frames,
            bottleneck_packets: self.bottleneck_packets.max(other.bottleneck_packets),
            cpu_nanos: self.cpu_nanos + other.cpu_nanos,
            digest: sojourn_random::mix(self.digest) ^ other.digest,
        }
    }
}

/// A link: the queue before it, and what it does to packets.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) name: String,
    pub(super) qdisc: Spec,
    pub(super) line: Line,
}

/// That of a link. Where there is none nothing is sent, and what would be passes at once.
pub(super) fn way(network: &Network, link: Option<usize>) -> Way {
    let Some(link) = link else {
        return Way {
            name: String::new(),
            qdisc: Spec::pfifo(1),
            line: Line::new(LineRate::Infinite),
        };
    };
    let interface = &network.interfaces[link];
    let wire = network.wire(link).expect("it was checked");
    Way {
        name: interface.name.clone(),
        qdisc: interface.qdisc.clone(),
        line: wire.line.clone(),
    }
}
