//! What becomes of links while a run goes on.

use sojourn_units::Time;
use sojourn_world::{Cell, Change};
use std::collections::VecDeque;

/// A cell's changes that are still to come, the next one first.
#[derive(Clone, Debug)]
pub(crate) struct Changes(VecDeque<Change>);

impl Changes {
    pub(crate) fn of(cell: &Cell) -> Self {
        let mut changes = cell.changes.clone();
        // Stable: what happens at the same time happens in the order given.
        changes.sort_by_key(|change| change.at);
        Self(changes.into())
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.front().map(|change| change.at)
    }

    /// The next one, if it is due.
    pub(crate) fn due(&mut self, now: Time) -> Option<Change> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_front()
    }
}
