//! A discipline by its parameters.

use crate::params::{CodelParams, FlowParams, PieParams, RedParams, TbfParams};
use crate::{Packet, Qdisc, fifo::Fifo};
use alloc::boxed::Box;

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
    pub fn build<P: Packet + 'static>(&self, _setting: Setting<'_>) -> Box<dyn Qdisc<P>> {
        match *self {
            Self::Pfifo { limit } => Box::new(Fifo::new(limit)),
            // The other arms come with their disciplines, in the next commits.
            _ => Box::new(Fifo::new(1000)),
        }
    }
}
