//! A shaper that reckons in ticks: what is left of a packet's last tick is lost, as in schedulers
//! whose clocks were coarser than their links.

use sojourn_qdisc::{
    Backlog, ChangeError, Counters, Dequeue, Outlet, Packet as _, Qdisc, Report, Spec,
};
use sojourn_sim::Packet;
use sojourn_units::{Rate, Span, Time};

/// A tick of the flawed clock.
const TICK: Span = Span::from_micros(64);

pub(crate) struct Paced {
    pub(crate) inner: Box<dyn Qdisc<Packet>>,
    pub(crate) rate: Rate,
    pub(crate) in_ticks: bool,
    pub(crate) next: Time,
}

impl Qdisc<Packet> for Paced {
    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<Packet>) -> Dequeue<Packet> {
        if now < self.next && self.inner.backlog().packets > 0 {
            return Dequeue::NotBefore(self.next);
        }
        let next = self.inner.dequeue(now, out);
        if let Dequeue::Packet { packet, .. } = &next {
            let mut takes = self.rate.time_for(u64::from(packet.len()));
            if self.in_ticks {
                takes = TICK * takes.as_nanos().div_ceil(TICK.as_nanos());
            }
            // Half a packet of slack, so that the sound one never lets its link wait.
            self.next = self.next.max(now - takes / 2) + takes;
        }
        next
    }

    sojourn_units::forward! { self.inner;
        enqueue(self: &mut Self, packet: Packet, now: Time, out: &mut dyn Outlet<Packet>);
        backlog(self: &Self) -> Backlog;
        counters(self: &Self) -> &Counters;
        report(self: &Self, now: Time) -> Report;
        spec(self: &Self) -> Option<Spec>;
        change(self: &mut Self, spec: &Spec, now: Time) -> Result<(), ChangeError>;
        drain(self: &mut Self) -> Vec<(Time, Packet)>;
        adopt(self: &mut Self, held: Vec<(Time, Packet)>, counters: Counters);
    }
}
