//! Whose turn it is: deficit round robin, new flows before old ones.

use super::FlowQueue;
use super::overload::is_relaxed;
use super::policy::FlowPolicy;
use super::round::Turn;
use crate::{Aqm, Dequeue, DropReason, Facts, Outlet, Packet, QueueView, Verdict};
use sojourn_units::{Span, Time};

/// How a turn of a flow ended.
enum Served<P> {
    /// With a packet to send that has waited for so long.
    Packet(P, Span),
    /// It holds no packet.
    Empty,
    /// Drops have used up its credit.
    Spent,
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Puts a flow at the end of the new or the old ones.
    #[inline]
    pub(super) fn append(&mut self, id: u32, turn: Turn) {
        self.flows[id as usize].turn = turn;
        let is_new = turn == Turn::New;
        let round = if is_new { &mut self.new } else { &mut self.old };
        let last = core::mem::replace(&mut round.last, id);
        round.len += 1;
        if round.len == 1 {
            round.first = id;
        } else {
            self.flows[last as usize].next = id;
        }
    }

    /// Takes the first flow of a list off it.
    #[inline]
    pub(super) fn take_first(&mut self, turn: Turn) {
        if turn == Turn::New {
            return self.new.take_first(&mut self.flows);
        }
        self.old.take_first(&mut self.flows);
        if F::SHARES_QUANTUM {
            self.debts.turn_over();
        }
    }

    /// The first flow of a list, which is this, goes to the end of the old ones.
    #[inline]
    fn turn_over(&mut self, id: u32, turn: Turn) {
        if turn == Turn::New {
            self.take_first(turn);
            self.append(id, Turn::Old);
        // One alone is the last one too.
        } else if self.old.len > 1 {
            self.old.first = self.flows[id as usize].next;
            let last = core::mem::replace(&mut self.old.last, id);
            self.flows[last as usize].next = id;
        }
    }

    /// A flow that has been taken off its list leaves the round.
    #[inline]
    fn leave_round(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        self.policy.left(&mut flow.share);
        let bucket = flow.bucket;
        self.set_busy(bucket, false);
    }

    /// Before an old flow has its turn: begins the next round when this one is over, or walks.
    #[inline]
    fn begin_turn(&mut self) {
        if self.debts.waiting > 0 {
            if self.debts.turns_left == 0 {
                self.next_round();
            }
        } else if self.are_walked() {
            self.walk();
        } else if self.has_ring {
            self.dissolve();
        }
    }

    /// Takes the next packet of a flow that its AQM lets go. It is judged where it lies and moved
    /// once.
    #[inline]
    fn serve(&mut self, id: u32, now: Time, out: &mut dyn Outlet<P>) -> Served<P> {
        if A::BOUNDS {
            self.bind(id, now, out);
        }
        let flow = &mut self.flows[id as usize];
        let bulk_flows = self.policy.bulk_flows_that_matter();
        while let Some(mut front) = self.slab.front(&mut flow.packets) {
            let sojourn = now - front.arrived();
            let Some(packet) = front.packet() else {
                break;
            };
            let len = packet.len();
            // The accounts first: the AQM sees the queue that the packet leaves behind.
            self.memory -= u64::from(packet.memory());
            flow.count -= 1;
            flow.bytes -= u64::from(len);
            self.backlog.remove(len);
            let view = QueueView {
                head_wait: sojourn,
                packets: flow.count,
                bytes: flow.bytes,
                total_bytes: self.backlog.bytes,
                bulk_flows,
            };
            let facts = Facts::new(len, packet);
            let state = &mut flow.state;
            match self.aqm.leave(state, view, facts, sojourn, now) {
                Verdict::Pass => {}
                Verdict::Mark => self.counters.mark(packet, len, out),
                Verdict::Drop => {
                    let charge = self.policy.charge_of_drop(packet);
                    if let Some(packet) = front.take() {
                        self.counters.refuse(packet, len, DropReason::Aqm, out);
                    }
                    flow.deficit -= charge;
                    // CAKE's `ingress`: dropped packets have used the link, so that they end a
                    // turn as sent ones do.
                    if F::CHARGES_DROPS && charge > 0 && flow.deficit <= 0 && flow.count > 0 {
                        self.weigh(id);
                        return Served::Spent;
                    }
                    continue;
                }
            }
            flow.deficit -= self.policy.charge(packet);
            self.counters.dequeued.add(len);
            if self.fattest.is_active() {
                self.fattest.set(id, (flow.count > 0).then_some(flow.bytes));
                if is_relaxed(&self.params, self.backlog.packets, self.memory) {
                    self.fattest.stop();
                }
            }
            match front.take() {
                Some(packet) => return Served::Packet(packet, sojourn),
                None => break,
            }
        }
        self.aqm.found_empty(&mut flow.state, now);
        self.weigh(id);
        Served::Empty
    }

    /// The next packet, by turns.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let mut turns = 0;
        loop {
            if F::SHARES_QUANTUM && self.new.len == 0 {
                self.begin_turn();
            }
            // New flows before old ones (RFC 8290 section 4.2): this is what gives sparse flows
            // their low latency.
            let (id, turn) = if self.new.len > 0 {
                (self.new.first, Turn::New)
            } else if self.old.len > 0 {
                (self.old.first, Turn::Old)
            } else {
                return Dequeue::Empty;
            };
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 {
                if flow.count > 0 {
                    self.policy.stands(&mut flow.share);
                }
                if F::SHARES_QUANTUM {
                    self.take_first(turn);
                    self.pay(id);
                } else {
                    flow.deficit += i64::from(self.quantum);
                    self.turn_over(id, turn);
                    turns += 1;
                    self.skip_rounds(&mut turns);
                }
                continue;
            }
            // One call for all that a flow drops: a drop does not cost it its turn.
            match self.serve(id, now, out) {
                Served::Packet(packet, sojourn) => return Dequeue::Packet { packet, sojourn },
                Served::Spent => continue,
                Served::Empty => {}
            }
            self.take_first(turn);
            // RFC 8290 section 4.2: an emptied new flow must wait for the old ones, or it could
            // come back at once and starve them.
            if self.policy.emptied_wait() && turn == Turn::New && self.old_flows() > 0 {
                self.append(id, Turn::Old);
            } else {
                self.leave_round(id);
            }
        }
    }
}
