//! Which flow holds the most bytes: an indexed binary heap, largest first.
//!
//! It exists only while the discipline is overloaded: then a change costs O(log flows), else
//! nothing at all. Ties go to the flow with the lower number, so that the choice does not depend
//! on the order of earlier changes.

use alloc::vec::Vec;
use core::cmp::Reverse;

/// A flow's place when it is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// The heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Fattest {
    /// Bytes and number of each flow that holds packets.
    heap: Vec<(u64, u32)>,
    /// Place of each flow in the heap, by its number.
    places: Vec<u32>,
    active: bool,
}

impl Fattest {
    /// Whether it is kept up to date.
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// Starts with these flows (number and bytes), all of them below `count`.
    pub(super) fn start(&mut self, count: usize, flows: impl Iterator<Item = (u32, u64)>) {
        self.places.clear();
        self.places.resize(count, NOWHERE);
        self.heap.clear();
        self.heap.extend(flows.map(|(flow, bytes)| (bytes, flow)));
        for (place, (_, flow)) in self.heap.iter().enumerate() {
            self.places[*flow as usize] = place as u32;
        }
        for place in (0..self.heap.len() / 2).rev() {
            self.sink(place);
        }
        self.active = true;
    }

    /// Stops, and keeps the memory for the next time.
    pub(super) fn stop(&mut self) {
        self.active = false;
    }

    /// The flow with the most bytes.
    pub(super) fn first(&self) -> Option<(u32, u64)> {
        self.heap.first().map(|(bytes, flow)| (*flow, *bytes))
    }

    /// Flow `flow` now holds `bytes`; none when it holds no packet.
    pub(super) fn set(&mut self, flow: u32, bytes: Option<u64>) {
        if self.places.len() <= flow as usize {
            self.places.resize(flow as usize + 1, NOWHERE);
        }
        let place = self.places[flow as usize];
        match (place, bytes) {
            (NOWHERE, None) => {}
            (NOWHERE, Some(bytes)) => {
                let place = self.heap.len();
                self.heap.push((bytes, flow));
                self.places[flow as usize] = place as u32;
                self.rise(place);
            }
            (place, Some(bytes)) => {
                self.heap[place as usize].0 = bytes;
                self.settle(place as usize);
            }
            (place, None) => {
                let place = place as usize;
                let last = self.heap.len() - 1;
                self.swap(place, last);
                self.heap.pop();
                self.places[flow as usize] = NOWHERE;
                if place < last {
                    self.settle(place);
                }
            }
        }
    }

    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    /// Whether what is at `a` belongs above what is at `b`.
    fn is_fatter(&self, a: usize, b: usize) -> bool {
        let key = |place: usize| (self.heap[place].0, Reverse(self.heap[place].1));
        key(a) > key(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a].1 as usize] = a as u32;
        self.places[self.heap[b].1 as usize] = b as u32;
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.is_fatter(place, parent) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && self.is_fatter(right, left) {
                right
            } else {
                left
            };
            if !self.is_fatter(child, place) {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_search_after_every_change() {
        let mut stream = sojourn_random::Stream::named(5, "fat");
        let mut fat = Fattest::default();
        let mut plain = BTreeMap::from([(3_u32, 10_u64), (4, 10), (9, 2)]);
        fat.start(10, plain.iter().map(|(f, b)| (*f, *b)));
        for _ in 0..20_000 {
            let best = plain.iter().max_by_key(|(f, b)| (**b, Reverse(**f)));
            assert_eq!(fat.first(), best.map(|(f, b)| (*f, *b)));
            let flow = stream.below(40) as u32;
            let bytes = (stream.below(3) > 0).then(|| stream.below(50));
            fat.set(flow, bytes);
            match bytes {
                Some(bytes) => drop(plain.insert(flow, bytes)),
                None => drop(plain.remove(&flow)),
            }
        }
    }
}
