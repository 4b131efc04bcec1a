//! How long packets were in a queue: a histogram that takes four comparisons a packet.

use sojourn_units::Span;

/// Upper bounds of the bins; one more is above them all.
pub const DELAYS: [Span; 15] = [
    Span::from_micros(50),
    Span::from_micros(100),
    Span::from_micros(250),
    Span::from_micros(500),
    Span::from_millis(1),
    Span::from_micros(2500),
    Span::from_millis(5),
    Span::from_millis(10),
    Span::from_millis(25),
    Span::from_millis(50),
    Span::from_millis(100),
    Span::from_millis(250),
    Span::from_millis(500),
    Span::from_secs(1),
    Span::from_micros(2_500_000),
];

/// Sojourn times of the packets that left a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Packets that were in the queue for up to [`DELAYS`] and longer than the bound before; last
    /// those above all.
    pub counts: [u64; DELAYS.len() + 1],
    /// Of all packets.
    pub sum: Span,
}

impl Delays {
    /// Another packet has left.
    pub fn add(&mut self, sojourn: Span) {
        self.counts[DELAYS.partition_point(|bound| *bound < sojourn)] += 1;
        self.sum += sojourn;
    }

    /// Mean sojourn time in ms; None before the first packet.
    pub fn mean_ms(&self) -> Option<f64> {
        let packets: u64 = self.counts.iter().sum();
        (packets > 0).then(|| self.sum.as_millis_f64() / packets as f64)
    }

    /// Adds those of another queue.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bin() {
        let mut delays = Delays::default();
        for micros in [0, 50, 51, 2_500_000, 2_500_001] {
            delays.add(Span::from_micros(micros));
        }
        assert_eq!((delays.counts[0], delays.counts[1]), (2, 1));
        assert_eq!(delays.counts[14..], [1, 1]);
        assert_eq!(delays.sum, Span::from_micros(5_000_102));
        assert!(DELAYS.is_sorted());
    }
}
