//! The calendar of pending events, in the order of (time, wires last, order of scheduling): a short
//! sorted list of those that come soonest before a four-way heap, and the same again for timers.
//!
//! Why a list: links and pipes have their next event within microseconds, and few of them have any.
//! An event that re-arms its own source goes into the list past two or three others, which takes
//! fewer instructions than a heap that moves its top. Of large networks the list is full, and what
//! comes later waits in a heap, or by time in buckets (`ladder`) where there is much of it.
//!
//! Why two of each: endpoints have timers that are far away and mostly moved before they are due.
//! Thousands of those in the same heap would lie in the way of every packet. The order is that of
//! one: of the timers the earliest goes into the list when it is the next event of all. Until
//! then the others need not be compared with it.

mod far;
mod heap;
mod key;
mod ladder;
mod later;

use crate::packet::Way;
use far::{Far, insert};
use key::{Key, high};
use later::Later;
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
pub(crate) struct OwnerKey(u32);

impl OwnerKey {
    const BITS: u32 = INDEX_BITS + 3;
    /// The kinds that have timers, most of which are moved before they are due.
    const FAR: u8 = 1 << 3 | 1 << 4 | 1 << 5;
    const WIRE: usize = 7;

    const fn new(kind: u32, index: usize) -> Self {
        // The mask lets the compiler see the kind.
        Self(kind << INDEX_BITS | index as u32 & (MAX_OWNERS as u32 - 1))
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
            Owner::Wire(index) => Self::new(Self::WIRE as u32, index),
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

/// Places of the list, of which the first holds no event.
const PLACES: usize = 16;
/// More keys behind the list are no longer kept in a heap: below, those of one are in the first
/// cache.
const MANY: usize = 128;
/// How many keys come into an empty list at once.
const REFILL: usize = PLACES / 2;

/// When what event is.
#[inline]
fn at(key: Key) -> (Time, OwnerKey) {
    let source = OwnerKey(key as u32 & ((1 << OwnerKey::BITS) - 1));
    (Time::from_nanos((key >> 65) as u64), source)
}

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// The least key but for those that are far. While its event is being handled it stays here,
    /// though nowhere else.
    top: Key,
    /// From this time on more is to be looked at than the least key: as [`high`] of one.
    alarm: u64,
    scheduled: u64,
    /// How many keys the list holds.
    len: usize,
    /// The list, latest first, behind a place with the greatest possible key.
    soon: [Key; PLACES],
    /// No key in the list is greater: the least of the heap behind it.
    bound: Key,
    later: Later,
    far: Far,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            top: Key::MAX,
            alarm: 0,
            scheduled: 0,
            len: 0,
            soon: [Key::MAX; PLACES],
            bound: Key::MAX,
            later: Later::new(MANY),
            far: Far::default(),
        }
    }
}

impl Calendar {
    #[inline]
    fn key(&mut self, time: Time, source: OwnerKey) -> Key {
        self.scheduled += 1;
        debug_assert!(
            self.scheduled < 1 << (64 - OwnerKey::BITS),
            "10^11 events are out of reach"
        );
        let low = (self.scheduled << OwnerKey::BITS) | u64::from(source.0);
        let time = time.as_nanos() << 1;
        // While a wire's event is being handled, what is scheduled for that time comes after it.
        let last = source.kind() == OwnerKey::WIRE || high(self.top) == time | 1;
        (u128::from(time | u64::from(last)) << 64) | u128::from(low)
    }

