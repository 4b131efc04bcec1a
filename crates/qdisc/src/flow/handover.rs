//! What the owner of several flow queues, or the next instance, takes from one: its packets and
//! accounts.

use super::FlowQueue;
use super::policy::FlowPolicy;
use crate::{Aqm, Backlog, Counters, Packet};
use alloc::vec::Vec;
use sojourn_units::Time;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Takes out all that is held, each flow in order.
    pub(crate) fn empty(&mut self) -> Vec<(Time, P)> {
        self.fattest.stop();
        let mut held = Vec::with_capacity(self.backlog.packets as usize);
        for id in 0..self.flows.len() {
            while let Some((arrived, packet, _)) = self.pop(id as u32) {
                held.push((arrived, packet));
            }
        }
        held
    }

    /// Takes a packet over from another instance: neither AQM nor limit is asked.
    pub(crate) fn admit(&mut self, packet: P, arrived: Time) {
        let len = packet.len();
        let id = self.classify(&packet, arrived);
        self.memory += u64::from(packet.memory());
        self.push(id, packet, len, arrived);
    }

    /// Bytes held.
    pub(crate) const fn held(&self) -> Backlog {
        self.backlog
    }

    /// Bytes of memory held.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory
    }

    /// Counts since construction.
    pub(crate) const fn counts(&self) -> &Counters {
        &self.counters
    }
}
