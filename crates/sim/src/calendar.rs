//! The calendar of pending events: two four-way heaps on (time, wires last, order of scheduling).
//!
//! Why not `BinaryHeap`: most events re-arm their own source, which is one sift of the top here
//! and a pop and a push there; and four children of 16 bytes are one cache line.
//!
//! Why two: links and pipes have their next event within microseconds, endpoints have timers that
//! are far away and mostly moved before they are due. Thousands of those in the same heap would
//! lie in the way of every packet. The order is that of one heap: the earlier top comes first.

use crate::packet::Way;
use sojourn_units::Time;

/// What an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A radio, by its index among the media.
    Medium(usize),
    /// A pipe, by its index: the packet at its head arrives.
    Pipe(usize),
    /// The uplink of a direction: the packet at its head arrives.
    Uplink(Way),
    /// An endpoint, by its index.
    Endpoint(usize),
    /// Links that change.
    Changes,
    /// The routing protocol.
    Routing,
    /// Rates that follow their links.
    Autorate,
    /// A wire, by its index among the media: it may take a packet. Of all that happens at one time
    /// this comes last, so that a packet that arrives then is in the queue. Flows with one
    /// round-trip time, whose packets are spaced by one transmitter, come back in step with it:
    /// the order would otherwise hang on which of the two was scheduled first.
    Wire(usize),
}

const INDEX_BITS: u32 = 24;
/// Most owners of one kind.
pub(crate) const MAX_OWNERS: usize = 1 << INDEX_BITS;

/// An [`Owner`] as it stands in the calendar: its kind above its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source(u32);

impl Source {
    const BITS: u32 = INDEX_BITS + 3;
    /// The kinds that have timers, most of which are moved before they are due.
    const FAR: u8 = 1 << 3 | 1 << 4 | 1 << 5;
    const WIRE: u32 = 7;

    const fn new(kind: u32, index: usize) -> Self {
        Self(kind << INDEX_BITS | index as u32)
    }

    #[inline]
    pub(crate) const fn of(owner: Owner) -> Self {
        match owner {
            Owner::Medium(index) => Self::new(0, index),
            Owner::Pipe(index) => Self::new(1, index),
            Owner::Uplink(way) => Self::new(2, way.index()),
            Owner::Endpoint(index) => Self::new(3, index),
            Owner::Changes => Self::new(4, 0),
            Owner::Routing => Self::new(5, 0),
            Owner::Autorate => Self::new(6, 0),
            Owner::Wire(index) => Self::new(Self::WIRE, index),
        }
    }

    #[inline]
    pub(crate) const fn owner(self) -> Owner {
        match self.kind() {
            0 => Owner::Medium(self.index()),
            1 => Owner::Pipe(self.index()),
            2 => Owner::Uplink(Way(self.index() as u32)),
            3 => Owner::Endpoint(self.index()),
            5 => Owner::Routing,
            6 => Owner::Autorate,
            7 => Owner::Wire(self.index()),
            _ => Owner::Changes,
        }
    }

    /// The number of the kind, below eight.
    #[inline]
    pub(crate) const fn kind(self) -> usize {
        (self.0 >> INDEX_BITS & 7) as usize
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize & (MAX_OWNERS - 1)
    }
}

/// Time in the high half, but for its lowest bit, which says that it is a wire's; order of
/// scheduling, then source, in the low half. The order is unique, so the source never decides.
type Key = u128;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    near: Heap,
    far: Heap,
    /// The least key of both: every event asks for it twice.
    top: Key,
    scheduled: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            near: Heap::default(),
            far: Heap::default(),
            top: Key::MAX,
            scheduled: 0,
        }
    }
}

impl Calendar {
    #[inline]
    fn heap(&mut self, source: Source) -> &mut Heap {
        if Source::FAR >> source.kind() & 1 == 0 {
            &mut self.near
        } else {
            &mut self.far
        }
    }

    fn key(&mut self, time: Time, source: Source) -> Key {
        self.scheduled += 1;
        debug_assert!(
            self.scheduled < 1 << (64 - Source::BITS),
            "10^11 events are out of reach"
        );
        let low = (self.scheduled << Source::BITS) | u64::from(source.0);
        let time = u128::from(time.as_nanos()) << 1;
        // While a wire's event is being handled, what is scheduled for that time comes after it.
        let last = source.0 >> INDEX_BITS == Source::WIRE || self.top >> 64 == time | 1;
        ((time | u128::from(last)) << 64) | u128::from(low)
    }

