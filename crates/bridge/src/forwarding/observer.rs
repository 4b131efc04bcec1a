//! What a bridge tells about its queues while it runs.

use super::frame::Frame;
use super::side::Side;
use sojourn_line::{Fate, LineRate};
use sojourn_qdisc::{Backlog, DropReason, Dual, Gauge};
use sojourn_units::{Span, Time};

/// Where a frame is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// When it comes from its host: at the bridge the same moment as the next.
    Left,
    /// At the queue's entrance.
    Offered,
    /// At its exit, when the transmitter takes it.
    Dequeued,
    /// When it leaves the bridge, behind the delay stage: handed to the port it goes out of.
    Sent,
}

/// Told of everything that happens at the two queues. Times do not decrease within a side.
///
/// Times are those of the link, not of our wake-ups: a packet is dequeued when the transmitter
/// was free for it, and it arrived when the kernel stamped it.
pub trait Observer {
    /// A frame passes a point. Told before what happens to it there.
    fn frame(&mut self, _point: Point, _side: Side, _now: Time, _frame: &Frame) {}

    /// A packet of `len` bytes was offered to the queue.
    fn offered(&mut self, _side: Side, _now: Time, _len: u32) {}

    /// Another segment was cut off the super-packet offered last: one packet more, with the same
    /// bytes in all.
    fn cut(&mut self, _side: Side, _now: Time) {}

    /// The queue dropped a packet of `len` bytes.
    fn dropped(&mut self, _side: Side, _now: Time, _len: u32, _reason: DropReason) {}

    /// The queue marked a packet of `len` bytes.
    fn marked(&mut self, _side: Side, _now: Time, _len: u32) {}

    /// The queue gave a packet of `len` bytes to the link after holding it for `sojourn`.
    fn dequeued(&mut self, _side: Side, _now: Time, _len: u32, _sojourn: Span) {}

    /// The line has got a packet, which it may lose or copy. Told of lines that can.
    fn launched(&mut self, _side: Side, _now: Time, _fate: &Fate) {}

    /// Whether [`Observer::gauge`] is to be told the queue's variables now.
    fn wants_gauges(&mut self, _side: Side, _now: Time) -> bool {
        false
    }

    /// A variable of the queue.
    fn gauge(&mut self, _side: Side, _now: Time, _gauge: Gauge) {}

    /// What both queues of a pair (`dualpi2`) have counted, after it was offered or asked for a
    /// packet; `left`: it gave one to the link after holding it for so long.
    fn dual(&mut self, _side: Side, _now: Time, _dual: &Dual, _left: Option<Span>) {}

    /// The probabilities of such a pair, told with its variables.
    fn dual_probability(&mut self, _side: Side, _now: Time, _dual: &Dual) {}

    /// The link's rate is `rate` from now on.
    fn rate(&mut self, _side: Side, _now: Time, _rate: &LineRate) {}

    /// The backlog is now `backlog`; told after each change.
    fn backlog(&mut self, _side: Side, _now: Time, _backlog: Backlog) {}
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
