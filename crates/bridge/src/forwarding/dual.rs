//! What both queues of a pair (`dualpi2`) have counted, each for itself.

use super::delays::Delays;
use serde_json::{Value, json};
use sojourn_qdisc::{Dual, DualCounts};
use std::fmt::Write as _;

/// A pair of queues at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DualStats {
    /// What each has counted, and the probabilities; of several workers their mean.
    pub dual: Dual,
    /// What packets have waited: in the C queue, and in the L queue.
    pub delays: [Delays; 2],
}

/// One queue of a pair.
#[derive(Clone, Copy, Debug)]
pub struct DualQueue<'a> {
    /// `C` (classic) or `L` (L4S), as RFC 9332 has it.
    pub name: &'static str,
    /// What it has counted.
    pub counts: &'a DualCounts,
    /// What packets have waited in it.
    pub delays: &'a Delays,
}

impl DualStats {
    /// Those of all workers as one; None if one of them has another queue.
    pub(super) fn of_workers<'a>(all: impl Iterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut sum = Self::default();
        let mut workers = 0.0;
        for one in all {
            let one = one?;
            sum.dual.classic.absorb(&one.dual.classic);
            sum.dual.low.absorb(&one.dual.low);
            sum.dual.probability += one.dual.probability;
            sum.dual.coupled += one.dual.coupled;
            for (delays, more) in sum.delays.iter_mut().zip(&one.delays) {
                delays.absorb(more);
            }
            workers += 1.0;
        }
        sum.dual.probability /= workers;
        sum.dual.coupled /= workers;
        (workers > 0.0).then_some(sum)
    }

    /// Both queues, the C queue first.
    pub fn queues(&self) -> [DualQueue<'_>; 2] {
        let [classic, low] = &self.delays;
        [
            ("C", &self.dual.classic, classic),
            ("L", &self.dual.low, low),
        ]
        .map(|(name, counts, delays)| DualQueue {
            name,
            counts,
            delays,
        })
    }

    pub(super) fn json(&self) -> Value {
        let mut all = json!({
            "probability": self.dual.probability,
            "coupled_probability": self.dual.coupled,
        });
        for queue in self.queues() {
            let mut told = json!({});
            for (name, number) in queue.numbers() {
                told[name] = number.into();
            }
            told["delay_mean_ms"] = queue.delays.mean_ms().into();
            all[queue.name] = told;
        }
        all
    }

    /// A line for each queue.
    pub(super) fn text(&self, side: &str) -> String {
        let mut text = String::new();
        for queue in self.queues() {
            let _ = write!(text, " {side} queue {}", queue.name);
            for (name, number) in queue.numbers() {
                let _ = write!(text, " {name} {number}");
            }
            let _ = match queue.delays.mean_ms() {
                Some(mean) => writeln!(text, " delay_mean {mean:.2}ms"),
                None => writeln!(text),
            };
        }
        let Dual {
            probability,
            coupled,
            ..
        } = self.dual;
        let _ = writeln!(
            text,
            " {side} probability {probability:.4} coupled {coupled:.4}"
        );
        text
    }
}

impl DualQueue<'_> {
    /// What it has counted and holds, by name.
    const fn numbers(&self) -> [(&'static str, u64); 7] {
        let counts = self.counts;
        [
            ("sent_packets", counts.dequeued.packets),
            ("sent_bytes", counts.dequeued.bytes),
            ("dropped_packets", counts.dropped),
            ("marked_packets", counts.marked),
            ("came_marked_packets", counts.came_marked),
            ("backlog_packets", counts.backlog.packets),
            ("backlog_bytes", counts.backlog.bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_qdisc::{Backlog, Tally};
    use sojourn_units::Span;

    fn stats(packets: u64, probability: f64) -> DualStats {
        let counts = |packets| DualCounts {
            dequeued: Tally {
                packets,
                bytes: packets * 100,
            },
            backlog: Backlog {
                packets: 2,
                bytes: 200,
            },
            dropped: 1,
            marked: packets / 2,
            came_marked: 3,
        };
        let mut stats = DualStats {
            dual: Dual {
                classic: counts(packets),
                low: counts(packets * 10),
                served_low: false,
                probability,
                coupled: probability * 2.0,
            },
            delays: <[Delays; 2]>::default(),
        };
        for (delays, millis) in stats.delays.iter_mut().zip([15, 1]) {
            delays.add(Span::from_millis(millis));
        }
        stats
    }

    #[test]
    fn workers_counts_are_summed_and_probabilities_averaged() {
        let two = [stats(10, 0.1), stats(30, 0.3)];
        let sum = DualStats::of_workers(two.iter().map(Some)).unwrap();
        let [classic, low] = sum.queues();
        assert_eq!(classic.counts.dequeued.packets, 40);
        assert_eq!((low.counts.marked, low.counts.backlog.packets), (200, 4));
        assert_eq!(low.delays.mean_ms(), Some(1.0));
        assert!((sum.dual.probability - 0.2).abs() < 1e-12);
        assert!((sum.dual.coupled - 0.4).abs() < 1e-12);
        let other = [Some(&two[0]), None];
        assert_eq!(DualStats::of_workers(other.into_iter()), None);
    }

    #[test]
    fn each_queue_is_told_by_its_name() {
        let stats = stats(10, 0.25);
        assert_eq!(
            stats.json(),
            json!({
                "probability": 0.25, "coupled_probability": 0.5,
                "C": {
                    "sent_packets": 10, "sent_bytes": 1000, "dropped_packets": 1,
                    "marked_packets": 5, "came_marked_packets": 3,
                    "backlog_packets": 2, "backlog_bytes": 200, "delay_mean_ms": 15.0,
                },
                "L": {
                    "sent_packets": 100, "sent_bytes": 10_000, "dropped_packets": 1,
                    "marked_packets": 50, "came_marked_packets": 3,
                    "backlog_packets": 2, "backlog_bytes": 200, "delay_mean_ms": 1.0,
                },
            })
        );
        assert_eq!(
            stats.text("up").lines().next(),
            Some(
                " up queue C sent_packets 10 sent_bytes 1000 dropped_packets 1 marked_packets 5 \
                 came_marked_packets 3 backlog_packets 2 backlog_bytes 200 delay_mean 15.00ms"
            )
        );
        assert_eq!(
            stats.text("up").lines().last(),
            Some(" up probability 0.2500 coupled 0.5000")
        );
    }
}
