//! The round of flows: where each stands, and the lists that make it up.

use super::Flow;

/// Where a flow stands in the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// In neither list.
    #[default]
    Idle,
    /// Among the new flows, which go first.
    New,
    /// Among the old flows.
    Old,
    /// An old flow that is in debt for several rounds (see `debts`).
    InDebt,
}

/// A list of flows, linked by [`Flow::next`](super::Flow). Its length says where it ends, so that a
/// flow goes from the front to the back with one write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Means nothing while the list is empty, as `last`.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) len: u32,
}

impl Round {
    /// Takes the first flow off the list.
    #[inline]
    pub(super) fn take_first<S, F>(&mut self, flows: &mut [Flow<S, F>]) {
        let flow = &mut flows[self.first as usize];
        flow.turn = Turn::Idle;
        self.first = flow.next;
        self.len -= 1;
    }
}
