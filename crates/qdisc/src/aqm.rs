//! The border between an AQM (the policy for one queue) and the queue that asks it.
//!
//! An AQM is split in two: the value that implements [`Aqm`] holds parameters, dice and common
//! counters; `State` holds what belongs to one queue. A single queue has one state, a
//! flow queue has one per flow, and both run the same code.
//!
//! # Order of calls
//! On arrival: [`Aqm::arrive`], or [`Aqm::tail_dropped`] when the queue has no room. On
//! departure: [`Aqm::leave`] for each packet that reaches the head, until one is not dropped, or
//! [`Aqm::found_empty`] when there is none (left). All calls of one departure have the same time.
//! A policy that bounds its queue ([`Aqm::BOUNDS`]) is asked for the bound before each of these.
//!
//! # A new AQM
//! One file with a type that implements [`Aqm`]: `SingleQueue` and `FlowQueue` then run it. Its
//! words take its parameters, an arm in `spec` and one in `build`, and rows of the catalogue.

mod adth;
mod cobalt;
mod codel;
mod gsp;
mod pie;
mod red;
mod setpoint;
mod status;
mod steered;

use crate::Ecn;
use crate::accounts::{Counters, FlowStatistics, Gauge};
use crate::packet::Packet;
use crate::params::{End, Limit};
use crate::report::Field;
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};
use sojourn_units::{Span, Time};

pub use adth::{Adth, AdthState, Control};
pub use cobalt::{Cobalt, CobaltCounters, CobaltState};
pub use codel::{Codel, CodelCounters, CodelState};
pub use gsp::{Gsp, GspCounters, GspState};
pub use pie::{Pie, PieCounters, PieState};
pub use red::{Red, RedCounters, RedState, red_plog, red_wlog};
pub use setpoint::Setpoint;
pub use status::{Decision, SteerStatus, Unmet};
pub use steered::{Steered, SteeredState};

/// What an AQM may know of its queue; the packet in question is not in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Bytes waiting in the whole discipline: in all flows of a flow queue, else `bytes`.
    pub total_bytes: u64,
    /// How long the packet at the head has waited; zero when nothing is held. The packet in
    /// question of [`Aqm::leave`] is still the head.
    pub head_wait: Span,
    /// Flows with a standing backlog in the whole discipline, when packets that were dropped
    /// have used the link too (CAKE's `ingress`); else zero.
    pub bulk_flows: u32,
}

/// Something with an ECN field: a packet, or the field itself.
pub trait EcnField {
    /// The ECN field.
    fn ecn_field(&self) -> Ecn;
}

impl EcnField for Ecn {
    fn ecn_field(&self) -> Ecn {
        *self
    }
}

impl<P: Packet> EcnField for P {
    fn ecn_field(&self) -> Ecn {
        self.ecn()
    }
}

/// What an AQM may know of the packet in question.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Length in bytes.
    pub len: u32,
    /// Asked only for a signal: a packet of the kernel would have to read its header.
    ecn: &'a dyn EcnField,
}

impl Debug for Facts<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut facts = f.debug_struct("Facts");
        facts.field("len", &self.len).field("ecn", &self.ecn());
        facts.finish()
    }
}

impl<'a> Facts<'a> {
    /// Those of a packet of `len` bytes, whose ECN field is read when it is asked for.
    #[inline]
    pub const fn new(len: u32, ecn: &'a dyn EcnField) -> Self {
        Self { len, ecn }
    }

    /// Its ECN field.
    pub fn ecn(self) -> Ecn {
        self.ecn.ecn_field()
    }

    /// ECN-capable (ECT or CE): a mark may replace a drop.
    pub fn ect(self) -> bool {
        self.ecn().is_capable()
    }
}

/// What to do with the packet in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it go on unharmed.
    Pass,
    /// Let it go on with CE set; only ever for ECN-capable packets.
    Mark,
    /// Drop it. At dequeue, the queue then asks about the next packet.
    Drop,
}

/// Most that a policy lets its queue hold now, and what gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Most that may be held, beside the limit of the queue itself: the smaller one holds.
    pub limit: Limit,
    /// What a full queue drops when a packet arrives: at the tail that packet, at the head as many
    /// of the oldest as it needs.
    pub full: End,
    /// Most of what waits that may stay; usually `limit`. What is above goes at once.
    pub keep: Limit,
    /// The end from which it goes.
    pub surplus: End,
}

