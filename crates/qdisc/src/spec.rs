//! A discipline by its parameters.

use crate::describe::red_limit;
use crate::params::{
    CakeParams, CobaltParams, CodelParams, FlowParams, GspParams, PieParams, RedParams,
    SteerParams, TbfParams,
};
use crate::{
    Cake, Cobalt, Codel, Fifo, FlowQueue, Gsp, Limit, Packet, Pie, Qdisc, Red, SingleQueue,
    Steered, Tbf,
};
use alloc::boxed::Box;
use alloc::format;
use sojourn_random::Stream;
use sojourn_units::Span;

/// A discipline with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// First in, first out, with a limit in packets.
    Pfifo {
        /// Packets. Default 1000.
        limit: u32,
    },
    /// First in, first out, with a limit in bytes.
    Bfifo {
        /// Bytes. Default 1000 full frames.
        limit: u64,
    },
    /// Like `pfifo`, but a full queue drops at its head.
    PfifoHeadDrop {
        /// Packets. Default 1000.
        limit: u32,
    },
    /// RED on one queue.
    Red(RedParams),
    /// CoDel on one queue.
    Codel {
        /// Packets. Default 1000.
        limit: u32,
        /// The AQM.
        codel: CodelParams,
    },
    /// COBALT on one queue. ECN is on by default.
    Cobalt {
        /// Packets. Default 1000.
        limit: u32,
        /// The AQM.
        cobalt: CobaltParams,
    },
    /// PIE on one queue.
    Pie {
        /// Packets. Default 1000.
        limit: u32,
        /// The AQM.
        pie: PieParams,
    },
    /// GSP on one queue.
    Gsp {
        /// Packets. Default 1000.
        limit: u32,
        /// The AQM.
        gsp: GspParams,
    },
    /// A flow queue with CoDel in each flow. ECN is on by default.
    FqCodel {
        /// The scheduler.
        flows: FlowParams,
        /// The AQM.
        codel: CodelParams,
    },
    /// A flow queue with PIE in each flow.
    FqPie {
        /// The scheduler.
        flows: FlowParams,
        /// The AQM.
        pie: PieParams,
    },
    /// A flow queue with GSP in each flow.
    FqGsp {
        /// The scheduler.
        flows: FlowParams,
        /// The AQM.
        gsp: GspParams,
    },
    /// An AQM whose delay target follows a policy (`steer util 99% delay 30ms over gsp`).
    Steer {
        /// The policy.
        steer: SteerParams,
        /// What it steers: `codel`, `pie`, `gsp` or their flow queues.
        inner: Box<Spec>,
    },
    /// Shaper, tins, host-fair flow queues and COBALT in one.
    Cake(CakeParams),
    /// A token bucket in front of another discipline (`tbf rate 20mbit burst 5kb over fq_codel`).
    Tbf {
        /// The shaper.
        tbf: TbfParams,
        /// What holds the packets: the discipline after `over`, or a bfifo with tbf's `limit`.
        inner: Box<Spec>,
    },
}

/// What an instance needs beside its spec.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// The instance's own name, for example `link.up`; its dice depend on nothing else.
    pub name: &'a str,
    /// Largest packet of the link as [`Packet::len`] counts it. Default quantum of flow queues.
    pub mtu: u32,
}

