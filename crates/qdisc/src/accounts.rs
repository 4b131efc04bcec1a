//! The accounts that every discipline keeps, and what it tells of itself for series.

use crate::report::{Field, int};
use core::ops::AddAssign;
use sojourn_units::{Span, Unit};

/// Packets and bytes, always both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts one packet of `len` bytes.
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Takes back one packet of `len` bytes.
    pub fn remove(&mut self, len: u32) {
        debug_assert!(
            self.packets > 0 && self.bytes >= u64::from(len),
            "more out than in"
        );
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

/// What is held now.
pub type Backlog = Tally;

/// What a class has counted; one that is no leaf has only what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// That has left through it.
    pub sent: Tally,
    /// Packets of these that left on its own tokens, and on those of a class above (`lended` and
    /// `borrowed` of `tc -s class`).
    pub lent: u64,
    /// See `lent`.
    pub borrowed: u64,
    /// That its queues have dropped.
    pub dropped: Tally,
    /// That its queues have marked CE.
    pub marked: Tally,
    /// That its queue holds.
    pub backlog: Backlog,
    /// What all that has left its queues has waited, together.
    pub waited: Span,
    /// What the last packets have waited: a moving mean, an eighth from each.
    pub delay: Span,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It arrived at a full queue.
    Tail,
    /// It was at the head of a full queue (`pfifo_head_drop`).
    Head,
    /// The AQM's decision.
    Aqm,
    /// It was in the fattest flow when the packet limit was crossed.
    Overlimit,
    /// It was in the fattest flow when the memory limit was crossed.
    OverMemory,
    /// An ACK that a newer one makes superfluous.
    AckFilter,
    /// It can never be sent: longer than a shaper's bucket.
    Oversize,
    /// It was above the limit to which its policy bounds the queue ([`Bound`](crate::Bound)).
    Surplus,
    /// The link had stood still for too long ([`Spec::restart`](crate::Spec::restart)).
    Stale,
    /// There was no memory for it, so that it did not reach the queue: no discipline says so, but
    /// who runs one may.
    NoBuffer,
}

impl DropReason {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 10] = [
        Self::Tail,
        Self::Head,
        Self::Aqm,
        Self::Overlimit,
        Self::OverMemory,
        Self::AckFilter,
        Self::Oversize,
        Self::Surplus,
        Self::Stale,
        Self::NoBuffer,
    ];

    /// A word for it, in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Head => "head",
            Self::Aqm => "aqm",
            Self::Overlimit => "overlimit",
            Self::OverMemory => "over_memory",
            Self::AckFilter => "ack_filter",
            Self::Oversize => "oversize",
            Self::Surplus => "surplus",
            Self::Stale => "stale",
            Self::NoBuffer => "no_buffer",
        }
    }
}

/// Counters that every discipline keeps; `offered = dequeued + dropped + backlog` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Given to [`Qdisc::enqueue`](crate::Qdisc::enqueue); of a packet that was cut
    /// ([`Outlet::cut`](crate::Outlet::cut)) every segment.
    pub offered: Tally,
    /// Returned by [`Qdisc::dequeue`](crate::Qdisc::dequeue).
    pub dequeued: Tally,
    /// Dropped, for whatever reason.
    pub dropped: Tally,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// CE marks set by the AQM.
    pub marked: Tally,
    /// Times that a shaper held a packet back (tc's `overlimits`).
    pub overlimits: u64,
}

impl Counters {
    /// What was offered and has neither left nor been dropped.
    pub fn held(&self) -> Backlog {
        Backlog {
            packets: self.offered.packets - self.dequeued.packets - self.dropped.packets,
            bytes: self.offered.bytes - self.dequeued.bytes - self.dropped.bytes,
        }
    }

    /// Counts packets that there was no memory for: offered and dropped.
    pub fn no_buffer(&mut self, lost: Tally) {
        for tally in [&mut self.offered, &mut self.dropped] {
            tally.packets += lost.packets;
            tally.bytes += lost.bytes;
        }
        self.drops[DropReason::NoBuffer as usize] += lost.packets;
    }

    /// Adds those of another queue.
    pub fn absorb(&mut self, other: &Self) {
        self.offered += other.offered;
        self.dequeued += other.dequeued;
        self.dropped += other.dropped;
        self.marked += other.marked;
        for (sum, more) in self.drops.iter_mut().zip(other.drops) {
            *sum += more;
        }
        self.overlimits += other.overlimits;
    }

    /// Counts a drop.
    pub fn drop(&mut self, len: u32, reason: DropReason) {
        self.dropped.add(len);
        self.drops[reason as usize] += 1;
    }

    /// Packets dropped for `reason`.
    pub const fn dropped_for(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }
}

/// What one queue of a pair ([`Dual`]) has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualCounts {
    /// Packets and bytes that have left the queue for the link.
    pub dequeued: Tally,
    /// Packets and bytes held now.
    pub backlog: Backlog,
    /// Packets dropped, also on arrival.
    pub dropped: u64,
    /// Packets that the queue has marked CE. One that came with CE is none of them.
    pub marked: u64,
    /// Packets that came with CE.
    pub came_marked: u64,
}

impl DualCounts {
    /// Adds those of another queue.
    pub fn absorb(&mut self, other: &Self) {
        self.dequeued += other.dequeued;
        self.backlog += other.backlog;
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.came_marked += other.came_marked;
    }
}

/// A pair of coupled queues (RFC 9332): what each has counted, and how it is controlled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual {
    /// The C queue, for classic traffic.
    pub classic: DualCounts,
    /// The L queue, for L4S.
    pub low: DualCounts,
    /// Whether the packet of the last [`Qdisc::dequeue`](crate::Qdisc::dequeue) was of the L queue.
    pub served_low: bool,
    /// Base probability (p'): its square is the C queue's.
    pub probability: f64,
    /// The coupling factor times that, 1 at most: the L queue's, without its own step or ramp.
    pub coupled: f64,
}

/// A variable of a discipline, for a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Its name, the same in every discipline that has it.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value now.
    pub value: f64,
}

/// What a flow queue counts beside [`Counters`], with the names of `tc -s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowStatistics {
    /// Times that an idle flow became a new one.
    pub new_flow_count: u64,
    /// Flows in the list of new ones.
    pub new_flows_len: u32,
    /// Flows in the list of old ones.
    pub old_flows_len: u32,
    /// Bytes held.
    pub memory_used: u64,
    /// Packets dropped because the packet limit or the memory limit was crossed.
    pub drop_overlimit: u64,
    /// Those of them for which it was the memory limit.
    pub drop_overmemory: u64,
}

impl FlowStatistics {
    /// As rows of `tc -s`, for policies that tc does not have: it shows those of each of its own in
    /// another order.
    pub(crate) fn fields(&self) -> [Field; 6] {
        [
            int("drop_overlimit", self.drop_overlimit),
            int("drop_overmemory", self.drop_overmemory),
            int("new_flow_count", self.new_flow_count),
            int("memory_used", self.memory_used),
            int("new_flows_len", self.new_flows_len),
            int("old_flows_len", self.old_flows_len),
        ]
    }
}
