//! From a [`Spec`] to a running discipline, and from one running discipline to another.
//!
//! The product of containers and policies: a policy is made in one place, whatever holds it, and
//! every combination is compiled on its own.

use crate::{
    Adth, Aim, Aimed, Aqm, AqmParams, Cake, CakeMq, Cobalt, Codel, DropReason, DualPi2, Fifo,
    FifoParams, FlowParams, FlowParts, FlowQueue, Gsp, HostFair, Htb, Limit, Outlet, Packet, Pie,
    Policy, Qdisc, Red, Setpoint, Setting, SharedRate, Sharing, SingleQueue, Spec, Steered, Tbf,
    Tree,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use sojourn_units::Time;

/// How [`Spec::reconfigure`] did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// The live instance has the new parameters and keeps its state.
    InPlace,
    /// A new instance holds the packets and the accounts; its AQM starts afresh.
    Replaced,
}

/// What holds the packets and asks a policy about them.
trait Container<P> {
    /// With this policy.
    fn under<A: Aqm<Params: AqmParams>>(self, aqm: A) -> Box<dyn Qdisc<P>>;
}

/// One queue.
struct Single {
    limit: Limit,
    policy: Policy,
}

/// Many queues.
struct Flows<'a> {
    params: FlowParams,
    policy: Aimed,
    setting: Setting<'a>,
}

impl<P: Packet + 'static> Container<P> for Single {
    fn under<A: Aqm<Params: AqmParams>>(self, aqm: A) -> Box<dyn Qdisc<P>> {
        Box::new(SingleQueue::of(self.limit, self.policy, aqm))
    }
}

impl Policy {
    fn build<P>(self, setting: Setting<'_>, container: impl Container<P>) -> Box<dyn Qdisc<P>> {
        match self {
            Self::Red(red) => container.under(Red::new(red, setting.dice("red"))),
            Self::Cobalt(cobalt) => container.under(Cobalt::new(cobalt, setting.dice("blue"))),
            Self::Aimed(aimed) => aimed.build(setting, container),
        }
    }
}

impl Aimed {
    fn build<P>(self, setting: Setting<'_>, container: impl Container<P>) -> Box<dyn Qdisc<P>> {
        let mtu = setting.mtu;
        match self.aim {
            Aim::Codel(codel) => self.steer(container, Codel::new(codel, mtu)),
            Aim::Pie(pie) => self.steer(container, Pie::new(pie, mtu, setting.dice("pie"))),
            Aim::Gsp(gsp) => self.steer(container, Gsp::new(gsp)),
            Aim::Adth(adth) => self.steer(container, Adth::new(adth)),
        }
    }

    fn steer<P, A>(self, container: impl Container<P>, aqm: A) -> Box<dyn Qdisc<P>>
    where
        A: Setpoint<Params: AqmParams>,
    {
        match self.steer {
            None => container.under(aqm),
            Some(steer) => container.under(Steered::new(steer, aqm)),
        }
    }
}

