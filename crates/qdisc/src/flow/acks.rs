//! The ACK filter over a flow's queue; what may go is decided in `ack`.

use super::lists::Place;
use super::policy::FlowPolicy;
use super::{FlowQueue, NONE};
use crate::{AckFacts, AckFilter, Aqm, DropReason, Outlet, Packet};

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Drops an acknowledgement that the newest packet of flow `id` makes superfluous: the one
    /// nearest to the head.
    #[inline]
    pub(super) fn filter_acks(&mut self, id: u32, out: &mut dyn Outlet<P>) {
        let Some(place) = self.superfluous(id) else {
            return;
        };
        let flow = &mut self.flows[id as usize];
        if let Some((_, packet)) = self.slab.take(&mut flow.packets, place) {
            let len = packet.len();
            flow.count -= 1;
            flow.bytes -= u64::from(len);
            self.backlog.remove(len);
            self.refuse(packet, len, DropReason::AckFilter, out);
            self.weigh(id);
        }
    }

    /// Where the one stands that can go.
    fn superfluous(&self, id: u32) -> Option<Place> {
        let flow = &self.flows[id as usize];
        let last = flow.packets.last;
        if flow.count < 2 {
            return None;
        }
        let newest = self.slab.at(last)?.0;
        let facts = newest.ack().filter(AckFacts::is_trigger)?;
        let mut found = None;
        let (mut place, mut slot) = (Place::Head, flow.packets.first);
        while slot != last && slot != NONE {
            let (packet, next) = self.slab.at(slot)?;
            if let Some(older) = packet.ack()
                && older.is_superseded_by(&facts)
                && packet.is_same_flow(newest)
            {
                // Two could go, so one redundant acknowledgement stays.
                if let Some((first, _, _)) = found {
                    return Some(first);
                }
                found = Some((place, next, older.ecn_flags()));
            }
            (place, slot) = (Place::Behind(slot), next);
        }
        let (only, next, ecn) = found?;
        let eager = self.policy.ack_filter() == AckFilter::Aggressive;
        (eager && next == last && ecn == facts.ecn_flags()).then_some(only)
    }
}
