//! Segments of which a copy is still under way on the sender's own machine. Linux sees that and
//! does not send them again: in a test bed on one machine, not in a network.
//!
//! A copy is gone when it is lost, or when it has come to the peer. What the peer has in order is
//! asked there; a segment that it has out of order counts as under way, and is reported by SACK.
//! Source: Linux 6.1 `tcp_output.c` (`skb_still_in_host_queue`, `tcp_send_loss_probe`),
//! `tcp_timer.c` (`tcp_retransmit_timer`).

use crate::Time;
use alloc::collections::BTreeMap;

/// What is known of copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// The peer has everything before this offset; zero: not even the SYN.
    pub(crate) peer_has: u64,
    /// By the offset of a segment: how often it was sent again, less the copies that are lost.
    pub(crate) more: BTreeMap<u64, i32>,
    /// When a timer last wanted to send something again, which then sends nothing else.
    pub(crate) timer: Option<Time>,
    /// How often the SYN was not sent again.
    pub(crate) waits: u32,
}

impl Copies {
    pub(crate) fn are_under_way(&self, offset: u64) -> bool {
        offset >= self.peer_has && self.more.get(&offset).is_none_or(|&more| more >= 0)
    }

    pub(crate) fn send_again(&mut self, offset: u64) {
        *self.more.entry(offset).or_default() += 1;
    }
}
