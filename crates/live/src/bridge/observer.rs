//! What a bridge tells about its queues while it runs.

use super::config::Side;
use sojourn_qdisc::{Backlog, DropReason};
use sojourn_units::{Span, Time};

/// Told of everything that happens at the two queues. Times do not decrease within a side.
///
/// Times are those of the link, not of our wake-ups: a packet is dequeued when the transmitter
/// was free for it, and it arrived when the kernel stamped it.
pub trait Observer {
    /// A packet of `len` bytes was offered to the queue.
    fn offered(&mut self, _side: Side, _now: Time, _len: u32) {}

    /// The queue dropped a packet of `len` bytes.
    fn dropped(&mut self, _side: Side, _now: Time, _len: u32, _reason: DropReason) {}

    /// The queue marked a packet of `len` bytes.
    fn marked(&mut self, _side: Side, _now: Time, _len: u32) {}

    /// The queue gave a packet of `len` bytes to the link after holding it for `sojourn`.
    fn dequeued(&mut self, _side: Side, _now: Time, _len: u32, _sojourn: Span) {}

    /// The backlog is now `backlog`; told after each change.
    fn backlog(&mut self, _side: Side, _now: Time, _backlog: Backlog) {}
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
