//! A policy that bounds the queue of each flow: what is above the bound goes at once.

use super::FlowQueue;
use super::lists::{NONE, Position};
use super::policy::FlowPolicy;
use crate::aqm::{Aqm, Bound};
use crate::params::{Capacity, End};
use crate::{DropReason, Outlet, Packet};
use sojourn_units::Time;

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Drops what the policy's bound of flow `id` leaves no room for.
    pub(super) fn bind(&mut self, id: u32, now: Time, out: &mut dyn Outlet<P>) -> Bound {
        let view = self.view(id, now);
        let flow = &mut self.flows[id as usize];
        let bound = self.aqm.bound(&mut flow.state, view, now);
        let keep = bound.keep.most();
        if u64::from(flow.count) <= keep.packets && flow.bytes <= keep.bytes {
            return bound;
        }
        match bound.surplus {
            End::Head => while self.is_above(id, keep) && self.shed_at(id, Position::Head, out) {},
            End::Tail => {
                let place = self.last_within(id, keep);
                while self.is_above(id, keep) && self.shed_at(id, place, out) {}
            }
        }
        self.weigh(id);
        bound
    }

    /// Whether flow `id` has room for a packet of `len` bytes, or can make some at its head.
    pub(super) fn may_enter(&self, id: u32, len: u32, bound: Bound) -> bool {
        let limit = bound.limit.most();
        let can_make_room = bound.full == End::Head;
        limit.packets > 0
            && u64::from(len) <= limit.bytes
            && (can_make_room || !self.is_above(id, limit.less(len)))
    }

    /// Makes that room.
    pub(super) fn make_room(
        &mut self,
        id: u32,
        len: u32,
        bound: Bound,
        now: Time,
        out: &mut dyn Outlet<P>,
    ) {
        let limit = bound.limit.most();
        let mut dropped = 0;
        while self.is_above(id, limit.less(len))
            && let Some((_, packet, len)) = self.pop(id)
        {
            self.counters.refuse(packet, len, DropReason::Head, out);
            dropped += 1;
        }
        if dropped > 0 {
            let state = &mut self.flows[id as usize].state;
            self.aqm.overflowed(state, dropped, now);
            self.weigh(id);
        }
    }

    fn is_above(&self, id: u32, most: Capacity) -> bool {
        let flow = &self.flows[id as usize];
        u64::from(flow.count) > most.packets || flow.bytes > most.bytes
    }

    /// The place behind the last packet of flow `id` that is within the limits.
    fn last_within(&self, id: u32, most: Capacity) -> Position {
        let (mut place, mut slot) = (Position::Head, self.flows[id as usize].packets.first);
        let (mut count, mut sum) = (0, 0);
        while slot != NONE
            && let Some((packet, next)) = self.slab.at(slot)
        {
            count += 1;
            sum += u64::from(packet.len());
            if count > most.packets || sum > most.bytes {
                break;
            }
            (place, slot) = (Position::Behind(slot), next);
        }
        place
    }

    fn shed_at(&mut self, id: u32, place: Position, out: &mut dyn Outlet<P>) -> bool {
        let Some((_, packet, len)) = self.take_at(id, place) else {
            return false;
        };
        self.counters.refuse(packet, len, DropReason::Surplus, out);
        true
    }
}
