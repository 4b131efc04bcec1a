//! What workers know of one another, as atomics: when their link is due, and what they need.
//!
//! No lock and no loop: every change is one addition or one maximum, so that none can be lost and
//! nobody waits. `tests/shared_rate.rs` runs this file under loom.

use super::atomic::{AtomicU64, Ordering::Relaxed};

/// The link that workers share. Times are nanoseconds, needs 1/65536 of a flow.
#[derive(Debug)]
pub(crate) struct Link {
    /// When all that has been sent has left at the rate.
    due: AtomicU64,
    /// The sum of what workers need.
    need: AtomicU64,
}

// Nothing else is told by these numbers, so that no order among them is asked for.
impl Link {
    pub(crate) fn new() -> Self {
        Self {
            due: AtomicU64::new(0),
            need: AtomicU64::new(0),
        }
    }

    /// When the next packet may leave.
    pub(crate) fn due(&self) -> u64 {
        self.due.load(Relaxed)
    }

    /// What all workers need together.
    pub(crate) fn need(&self) -> u64 {
        self.need.load(Relaxed)
    }

    /// A packet takes the link for so long.
    pub(crate) fn charge(&self, nanos: u64) {
        self.due.fetch_add(nanos, Relaxed);
    }

    /// A worker has something to send again: a link on which nobody waited has saved nothing up.
    pub(crate) fn wake(&self, now: u64) {
        if self.need() == 0 {
            self.due.fetch_max(now, Relaxed);
        }
    }

    /// A worker needs `new` where it needed `old`.
    pub(crate) fn change_need(&self, old: u64, new: u64) {
        if new >= old {
            self.need.fetch_add(new - old, Relaxed);
        } else {
            self.need.fetch_sub(old - new, Relaxed);
        }
    }
}
