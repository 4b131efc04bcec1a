//! The border between the bridge and whatever brings frames in and out.

use super::frame::{Frame, Pool};
use crate::clock::Clock;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// What a port could not do, counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the kernel dropped because we read too slowly.
    pub missed: u64,
    /// Frames dropped because the pool was empty.
    pub no_buffer: u64,
    /// Their bytes.
    pub no_buffer_bytes: u64,
    /// Frames dropped because they are longer than any buffer, or that the kernel cannot hand
    /// to a packet socket (a segmentation offload unknown to it).
    pub unreadable: u64,
    /// Frames that went on to the kernel because they came while we stood still.
    pub by_kernel: u64,
    /// Frames that the interface refused: longer than its MTU, or the interface is down.
    pub refused: u64,
}

impl PortCounters {
    /// Adds those of another port of the same interface.
    pub(super) fn absorb(&mut self, other: &Self) {
        let pairs = [
            (&mut self.received, other.received),
            (&mut self.sent, other.sent),
            (&mut self.missed, other.missed),
            (&mut self.no_buffer, other.no_buffer),
            (&mut self.no_buffer_bytes, other.no_buffer_bytes),
            (&mut self.unreadable, other.unreadable),
            (&mut self.by_kernel, other.by_kernel),
            (&mut self.refused, other.refused),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }
}

/// One interface: frames in and out, in batches, without blocking.
pub trait FramePort {
    /// Appends up to [`BATCH`](super::BATCH) frames that have arrived, oldest first, stamped on
    /// `clock`. Returns how many came in, those included that had to be dropped and were counted;
    /// fewer than [`BATCH`](super::BATCH) means that there are no more.
    ///
    /// # Errors
    /// When the port is gone for good.
    fn receive(
        &mut self,
        pool: &mut Pool,
        clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize>;

    /// Sends from the front of `frames` and gives them back to the pool, also those that the
    /// interface refuses, which are counted. What is left in `frames` could not be sent yet.
    ///
    /// # Errors
    /// When the port is gone for good.
    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()>;

    /// What becomes readable when frames arrive.
    fn fds(&self) -> &[OwnedFd];

    /// Counts since the port was opened.
    fn counters(&mut self) -> PortCounters;

    /// Whether nobody else gets the frames that arrive here: the kernel forwards none of them.
    fn is_alone(&self) -> bool {
        false
    }

    /// Whether it sends several full segments as one super-packet, which the kernel cuts.
    fn joins(&self) -> bool {
        false
    }

    /// What becomes readable when a frame arrives that is in a hurry, and for no other, if there is
    /// such a thing.
    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The alarm was heard.
    fn clear_alarm(&self) {}

    /// Lets the interface hand frames over in batches from now on, or each as it comes, if it can
    /// do that.
    fn moderate(&mut self, _is_on: bool) {}

    /// Whether it hands frames over in batches by now.
    fn gathers(&self) -> bool {
        false
    }
}
