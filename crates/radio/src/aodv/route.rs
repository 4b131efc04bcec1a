//! A route of a node, and when it has become old.

use crate::profile::Rules;
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// ns-2 looks every half second which routes are old and which packets still wait.
const LOOK: Span = Span::from_millis(500);

/// When ns-2 next looks, at `time` or after it.
pub(super) fn look(time: Time) -> Time {
    let nanos = time.as_nanos().div_ceil(LOOK.as_nanos());
    Time::ZERO + LOOK * nanos
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Up,
    /// Broken near the target, for which this node asks itself. What waits for the neighbour is
    /// still sent to it.
    Mending,
    Down,
}

/// Two in a cache line.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct Route {
    pub(super) next: u32,
    /// Sequence number of the target; zero while it is unknown.
    pub(super) number: u32,
    pub(super) hops: u8,
    pub(super) state: State,
    pub(super) expires: Time,
    pub(super) precursors: Precursors,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<Route>>() == 32);

/// Neighbours that may send over a route: an answer went to them that said so. Most routes have
/// none.
#[derive(Clone, Debug, Default)]
pub(super) struct Precursors(Option<Box<List>>);

#[derive(Clone, Debug, Default)]
struct List {
    nodes: Vec<u32>,
}

impl Precursors {
    /// Without one of them.
    pub(super) fn remove(&mut self, node: u32) {
        if let Some(list) = &mut self.0 {
            list.nodes.retain(|one| *one != node);
        }
    }

    /// All, of whom none is left.
    pub(super) fn take(&mut self) -> Vec<u32> {
        self.0.take().map_or_else(Vec::new, |list| list.nodes)
    }
}

impl Route {
    /// One that is up.
    #[inline]
    pub(super) fn new(next: u32, number: u32, hops: u8, expires: Time) -> Self {
        Self {
            next,
            number,
            hops,
            state: State::Up,
            expires,
            precursors: Precursors::default(),
        }
    }

    /// Whether it is up. One that has become old is down from then on, and newer ones are known by
    /// their number.
    pub(super) fn is_usable(&mut self, rules: Rules, now: Time) -> bool {
        let is_old = self.expires <= now
            && match rules {
                Rules::Standard => true,
                Rules::Ns2 => look(self.expires) <= now,
            };
        if self.state == State::Up && is_old {
            self.fall();
        }
        self.state == State::Up
    }

    /// These neighbours may send over here from now on.
    pub(super) fn precede(&mut self, neighbours: impl IntoIterator<Item = u32>) {
        for one in neighbours {
            let list = self.precursors.0.get_or_insert_default();
            if !list.nodes.contains(&one) {
                list.nodes.push(one);
            }
        }
    }

    /// It is down; newer ones have a greater number. An unknown one stays unknown.
    pub(super) fn fall(&mut self) {
        self.state = State::Down;
        self.number += u32::from(self.number > 0);
    }
}
