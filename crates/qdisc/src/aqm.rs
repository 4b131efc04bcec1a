//! The border between an AQM (the policy for one queue) and the queue that asks it.
//!
//! An AQM is split in two: the value that implements [`Aqm`] holds parameters, dice and common
//! counters; `State` holds what belongs to one queue. A single queue has one state, a
//! flow queue has one per flow, and both run the same code.

use sojourn_units::{Span, Time};

/// What an AQM may know of its queue; the packet in question is not in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
}

/// What an AQM may know of the packet in question.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Length in bytes.
    pub len: u32,
    /// ECN-capable (ECT or CE): a mark may replace a drop.
    pub ect: bool,
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

/// A policy that decides drop or mark for one queue (RFC 7567 section 1.2).
pub trait Aqm {
    /// What belongs to one queue.
    type State: Default;

    /// A packet arrives and the queue has room for it; `queue` is without it.
    fn arrive(
        &mut self,
        _state: &mut Self::State,
        _queue: QueueView,
        _packet: Facts,
        _now: Time,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A packet has reached the head after waiting `sojourn`; `queue` is what stays behind it.
    fn leave(
        &mut self,
        _state: &mut Self::State,
        _queue: QueueView,
        _packet: Facts,
        _sojourn: Span,
        _now: Time,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A dequeue found the queue empty, or dropping emptied it.
    fn found_empty(&mut self, _state: &mut Self::State, _now: Time) {}

    /// The queue dropped `packets` of its own accord (limit, batch), not on the AQM's word.
    fn overflowed(&mut self, _state: &mut Self::State, _packets: u32, _now: Time) {}
}
