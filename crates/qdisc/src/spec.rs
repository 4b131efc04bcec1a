//! A discipline by its parameters.

use crate::params::{CodelParams, FlowParams, PieParams, RedParams, TbfParams};
use crate::{Codel, FlowQueue, Limit, Packet, Pie, Qdisc, Red, RedUnit, SingleQueue, fifo::Fifo};
use alloc::boxed::Box;
use alloc::format;
use sojourn_random::Stream;

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
    /// PIE on one queue.
    Pie {
        /// Packets. Default 1000.
        limit: u32,
        /// The AQM.
        pie: PieParams,
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
            Self::Red(red) => {
                let limit = match red.unit {
                    RedUnit::Bytes => Limit::bytes(red.limit),
                    RedUnit::Packets => {
                        Limit::packets(u32::try_from(red.limit).unwrap_or(u32::MAX))
                    }
                };
                Box::new(SingleQueue::new(limit, Red::new(red, setting.dice("red"))))
            }
            Self::Codel { limit, codel } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Codel::new(codel, mtu),
            )),
            Self::Pie { limit, pie } => Box::new(SingleQueue::new(
                Limit::packets(limit),
                Pie::new(pie, mtu, setting.dice("pie")),
            )),
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
            // The other arms come with their disciplines, in the next commits.
            _ => Box::new(Fifo::new(1000)),
        }
    }
}

impl Setting<'_> {
    /// The instance's own dice for one purpose.
    fn dice(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("{}.{purpose}", self.name))
    }
}
