//! CAKE on several queues that share its rate: what a link has whose workers each run one on a core
//! of their own, driven here by one thread.
//!
//! Source: Linux `cake_mq` (7.0), `tc-cake_mq(8)`; how the rate is shared, and how that differs
//! from Linux, says `share`.
//!
//! Flows are spread over the queues by a hash of their own, so that each stays in order. Whoever
//! takes a packet gets it from the queue that may send soonest; among those that may now, from the
//! one whose turn was earliest. Without a rate the queues take turns, a packet each, as a device
//! serves its own. Each queue has the memory limit for itself, as in Linux.

use crate::Setting;
use crate::accounts::{Backlog, Counters};
use crate::cake::Cake;
use crate::change::{ChangeError, alike, unchanged};
use crate::packet::Packet;
use crate::params::{CakeMqParams, CakeParams};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::share::{Share, SharedRate};
use crate::spec::Spec;
use crate::tbf::Audit;
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::Time;

/// Several CAKEs on one link.
#[derive(Debug)]
pub struct CakeMq<P> {
    params: CakeMqParams,
    queues: Vec<Cake<P, Share>>,
    perturbation: u64,
    /// The queue that the last packet came from.
    served: usize,
    counters: Counters,
}

impl<P: Packet> CakeMq<P> {
    /// Empty queues.
    pub fn new(params: CakeMqParams, cake: CakeParams, setting: Setting<'_>) -> Self {
        let shared = SharedRate::new(params.queues);
        let queue = |number| {
            let (mtu, header) = (setting.mtu, setting.link_header);
            Cake::worker(cake, mtu, header, setting.dice("cake"), &shared, number)
        };
        Self {
            params,
            queues: (0..shared.workers()).map(queue).collect(),
            perturbation: setting.dice("queues").bits(),
            served: 0,
            counters: Counters::default(),
        }
    }

    /// The queue of a packet's flow.
    fn queue_of(&self, packet: &P) -> usize {
        let hash = packet.flow_hash(self.perturbation);
        ((u64::from(hash) * self.queues.len() as u64) >> 32) as usize
    }

    fn is_shaped(&self) -> bool {
        self.queues.iter().any(|queue| !queue.rate().is_zero())
    }

    /// The queue to serve, and when.
    fn next(&self, now: Time) -> Option<(usize, Time)> {
        let busy = |&number: &usize| self.queues[number].backlog().packets > 0;
        if !self.is_shaped() {
            let count = self.queues.len();
            let mut turns = (1..=count).map(|step| (self.served + step) % count);
            return turns.find(busy).map(|number| (number, now));
        }
        let due = |number: usize| {
            let queue = &self.queues[number];
            let due = queue.due(now);
            (due.max(now), queue.share().turn(), due, number)
        };
        let next = (0..self.queues.len()).filter(busy).map(due).min();
        next.map(|(_, _, due, number)| (number, due))
    }
}

impl<P: Packet> Qdisc<P> for CakeMq<P> {
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let queue = self.queue_of(&packet);
        let counters = &mut self.counters;
        counters.offered.add(packet.len());
        self.queues[queue].enqueue(packet, now, &mut Audit { counters, out });
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        while let Some((number, due)) = self.next(now) {
            if due > now {
                self.counters.overlimits += 1;
                return Dequeue::NotBefore(due);
            }
            let counters = &mut self.counters;
            let taken = self.queues[number].dequeue(now, &mut Audit { counters, out });
            if let Dequeue::Packet { packet, .. } = &taken {
                self.counters.dequeued.add(packet.len());
                self.served = number;
                return taken;
            }
        }
        Dequeue::Empty
    }

    fn backlog(&self) -> Backlog {
        self.counters.held()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, now: Time) -> Report {
        let queues: Vec<Report> = self.queues.iter().map(|queue| queue.report(now)).collect();
        Report::of_queues(
            self.spec().as_ref(),
            &self.counters,
            self.backlog(),
            &queues,
        )
    }

    fn spec(&self) -> Option<Spec> {
        let mq = self.params;
        let cake = *self.queues.first()?.params();
        Some(Spec::CakeMq { mq, cake })
    }

    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::CakeMq { mq, cake } = *spec else {
            return Ok(());
        };
        unchanged([(mq.queues == self.params.queues, "queues")])?;
        let each = Spec::Cake(cake);
        // What one of them refuses all do, and the first one before anything has changed.
        let mut queues = self.queues.iter_mut();
        queues.try_for_each(|queue| queue.change(&each, now))
    }

    fn tin(&self) -> Option<usize> {
        self.queues[self.served].tin()
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        let queues = self.queues.iter_mut().map(Cake::drain);
        queues.flatten().collect()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        let mut parts: Vec<Vec<(Time, P)>> = self.queues.iter().map(|_| Vec::new()).collect();
        for (arrived, packet) in held {
            let queue = self.queue_of(&packet);
            parts[queue].push((arrived, packet));
        }
        for (queue, part) in self.queues.iter_mut().zip(parts) {
            let mut own = Counters::default();
            for (_, packet) in &part {
                own.offered.add(packet.len());
            }
            queue.adopt(part, own);
        }
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        let shared = self.queues.first()?.share().shared().fork();
        let queues = self.queues.iter().map(|queue| queue.fork_onto(&shared));
        Some(Box::new(Self {
            params: self.params,
            queues: queues.collect(),
            perturbation: self.perturbation,
            served: self.served,
            counters: self.counters,
        }))
    }
}
