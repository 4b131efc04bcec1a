//! What worlds are compared by: figures of a whole run, each with a tolerance.

use sojourn_world::RunResult;
use sojourn_world::figure::Statistic;

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in the table, with its unit.
    pub key: &'static str,
    /// For headings.
    pub title: &'static str,
    /// Behind its values; empty for counts and indices.
    pub unit: &'static str,
    /// Digits behind the point in the table.
    pub digits: usize,
    /// How far two worlds may be apart, as a share of the second one's …
    pub share: f64,
    /// … or in the figure's unit, whichever is more.
    pub least: f64,
    /// Its value; NaN where the run has none.
    pub of: fn(&RunResult) -> f64,
}

/// All figures.
pub const FIGURES: [Figure; 7] = [
    Figure {
        key: "goodput_mbps",
        title: "goodput",
        unit: "Mbit/s",
        digits: 4,
        share: 0.01,
        least: 0.0,
        of: |run| run.aggregate.goodput_bps / 1e6,
    },
    Figure {
        key: "delay_p50_ms",
        title: "delay, median",
        unit: "ms",
        digits: 3,
        share: 0.05,
        least: 1.0,
        of: |run| run.induced_rtt(Statistic::P50),
    },
    Figure {
        key: "delay_p95_ms",
        title: "delay, p95",
        unit: "ms",
        digits: 3,
        share: 0.05,
        least: 1.0,
        of: |run| run.induced_rtt(Statistic::P95),
    },
    Figure {
        key: "drops",
        title: "drops",
        unit: "",
        digits: 1,
        share: 0.15,
        least: 10.0,
        of: |run| sum(run.links.iter().map(|(_, link)| link.dropped_packets)),
    },
    Figure {
        key: "retransmissions",
        title: "retransmissions",
        unit: "",
        digits: 1,
        share: 0.15,
        least: 10.0,
        of: |run| sum(run.flows.iter().map(|(_, flow)| flow.retransmitted_packets)),
    },
    Figure {
        key: "jain",
        title: "fairness",
        unit: "",
        digits: 4,
        share: 0.0,
        least: 0.05,
        of: jain,
    },
    Figure {
        key: "completion_ms",
        title: "completion",
        unit: "ms",
        digits: 1,
        share: 0.05,
        least: 1.0,
        of: completion,
    },
];

impl Figure {
    /// How far another world's value may be from `reference`.
    pub fn tolerance(&self, reference: f64) -> f64 {
        (self.share * reference.abs()).max(self.least)
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> f64 {
    counts.sum::<u64>() as f64
}

/// Jain's index where there is more than one flow to be fair to.
fn jain(run: &RunResult) -> f64 {
    let elastic = run.flows.iter().filter(|(_, flow)| flow.elastic).count();
    let index = run.aggregate.jain.filter(|_| elastic > 1);
    index.unwrap_or(f64::NAN)
}

/// The mean time to completion of the files of all flows.
fn completion(run: &RunResult) -> f64 {
    let done = run.flows.iter().map(|(_, flow)| &flow.completion);
    let (sum, count) = done
        .filter(|times| times.count > 0)
        .fold((0.0, 0_u64), |(sum, count), times| {
            (sum + times.mean * times.count as f64, count + times.count)
        });
    sum / count as f64
}