    /// The first event has gone or moved.
    #[inline]
    fn look(&mut self) {
        self.top = self.near.top().min(self.far.top());
    }

    /// The earliest event.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, Source)> {
        let key = self.top;
        if key == Key::MAX {
            return None;
        }
        let source = Source(key as u32 & ((1 << Source::BITS) - 1));
        Some((Time::from_nanos((key >> 65) as u64), source))
    }

    /// Adds an event. While the first event is being handled it stays in place: everything
    /// that is added then sorts after it.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        let key = self.key(time, source);
        self.heap(source).push(key);
        self.top = self.top.min(key);
    }

    /// Takes the first event, of `source`, away.
    #[inline]
    pub(crate) fn pop_first(&mut self, source: Source) {
        self.heap(source).pop();
        self.look();
    }

    /// Moves the first event, of `source`, to `time`.
    #[inline]
    pub(crate) fn move_first(&mut self, time: Time, source: Source) {
        let key = self.key(time, source);
        self.heap(source).sink(key);
        self.look();
    }
}

/// A heap of keys, four children a node. Places that a node lacks hold the greatest possible key,
/// so that there are no nodes with fewer.
#[derive(Clone, Debug, Default)]
struct Heap {
    keys: Vec<Key>,
    /// How many of them are taken.
    len: usize,
}

impl Heap {
    /// The least key; the greatest possible one when there is none.
    #[inline]
    fn top(&self) -> Key {
        self.keys.first().copied().unwrap_or(Key::MAX)
    }

    #[inline]
    fn push(&mut self, key: Key) {
        let mut hole = self.len;
        if hole == self.keys.len() {
            let more = if hole == 0 { 1 } else { 4 };
            self.keys.resize(hole + more, Key::MAX);
        }
        self.len += 1;
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.keys[parent] < key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    #[inline]
    fn pop(&mut self) {
        if let Some(last) = self.len.checked_sub(1) {
            self.len = last;
            let key = core::mem::replace(&mut self.keys[last], Key::MAX);
            if last > 0 {
                self.sink(key);
            }
        }
    }

    /// Puts `key` where it belongs, starting from a hole at the top.
    #[inline]
    fn sink(&mut self, key: Key) {
        let heap = self.keys.as_mut_slice();
        let mut hole = 0;
        // Of four children: two independent comparisons and one between their winners, without
        // branches. Guessing the winner with branches would cost more than the comparisons.
        while let Some(children) = heap.get(4 * hole + 1..).and_then(<[Key]>::first_chunk::<4>) {
            let low = usize::from(children[1] < children[0]);
            let high = 2 + usize::from(children[3] < children[2]);
            let least = if children[high] < children[low] {
                high
            } else {
                low
            };
            let least_key = children[least & 3];
            if key < least_key {
                break;
            }
            heap[hole] = least_key;
            hole = 4 * hole + 1 + least;
        }
        heap[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: earliest first, of equal times wires last, then in the order of
        /// scheduling.
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0..3_u8, 0..50_u64), 1..400)) {
            let mut calendar = Calendar::default();
            let mut model: Vec<(u64, bool, u64, Source)> = Vec::new();
            for (order, (kind, at)) in steps.into_iter().enumerate() {
                let source = Source::new(order as u32 % 8, order);
                let order = order as u64;
                let first = model.iter().min().copied();
                let last = |time| {
                    source.kind() == 7 || first.is_some_and(|(t, last, ..)| last && t == time)
                };
                prop_assert_eq!(
                    calendar.first(),
                    first.map(|(t, .., s)| (Time::from_nanos(t), s))
                );
                match (kind, first) {
                    (1, Some(gone)) => {
                        calendar.pop_first(gone.3);
                        model.retain(|e| *e != gone);
                    }
                    (2, Some(gone)) => {
                        model.retain(|e| *e != gone);
                        calendar.move_first(Time::from_nanos(gone.0 + at), gone.3);
                        let last = gone.3.kind() == 7 || gone.1 && at == 0;
                        model.push((gone.0 + at, last, order, gone.3));
                    }
                    _ => {
                        calendar.push(Time::from_nanos(at), source);
                        model.push((at, last(at), order, source));
                    }
                }
            }
        }
    }
}
