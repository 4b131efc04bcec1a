//! What flow queues differ in, beside their AQM.

use crate::{AckFilter, FlowParts, Packet};
use core::fmt::Debug;

/// Most turns of one call of [`FlowPolicy::gain`].
pub(super) const MOST_TURNS: u32 = 96;

/// What the turns of flows that have the same share ask of a policy.
pub trait FlowTurns<F> {
    /// Whether a turn of this flow changes nothing but its credit.
    fn fits(&self, flow: &F) -> bool;

    /// What such a turn adds to the credit.
    fn next(&mut self) -> i64;
}

/// No turns are in sequence.
impl<F> FlowTurns<F> for () {
    #[inline]
    fn fits(&self, _flow: &F) -> bool {
        false
    }

    #[inline]
    fn next(&mut self) -> i64 {
        0
    }
}

/// How the flows of a [`FlowQueue`](crate::FlowQueue) are told apart, and how they share.
///
/// The methods without a body of their own are those of RFC 8290, and cost nothing.
pub trait FlowPolicy: Clone + Send + 'static {
    /// What the policy keeps of a flow.
    type Flow: Default + Clone + Debug + Send;

    /// What many turns of like flows in sequence ask of it.
    type Turns: FlowTurns<Self::Flow>;

    /// Whether a flow's share of the quantum depends on other flows.
    const SHARES_QUANTUM: bool = false;

    /// Whether drops may be charged to the flow.
    const CHARGES_DROPS: bool = false;

    /// The hash that tells flows apart. A call of [`FlowPolicy::joined`] or
    /// [`FlowPolicy::moved`] that follows is about this packet.
    #[inline]
    fn hash<P: Packet>(&mut self, packet: &P, perturbation: u64) -> u32 {
        packet.flow_hash(perturbation)
    }

    /// Whether a flow may stand in any of the buckets of its set.
    #[inline]
    fn is_associative(&self) -> bool {
        false
    }

    /// Whether an emptied new flow waits for a round of the old ones (RFC 8290 section 4.2).
    #[inline]
    fn emptied_wait(&self) -> bool {
        true
    }

    /// Takes those of new parameters that may change while there are flows.
    fn set_parts(&mut self, _parts: &FlowParts) {}

    /// The idle flow of the packet hashed last takes part.
    #[inline]
    fn joined(&mut self, _flow: &mut Self::Flow) {}

    /// The bucket of a busy flow is now the packet's too, as its set is full.
    #[inline]
    fn moved(&mut self, _flow: &mut Self::Flow) {}

    /// The flow has a standing queue: it holds packets at the end of its turn.
    #[inline]
    fn stands(&mut self, _flow: &mut Self::Flow) {}

    /// The flow is idle.
    #[inline]
    fn left(&mut self, _flow: &mut Self::Flow) {}

    /// The flow's part of a quantum, in 1/65536; at least 1.
    #[inline]
    fn share(&mut self, _flow: &Self::Flow) -> u32 {
        65_536
    }

    /// Bytes that a flow with `share` may send for its turns, when one with all of a quantum may
    /// send `quanta` bytes; those are below 2^47.
    #[inline]
    fn quantum(&mut self, _share: u32, quanta: u64) -> i64 {
        quanta.cast_signed()
    }

    /// Bytes that a turn adds to the credit of a flow, in 1/65536. The flow has the share that was
    /// asked for last.
    #[inline]
    fn exact(&self, _quantum: u64) -> u64 {
        0
    }

    /// Bytes that so many turns of a flow add to its credit, each rounded by dice of its own. One
    /// turn adds `exact` in 1/65536 byte. There are at most 96 turns.
    #[inline]
    fn gain(&mut self, _exact: u64, _turns: u32) -> i64 {
        0
    }

    /// Copies what turns of like flows ask of the policy, for many of them in sequence.
    fn turns(&self, quantum: u64) -> Self::Turns;

    /// The turns with a copy are over.
    fn keep(&mut self, _turns: Self::Turns) {}

    /// What a packet is charged with; at least 1, or it could go on for ever.
    #[inline]
    fn charge<P: Packet>(&mut self, packet: &P) -> i64 {
        i64::from(packet.len().max(1))
    }

    /// What a packet that the AQM drops is charged with.
    #[inline]
    fn charge_of_drop<P: Packet>(&self, _packet: &P) -> i64 {
        0
    }

    /// Flows that have a standing queue, where they are counted.
    #[inline]
    fn bulk_flows(&self) -> u32 {
        0
    }

    /// See [`QueueView::bulk_flows`](crate::QueueView::bulk_flows).
    #[inline]
    fn bulk_flows_that_matter(&self) -> u32 {
        0
    }

    /// Which acknowledgements are dropped.
    #[inline]
    fn ack_filter(&self) -> AckFilter {
        AckFilter::Off
    }
}

/// RFC 8290 and nothing more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

impl FlowPolicy for Plain {
    type Flow = ();
    type Turns = ();

    fn turns(&self, _quantum: u64) {}
}
