//! CAKE as one of several workers that share a rate.

use super::Cake;
use crate::packet::Packet;
use crate::params::CakeParams;
use crate::shaper::Pace;
use crate::share::{Share, SharedHosts, SharedRate};
use alloc::format;
use alloc::sync::Arc;
use sojourn_random::Stream;
use sojourn_units::{Rate, Time};

impl<P: Packet> Cake<P, Share> {
    /// The same as one of those that share a rate, by its number. All have the same `dice`: their
    /// hashes must agree on hosts.
    pub fn worker(
        params: CakeParams,
        mtu: u32,
        link_header: u32,
        dice: Stream,
        shared: &Arc<SharedRate>,
        number: u32,
    ) -> Self {
        let rate = params.bandwidth.unwrap_or(Rate::ZERO);
        let clock = Share::new(Arc::clone(shared), rate, mtu);
        let name = format!("queue{number}.");
        let mut cake = Self::paced(params, mtu, link_header, dice, &name, clock);
        for (index, tin) in cake.tins.iter_mut().enumerate() {
            let [sources, destinations] =
                [0, 1].map(|direction| SharedHosts::new(shared, index, direction));
            let policy = tin.queue.policy_mut();
            policy.share_hosts(sources, destinations);
        }
        cake
    }

    /// A copy that shares another rate instead, in which its part is counted already.
    pub(crate) fn fork_onto(&self, shared: &Arc<SharedRate>) -> Self
    where
        P: Clone,
    {
        let mut copy = self.fork_with(self.clock.fork_onto(shared));
        for (tin, from) in copy.tins.iter_mut().zip(&self.tins) {
            let policy = tin.queue.policy_mut();
            policy.share_hosts_as(from.queue.policy(), shared);
        }
        copy
    }

    /// Its part of the shared rate.
    pub(crate) const fn share(&self) -> &Share {
        &self.clock
    }
}

impl<P: Packet, C: Pace> Cake<P, C> {
    /// A copy with this clock, which counts the loads of hosts for itself.
    pub(super) fn fork_with(&self, clock: C) -> Self
    where
        P: Clone,
    {
        Self {
            params: self.params,
            mtu: self.mtu,
            link_header: self.link_header,
            sharing: self.sharing,
            rate: self.rate,
            clock,
            tins: self.tins.clone(),
            turns: self.turns,
            served: self.served,
            held: self.held,
            memory_limit: self.memory_limit,
            memory_most: self.memory_most,
            is_overloaded: self.is_overloaded,
            sizes: self.sizes,
            autorate: self.autorate,
            counters: self.counters,
        }
    }

    /// When the next packet may leave.
    pub(crate) fn due(&self, now: Time) -> Time {
        let is_sparse = || self.tins[self.first_tin(now)].queue.is_new_next();
        self.clock.due(is_sparse)
    }

    /// Tells what it needs of a rate that is shared.
    #[inline]
    pub(super) fn tell_needs(&mut self, now: Time) {
        if !self.turns.is_any_busy() {
            return self.clock.rests(now);
        }
        let tins = &self.tins;
        self.clock.needs(now, || {
            let needs = tins.iter().map(|tin| {
                let flows = u64::from(tin.queue.flows_in_turn());
                flows * tin.queue.policy().mean_share()
            });
            needs.sum::<u64>().max(1)
        });
    }
}