    /// The earliest event; while one is being handled, that one.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, OwnerKey)> {
        // Of a list that is spent there is no top yet.
        let top = match self.top {
            Key::MAX => self.bound,
            top => top,
        };
        let key = top.min(self.far.top);
        (key != Key::MAX).then(|| at(key))
    }

    /// The same where no [alarm](Self::alarms) is, and none is an event after all times.
    #[inline]
    pub(crate) fn next(&self) -> (Time, OwnerKey) {
        at(self.top)
    }

    /// Whether the earliest event is perhaps a far one, or comes after a [quiet](Self::settle)
    /// time.
    #[inline]
    pub(crate) fn alarms(&self) -> bool {
        high(self.top) >= self.alarm
    }

    /// Sees that the earliest event is [next](Self::next): before it is handled, and before others
    /// are added from outside.
    pub(crate) fn settle(&mut self) {
        if self.is_spent() {
            self.refill();
        }
        if self.far.top < self.top {
            self.top = self.far.take();
            if self.len == PLACES - 1 {
                self.put_off(self.top);
            }
            self.len += 1;
            self.soon[self.len] = self.top;
        }
    }

    /// The next far event, which is perhaps the next of all.
    pub(crate) fn next_far(&self) -> Option<OwnerKey> {
        (self.far.top != Key::MAX).then(|| at(self.far.top).1)
    }

    /// The events that come next, in no order.
    pub(crate) fn soon(&self) -> impl Iterator<Item = OwnerKey> {
        let list = self.soon.get(1..=self.len).unwrap_or_default();
        list.iter().map(|key| at(*key).1)
    }

    /// The events that come after those, eight to a part, of which the first has number zero. None
    /// where it is not known yet which they are.
    pub(crate) fn behind(&self, part: usize) -> impl Iterator<Item = OwnerKey> {
        let keys = self.later.near().iter().rev();
        keys.skip(part * REFILL).take(REFILL).map(|key| at(*key).1)
    }

    /// Whether the list is to be [filled](Self::refill), which [alarms](Self::alarms).
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.len == 0
    }

    /// Nothing but far events is to be looked at before this time.
    pub(crate) fn set_alarm(&mut self, time: Time) {
        self.alarm = high(self.far.top).min(time.as_nanos().saturating_mul(2));
    }

    /// Whether what happens at `time` comes before all events but the one that is being handled.
    #[inline]
    pub(crate) fn is_next(&self, time: Time) -> bool {
        let time = time.as_nanos() << 1;
        let soonest = high(self.soon[self.len % PLACES]).min(high(self.bound));
        time < soonest && time < high(self.far.top)
    }

    /// Adds an event. Everything that is added while another one is being handled sorts after that.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: OwnerKey) {
        let key = self.key(time, source);
        self.insert(key, source);
        // Not so while an event is being handled, and else among the first things of a run.
        if high(key) < high(self.top) {
            self.top = self.soon[self.len % PLACES];
            self.settle();
        }
    }

    #[inline]
    fn insert(&mut self, key: Key, source: OwnerKey) {
        if OwnerKey::FAR >> source.kind() & 1 != 0 {
            return self.insert_far(key);
        }
        if high(key) < high(self.bound) {
            let len = self.len;
            if len < PLACES - 1 {
                return self.insert_soon(key, len);
            }
        }
        self.insert_late(key);
    }

    fn insert_far(&mut self, key: Key) {
        self.far.put(key);
        self.alarm = self.alarm.min(high(key));
    }

    /// Puts a new key where it belongs if the list is full, or ends before.
    #[inline(never)]
    fn insert_late(&mut self, key: Key) {
        if high(key) < high(self.bound) && self.put_off(key) {
            self.insert_soon(key, self.len);
        } else {
            self.later.put(key);
        }
    }

    /// Puts a new key into the list, which has so many and room, past those that are less: as it is
    /// the last one in the order of scheduling, the high halves tell.
    #[inline]
    fn insert_soon(&mut self, key: Key, len: usize) {
        self.len = len + 1;
        insert(&mut self.soon[..len + 2], key);
    }

    /// The list is full: moves the latest half of it into the heap behind. Returns whether the key
    /// still belongs into the list.
    #[cold]
    fn put_off(&mut self, key: Key) -> bool {
        for place in 1..=REFILL {
            self.later.put(self.soon[place]);
        }
        self.soon.copy_within(1 + REFILL..=self.len, 1);
        self.len -= REFILL;
        self.bound = self.later.top();
        key < self.bound
    }

    /// The list is empty: takes the first of the heap behind it.
    #[inline(never)]
    pub(crate) fn refill(&mut self) {
        self.len = self.later.take_into(&mut self.soon[1..=REFILL]);
        self.bound = self.later.top();
        self.turn();
    }

    /// The [next](Self::next) event is going to be handled.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.len -= 1;
    }

    /// The first event, of `source`, has been handled, and is due again at this time.
    #[expect(clippy::inline_always, reason = "once for each kind of source")]
    #[inline(always)]
    pub(crate) fn end(&mut self, again: Option<Time>, source: OwnerKey) {
        if let Some(time) = again {
            let key = self.key(time, source);
            self.insert(key, source);
        }
    }

    /// After [`end`](Self::end): which event comes first. Of a list that is spent it is none, which
    /// is found out together with what else seldom happens.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.top = self.soon[self.len % PLACES];
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
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0..5_u8, 0..50_u64), 1..400)) {
            let mut calendar = Calendar::default();
            let mut model: Vec<(u64, bool, u64, OwnerKey)> = Vec::new();
            for (order, (kind, at)) in steps.into_iter().enumerate() {
                let source = OwnerKey::new(order as u32 % 8, order);
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
                        calendar.begin();
                        calendar.end(None, gone.3);
                        calendar.turn();
                        calendar.settle();
                        model.retain(|e| *e != gone);
                    }
                    (2, Some(gone)) => {
                        model.retain(|e| *e != gone);
                        calendar.begin();
                        calendar.end(Some(Time::from_nanos(gone.0 + at)), gone.3);
                        calendar.turn();
                        calendar.settle();
                        let last = gone.3.kind() == 7 || gone.1 && at == 0;
                        model.push((gone.0 + at, last, 10 * order, gone.3));
                    }
                    // One that schedules others before it is due again, or never is.
                    (3 | 4, Some(gone)) => {
                        model.retain(|e| *e != gone);
                        calendar.begin();
                        for more in 0..at % 4 {
                            let source = OwnerKey::new(more as u32 + 1, 0);
                            let time = gone.0 + at * more;
                            calendar.push(Time::from_nanos(time), source);
                            let last = gone.1 && time == gone.0;
                            model.push((time, last, 10 * order + more, source));
                        }
                        let again = (kind == 3).then(|| Time::from_nanos(gone.0 + at));
                        calendar.end(again, gone.3);
                        calendar.turn();
                        calendar.settle();
                        if kind == 3 {
                            let last = gone.3.kind() == 7 || gone.1 && at == 0;
                            model.push((gone.0 + at, last, 10 * order + 9, gone.3));
                        }
                    }
                    _ => {
                        calendar.push(Time::from_nanos(at), source);
                        model.push((at, last(at), 10 * order, source));
                    }
                }
            }
        }
    }
}
