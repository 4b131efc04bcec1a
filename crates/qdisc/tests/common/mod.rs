//! A packet for tests, and an outlet that remembers.
// Each test binary uses its own part of this.
#![allow(dead_code)]

pub(crate) mod frame;
pub(crate) mod operations;
pub(crate) mod view;

use sojourn_qdisc::{DropReason, Ecn, Outlet, Packet};

/// A packet with a number; its flow is its hash's top, so that a test chooses the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) id: u64,
    pub(crate) len: u32,
    pub(crate) hash: u32,
    pub(crate) ecn: Ecn,
    pub(crate) circuit: u32,
}

impl TestPacket {
    pub(crate) fn new(id: u64, len: u32) -> Self {
        Self {
            id,
            len,
            hash: 0,
            ecn: Ecn::NotEct,
            circuit: 0,
        }
    }

    /// In bucket `flow` of `flows`, whatever the perturbation.
    pub(crate) fn of_flow(id: u64, len: u32, flow: u32, flows: u32) -> Self {
        let hash = (u64::from(flow) << 32).div_ceil(u64::from(flows));
        Self {
            hash: u32::try_from(hash).expect("flow < flows"),
            ..Self::new(id, len)
        }
    }

    /// For a leaf of a tree of rates.
    pub(crate) fn to(mut self, circuit: u32) -> Self {
        self.circuit = circuit;
        self
    }

    pub(crate) fn capable(mut self) -> Self {
        self.ecn = Ecn::Ect0;
        self
    }
}

impl Packet for TestPacket {
    fn len(&self) -> u32 {
        self.len
    }

    /// Traces by hand count bytes.
    fn memory(&self) -> u32 {
        self.len
    }

    fn flow_hash(&self, _perturbation: u64) -> u32 {
        self.hash
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
        self.ecn == Ecn::Ce
    }

    fn circuit(&self) -> u32 {
        self.circuit
    }
}

/// Remembers what was dropped and marked.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) dropped: Vec<(TestPacket, DropReason)>,
    pub(crate) marked: Vec<u64>,
}

impl Outlet<TestPacket> for Log {
    fn dropped(&mut self, packet: TestPacket, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    fn marked(&mut self, packet: &TestPacket) {
        self.marked.push(packet.id);
    }
}
