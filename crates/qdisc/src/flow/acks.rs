//! The ACK filter over a flow's queue; what may go is decided in `ack`.

use super::FlowQueue;
use super::lists::{NONE, Position};
use super::policy::FlowPolicy;
use crate::{AckFacts, AckFilter, Aqm, DropReason, Outlet, Packet};

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Drops an acknowledgement that the newest packet of flow `id` makes superfluous: the one
    /// nearest to the head.
    #[inline]
    pub(super) fn filter_acks(&mut self, id: u32, out: &mut dyn Outlet<P>) {
        let Some(place) = self.superfluous(id) else {
            return;
        };
        if let Some((_, packet, len)) = self.take_at(id, place) {
            self.counters
                .refuse(packet, len, DropReason::AckFilter, out);
            self.weigh(id);
        }
    }

    /// Where the one stands that can go.
    fn superfluous(&self, id: u32) -> Option<Position> {
        let flow = &self.flows[id as usize];
        let last = flow.packets.last;
        if flow.count < 2 {
            return None;
        }
        let newest = self.slab.at(last)?.0;
        let facts = newest.ack().filter(AckFacts::is_trigger)?;
        let mut found: Option<(Position, u32, AckFacts)> = None;
        let (mut place, mut slot) = (Position::Head, flow.packets.first);
        while slot != last && slot != NONE {
            let (packet, next) = self.slab.at(slot)?;
            if let Some(older) = packet.ack()
                && packet.is_same_flow(newest)
            {
                // A change of ECE, CWR or AE is told by the acknowledgements on both sides of it.
                found = found.filter(|(_, _, one)| one.ecn_flags() == older.ecn_flags());
                if older.is_superseded_by(&facts) {
                    // Two could go, so one redundant acknowledgement stays: one that tells, under
                    // the same flags, all that goes with the other. The newest may have others.
                    if let Some((first, _, one)) = found
                        && one.is_superseded_by(&older)
                    {
                        return Some(first);
                    }
                    found = Some((place, next, older));
                }
            }
            (place, slot) = (Position::Behind(slot), next);
        }
        let (only, next, one) = found?;
        let eager = self.policy.ack_filter() == AckFilter::Aggressive;
        (eager && next == last && one.ecn_flags() == facts.ecn_flags()).then_some(only)
    }
}
