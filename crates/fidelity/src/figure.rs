//! What worlds are compared by: figures of a whole run, each with a tolerance.

use sojourn_report::Tolerance;
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
    /// How far two worlds may be apart …
    pub within: Tolerance,
    /// … or as far as one seed of the second world is from another: their standard deviation.
    pub or_scatter: bool,
    /// Its value; NaN where the run has none.
    pub of: fn(&RunResult) -> f64,
}

/// Counts of packets.
const PACKETS: Tolerance = Tolerance {
    share: 0.15,
    least: 10.0,
};
/// Indices between zero and one.
const INDEX: Tolerance = Tolerance {
    share: 0.0,
    least: 0.05,
};

/// The place of goodput in [`FIGURES`].
pub const GOODPUT: usize = 0;

/// All figures.
pub const FIGURES: [Figure; 7] = [
    Figure {
        key: "goodput_mbps",
        title: "goodput",
        unit: "Mbit/s",
        digits: 4,
        within: Tolerance::GOODPUT,
        or_scatter: true,
        of: |run| run.aggregate.goodput_bps / 1e6,
    },
    Figure {
        key: "delay_p50_ms",
        title: "delay, median",
        unit: "ms",
        digits: 3,
        within: Tolerance::LATENCY,
        or_scatter: false,
        of: |run| run.induced_rtt(Statistic::P50),
    },
    Figure {
        key: "delay_p95_ms",
        title: "delay, p95",
        unit: "ms",
        digits: 3,
        within: Tolerance::LATENCY,
        or_scatter: false,
        of: |run| run.induced_rtt(Statistic::P95),
    },
    Figure {
        key: "drops",
        title: "drops",
        unit: "",
        digits: 1,
        within: PACKETS,
        or_scatter: false,
        of: |run| sum(run.links.iter().map(|(_, link)| link.dropped_packets)),
    },
    Figure {
        key: "retransmissions",
        title: "retransmissions",
        unit: "",
        digits: 1,
        within: PACKETS,
        or_scatter: false,
        of: |run| sum(run.flows.iter().map(|(_, flow)| flow.retransmitted_packets)),
    },
    Figure {
        key: "jain",
        title: "fairness",
        unit: "",
        digits: 4,
        within: INDEX,
        or_scatter: false,
        of: |run| run.aggregate.jain.unwrap_or(f64::NAN),
    },
    Figure {
        key: "completion_ms",
        title: "completion",
        unit: "ms",
        digits: 1,
        within: Tolerance::LATENCY,
        or_scatter: false,
        of: completion,
    },
];

fn sum(counts: impl Iterator<Item = u64>) -> f64 {
    counts.sum::<u64>() as f64
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
