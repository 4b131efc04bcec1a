//! A FIFO that thins out ACKs, soundly and as a filter that eats what they say.

use sojourn_qdisc::{
    Backlog, ChangeError, Counters, Dequeue, DropReason, Outlet, Packet as _, Qdisc, Report, Spec,
};
use sojourn_sim::Packet;
use sojourn_units::Time;
use std::collections::{BTreeMap, VecDeque};

const LIMIT: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// An ACK leaves when a newer one says all that it says.
    Sound,
    /// Numbers alone are compared: an ACK leaves whose number has gone before, whatever SACK blocks
    /// it has.
    EatsSack,
}

pub(crate) struct Acks {
    flaw: Flaw,
    held: VecDeque<(Time, Packet)>,
    /// The last number of each flow, by its hash.
    last: BTreeMap<u32, u32>,
    counters: Counters,
}

impl Acks {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            held: VecDeque::new(),
            last: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    fn drop(&mut self, packet: Packet, reason: DropReason, out: &mut dyn Outlet<Packet>) {
        self.counters.drop(packet.len(), reason);
        out.dropped(packet, reason);
    }

    /// The place of an ACK that this arrival makes superfluous.
    fn superfluous(&self, arrival: &Packet) -> Option<usize> {
        let new = arrival.ack()?;
        self.held.iter().position(|(_, old)| {
            let says_less = |old: sojourn_qdisc::AckFacts| match self.flaw {
                Flaw::Sound => old.is_superseded_by(&new),
                Flaw::EatsSack => !old.payload && old.ack != new.ack,
            };
            old.is_same_flow(arrival) && old.ack().is_some_and(says_less)
        })
    }

    /// Whether the ACK before it had the same number.
    fn is_known(&mut self, arrival: &Packet) -> bool {
        let Some(new) = arrival.ack().filter(|new| !new.payload) else {
            return false;
        };
        let before = self.last.insert(arrival.flow_hash(0), new.ack);
        before == Some(new.ack)
    }
}

impl Qdisc<Packet> for Acks {
    fn enqueue(&mut self, packet: Packet, now: Time, out: &mut dyn Outlet<Packet>) {
        self.counters.offered.add(packet.len());
        if self.flaw == Flaw::EatsSack && self.is_known(&packet) {
            return self.drop(packet, DropReason::AckFilter, out);
        }
        if self.held.len() >= LIMIT {
            return self.drop(packet, DropReason::Tail, out);
        }
        if let Some(place) = self.superfluous(&packet) {
            let (_, old) = self.held.remove(place).expect("it was found there");
            self.drop(old, DropReason::AckFilter, out);
        }
        self.held.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Time, _: &mut dyn Outlet<Packet>) -> Dequeue<Packet> {
        let Some((arrived, packet)) = self.held.pop_front() else {
            return Dequeue::Empty;
        };
        self.counters.dequeued.add(packet.len());
        Dequeue::Packet {
            packet,
            sojourn: now - arrived,
        }
    }

    fn backlog(&self) -> Backlog {
        self.counters.held()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _: Time) -> Report {
        Report::default()
    }

    fn spec(&self) -> Option<Spec> {
        None
    }

    fn change(&mut self, _: &Spec, _: Time) -> Result<(), ChangeError> {
        unreachable!("no scenario here changes it")
    }

    fn drain(&mut self) -> Vec<(Time, Packet)> {
        unreachable!("no scenario here changes it")
    }

    fn adopt(&mut self, _: Vec<(Time, Packet)>, _: Counters) {
        unreachable!("no scenario here changes it")
    }
}
