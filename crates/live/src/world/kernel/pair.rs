//! The C and the L queue of a kernel's pair (`dualpi2`), told apart by what is heard around it.
//!
//! The kernel counts drops and marks of both together. Each of the two is a FIFO, so that a packet
//! that leaves says which ones before it were dropped. A mark is seen in both places, since sockets
//! share a packet's bytes with the queue: which queue a marked packet was in follows from what its
//! connection sends otherwise.
//!
//! A packet that came with CE looks as one that was marked here. Where the queue is the only one on
//! the way there is none.

use std::collections::{HashMap, VecDeque};

use sojourn_qdisc::{Dual, DualCounts, DualMask, Ecn, Spec};
use sojourn_wire::{FlowKey, Parsed};

/// A pair of queues.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    mask: DualMask,
    coupling: f64,
    /// Whether a connection's packets are L4S, by what it has sent last without CE.
    connections: HashMap<FlowKey, bool>,
    /// Packets that have not been seen behind it: in the L queue or not, and their number there.
    places: HashMap<u64, (bool, u64)>,
    /// Of the C and of the L queue.
    queues: [Waiting; 2],
    dual: Dual,
}

/// Packets of one queue by number and identity, in order.
#[derive(Clone, Debug, Default)]
struct Waiting {
    next: u64,
    packets: VecDeque<(u64, u64)>,
}

impl Pair {
    /// That of a queue; None where it is no pair.
    pub(super) fn of(spec: &Spec) -> Option<Self> {
        match spec {
            Spec::Htb { inner, .. } | Spec::Tbf { inner, .. } => Self::of(inner),
            Spec::DualPi2(params) => Some(Self {
                mask: params.mask,
                coupling: params.coupling_factor.into(),
                connections: HashMap::new(),
                places: HashMap::new(),
                queues: Default::default(),
                dual: Dual::default(),
            }),
            _ => None,
        }
    }

    fn is_low(&mut self, parsed: &Parsed) -> bool {
        let is_low = match (parsed.ecn(), self.mask) {
            (Ecn::NotEct, _) => return false,
            (Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce, DualMask::Any) => return true,
            (Ecn::Ect0, DualMask::L4s) => false,
            (Ecn::Ect1, DualMask::L4s) => true,
            (Ecn::Ce, DualMask::L4s) => {
                return self.connections.get(&parsed.flow).is_none_or(|low| *low);
            }
        };
        self.connections.insert(parsed.flow, is_low);
        is_low
    }

    fn counts(&mut self, is_low: bool) -> &mut DualCounts {
        if is_low {
            &mut self.dual.low
        } else {
            &mut self.dual.classic
        }
    }

    /// A packet comes to it.
    pub(super) fn offered(&mut self, identity: u64, parsed: &Parsed) {
        let is_low = self.is_low(parsed);
        let queue = &mut self.queues[usize::from(is_low)];
        // A second copy of a packet is not followed.
        if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(identity) {
            place.insert((is_low, queue.next));
            queue.packets.push_back((queue.next, identity));
            queue.next += 1;
        }
    }

    /// A packet of `len` bytes has left it: what both queues have counted by then. None of one that
    /// was not seen before.
    pub(super) fn dequeued(&mut self, identity: u64, ecn: Ecn, len: u32) -> Option<Dual> {
        let (is_low, number) = self.places.remove(&identity)?;
        let queue = &mut self.queues[usize::from(is_low)];
        let mut dropped = 0;
        while let Some(&(first, before)) = queue.packets.front()
            && first <= number
        {
            queue.packets.pop_front();
            if first < number {
                self.places.remove(&before);
                dropped += 1;
            }
        }
        let counts = self.counts(is_low);
        counts.dropped += dropped;
        counts.marked += u64::from(ecn == Ecn::Ce);
        counts.dequeued.add(len);
        self.dual.served_low = is_low;
        Some(self.dual)
    }

    /// What both have counted, with the base probability that the kernel tells.
    pub(super) fn with(&mut self, probability: f64) -> Dual {
        self.dual.probability = probability;
        self.dual.coupled = (probability * self.coupling).min(1.0);
        self.dual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(words: &str) -> Pair {
        Pair::of(&words.parse().unwrap()).unwrap()
    }

    /// A packet of the connection from this port.
    fn packet(port: u16, ecn: Ecn) -> Parsed {
        Parsed {
            flow: FlowKey {
                src_port: port,
                ..FlowKey::default()
            },
            tos: ecn as u8,
            ..Parsed::default()
        }
    }

    /// 1 and 2 go into the C queue, 3 to 5 into the L queue, of which 4 never leaves.
    #[test]
    fn drops_and_marks_are_those_of_each_queue() {
        let mut pair = pair("htb rate 10mbit over dualpi2");
        for (identity, port, ecn) in [
            (1, 7, Ecn::NotEct),
            (2, 8, Ecn::Ect0),
            (3, 9, Ecn::Ect1),
            (4, 9, Ecn::Ect1),
            (5, 9, Ecn::Ce),
            // Marked where it lies, of a connection whose packets are classic.
            (6, 8, Ecn::Ce),
        ] {
            pair.offered(identity, &packet(port, ecn));
        }
        assert!(pair.dequeued(3, Ecn::Ect1, 1500).unwrap().served_low);
        let dual = pair.dequeued(5, Ecn::Ce, 1500).unwrap();
        assert_eq!((dual.low.dropped, dual.low.marked), (1, 1));
        let dual = pair.dequeued(6, Ecn::Ce, 1500).unwrap();
        assert_eq!((dual.classic.dropped, dual.classic.marked), (2, 1));
        assert_eq!(dual.low.dequeued.packets, 2);
        assert!(!dual.served_low && pair.places.is_empty());
        assert_eq!(pair.dequeued(4, Ecn::Ect1, 1500), None);
    }

    #[test]
    fn the_mask_says_what_is_l4s() {
        let mut pair = pair("dualpi2 any_ect coupling_factor 3");
        for (identity, ecn) in [(1, Ecn::Ect0), (2, Ecn::Ce), (3, Ecn::NotEct)] {
            pair.offered(identity, &packet(7, ecn));
        }
        assert!(pair.dequeued(1, Ecn::Ect0, 60).unwrap().served_low);
        assert!(pair.dequeued(2, Ecn::Ce, 60).unwrap().served_low);
        assert!(!pair.dequeued(3, Ecn::NotEct, 60).unwrap().served_low);
        assert!((pair.with(0.25).coupled - 0.75).abs() < 1e-12);
        assert!((pair.with(0.5).coupled - 1.0).abs() < 1e-12);
        assert!(Pair::of(&"fq_codel".parse().unwrap()).is_none());
    }

    #[test]
    fn a_second_copy_is_not_followed() {
        let mut pair = pair("dualpi2");
        for identity in [1, 2, 1] {
            pair.offered(identity, &packet(7, Ecn::Ect1));
        }
        assert!(pair.dequeued(1, Ecn::Ect1, 60).is_some());
        let dual = pair.dequeued(2, Ecn::Ect1, 60).unwrap();
        assert_eq!((dual.low.dropped, dual.low.dequeued.packets), (0, 2));
        assert_eq!(pair.dequeued(1, Ecn::Ect1, 60), None);
    }
}
