//! The two parts under a flow queue: one slab of packets for all flows, and lists of flows.
//!
//! Both are linked by indices inside the entries themselves, so neither an arrival nor a
//! departure allocates once the slab has grown.

use alloc::vec::Vec;
use sojourn_units::Time;

/// End of a list.
pub(super) const NONE: u32 = u32::MAX;

/// First and last entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Where a packet stands in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// First.
    Head,
    /// Behind the packet in this slot.
    Behind(u32),
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

#[derive(Clone, Debug)]
struct Slot<P> {
    /// None while the slot is free.
    packet: Option<P>,
    arrived: Time,
    next: u32,
}

/// The packet at the head of a queue.
pub(super) struct Front<'a, P> {
    slot: &'a mut Slot<P>,
    free: &'a mut u32,
    queue: &'a mut Ends,
}

impl<P> Front<'_, P> {
    /// When it has arrived.
    #[inline]
    pub(super) const fn arrived(&self) -> Time {
        self.slot.arrived
    }

    /// It.
    #[inline]
    pub(super) const fn packet(&mut self) -> Option<&mut P> {
        self.slot.packet.as_mut()
    }

    /// Takes it.
    #[inline]
    pub(super) fn take(self) -> Option<P> {
        debug_assert!(self.slot.packet.is_some(), "a queue links to a free slot");
        let id = core::mem::replace(&mut self.queue.first, self.slot.next);
        self.slot.next = core::mem::replace(self.free, id);
        // Last, so that it is moved to where it goes and not aside first.
        self.slot.packet.take()
    }
}

/// Packets of all flows, each in the queue of its flow.
#[derive(Clone, Debug)]
pub(super) struct Slab<P> {
    slots: Vec<Slot<P>>,
    free: u32,
}

impl<P> Slab<P> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
        }
    }

    /// Puts a packet at the end of a queue. The slab grows by doubling, but not beyond `most`
    /// entries unless they are needed.
    #[inline]
    pub(super) fn push(
        &mut self,
        queue: &mut Ends,
        packet: P,
        now: Time,
        most: impl FnOnce() -> usize,
    ) {
        if self.free == NONE {
            self.grow(most());
        }
        let id = self.free;
        let slot = &mut self.slots[id as usize];
        self.free = slot.next;
        let before = slot.packet.take();
        debug_assert!(before.is_none(), "a free slot has no packet");
        // There is nothing to drop, which the compiler cannot know.
        core::mem::forget(before);
        slot.packet = Some(packet);
        slot.arrived = now;
        slot.next = NONE;
        if queue.first == NONE {
            queue.first = id;
        } else {
            self.slots[queue.last as usize].next = id;
        }
        queue.last = id;
    }

    /// Takes the packet at the head of a queue, with its time of arrival.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Ends) -> Option<(Time, P)> {
        let front = self.front(queue)?;
        let arrived = front.arrived();
        front.take().map(|packet| (arrived, packet))
    }

    /// Entries that there is memory for.
    pub(super) const fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// The head of a queue, to be judged where it lies and then taken.
    #[inline]
    pub(super) fn front<'a>(&'a mut self, queue: &'a mut Ends) -> Option<Front<'a, P>> {
        let slot = self.slots.get_mut(queue.first as usize)?;
        let free = &mut self.free;
        Some(Front { slot, free, queue })
    }

    /// The packet at the head of a queue, with its time of arrival.
    #[inline]
    pub(super) fn head(&self, queue: Ends) -> Option<(Time, &P)> {
        let slot = self.slots.get(queue.first as usize)?;
        slot.packet.as_ref().map(|packet| (slot.arrived, packet))
    }

    /// The packet in a slot, and the slot behind it in its queue.
    pub(super) fn at(&self, slot: u32) -> Option<(&P, u32)> {
        let slot = self.slots.get(slot as usize)?;
        slot.packet.as_ref().map(|packet| (packet, slot.next))
    }

    /// Takes a packet out of a queue.
    pub(super) fn take(&mut self, queue: &mut Ends, place: Position) -> Option<(Time, P)> {
        let Position::Behind(before) = place else {
            return self.pop(queue);
        };
        let id = self.slots.get(before as usize)?.next;
        let slot = self.slots.get_mut(id as usize)?;
        let packet = slot.packet.take();
        let (arrived, next) = (slot.arrived, slot.next);
        slot.next = self.free;
        self.free = id;
        self.slots[before as usize].next = next;
        if queue.last == id {
            queue.last = before;
        }
        packet.map(|packet| (arrived, packet))
    }

    /// Adds a free slot; the slab holds as many as were ever in use at once.
    #[cold]
    fn grow(&mut self, most: usize) {
        if self.slots.len() == self.slots.capacity() {
            let wanted = (self.slots.len() * 2).clamp(16, most.max(16));
            let more = wanted.saturating_sub(self.slots.len()).max(1);
            self.slots.reserve_exact(more);
        }
        let id = self.slots.len() as u32;
        self.slots.push(Slot {
            packet: None,
            arrived: Time::ZERO,
            next: self.free,
        });
        self.free = id;
    }
}
