//! What the owner of several flow queues, or the next instance, takes from one: its packets and
//! accounts.

use super::FlowQueue;
use super::policy::FlowPolicy;
use crate::{Aqm, Backlog, Counters, Packet};
use alloc::vec::Vec;
use sojourn_units::Time;

/// Flows of each list looked at for the length of the next packet.
const HINT_STEPS: usize = 8;

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
        self.push(id, packet, len, arrived);
    }

    /// Length of the packet that is likely to be looked at next.
    pub(crate) fn hint(&self) -> Option<u32> {
        // Few steps are enough for a hint. A flow without credit must wait for its next turn.
        let mut fallback = (self.backlog.packets > 0).then_some(0);
        for mut id in [self.new.ends.first, self.old.ends.first] {
            for _ in 0..HINT_STEPS {
                let Some(flow) = self.flows.get(id as usize) else {
                    break;
                };
                if let Some((_, packet)) = self.slab.head(flow.packets) {
                    if flow.deficit > 0 {
                        return Some(packet.len());
                    }
                    fallback = fallback.filter(|&len| len > 0).or(Some(packet.len()));
                }
                id = flow.next;
            }
        }
        let waiting = self.debts.first().filter(|_| fallback == Some(0));
        let waiting = waiting.and_then(|id| self.slab.head(self.flows[id as usize].packets));
        waiting.map_or(fallback, |(_, packet)| Some(packet.len()))
    }

    /// Bytes held.
    pub(crate) const fn held(&self) -> Backlog {
        self.backlog
    }

    /// Counts since construction.
    pub(crate) const fn counts(&self) -> &Counters {
        &self.counters
    }
}
