//! A queue that sees how long packets stay in another one.

use sojourn_qdisc::{
    Backlog, ChangeError, ClassCounts, Counters, Dequeue, Dual, Gauge, Outlet, Qdisc, Report, Spec,
};
use sojourn_sim::Packet;
use sojourn_units::{Span, Time, forward};

/// How long packets stayed that have left since the last decision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stays {
    pub(crate) packets: u64,
    /// In ns.
    pub(crate) sum: u64,
    pub(crate) longest: Span,
}

/// Hands all on to `queue`.
pub(crate) struct Watched {
    pub(crate) queue: Box<dyn Qdisc<Packet>>,
    pub(crate) stays: Stays,
}

impl Watched {
    pub(crate) fn new(queue: Box<dyn Qdisc<Packet>>) -> Self {
        Self {
            queue,
            stays: Stays::default(),
        }
    }
}

impl Qdisc<Packet> for Watched {
    forward! { self.queue;
        enqueue(self: &mut Self, packet: Packet, now: Time, out: &mut dyn Outlet<Packet>);
        backlog(self: &Self) -> Backlog;
        counters(self: &Self) -> &Counters;
        report(self: &Self, now: Time) -> Report;
        class_counts(self: &Self, number: u32) -> Option<ClassCounts>;
        spec(self: &Self) -> Option<Spec>;
        change(self: &mut Self, spec: &Spec, now: Time) -> Result<(), ChangeError>;
        head_len(self: &Self) -> Option<u32>;
        tin(self: &Self) -> Option<usize>;
        dual(self: &Self) -> Option<Dual>;
        gauges(self: &Self, now: Time, tell: &mut dyn FnMut(Gauge));
        drain(self: &mut Self) -> Vec<(Time, Packet)>;
        adopt(self: &mut Self, held: Vec<(Time, Packet)>, counters: Counters);
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<Packet>) -> Dequeue<Packet> {
        let taken = self.queue.dequeue(now, out);
        if let Dequeue::Packet { sojourn, .. } = &taken {
            self.stays.packets += 1;
            self.stays.sum += sojourn.as_nanos();
            self.stays.longest = self.stays.longest.max(*sojourn);
        }
        taken
    }

    fn pass(&mut self, len: u32) -> bool {
        let passes = self.queue.pass(len);
        self.stays.packets += u64::from(passes);
        passes
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<Packet>>> {
        Some(Box::new(Self {
            queue: self.queue.fork()?,
            stays: self.stays,
        }))
    }
}
