//! Whose turn it is: deficit round robin, new flows before old ones.

use super::policy::FlowPolicy;
use super::{Ends, FlowQueue, NONE};
use crate::{Aqm, Dequeue, DropReason, Facts, Outlet, Packet, QueueView, Verdict};
use sojourn_units::Time;

/// Where a flow stands in the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// In neither list.
    #[default]
    Idle,
    /// Among the new flows, which go first.
    New,
    /// Among the old flows.
    Old,
    /// An old flow that is in debt for several rounds (see `debts`).
    InDebt,
}

/// A list of flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) ends: Ends,
    pub(super) len: u32,
}

/// How a turn of a flow ended.
enum Served<P> {
    /// With a packet to send.
    Packet(Dequeue<P>),
    /// It holds no packet.
    Empty,
    /// Drops have used up its credit.
    Spent,
}

impl<P: Packet, A: Aqm, F: FlowPolicy> FlowQueue<P, A, F> {
    /// Puts a flow at the end of the new or the old ones.
    pub(super) fn append(&mut self, id: u32, turn: Turn) {
        let flow = &mut self.flows[id as usize];
        flow.turn = turn;
        flow.next = NONE;
        let is_new = turn == Turn::New;
        let round = if is_new { &mut self.new } else { &mut self.old };
        round.len += 1;
        let last = core::mem::replace(&mut round.ends.last, id);
        if round.ends.first == NONE {
            round.ends.first = id;
        } else {
            self.flows[last as usize].next = id;
        }
    }

    /// Takes the first flow of a list off it.
    pub(super) fn take_first(&mut self, turn: Turn) {
        let is_new = turn == Turn::New;
        let round = if is_new { &mut self.new } else { &mut self.old };
        let flow = &mut self.flows[round.ends.first as usize];
        flow.turn = Turn::Idle;
        round.ends.first = flow.next;
        round.len -= 1;
        if F::SHARES_QUANTUM && turn == Turn::Old {
            self.debts.turn_over();
        }
    }

    /// Gives a flow its quanta of so many rounds.
    #[inline]
    pub(super) fn credit(&mut self, id: u32, rounds: u64) {
        let flow = &mut self.flows[id as usize];
        let quanta = rounds * u64::from(self.quantum);
        flow.deficit += self.policy.quantum(&flow.share, quanta);
    }

    /// The next packet of a flow that its AQM lets go. It is judged where it lies and moved once.
    #[inline]
    fn serve(&mut self, id: u32, now: Time, out: &mut dyn Outlet<P>) -> Served<P> {
        if A::BOUNDS {
            self.bind(id, now, out);
        }
        let flow = &mut self.flows[id as usize];
        let bulk_flows = self.policy.bulk_flows_that_matter();
        while let Some((arrived, packet)) = self.slab.head_mut(flow.packets) {
            let len = packet.len();
            self.memory -= u64::from(packet.memory());
            flow.count -= 1;
            flow.bytes -= u64::from(len);
            self.backlog.remove(len);
            let sojourn = now - arrived;
            let view = QueueView {
                head_wait: sojourn,
                packets: flow.count,
                bytes: flow.bytes,
                total_bytes: self.backlog.bytes,
                bulk_flows,
            };
            let facts = Facts::of(packet, len);
            let state = &mut flow.state;
            match self.aqm.leave(state, view, facts, sojourn, now) {
                Verdict::Pass => {}
                Verdict::Mark => self.counters.mark(packet, len, out),
                Verdict::Drop => {
                    let charge = self.policy.charge_of_drop(packet);
                    if let Some((_, packet)) = self.slab.pop(&mut flow.packets) {
                        self.counters.refuse(packet, len, DropReason::Aqm, out);
                    }
                    flow.deficit -= charge;
                    if F::CHARGES_DROPS && charge > 0 && flow.deficit <= 0 && flow.count > 0 {
                        return Served::Spent;
                    }
                    continue;
                }
            }
            flow.deficit -= self.policy.charge(packet);
            self.counters.dequeued.add(len);
            return match self.slab.pop(&mut flow.packets) {
                Some((_, packet)) => Served::Packet(Dequeue::Packet { packet, sojourn }),
                None => Served::Empty,
            };
        }
        self.aqm.found_empty(&mut flow.state, now);
        Served::Empty
    }

    /// The next packet, by turns.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let mut turns = 0;
        loop {
            if F::SHARES_QUANTUM && self.is_round_over() {
                self.next_round();
            }
            let (id, turn) = if self.new.ends.first == NONE {
                (self.old.ends.first, Turn::Old)
            } else {
                (self.new.ends.first, Turn::New)
            };
            if id == NONE {
                return Dequeue::Empty;
            }
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 {
                if flow.count > 0 {
                    self.policy.stands(&mut flow.share);
                }
                self.take_first(turn);
                if F::SHARES_QUANTUM {
                    self.pay(id);
                } else {
                    self.credit(id, 1);
                    self.append(id, Turn::Old);
                    turns += 1;
                    self.skip_rounds(&mut turns);
                }
                continue;
            }
            let served = self.serve(id, now, out);
            self.weigh(id);
            match served {
                Served::Packet(packet) => {
                    if self.fattest.is_active() {
                        self.relax();
                    }
                    return packet;
                }
                Served::Spent => continue,
                Served::Empty => {}
            }
            self.take_first(turn);
            // RFC 8290 section 4.2: an emptied new flow must wait for the old ones, or it could
            // come back at once and starve them.
            if self.policy.emptied_wait() && turn == Turn::New && self.old_flows() > 0 {
                self.append(id, Turn::Old);
            } else {
                self.policy.left(&mut self.flows[id as usize].share);
            }
        }
    }
}
