//! What happens above the limits: the fattest flows lose packets from their heads.

use super::FlowQueue;
use super::policy::FlowPolicy;
use crate::FlowParams;
use crate::{Aqm, DropReason, Outlet, Packet};
use sojourn_units::Time;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    #[inline]
    pub(super) fn is_over_memory(&self) -> bool {
        self.memory > self.params.memory_limit
    }

    #[inline]
    pub(super) fn is_over_limit(&self) -> bool {
        self.backlog.packets > u64::from(self.params.limit) || self.is_over_memory()
    }

    /// The fattest flow and its bytes. From here on until the overload ends, a heap knows.
    #[cold]
    pub(crate) fn fattest(&mut self) -> Option<(u32, u64)> {
        if !self.fattest.is_active() {
            let held = self
                .flows
                .iter()
                .enumerate()
                .filter(|(_, flow)| flow.count > 0)
                .map(|(id, flow)| (id as u32, flow.bytes));
            self.fattest.start(self.flows.len(), held);
        }
        self.fattest.first()
    }

    /// Drops the packet at the head of a flow, because memory is full.
    #[cold]
    pub(crate) fn drop_head(&mut self, id: u32, now: Time, out: &mut dyn Outlet<P>) {
        if let Some((_, packet, len)) = self.pop(id) {
            self.counters
                .refuse(packet, len, DropReason::OverMemory, out);
            let state = &mut self.flows[id as usize].state;
            self.aqm.overflowed(state, 1, now);
            self.weigh(id);
        }
    }

    /// Drops batches from the fattest flows until the limits hold again.
    #[cold]
    pub(super) fn shed(&mut self, now: Time, out: &mut dyn Outlet<P>) {
        self.fattest();
        while self.is_over_limit() {
            let Some((id, bytes)) = self.fattest.first() else {
                debug_assert!(false, "over the limit with nothing held");
                return;
            };
            let reason = if self.is_over_memory() {
                DropReason::OverMemory
            } else {
                DropReason::Overlimit
            };
            let keep = bytes - bytes / 2;
            let mut dropped = 0;
            while let Some((_, packet, len)) = self.pop(id) {
                self.counters.refuse(packet, len, reason, out);
                dropped += 1;
                if dropped >= self.params.drop_batch || self.flows[id as usize].bytes <= keep {
                    break;
                }
            }
            let state = &mut self.flows[id as usize].state;
            self.aqm.overflowed(state, dropped, now);
            self.weigh(id);
        }
    }

    /// The overload is over.
    pub(crate) fn calm(&mut self) {
        self.fattest.stop();
    }
}

/// Whether an overload is over, as there is room again for as much as is held.
#[cold]
pub(super) fn is_relaxed(params: &FlowParams, packets: u64, memory: u64) -> bool {
    // Whoever limits several queues together says when it is over.
    params.limit != u32::MAX
        && packets <= u64::from(params.limit / 2)
        && memory <= params.memory_limit / 2
}
