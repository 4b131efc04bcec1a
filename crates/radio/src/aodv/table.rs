//! The routes of one node, by their targets.
//!
//! Why a table by hash, and not a sorted list: a question that goes through the network is looked
//! up at thousands of nodes, of which none is in a cache. A node that has heard of hundreds of
//! others searches through half a dozen cache lines of a sorted list, and moves half of it for a
//! new one. Here it is one line, mostly.

use super::routes::Route;
use alloc::vec::Vec;

/// Slots of the smallest table.
const FEWEST: usize = 4;

/// Routes in no order.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// A power of two, or none; a route is in the slot of its hash or as soon after it as one was
    /// free. A quarter is free at least.
    slots: Vec<Option<Route>>,
    len: u32,
    /// By how much a hash is shifted to be the number of a slot.
    shift: u32,
}

impl Table {
    /// Where a target's route is, or the slot where it belongs; of a table with slots.
    #[inline]
    fn place(&self, target: u32) -> usize {
        // Fibonacci hashing: numbers of neighbours differ in their low bits.
        let hash = target.wrapping_mul(0x9e37_79b1);
        let mut place = (hash >> self.shift) as usize;
        let mask = self.slots.len() - 1;
        loop {
            place &= mask;
            match &self.slots[place] {
                Some(route) if route.target != target => place += 1,
                _ => return place,
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, target: u32) -> Option<&Route> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.place(target)].as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, target: u32) -> Option<&mut Route> {
        if self.slots.is_empty() {
            return None;
        }
        let place = self.place(target);
        self.slots[place].as_mut()
    }

    /// The route to a target; `new` makes it if there is none.
    #[inline]
    pub(super) fn get_or_insert_with(
        &mut self,
        target: u32,
        new: impl FnOnce() -> Route,
    ) -> &mut Route {
        if self.slots.len() * 3 <= self.len as usize * 4 {
            self.grow();
        }
        let place = self.place(target);
        let slot = &mut self.slots[place];
        self.len += u32::from(slot.is_none());
        slot.get_or_insert_with(new)
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FEWEST);
        self.shift = u32::BITS - slots.ilog2();
        let before = core::mem::take(&mut self.slots);
        self.slots.resize_with(slots, || None);
        for route in before.into_iter().flatten() {
            let place = self.place(route.target);
            self.slots[place] = Some(route);
        }
    }

    /// All, in the order of their targets.
    pub(super) fn sorted(&mut self) -> impl Iterator<Item = &mut Route> {
        let mut routes: Vec<_> = self.slots.iter_mut().flatten().collect();
        routes.sort_unstable_by_key(|route| route.target);
        routes.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;
    use sojourn_units::Time;

    proptest! {
        #[test]
        fn is_a_map(steps in prop::collection::vec((0..60_u32, 0..3_u8, any::<u32>()), 0..300)) {
            let (mut table, mut model) = (Table::default(), BTreeMap::new());
            for (target, step, value) in steps {
                // Far apart too.
                let target = if target < 40 { target } else { target << 26 | 3 };
                let new = || Route::new(target, value, 0, 1, Time::ZERO);
                match step {
                    0 => {
                        let ours = table.get_or_insert_with(target, new).next;
                        prop_assert_eq!(ours, *model.entry(target).or_insert(value));
                    }
                    1 => {
                        if let Some(route) = table.get_mut(target) {
                            route.next = value;
                        }
                        model.entry(target).and_modify(|next| *next = value);
                    }
                    _ => {
                        let ours = table.get(target).map(|route| route.next);
                        prop_assert_eq!(ours, model.get(&target).copied());
                    }
                }
                let ours: Vec<_> = table.sorted().map(|route| (route.target, route.next)).collect();
                let wanted: Vec<_> = model.iter().map(|(target, next)| (*target, *next)).collect();
                prop_assert_eq!(ours, wanted);
            }
        }
    }
}