impl Spec {
    /// Makes an instance.
    pub fn build<P: Packet + 'static>(&self, setting: Setting<'_>) -> Box<dyn Qdisc<P>> {
        let mtu = setting.mtu;
        match *self {
            Self::Pfifo { limit } => Box::new(Fifo::new(limit)),
            Self::Bfifo { limit } => Box::new(Fifo::bytes(limit)),
            Self::PfifoHeadDrop { limit } => Box::new(Fifo::head_drop(limit)),
            Self::Red(red) => Box::new(SingleQueue::new(
                red_limit(&red),
                Red::new(red, setting.dice("red")),
            )),
            Self::Codel { limit, codel } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Codel::new(codel, mtu),
            )),
            Self::Cobalt { limit, cobalt } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Cobalt::new(cobalt, setting.dice("blue")),
            )),
            Self::Cake(cake) => Box::new(Cake::new(cake, mtu, setting.dice("cake"))),
            Self::Pie { limit, pie } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Pie::new(pie, mtu, setting.dice("pie")),
            )),
            Self::Gsp { limit, gsp } => {
                Box::new(SingleQueue::new(Limit::packets(limit), Gsp::new(gsp)))
            }
            Self::FqCodel { flows, codel } => Box::new(FlowQueue::new(
                flows,
                mtu,
                setting.dice("hash"),
                Codel::new(codel, mtu),
            )),
            Self::FqPie { flows, pie } => Box::new(FlowQueue::new(
                flows,
                mtu,
                setting.dice("hash"),
                Pie::new(pie, mtu, setting.dice("pie")),
            )),
            Self::FqGsp { flows, gsp } => Box::new(FlowQueue::new(
                flows,
                mtu,
                setting.dice("hash"),
                Gsp::new(gsp),
            )),
            Self::Steer { steer, ref inner } => inner.build_steered(steer, setting),
            // The plain shaper is known by its types; anything else below it is looked up.
            Self::Tbf { tbf, ref inner } => match **inner {
                Self::Bfifo { limit } => Box::new(Tbf::new(tbf, Fifo::bytes(limit))),
                ref other => Box::new(Tbf::new(tbf, other.build(setting))),
            },
        }
    }

    /// Makes an instance whose target follows a policy.
    fn build_steered<P: Packet + 'static>(
        &self,
        steer: SteerParams,
        setting: Setting<'_>,
    ) -> Box<dyn Qdisc<P>> {
        let mtu = setting.mtu;
        match *self {
            Self::Codel { limit, codel } => {
                let aqm = Steered::new(steer, Codel::new(codel, mtu));
                Box::new(SingleQueue::new(Limit::packets(limit), aqm))
            }
            Self::Pie { limit, pie } => {
                let aqm = Steered::new(steer, Pie::new(pie, mtu, setting.dice("pie")));
                Box::new(SingleQueue::new(Limit::packets(limit), aqm))
            }
            Self::Gsp { limit, gsp } => {
                let aqm = Steered::new(steer, Gsp::new(gsp));
                Box::new(SingleQueue::new(Limit::packets(limit), aqm))
            }
            Self::FqCodel { flows, codel } => {
                let aqm = Steered::new(steer, Codel::new(codel, mtu));
                Box::new(FlowQueue::new(flows, mtu, setting.dice("hash"), aqm))
            }
            Self::FqPie { flows, pie } => {
                let aqm = Steered::new(steer, Pie::new(pie, mtu, setting.dice("pie")));
                Box::new(FlowQueue::new(flows, mtu, setting.dice("hash"), aqm))
            }
            Self::FqGsp { flows, gsp } => {
                let aqm = Steered::new(steer, Gsp::new(gsp));
                Box::new(FlowQueue::new(flows, mtu, setting.dice("hash"), aqm))
            }
            ref other => {
                debug_assert!(false, "{} has no target to steer", other.name());
                other.build(setting)
            }
        }
    }

    /// The delay target that Steering can move, if the discipline has one.
    pub(crate) const fn target_mut(&mut self) -> Option<&mut Span> {
        match self {
            Self::Codel { codel, .. } | Self::FqCodel { codel, .. } => Some(&mut codel.target),
            Self::Pie { pie, .. } | Self::FqPie { pie, .. } => Some(&mut pie.target),
            Self::Gsp { gsp, .. } | Self::FqGsp { gsp, .. } => Some(&mut gsp.threshold),
            _ => None,
        }
    }
}

impl Setting<'_> {
    /// The instance's own dice for one purpose.
    fn dice(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("{}.{purpose}", self.name))
    }
}