impl Spec {
    /// Makes an instance.
    pub fn build<P: Packet + 'static>(&self, setting: Setting<'_>) -> Box<dyn Qdisc<P>> {
        match *self {
            Self::Fifo(fifo) => Box::new(Fifo::new(fifo)),
            Self::Single { limit, policy } => policy.build(setting, Single { limit, policy }),
            Self::Flows { flows, policy } => policy.build(
                setting,
                Flows {
                    params: flows,
                    policy,
                    setting,
                },
            ),
            Self::Cake(cake) => {
                let dice = setting.dice("cake");
                Box::new(Cake::new(cake, setting.mtu, setting.link_header, dice))
            }
            Self::DualPi2(dual) => {
                Box::new(DualPi2::new(dual, setting.mtu, setting.dice("dualpi2")))
            }
            Self::CakeMq { mq, cake } => Box::new(CakeMq::new(mq, cake, setting)),
            Self::Htb { htb, ref inner } => Box::new(Htb::new(htb, inner.build(setting))),
            Self::Tree(ref tree) => Box::new(Tree::new(Arc::clone(tree), setting)),
            // The plain shaper is known by its types; anything else below it is looked up.
            Self::Tbf { tbf, ref inner } => match **inner {
                Self::Fifo(fifo @ FifoParams::Bytes(_)) => Box::new(Tbf::new(tbf, Fifo::new(fifo))),
                ref other => Box::new(Tbf::new(tbf, other.build(setting))),
            },
        }
    }

    /// As [`Spec::build`], of an instance that is to take the place of one of `before`: what can be
    /// known of both is found out here, where there is time.
    pub fn build_after<P: Packet + 'static>(
        &self,
        before: &Self,
        setting: Setting<'_>,
    ) -> Box<dyn Qdisc<P>> {
        match (self, before) {
            (Self::Tree(tree), Self::Tree(before)) => {
                Box::new(Tree::after(Arc::clone(tree), before, setting))
            }
            _ => self.build(setting),
        }
    }

    /// Makes `live` follow this spec, whatever it was: in place where [`Qdisc::change`] can,
    /// else by a new instance that takes over the packets and [`crate::Counters`]. No packet
    /// is lost or reordered within its flow, and each keeps its time of arrival, so that its
    /// sojourn goes on. A shaper that is replaced starts with a full bucket.
    pub fn reconfigure<P: Packet + 'static>(
        &self,
        live: &mut Box<dyn Qdisc<P>>,
        setting: Setting<'_>,
        now: Time,
    ) -> Reconfigured {
        let mut fresh = None;
        let result = self.reconfigure_with(live, now, || fresh.insert(self.build(setting)));
        if let (Reconfigured::Replaced, Some(fresh)) = (result, fresh) {
            *live = fresh;
        }
        result
    }

    /// As [`Spec::reconfigure`], where a new instance is one that `fresh` yields: what
    /// [`Spec::build_after`] has made of this spec beforehand, because building and giving up take
    /// time. A tree of rates is always replaced, by one that goes on where it was. When it is
    /// [`Reconfigured::Replaced`], `live` has nothing left, and the new one is to take its place.
    pub fn reconfigure_with<'f, P: Packet + 'static>(
        &self,
        live: &mut Box<dyn Qdisc<P>>,
        now: Time,
        fresh: impl FnOnce() -> &'f mut Box<dyn Qdisc<P>>,
    ) -> Reconfigured {
        if !matches!(self, Self::Tree(_)) && live.change(self, now).is_ok() {
            return Reconfigured::InPlace;
        }
        let fresh = fresh();
        let (new, old): (&mut dyn Any, &mut dyn Any) = (&mut **fresh, &mut **live);
        if let (Some(new), Some(old)) = (new.downcast_mut::<Tree<P>>(), old.downcast_mut()) {
            new.follow(old, now);
        } else {
            let mut held = live.drain();
            // Flows are drained one by one; the sort is stable, so each keeps its order. Its keys
            // are on the heap, while other stable sorts take 4 KiB of stack.
            held.sort_by_cached_key(|&(arrived, _)| arrived);
            fresh.adopt(held, *live.counters());
        }
        Reconfigured::Replaced
    }

    /// Makes an instance for one of the workers that share its rate, by its number from 0 on. All
    /// must have the same `setting`. None for a discipline whose rate cannot be shared; one without
    /// a rate of its own shares nothing, and each worker has one from [`Spec::build`].
    pub fn build_worker<P: Packet + 'static>(
        &self,
        setting: Setting<'_>,
        shared: &Arc<SharedRate>,
        number: u32,
    ) -> Option<Box<dyn Qdisc<P>>> {
        match *self {
            Self::Cake(cake) if !cake.autorate => {
                let (mtu, header) = (setting.mtu, setting.link_header);
                let dice = setting.dice("cake");
                Some(Box::new(Cake::worker(
                    cake, mtu, header, dice, shared, number,
                )))
            }
            Self::Fifo(_) | Self::Single { .. } | Self::Flows { .. } | Self::DualPi2(_) => {
                Some(self.build(setting))
            }
            _ => None,
        }
    }

    /// Drops all that `live` holds and lets it begin anew as `fresh`, with its accounts: for a link
    /// that has stood still for so long that nobody waits for the packets any more.
    pub fn restart<P: Packet + 'static>(
        live: &mut Box<dyn Qdisc<P>>,
        fresh: Box<dyn Qdisc<P>>,
        out: &mut dyn Outlet<P>,
    ) {
        let (mut counters, backlog) = (*live.counters(), live.backlog());
        counters.dropped.packets += backlog.packets;
        counters.dropped.bytes += backlog.bytes;
        counters.drops[DropReason::Stale as usize] += backlog.packets;
        for (_, packet) in live.drain() {
            out.dropped(packet, DropReason::Stale);
        }
        *live = fresh;
        live.adopt(Vec::new(), counters);
    }
}

impl<P: Packet + 'static> Container<P> for Flows<'_> {
    /// With the parts of CAKE that the parameters ask for.
    fn under<A: Aqm<Params: AqmParams>>(self, aqm: A) -> Box<dyn Qdisc<P>> {
        let (flows, policy, setting) = (self.params, self.policy, self.setting);
        let (mtu, hash, parts) = (setting.mtu, setting.dice("hash"), flows.parts);
        let sharing = Sharing {
            isolation: parts.isolation,
            set_associative: parts.set_associative,
            ack_filter: parts.ack_filter,
            nat: parts.nat,
            link_header: setting.link_header,
            emptied_wait: true,
            ..Sharing::default()
        };
        let dice = setting.dice("quantum");
        if parts == FlowParts::NONE {
            Box::new(FlowQueue::new(flows, mtu, hash, aqm).of(policy))
        } else {
            let sharing = HostFair::new(sharing, dice);
            Box::new(FlowQueue::with_policy(flows, mtu, hash, aqm, sharing).of(policy))
        }
    }
}
