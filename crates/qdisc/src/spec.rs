//! A discipline by its parameters.

use crate::describe::red_limit;
use crate::params::{
    CakeParams, CobaltParams, CodelParams, FlowParams, FlowParts, GspParams, HtbParams, PieParams,
    RedParams, SteerParams, TbfParams,
};
use crate::{
    Cake, Cobalt, Codel, DescribeFlows, Fifo, FlowQueue, Gsp, HostFair, Htb, Limit, Packet, Pie,
    Qdisc, Red, Sharing, SingleQueue, Steered, Tbf,
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
    /// A class of HTB in front of another discipline (`htb rate 10mbit over fq_codel`).
    Htb {
        /// The shaper.
        htb: HtbParams,
        /// What holds the packets.
        inner: Box<Spec>,
    },
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
    /// Bytes of a packet before its network header, unless the packet knows better: 14 for
    /// Ethernet, 0 for bare IP. Part of `mtu` and of [`Packet::len`].
    pub link_header: u32,
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
            Self::Cake(cake) => {
                let dice = setting.dice("cake");
                Box::new(Cake::new(cake, mtu, setting.link_header, dice))
            }
            Self::Pie { limit, pie } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Pie::new(pie, mtu, setting.dice("pie")),
            )),
            Self::Gsp { limit, gsp } => {
                Box::new(SingleQueue::new(Limit::packets(limit), Gsp::new(gsp)))
            }
            Self::FqCodel { flows, codel } => flow_queue(flows, setting, Codel::new(codel, mtu)),
            Self::FqPie { flows, pie } => {
                flow_queue(flows, setting, Pie::new(pie, mtu, setting.dice("pie")))
            }
            Self::FqGsp { flows, gsp } => flow_queue(flows, setting, Gsp::new(gsp)),
            Self::Steer { steer, ref inner } => inner.build_steered(steer, setting),
            Self::Htb { htb, ref inner } => Box::new(Htb::new(htb, inner.build(setting))),
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
                flow_queue(flows, setting, aqm)
            }
            Self::FqPie { flows, pie } => {
                let aqm = Steered::new(steer, Pie::new(pie, mtu, setting.dice("pie")));
                flow_queue(flows, setting, aqm)
            }
            Self::FqGsp { flows, gsp } => {
                let aqm = Steered::new(steer, Gsp::new(gsp));
                flow_queue(flows, setting, aqm)
            }
            ref other => {
                debug_assert!(false, "{} has no target to steer", other.name());
                other.build(setting)
            }
        }
    }

    /// Whether the discipline, or one below it, asks for the addresses inside a network address
    /// translation ([`Packet::inside_hashes`]).
    pub fn asks_nat(&self) -> bool {
        match self {
            Self::Cake(cake) => cake.nat,
            Self::FqCodel { flows, .. } | Self::FqPie { flows, .. } | Self::FqGsp { flows, .. } => {
                flows.parts.nat
            }
            Self::Steer { inner, .. } | Self::Tbf { inner, .. } | Self::Htb { inner, .. } => {
                inner.asks_nat()
            }
            _ => false,
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

/// A flow queue with any AQM, and the parts of CAKE that its parameters ask for.
fn flow_queue<P: Packet + 'static, A: DescribeFlows + 'static>(
    flows: FlowParams,
    setting: Setting<'_>,
    aqm: A,
) -> Box<dyn Qdisc<P>> {
    let (mtu, hash) = (setting.mtu, setting.dice("hash"));
    let FlowParts {
        isolation,
        set_associative,
        nat,
        ack_filter,
    } = flows.parts;
    let sharing = Sharing {
        isolation,
        ack_filter,
        nat,
        link_header: setting.link_header,
        emptied_wait: true,
        ..Sharing::default()
    };
    let dice = setting.dice("quantum");
    if flows.parts == FlowParts::NONE {
        Box::new(FlowQueue::new(flows, mtu, hash, aqm))
    } else if set_associative {
        let policy = HostFair::<true>::new(sharing, dice);
        Box::new(FlowQueue::with_policy(flows, mtu, hash, aqm, policy))
    } else {
        let policy = HostFair::<false>::new(sharing, dice);
        Box::new(FlowQueue::with_policy(flows, mtu, hash, aqm, policy))
    }
}

impl Setting<'_> {
    /// The instance's own dice for one purpose.
    fn dice(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("{}.{purpose}", self.name))
    }
}