/// A policy that decides drop or mark for one queue (RFC 7567 section 1.2).
pub trait Aqm: Send + 'static {
    /// What belongs to one queue.
    type State: Default + Clone + Send;

    /// The parameters that a live instance may take ([`Aqm::retune`]). `()` for an AQM without
    /// words of its own.
    type Params;

    /// Whether a single queue asks about every arrival before it looks at its limit: RED counts
    /// them all into its average.
    const SEES_ALL_ARRIVALS: bool = false;

    /// Whether [`Aqm::leave`] may drop, so that only taking a packet tells which one it is.
    const JUDGES_DEPARTURES: bool = false;

    /// Whether it bounds its queue; if not, [`Aqm::bound`] is never asked and costs nothing.
    const BOUNDS: bool = false;

    /// The bound that holds now, with all that waits in `queue`.
    ///
    /// There is no timer: it is asked before each arrival and each departure, and a surplus goes
    /// then, as [`DropReason::Surplus`](crate::DropReason::Surplus). Nobody took a packet
    /// in between, so that none is sent that should have gone. The policy hears of no surplus,
    /// which is its own word; of an arrival that a full queue refuses by [`Aqm::tail_dropped`],
    /// and of older ones that make room for it by [`Aqm::overflowed`].
    #[inline]
    fn bound(&mut self, _state: &mut Self::State, _queue: QueueView, _now: Time) -> Bound {
        Bound {
            limit: Limit::Packets(u64::MAX),
            full: End::Tail,
            keep: Limit::Packets(u64::MAX),
            surplus: End::Tail,
        }
    }

    /// A packet arrives and the queue has room for it; `queue` is without it.
    #[inline]
    fn arrive(
        &mut self,
        _state: &mut Self::State,
        _queue: QueueView,
        _packet: Facts<'_>,
        _now: Time,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A packet has reached the head after waiting `sojourn`; `queue` is what stays behind it.
    #[inline]
    fn leave(
        &mut self,
        _state: &mut Self::State,
        _queue: QueueView,
        _packet: Facts<'_>,
        _sojourn: Span,
        _now: Time,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A dequeue found the queue empty, or dropping emptied it.
    #[inline]
    fn found_empty(&mut self, _state: &mut Self::State, _now: Time) {}

    /// An arriving packet was dropped because the queue is full.
    #[inline]
    fn tail_dropped(&mut self, _state: &mut Self::State, _now: Time) {}

    /// The queue dropped `packets` that it held, of its own accord and not on the AQM's word.
    #[inline]
    fn overflowed(&mut self, _state: &mut Self::State, _packets: u32, _now: Time) {}

    /// A flow queue takes this queue into its round again, which it had left empty; the packet that
    /// is the reason arrives next.
    #[inline]
    fn rejoined(&mut self, _state: &mut Self::State) {}

    /// Whether this state of an empty queue will decide like a new one from now on, so that a
    /// flow queue may give its memory to another flow.
    #[inline]
    fn is_forgettable(&mut self, _state: &mut Self::State, _now: Time) -> bool {
        false
    }

    /// Takes new parameters; what it has learned stays.
    fn retune(&mut self, _params: Self::Params) {}

    /// The statistics of one queue beyond those that every discipline has, with tc's names.
    fn statistics(&self, _state: &Self::State, _counters: &Counters, _now: Time) -> Vec<Field> {
        Vec::new()
    }

    /// The same of all the flows of a flow queue.
    fn flow_statistics(&self, _flows: &FlowStatistics) -> Vec<Field> {
        Vec::new()
    }

    /// tc's `overlimits`, which is not only for shapers: RED counts its signals there.
    fn overlimits(&self) -> u64 {
        0
    }

    /// The variables that show how it controls; `state` is that of a single queue.
    fn gauges(&self, _state: Option<&Self::State>, _now: Time, _tell: &mut dyn FnMut(Gauge)) {}

    /// A copy that decides as this one would have, dice included, for
    /// [`Qdisc::fork`](crate::Qdisc::fork). None, unless it says otherwise.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// What moves its target, where something does.
    fn steering(&self) -> Option<SteerStatus> {
        None
    }
}
