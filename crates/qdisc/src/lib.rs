//! Queue disciplines, AQMs, schedulers and shapers: pure code, the same for every world.
//!
//! No I/O, no clock, no thread, no global state. Time comes in as an argument; randomness comes
//! from a stream that the instance owns. Memory is bounded by the discipline's limits, and
//! nothing is allocated per packet once the queues have grown to them.
//!
//! # Driving contract
//! A [`Qdisc`] takes packets by [`Qdisc::enqueue`] and gives them back by [`Qdisc::dequeue`].
//! Every packet that goes in comes out exactly once: from `dequeue`, or through the
//! [`Outlet`] as a drop with a [`DropReason`]. `now` should not decrease between calls; if it
//! does, spans are taken as zero and nothing panics.
//!
//! # A discipline by its string
//! [`Spec`] reads and shows tc's own language; [`catalogue`] is the table of all names, options
//! and statistics behind it. [`Spec::build`] makes an instance, [`Spec::reconfigure`] changes a
//! live one without losing a packet, and [`Qdisc::report`] tells what `tc -s` would.
//!
//! ```
//! use sojourn_qdisc::{Place, Setting, Spec};
//! # use sojourn_qdisc::{Ecn, Packet};
//! # struct Frame;
//! # impl Packet for Frame {
//! #     fn len(&self) -> u32 { 1514 }
//! #     fn flow_hash(&self, _: u64) -> u32 { 0 }
//! #     fn ecn(&self) -> Ecn { Ecn::NotEct }
//! #     fn set_ce(&mut self) -> bool { false }
//! # }
//! let spec: Spec = "tbf rate 20mbit burst 5kb over fq_codel".parse()?;
//! let setting = Setting { seed: 1, name: "link.up", mtu: 1514, link_header: 14 };
//! let qdisc = spec.build::<Frame>(setting);
//! let place = Place { dev: Some("eth0"), handle: 0x8001 };
//! let text = qdisc.report(sojourn_units::Time::ZERO).tc_text(place);
//! assert!(text.starts_with("qdisc tbf 8001: dev eth0 root refcnt 2 rate 20Mbit burst 5Kb"));
//! # Ok::<(), sojourn_qdisc::SpecError>(())
//! ```
//!
//! # Panics
//! Input from outside (packets, times, specs) never panics; a broken invariant of ours does, in
//! debug builds.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod accounts;
mod ack;
mod aqm;
mod average;
mod build;
mod cake;
mod cake_mq;
mod change;
mod diffserv;
mod dualpi2;
mod fifo;
mod flow;
mod htb;
mod link_layer;
mod packet;
mod params;
mod qdisc;
mod report;
mod setting;
mod shaper;
mod share;
mod single;
mod spec;
mod tbf;
mod tc;
mod tree;
pub mod truesize;

pub use accounts::{
    Backlog, ClassCounts, Counters, DropReason, Dual, DualCounts, FlowStatistics, Gauge, Tally,
};
pub use ack::{AckFacts, AckFilter};
pub use aqm::*;
pub use average::{TdrmUtema, TdrmUtemaCpa, Utema};
pub use build::Reconfigured;
pub use cake::Cake;
pub use cake_mq::CakeMq;
pub use change::ChangeError;
pub use diffserv::DiffServ;
pub use dualpi2::DualPi2;
pub use fifo::Fifo;
pub use flow::{FlowPolicy, FlowQueue, FlowTurns, HostFair, Plain, Sharing, WayCounters};
pub use htb::Htb;
pub use link_layer::{Framing, LinkLayer};
pub use packet::{InsideHashes, Label, Packet};
pub use params::*;
pub use qdisc::{Dequeue, Discard, Outlet, Qdisc};
pub use report::{Field, Place, Report, Value};
pub use setting::Setting;
pub use shaper::{Pace, TinClock, VirtualClock};
pub use share::{LEND, Share, SharedRate, WORKERS};
pub use single::SingleQueue;
pub use sojourn_units::Ecn;
pub use spec::{Aim, Aimed, AqmParams, Policy, Spec};
pub use tbf::Tbf;
pub use tc::{
    Entrance, Initial, Kind, LinkPath, Opt, Reading, SpecError, Stat, Style, Taken, Unit,
    catalogue, explain, kind, list,
};
pub use tree::{Tree, TreeClass, TreeError, TreeFault, TreeSpec};
